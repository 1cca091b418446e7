import pytest

from muster_cli.local.executor import ExecutorSettings


@pytest.fixture(params=["namespaces", "loopback", "ports"])
def settings(request):
    return ExecutorSettings(mode=request.param, stop_timeout=5.0, seed=1)


def test_two_nodes(cloud, show):
    job_id = cloud.start(show)
    job = cloud.wait(job_id)
    print(job)
    print(cloud.node(job_id, 0))
    print(cloud.node(job_id, 1))
    for n in (0, 1):
        print(cloud.lines(job_id, n))
    assert job["status"] == "SUCCEEDED"
