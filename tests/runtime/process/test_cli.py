"""The command line: flags, refusals, findings."""

import json
import subprocess
import sys

import pytest


@pytest.fixture
def muster_node(nodes):
    def run(*arguments, **environ):
        return subprocess.run(
            [sys.executable, "-m", "muster_runtime", *arguments],
            env={**nodes.environ(1, 3), **environ},
            cwd=nodes.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_help_names_every_option_of_the_launcher(muster_node):
    done = muster_node("run", "--help")
    assert done.returncode == 0
    for flag in (
        "--launcher",
        "--nproc-per-node",
        "--master-port",
        "--module",
        "--no-python",
        "--peer-timeout",
    ):
        assert flag in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "the following arguments are required: {run,env}"),
        (("run",), "no program was given; put it after --, as in: run -- train.py --epochs 5"),
        (("run", "--"), "no program was given"),
        (("run", "train.py"), "unrecognized arguments: train.py"),
        (("run", "--nproc", "2", "--", "x"), "unrecognized arguments: --nproc 2"),
        (("run", "--launcher", "mpi", "--", "x"), "argument --launcher: invalid choice: 'mpi'"),
        (("run", "--nproc-per-node", "0", "--", "x"), "must be a whole number of at least 1, got '0'"),
    ],
)
def test_misuse_is_a_configuration_error(muster_node, arguments, sentence):
    done = muster_node(*arguments)
    assert done.returncode == 78
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_flag_is_checked_like_its_variable(muster_node):
    done = muster_node("run", "--peer-timeout", "soon", "--", "x")
    assert done.returncode == 78
    assert "muster: error: --peer-timeout must be a number of seconds above 0, got 'soon'" in done.stdout


def test_env_tells_all_that_was_found_as_json(muster_node, nodes):
    done = muster_node("env", "--output", "json", "--nproc-per-node", "2", MUSTER_STOP="1")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["node"]["node_index"] == 1
    assert found["node"]["is_main"] is False
    assert found["config"]["secret"] is True
    assert found["network"] == {"address": nodes.address(1), "interface": "lo"}
    assert {name: found["process"][name] for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR")} == {
        "RANK": "2",
        "WORLD_SIZE": "6",
        "MASTER_ADDR": nodes.address(0),
    }
    assert list(found["warnings"].values()) == ["MUSTER_STOP is no variable of muster's runtime"]
    assert nodes.mark not in done.stdout.replace(f"{nodes.mark[:8]}", "")


def test_env_as_text(muster_node, nodes):
    done = muster_node("env")
    assert done.returncode == 0
    assert "node\n  job = job-" in done.stdout
    assert f"  MASTER_ADDR = {nodes.address(0)}\n" in done.stdout


def test_env_tells_every_problem(muster_node):
    done = muster_node("env", AWS_BATCH_JOB_NUM_NODES="", AWS_BATCH_JOB_ATTEMPT="0")
    assert done.returncode == 78
    assert done.stderr.splitlines() == [
        "error: AWS_BATCH_JOB_NUM_NODES is missing: aws batch sets it on every node",
        "error: AWS_BATCH_JOB_ATTEMPT must be a whole number of at least 1, got '0'",
    ]


def test_env_goes_on_without_a_network(muster_node):
    done = muster_node("env", "--output", "json", MUSTER_LOCAL="10.99.99.99")
    assert done.returncode == 0
    assert "no interface has the address 10.99.99.99" in next(
        iter(json.loads(done.stdout)["warnings"].values())
    )
