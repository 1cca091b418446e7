"""The first failure ends the job everywhere, by name."""

import os
import signal
import time

import pytest


def test_a_rank_that_exits_ends_the_whole_job_within_2_s(any_nodes, eventually):
    main, child = any_nodes.start_all(2, "exit_7.py 1 /")
    child.says("the last words")
    begin = time.monotonic()
    assert (main.code(), child.code()) == (7, 7)
    assert time.monotonic() - begin < 2.0
    verdict = main.verdict()
    assert (verdict["outcome"], verdict["code"]) == ("failed", 7)
    failure = verdict["first_failure"]
    assert (failure["node"], failure["rank"], failure["code"]) == (1, 1, 7)
    assert failure["reason"] == "rank 1 on node 1 exited with code 7"
    assert failure["lines"] == ["rank 1 runs", "ValueError: the last words of the culprit"]
    assert [node["code"] for node in verdict["nodes"]] == [143, 7]
    assert child.lines()[-1] == (
        "muster: node 1 leaves with exit code 7, job failed: rank 1 on node 1 exited with code 7"
    )


def test_a_rank_of_the_main_node(nodes):
    agents = nodes.start_all(3, "exit_7.py 0 /", main=1)
    assert [agent.code() for agent in agents] == [7, 7, 7]
    assert agents[1].verdict()["first_failure"]["node"] == 1


@pytest.mark.parametrize("code", [1, 75, 137, 255])
def test_the_training_s_own_code_passes_through(nodes, code):
    main, child = nodes.start_all(2, f"/bin/sh -c exit${{IFS}}{code}", "--no-python")
    assert main.code() == code
    assert child.code() == code
    assert main.verdict()["first_failure"]["code"] == code


def test_deaf_ranks_are_killed_in_time(nodes, tmp_path):
    deaf = nodes.start(0, 2, "ignore_sigterm.py")
    nodes.start(1, 2, f"exit_7.py 1 {tmp_path}/go")
    deaf.says("deaf")
    (tmp_path / "go").touch()
    begin = time.monotonic()
    assert deaf.code() == 7
    assert time.monotonic() - begin < 2.5
    assert [node["code"] for node in deaf.verdict()["nodes"]] == [137, 7]


def test_a_signal_is_128_plus_its_number(nodes):
    main, child = nodes.start_all(2, "/bin/sh -c kill${IFS}-9${IFS}$$", "--no-python")
    assert (main.code(), child.code()) == (137, 137)
    assert main.verdict()["first_failure"]["reason"].endswith("ended by SIGKILL (code 137)")


def test_a_symptom_never_wins(nodes):
    main, child = nodes.start_all(2, "symptom.py")
    assert (main.code(), child.code()) == (9, 9)
    failure = main.verdict()["first_failure"]
    assert (failure["node"], failure["lines"]) == (1, ["ValueError: the cause"])


def test_an_agent_that_is_killed_takes_its_ranks_with_it_and_is_missed(nodes, eventually, running):
    main, child = nodes.start_all(2, "hang.py")
    for agent in (main, child):
        agent.says("pids ")
    pids = [int(pid) for line in child.lines() if line.startswith("pids") for pid in line.split()[1:]]
    child.signal(signal.SIGKILL)
    assert main.code() == 75
    failure = main.verdict()["first_failure"]
    assert (failure["node"], failure["rank"], failure["code"]) == (1, None, 75)
    assert failure["reason"].endswith(f"{nodes.address(1)}) was lost: the connection was closed")
    eventually(lambda: not any(map(running, pids)), message="the ranks outlived their agent")


def test_a_main_node_that_is_killed_is_missed(nodes):
    main, child = nodes.start_all(2, "hang.py")
    for agent in (main, child):
        agent.says("pids ")
    main.signal(signal.SIGKILL)
    assert child.code() == 75
    assert child.lines()[-1].endswith(f"the main node {nodes.address(0)} was lost: the connection was closed")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_frozen_node_is_found_by_its_silence(nodes, victim):
    agents = nodes.start_all(2, "hang.py", "--peer-timeout", "1.5")
    for agent in agents:
        agent.says("pids ")
    agents[victim].signal(signal.SIGSTOP)
    other = agents[1 - victim]
    begin = time.monotonic()
    assert other.code() == 75
    assert time.monotonic() - begin < 8
    assert "was lost: silent for" in other.text()
    agents[victim].signal(signal.SIGCONT)
    assert agents[victim].code() == 75


def test_a_node_that_never_comes(nodes):
    main = nodes.start(0, 4, "hang.py", "--rendezvous-timeout", "1")
    child = nodes.start(1, 4, "hang.py", "--rendezvous-timeout", "60")
    assert (main.code(), child.code()) == (75, 75)
    verdict = main.verdict()
    assert verdict["first_failure"]["reason"] == "nodes 2-3 of 4 did not join within 1 s"
    assert verdict["first_failure"]["node"] is None
    assert [node["host"] != "" for node in verdict["nodes"]] == [True, True, False, False]
    assert child.lines()[-1].endswith("job failed: nodes 2-3 of 4 did not join within 1 s")


def test_a_main_node_that_never_comes(nodes):
    child = nodes.start(1, 2, "hang.py", "--rendezvous-timeout", "1")
    assert child.code() == 75
    assert (
        f"node 1 could not join the main node {nodes.address(0)}:28800 within 1 s: connection refused"
        in child.lines()[-1]
    )


def test_unfinished_nodes_are_waited_for_until_the_flush_timeout(nodes, tmp_path):
    main, child = nodes.start_all(2, f"finish_late.py {tmp_path}/never", "--flush-timeout", "1")
    assert (main.code(), child.code()) == (75, 75)
    assert main.verdict()["first_failure"]["reason"] == "node 1 did not finish within 1 s of the main node"


# --- configuration ----------------------------------------------------------------------------


def test_a_missing_variable_is_told_within_a_second(nodes):
    begin = time.monotonic()
    (main,) = nodes.start_all(1, "print_env.py", AWS_BATCH_JOB_NODE_INDEX=None)
    assert main.code() == 78
    assert time.monotonic() - begin < 5
    assert main.lines()[0] == (
        "muster: error: AWS_BATCH_JOB_NODE_INDEX is missing: the job is not a multi-node parallel job"
    )


def test_another_contract(nodes):
    (main,) = nodes.start_all(1, "print_env.py", MUSTER_CONTRACT="2")
    assert main.code() == 78
    assert main.verdict()["first_failure"]["reason"].startswith("MUSTER_CONTRACT must be 1")


def test_a_missing_program_ends_the_job_before_anybody_is_waited_for(nodes):
    main = nodes.start(0, 2, "/nowhere/train.py")
    assert main.code() == 78
    assert "program '/nowhere/train.py' does not exist in" in main.verdict()["first_failure"]["reason"]


def test_a_program_that_is_missing_on_a_child_ends_the_job_too(nodes):
    main = nodes.start(0, 2, "hang.py")
    child = nodes.start(1, 2, "/nowhere/train.py")
    assert (main.code(), child.code()) == (78, 78)
    assert main.verdict()["first_failure"]["node"] == 1


def test_a_program_that_cannot_be_run(nodes, tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF nonsense")
    program.chmod(0o755)
    main, child = nodes.start_all(2, str(program), "--no-python")
    assert (main.code(), child.code()) == (78, 78)
    assert (
        "exec format error; is it in the image and executable?" in main.verdict()["first_failure"]["reason"]
    )


def test_a_contradicting_environment(nodes):
    main = nodes.start(0, 2, "hang.py")
    child = nodes.start(1, 2, "hang.py", RANK="5")
    assert (main.code(), child.code()) == (78, 78)
    assert "RANK is set to '5' in the job's environment, this process needs '1'" in main.text()


def test_a_taken_rendezvous_port(nodes, listener):
    address, port = listener(nodes.address(0))
    (main,) = nodes.start_all(1, "print_env.py", MUSTER_RENDEZVOUS_PORT=str(port))
    assert main.code() == 75
    assert main.verdict()["first_failure"]["reason"] == (
        f"cannot listen on {address}:{port}: address already in use; "
        "free the port or choose another by MUSTER_RENDEZVOUS_PORT"
    )


def test_a_fault_of_the_agent_itself_is_70(nodes, tmp_path):
    broken = tmp_path / "site"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text("import os\nos.sched_getaffinity = None\n")
    path = f"{broken}{os.pathsep}{nodes.environ(0, 1)['PYTHONPATH']}"
    (main,) = nodes.start_all(1, "print_env.py", PYTHONPATH=path)
    assert main.code() == 70
    assert main.verdict()["first_failure"]["reason"].startswith("node 0: a fault in muster: TypeError")
    assert "Traceback" in main.text()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("exit 143", "exited with code 143"),
        ("signal 15", "ended by SIGTERM (code 143)"),
        ("signal 40", "ended by signal 40 (code 168)"),
    ],
)
def test_a_code_above_128_is_no_signal(nodes, how, words):
    (main,) = nodes.start_all(1, f"end_as.py {how}")
    code = main.code()
    failure = main.verdict()["first_failure"]
    assert failure["reason"] == f"rank 0 on node 0 {words}"
    assert failure["code"] == code == main.verdict()["code"]
    assert f"code {code}" in words
