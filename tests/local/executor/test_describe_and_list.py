"""DescribeJobs and ListJobs of jobs and of their nodes."""

import pytest
from botocore.exceptions import ClientError

PROGRAM = "mark(f'up{node}'); wait('go') if main else hang()"


@pytest.fixture
def running(cloud):
    job_id = cloud.start(PROGRAM, nodes=3, main=1)
    cloud.until(
        lambda: all(cloud.node(job_id, n)["status"] == "RUNNING" for n in range(3)), "three nodes run"
    )
    return job_id


def test_effective_node_properties(cloud):
    cloud.queue()
    cloud.register({"0:": cloud.container("pass")})
    override = {"containerOverrides": {"command": ["python", "-c", "print('other')"]}}
    job_id = cloud.submit(
        nodeOverrides={"numNodes": 3, "nodePropertyOverrides": [{"targetNodes": "0:", **override}]}
    )
    properties = cloud.job(job_id)["nodeProperties"]
    assert (properties["numNodes"], properties["mainNode"]) == (3, 0)
    (node_range,) = properties["nodeRangeProperties"]
    assert node_range["targetNodes"] == "0:"
    assert node_range["container"]["command"] == ["python", "-c", "print('other')"]
    cloud.wait(job_id)


def test_parent_and_nodes(cloud, running):
    job = cloud.job(running)
    assert "container" not in job, "a multi-node job has no container of its own"
    assert "nodeDetails" not in job
    assert job["attempts"] == []
    node = cloud.node(running, 2)
    assert node["jobId"] == f"{running}#2"
    assert node["jobArn"] == f"{job['jobArn']}#2"
    assert node["nodeDetails"] == {"nodeIndex": 2, "isMainNode": False}
    assert cloud.node(running, 1)["nodeDetails"] == {"nodeIndex": 1, "isMainNode": True}
    assert node["container"]["image"] == "image"
    assert node["container"]["logStreamName"].startswith("train/default/")
    assert node["container"]["taskArn"].startswith("arn:aws:ecs:us-east-1:123456789012:task/")
    assert "nodeProperties" not in node
    cloud.mark("go")
    cloud.wait(running)


def test_attempts_when_it_is_over(cloud, running):
    cloud.mark("go")
    job = cloud.wait(running)
    (attempt,) = cloud.node(running, 0)["attempts"]
    container = cloud.node(running, 0)["container"]
    assert attempt["statusReason"] == "stopped: the main node has exited"
    for name in ("taskArn", "containerInstanceArn", "logStreamName", "networkInterfaces", "exitCode"):
        assert attempt["container"][name] == container[name]
    assert attempt["startedAt"] <= attempt["stoppedAt"]
    assert job["attempts"] == cloud.node(running, 1)["attempts"]


def test_several_at_once_by_id_and_arn(cloud, running):
    arn = cloud.job(running)["jobArn"]
    found = cloud.batch.describe_jobs(
        jobs=[arn, f"{running}#1", f"{arn}#2", "unknown", f"{running}#3", "x#y"]
    )
    assert [job["jobId"] for job in found["jobs"]] == [running, f"{running}#1", f"{running}#2"]
    cloud.mark("go")
    cloud.wait(running)


def test_list_nodes(cloud, running):
    rows = cloud.batch.list_jobs(multiNodeJobId=running)["jobSummaryList"]
    assert [row["jobId"] for row in rows] == [f"{running}#{n}" for n in range(3)]
    assert [row["nodeProperties"] for row in rows] == [
        {"isMainNode": n == 1, "numNodes": 3, "nodeIndex": n} for n in range(3)
    ]
    cloud.mark("go")
    cloud.wait(running)
    assert cloud.batch.list_jobs(multiNodeJobId=running)["jobSummaryList"] == [], "the default is RUNNING"
    failed = cloud.batch.list_jobs(multiNodeJobId=running, jobStatus="FAILED")["jobSummaryList"]
    assert [(row["jobId"], row["container"]) for row in failed] == [
        (f"{running}#0", {"exitCode": 143}),
        (f"{running}#2", {"exitCode": 143}),
    ]
    assert cloud.batch.list_jobs(multiNodeJobId="unknown")["jobSummaryList"] == []


def test_list_a_queue(cloud, running):
    def ids(**more):
        return [row["jobId"] for row in cloud.batch.list_jobs(jobQueue="queue", **more)["jobSummaryList"]]

    assert ids() == [running], "the default is RUNNING; nodes are not in a queue's list"
    assert ids(jobStatus="FAILED") == []
    assert ids(filters=[{"name": "JOB_NAME", "values": ["jo*"]}]) == [running]
    assert ids(filters=[{"name": "JOB_NAME", "values": ["other"]}]) == []
    cloud.mark("go")
    cloud.wait(running)
    (row,) = cloud.batch.list_jobs(jobQueue="queue", jobStatus="SUCCEEDED")["jobSummaryList"]
    assert row["nodeProperties"] == {"numNodes": 3}


def test_list_in_pages(cloud):
    job_id = cloud.start("wait('go')", nodes=1)
    others = [cloud.submit() for _ in range(2)]
    for item in (job_id, *others):
        cloud.wait(item, "RUNNING")
    first = cloud.batch.list_jobs(jobQueue="queue", maxResults=2)
    rest = cloud.batch.list_jobs(jobQueue="queue", maxResults=2, nextToken=first["nextToken"])
    assert [row["jobId"] for row in first["jobSummaryList"] + rest["jobSummaryList"]] == [job_id, *others]
    assert "nextToken" not in rest
    cloud.mark("go")
    for item in (job_id, *others):
        cloud.wait(item)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "Exactly one of jobQueue, arrayJobId and multiNodeJobId must be given."),
        ({"jobQueue": "a", "multiNodeJobId": "b"}, "Exactly one of"),
        ({"jobQueue": "nowhere"}, "Job queue nowhere does not exist"),
        ({"jobQueue": "a", "jobStatus": "DONE"}, "Job status is not one of SUBMITTED | PENDING"),
    ],
)
def test_lists_that_are_refused(cloud, request_, message):
    with pytest.raises(ClientError, match=message.replace("|", r"\|")):
        cloud.batch.list_jobs(**request_)


def test_a_node_cannot_be_terminated_alone(cloud, running):
    with pytest.raises(
        ClientError, match=f"{running}#0 is a node of a multi-node parallel job; end {running} instead"
    ):
        cloud.batch.terminate_job(jobId=f"{running}#0", reason="no")
    with pytest.raises(ClientError, match="'reason' is a required field"):
        cloud.batch.terminate_job(jobId=running, reason="")
    cloud.batch.terminate_job(jobId="unknown", reason="Batch says nothing")
    cloud.mark("go")
    assert cloud.wait(running)["status"] == "SUCCEEDED"


def test_tags_of_the_job_do_not_reach_nodes(cloud):
    cloud.queue()
    cloud.register({"0:": cloud.container("pass")})
    job_id = cloud.submit(tags={"team": "a"})
    assert cloud.wait(job_id)["tags"] == {"team": "a"}
    assert cloud.node(job_id, 0)["tags"] == {}


def test_describe_takes_a_hundred_jobs_at_a_time(cloud):
    ids = [f"job-{number}" for number in range(101)]
    assert cloud.batch.describe_jobs(jobs=ids[:100])["jobs"] == []
    with pytest.raises(ClientError) as caught:
        cloud.batch.describe_jobs(jobs=ids)
    assert caught.value.response["Error"]["Message"] == "jobs must have at most 100 entries, got 101"
