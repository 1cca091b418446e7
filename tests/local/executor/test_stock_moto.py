"""What stock moto does instead: the day it does better, one of these fails and its fill can go."""

import pytest
from moto import mock_aws

from muster_cli.local.fills import batch_jobs, patching


@pytest.fixture
def stock(cloud):
    """The same cloud without fills; jobs are marked as succeeded without running."""
    with patching.unfilled(), mock_aws(config={"batch": {"use_docker": False}}):
        yield cloud


def _submit(stock, **more):
    stock.queue()
    stock.register({"0:1": stock.container("hang()")})
    return stock.submit(**more)


def test_no_node_runs(stock):
    job_id = _submit(stock)
    assert stock.job(job_id)["status"] == "SUCCEEDED"
    assert stock.job(job_id)["attempts"][0]["stoppedAt"] - stock.job(job_id)["createdAt"] < 5000


def test_node_overrides_are_dropped(stock):
    job_id = _submit(stock, nodeOverrides={"numNodes": 7})
    assert stock.job(job_id)["nodeProperties"]["numNodes"] == 2


def test_wrong_submissions_are_accepted(stock):
    _submit(stock, containerOverrides={"command": ["x"]})
    stock.submit(arrayProperties={"size": 2})
    stock.submit(nodeOverrides={"nodePropertyOverrides": [{"targetNodes": "5:9"}]})
    stock.submit(retryStrategy={"attempts": 3})


def test_a_disabled_queue_takes_jobs(stock):
    stock.queue("closed", state="DISABLED")
    stock.register({"0:1": stock.container("pass")})
    assert stock.submit(queue="closed")


def test_nodes_are_unknown(stock):
    job_id = _submit(stock)
    assert stock.batch.describe_jobs(jobs=[f"{job_id}#0"])["jobs"] == []
    assert stock.batch.list_jobs(multiNodeJobId=job_id, jobStatus="SUCCEEDED")["jobSummaryList"] == []


def test_time_limits_of_a_queue_are_dropped(stock):
    queue = stock.queue("first")
    action = {
        "reason": "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
        "state": "RUNNABLE",
        "maxTimeSeconds": 600,
        "action": "CANCEL",
    }
    stock.batch.create_job_queue(
        jobQueueName="queue",
        priority=1,
        state="ENABLED",
        computeEnvironmentOrder=queue.env_order_json,
        jobStateTimeLimitActions=[action],
    )
    (found,) = stock.batch.describe_job_queues(jobQueues=["queue"])["jobQueues"]
    assert "jobStateTimeLimitActions" not in found


def test_install_twice_is_the_same_as_once(cloud):
    batch_jobs.install(lambda: cloud.executor)
    batch_jobs.install(lambda: cloud.executor)
    cloud.queue()
    (queue,) = cloud.batch.describe_job_queues(jobQueues=["queue"])["jobQueues"]
    assert queue["jobStateTimeLimitActions"] == []
    job_id = cloud.start("pass", nodes=1, queue=False)
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
