"""Jobs in which nothing goes wrong."""

import json
import signal
import socket

from muster_core.contract import PHASES, TORCH


def environment(agent):
    (line,) = [line for line in agent.lines() if line.startswith("environment ")]
    return json.loads(line.removeprefix("environment "))


def test_two_nodes_come_up_and_down_together(any_nodes):
    main, child = any_nodes.start_all(2, "print_env.py")
    assert (main.code(), child.code()) == (0, 0)
    verdict = main.verdict()
    assert verdict["outcome"] == "succeeded"
    assert (verdict["code"], verdict["first_failure"], verdict["world_size"]) == (0, None, 2)
    assert (verdict["job"], verdict["attempt"], verdict["launcher"]) == (
        f"job-{any_nodes.mark[:8]}",
        1,
        "torch",
    )
    assert verdict["simulated"] is True
    assert tuple(verdict["phases"]) == PHASES
    host = socket.gethostname()
    assert verdict["nodes"] == [
        {"index": index, "address": any_nodes.address(index), "host": host, "code": 0} for index in (0, 1)
    ]
    assert child.lines()[-1] == "muster: node 1 leaves with exit code 0, job succeeded"


def test_ranks_get_torchrun_s_environment_and_not_the_secret(nodes):
    agents = nodes.start_all(3, "print_env.py", main=2, MUSTER_ACCELERATORS_PER_NODE="1")
    assert [agent.code() for agent in agents] == [0, 0, 0]
    given = [environment(agent) for agent in agents]
    assert [env["RANK"] for env in given] == ["1", "2", "0"]
    assert [env["GROUP_RANK"] for env in given] == ["1", "2", "0"]
    assert {env["MASTER_ADDR"] for env in given} == {nodes.address(2)}
    (port,) = {env["MASTER_PORT"] for env in given}
    assert 29500 <= int(port) < 29600  # another job of this machine may have the first
    assert {env["GLOO_SOCKET_IFNAME"] for env in given} == {"lo"}
    assert {env["NCCL_SOCKET_IFNAME"] for env in given} == {"=lo"}
    for env in given:
        assert set(TORCH.owns) <= set(env)
        assert "MUSTER_JOB_SECRET" not in env
    assert agents[2].verdict()["code"] == 0


def test_several_ranks_per_node_are_prefixed_and_in_order(nodes):
    main, child = nodes.start_all(2, "finish_late.py /", "--nproc-per-node", "2")
    assert (main.code(), child.code()) == (0, 0)
    assert {line for line in main.lines() if line.startswith("[")} == {"[0] rank 0 of 4", "[1] rank 1 of 4"}
    assert {line for line in child.lines() if line.startswith("[")} == {"[2] rank 2 of 4", "[3] rank 3 of 4"}


def test_one_node(nodes):
    (main,) = nodes.start_all(1, "print_env.py")
    assert main.code() == 0
    assert environment(main)["WORLD_SIZE"] == "1"


def test_one_node_outside_the_local_cloud(nodes):
    (main,) = nodes.start_all(1, "print_env.py", MUSTER_LOCAL=None)
    assert main.code() == 0
    assert main.verdict()["simulated"] is False


def test_without_a_secret_the_job_s_id_stands_in(nodes):
    agents = nodes.start_all(2, "print_env.py", MUSTER_JOB_SECRET=None)
    assert [agent.code() for agent in agents] == [0, 0]
    assert "secret none" in agents[0].text()


def test_a_shared_address_with_a_port_range_each(nodes, free_range):
    low = free_range
    ranges = [f"127.0.0.1/{low}-{low + 9}", f"127.0.0.1/{low + 10}-{low + 19}"]
    shared = {"MUSTER_RENDEZVOUS_PORT": str(low)}
    main = nodes.start(0, 2, "print_env.py", MUSTER_LOCAL=ranges[0], **shared)
    child = nodes.start(
        1,
        2,
        "print_env.py",
        MUSTER_LOCAL=ranges[1],
        AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS="127.0.0.1",
        **shared,
    )
    assert (main.code(), child.code()) == (0, 0)
    assert environment(child)["MASTER_ADDR"] == "127.0.0.1"
    assert low < int(environment(child)["MASTER_PORT"]) <= low + 9
    assert environment(main)["MASTER_PORT"] == environment(child)["MASTER_PORT"]


def test_the_child_may_come_first(nodes, eventually):
    child = nodes.start(1, 2, "print_env.py")
    eventually(lambda: "address" in child.text())
    main = nodes.start(0, 2, "print_env.py")
    assert (main.code(), child.code()) == (0, 0)


def test_the_main_node_leaves_last(nodes, tmp_path):
    main, child = nodes.start_all(2, f"finish_late.py {tmp_path}/go")
    main.says("rank 0 on node 0 exited with code 0")
    child.says("rank 1 of 2")
    assert main.process.poll() is None
    (tmp_path / "go").touch()
    assert (main.code(), child.code()) == (0, 0)


def test_a_program_of_any_kind(nodes):
    (main,) = nodes.start_all(1, "echo hello", "--no-python")
    assert main.code() == 0
    assert "hello" in main.lines()


def test_a_module(nodes):
    (main,) = nodes.start_all(1, "./this", "--module", PYTHONPATH=nodes.environ(0, 1)["PYTHONPATH"])
    assert main.code() == 1
    assert "Relative module names not supported" in main.text()


def test_an_unknown_variable_is_warned_of(nodes):
    (main,) = nodes.start_all(1, "print_env.py", MUSTER_STOP_TIMEOUTS="3")
    assert main.code() == 0
    assert (
        "muster: warning: MUSTER_STOP_TIMEOUTS is no variable of muster's runtime; did you mean MUSTER_STOP_TIMEOUT?"
        in main.lines()
    )


def test_a_progress_bar_appears_while_it_runs_and_breaks_no_other_line(nodes):
    (main,) = nodes.start_all(1, "progress.py", "--nproc-per-node", "2")
    main.says("[0] \nstep ")  # universal newlines: the carriage return reads as one
    main.says("whole line 30\n")
    main.signal(signal.SIGTERM)
    assert main.code() == 143
    lines = main.log.read_bytes().split(b"\n")
    bars = [line for line in lines if line.startswith(b"[0] ")]
    shown = b"".join(bar[4:] for bar in bars)
    assert shown == b"".join(b"\rstep %d" % number for number in range(1, shown.count(b"\r") + 1))
    others = [line for line in lines if line.startswith(b"[1] ")]
    assert others[:30] == [b"[1] whole line %d" % number for number in range(1, 31)]
