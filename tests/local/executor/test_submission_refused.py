"""What SubmitJob refuses: a table of exact words, then some of them through boto3."""

import pytest
from botocore.exceptions import ClientError

from muster_cli.local.executor.submission import problems

OPEN = {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": [{"targetNodes": "0:", "container": {}}]}
CLOSED = {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": [{"targetNodes": "0:1", "container": {}}]}
TWO = {
    "numNodes": 4,
    "mainNode": 2,
    "nodeRangeProperties": [{"targetNodes": "0:1", "container": {}}, {"targetNodes": "2:", "container": {}}],
}
NUM_NODES = (
    "NumNodes override can only be applied if the job definition has at least 1 target node"
    " without a range_end i.e (:) or (range_start:)."
)


def _over(**overrides):
    return {"nodeOverrides": {"nodePropertyOverrides": [{"targetNodes": "0:", **overrides}]}}


@pytest.mark.parametrize(
    ("properties", "request_", "expected"),
    [
        (OPEN, {}, []),
        (OPEN, {"nodeOverrides": {"numNodes": 16}}, []),
        (OPEN, _over(containerOverrides={"command": ["x"]}), []),
        (
            OPEN,
            {"containerOverrides": {"command": ["x"]}},
            ["Container overrides should not be set for multinode jobs."],
        ),
        (OPEN, {"arrayProperties": {"size": 2}}, ["Array properties should not be set for multinode jobs."]),
        (
            OPEN,
            {"eksPropertiesOverride": {"a": 1}},
            ["EKS properties override should not be set for multinode jobs."],
        ),
        (
            OPEN,
            {"ecsPropertiesOverride": {"a": 1}},
            ["ECS properties override should not be set for multinode jobs."],
        ),
        (CLOSED, {"nodeOverrides": {"numNodes": 2}}, [NUM_NODES]),
        (OPEN, {"nodeOverrides": {"numNodes": 1000}}, []),
        *(
            (
                OPEN,
                {"nodeOverrides": {"numNodes": wrong}},
                [f"NumNodes override must be between 1 and 1000, got {wrong}."],
            )
            for wrong in (0, 1001)
        ),
        (
            TWO,
            {"nodeOverrides": {"numNodes": 2}},
            [
                "NumNodes override must be greater than range_start of the open target nodes, got 2 with 2:.",
                "NumNodes override must be greater than mainNode, got 2 with mainNode 2.",
            ],
        ),
        (TWO, {"nodeOverrides": {"numNodes": 3}}, []),
        (
            OPEN,
            {"nodeOverrides": {"nodePropertyOverrides": [{"targetNodes": "0:0"}, {"targetNodes": "1:"}]}},
            ["NodeOverride targets should match job definition. Non matching targets - 0:0, 1:"],
        ),
        (
            OPEN,
            _over(ecsPropertiesOverride={"taskProperties": []}),
            ["ecsPropertiesOverride of targets 0: should not be set for container node groups."],
        ),
        (
            OPEN,
            _over(containerOverrides={"command": ["a", ""]}),
            ["command of the container overrides can't contain an empty string."],
        ),
        (
            OPEN,
            _over(containerOverrides={"environment": [{"name": "AWS_BATCH_JOB_ID", "value": "x"}]}),
            ['Environment variables cannot start with "AWS_BATCH", got AWS_BATCH_JOB_ID.'],
        ),
        (OPEN, {"retryStrategy": {"attempts": 10}, "timeout": {"attemptDurationSeconds": 60}}, []),
        (
            OPEN,
            {"retryStrategy": {"attempts": 11}, "timeout": {"attemptDurationSeconds": 59}},
            [
                "retryStrategy.attempts must be between 1 and 10, got 11",
                "timeout.attemptDurationSeconds must be at least 60, got 59",
            ],
        ),
        (
            OPEN,
            {
                "retryStrategy": {
                    "evaluateOnExit": [
                        *[{"onExitCode": "7", "action": "RETRY"}] * 4,
                        {"onExitCode": "1*1", "action": "RETRY"},
                        {"action": "STOP"},
                    ]
                }
            },
            [
                "retryStrategy.attempts must be specified when evaluateOnExit is specified.",
                "evaluateOnExit must have at most 5 entries, got 6",
                "evaluateOnExit[4].onExitCode is not a valid pattern, got '1*1'",
                "evaluateOnExit[5].action must be RETRY or EXIT, got 'STOP'",
                "evaluateOnExit[5] must have at least one of onStatusReason, onReason, onExitCode.",
            ],
        ),
        (OPEN, {"parameters": {"a": "x" * 30_720}}, ["Job size must be less than 30 KiB"]),
        (OPEN, {"parameters": {"a": "x" * 30_000}}, []),
    ],
)
def test_multinode(properties, request_, expected):
    assert problems({"type": "multinode", "nodeProperties": properties}, request_) == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, []),
        ({"containerOverrides": {"command": ["x"]}}, []),
        ({"nodeOverrides": {"numNodes": 2}}, ["Node overrides should not be set for container jobs."]),
        (
            {"arrayProperties": {"size": 2}},
            ["the local cloud does not run array jobs; leave arrayProperties out"],
        ),
        (
            {"containerOverrides": {"command": [""], "environment": [{"name": "AWS_BATCH_X"}]}},
            [
                "command of the container overrides can't contain an empty string.",
                'Environment variables cannot start with "AWS_BATCH", got AWS_BATCH_X.',
            ],
        ),
    ],
)
def test_container(request_, expected):
    assert problems({"type": "container"}, request_) == expected


def _refused(cloud, **request):
    request = {"jobName": "job", "jobQueue": "queue", "jobDefinition": "train", **request}
    with pytest.raises(ClientError) as caught:
        cloud.batch.submit_job(**request)
    assert caught.value.response["Error"]["Code"] == "ClientException"
    return caught.value.response["Error"]["Message"]


def test_by_the_api(cloud):
    queue = cloud.queue()
    cloud.queue("closed", state="DISABLED")
    container = cloud.container("pass")
    cloud.register({"0:1": container})
    cloud.register({"0:1": container}, nodes=3, name="gap")
    cloud.register({"0:": {}}, name="empty")
    gone = cloud.register({"0:": container}, name="gone")
    cloud.batch.deregister_job_definition(jobDefinition=gone)
    assert _refused(cloud, nodeOverrides={"numNodes": 2}) == NUM_NODES
    assert _refused(cloud, nodeOverrides={"numNodes": 1}, containerOverrides={"command": ["x"]}) == (
        f"Container overrides should not be set for multinode jobs. {NUM_NODES}"
    )
    assert _refused(cloud, jobQueue="nowhere") == "Job queue nowhere does not exist"
    assert _refused(cloud, jobQueue="closed") == (
        "Job queue closed is not in ENABLED state, cannot submit jobs to it."
    )
    assert _refused(cloud, jobDefinition="nothing") == "Job definition nothing does not exist"
    assert _refused(cloud, jobDefinition=gone) == f"Job definition {gone} does not exist"
    assert _refused(cloud, jobName="a b") == "Job name should match valid pattern"
    assert _refused(cloud, dependsOn=[{"jobId": "x"}]) == "Job x in dependsOn does not exist"
    assert _refused(cloud, jobDefinition="gap") == (
        "targetNodes must cover every node, node 2 of 3 is in none of 0:1; add a range such as 2:"
    )
    assert _refused(cloud, jobDefinition="empty") == (
        "the local cloud runs node ranges with a container; range 0: has none"
    )
    with pytest.raises(ClientError, match="tags"):
        cloud.submit(tags={f"key{number}": "x" for number in range(51)})
    assert queue.jobs == [], "what was refused is not in the queue"


def test_after_the_end_nothing_is_taken(cloud):
    cloud.queue()
    cloud.register({"0:": cloud.container("pass")})
    cloud.executor.shutdown()
    assert _refused(cloud) == "the local cloud is going down"
