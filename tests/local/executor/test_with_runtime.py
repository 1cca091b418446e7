"""The real runtime on the executor's nodes, in each network: both sides of the contract meet here."""

import json
import sys

import pytest

from muster_cli.local.executor import ExecutorSettings, networks
from muster_core import contract

RANK = """
import os, socket, sys
rank, main = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(main) as server:
        peers = sorted(int(server.accept()[0].recv(9)) for _ in range(int(os.environ["WORLD_SIZE"]) - 1))
    print("rank 0 met", peers, flush=True)
else:
    for _ in range(500):
        try:
            socket.create_connection(main, 5).sendall(str(rank).encode())
            break
        except OSError:
            import time; time.sleep(0.02)
sys.exit(int(sys.argv[1]) if rank == 1 else 0)
"""


@pytest.fixture(params=networks.MODES)
def settings(request):
    return ExecutorSettings(mode=request.param, stop_timeout=10.0, seed=1)


def _run(cloud, code):
    run = [sys.executable, "-m", "muster_runtime", "run", "--launcher", "torch", "--no-python", "--"]
    secret = [{"name": contract.ENV_JOB_SECRET, "value": "of this test alone"}]
    job_id = cloud.start([*run, sys.executable, "-c", RANK, str(code)], nodes=3, main=1, environment=secret)
    job = cloud.wait(job_id, deadline=60)
    lines = cloud.lines(job_id, 1)
    marked = [line for line in lines if line.startswith(contract.VERDICT_MARKER)]
    assert len(marked) == 1, lines
    return job, lines, json.loads(marked[0].removeprefix(contract.VERDICT_MARKER))


def test_three_nodes_succeed(cloud):
    job, lines, verdict = _run(cloud, 0)
    assert job["status"] == "SUCCEEDED"
    assert "rank 0 met [1, 2]" in lines
    assert (verdict["outcome"], verdict["world_size"], verdict["simulated"]) == ("succeeded", 3, True)
    assert [row["code"] for row in verdict["nodes"]] == [0, 0, 0]
    assert [cloud.node(job["jobId"], index)["status"] for index in range(3)] == ["SUCCEEDED"] * 3


def test_a_ranks_code_is_the_jobs(cloud):
    job, _, verdict = _run(cloud, 7)
    assert job["status"] == "FAILED"
    assert job["attempts"][0]["container"]["exitCode"] == 7
    assert verdict["first_failure"]["rank"] == 1
    assert verdict["code"] == 7
