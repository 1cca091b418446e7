"""What RegisterJobDefinition refuses."""

import copy

import pytest

from muster_cli.local.fills.batch_rules import problems, range_problems

GOOD = {
    "jobDefinitionName": "train",
    "type": "multinode",
    "timeout": {"attemptDurationSeconds": 60},
    "retryStrategy": {
        "attempts": 3,
        "evaluateOnExit": [
            {"onStatusReason": "Host EC2*", "action": "RETRY"},
            {"onExitCode": "75", "action": "retry"},
            {"onReason": "*", "action": "EXIT"},
        ],
    },
    "nodeProperties": {
        "numNodes": 2,
        "mainNode": 0,
        "nodeRangeProperties": [
            {
                "targetNodes": "0:",
                "container": {
                    "image": "repo:1",
                    "command": ["python3", "train.py"],
                    "instanceType": "g6.8xlarge",
                    "executionRoleArn": "arn:aws:iam::123456789012:role/r",
                    "environment": [{"name": "MUSTER_CONTRACT", "value": "1"}],
                    "secrets": [{"name": "MUSTER_JOB_SECRET", "valueFrom": "arn"}],
                    "resourceRequirements": [
                        {"type": "VCPU", "value": "32"},
                        {"type": "MEMORY", "value": "120000"},
                        {"type": "GPU", "value": "1"},
                    ],
                    "ulimits": [{"name": "memlock", "softLimit": -1, "hardLimit": -1}],
                    "linuxParameters": {
                        "devices": [
                            {"hostPath": "/dev/infiniband/uverbs0", "permissions": ["READ", "WRITE", "MKNOD"]}
                        ]
                    },
                },
            }
        ],
    },
}
CONTAINER = ("nodeProperties", "nodeRangeProperties", 0, "container")
RANGE = ("nodeProperties", "nodeRangeProperties", 0)
GONE = object()


def changed(*path_and_value):
    *path, key, value = path_and_value
    definition = copy.deepcopy(GOOD)
    place = definition
    for step in path:
        place = place[step]
    if value is GONE:
        del place[key]
    else:
        place[key] = value
    return definition


def test_the_straight_path_is_registered():
    assert problems(GOOD) == []


def test_a_plain_container_is_registered():
    container = GOOD["nodeProperties"]["nodeRangeProperties"][0]["container"]
    assert problems({"jobDefinitionName": "one", "type": "container", "containerProperties": container}) == []


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (
            changed("jobDefinitionName", "-x"),
            "jobDefinitionName must match ^[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}$ and be at most 128 characters, got '-x'",
        ),
        (changed("type", "array"), "type must be one of container, multinode, got 'array'"),
        (changed("nodeProperties", GONE), "nodeProperties must be specified for multinode job definitions."),
        (
            changed("containerProperties", {"image": "x"}),
            "containerProperties must not be specified for multinode job definitions.",
        ),
        (
            changed("platformCapabilities", ["FARGATE"]),
            "Multi-node parallel jobs are not supported on platform FARGATE.",
        ),
        (
            changed("timeout", {"attemptDurationSeconds": 59}),
            "timeout.attemptDurationSeconds must be at least 60, got 59",
        ),
        (changed("retryStrategy", "attempts", 11), "retryStrategy.attempts must be between 1 and 10, got 11"),
        (
            changed("retryStrategy", "attempts", GONE),
            "retryStrategy.attempts must be specified when evaluateOnExit is specified.",
        ),
        (
            changed("retryStrategy", "evaluateOnExit", [{"onReason": "*", "action": "EXIT"}] * 6),
            "evaluateOnExit must have at most 5 entries, got 6",
        ),
        (
            changed("retryStrategy", "evaluateOnExit", [{"onReason": "*", "action": "STOP"}]),
            "evaluateOnExit[0].action must be RETRY or EXIT, got 'STOP'",
        ),
        (
            changed("retryStrategy", "evaluateOnExit", [{"action": "EXIT"}]),
            "evaluateOnExit[0] must have at least one of onStatusReason, onReason, onExitCode.",
        ),
        (
            changed("retryStrategy", "evaluateOnExit", [{"onExitCode": "7a", "action": "EXIT"}]),
            "evaluateOnExit[0].onExitCode is not a valid pattern, got '7a'",
        ),
        (
            changed("retryStrategy", "evaluateOnExit", [{"onReason": "*lost", "action": "EXIT"}]),
            "evaluateOnExit[0].onReason is not a valid pattern, got '*lost'",
        ),
        (changed("nodeProperties", "mainNode", GONE), "nodeProperties.mainNode must be specified."),
        (
            changed("nodeProperties", "numNodes", 1001),
            "nodeProperties.numNodes must be between 1 and 1000, got 1001",
        ),
        (
            changed("nodeProperties", "mainNode", 2),
            "nodeProperties.mainNode must be less than numNodes (2) and at least 0, got 2",
        ),
        (
            changed(*RANGE, "container", GONE),
            "nodeRangeProperties[0] must have exactly one of container, ecsProperties, eksProperties, got 0",
        ),
        (
            changed(*RANGE, "instanceTypes", ["g6.8xlarge", "g6.8xlarge"]),
            "nodeRangeProperties[0].instanceTypes must have exactly one element.",
        ),
        (
            changed(*RANGE, "instanceTypes", ["p5.48xlarge"]),
            "All node groups must use the same instance type, got g6.8xlarge, p5.48xlarge",
        ),
        (
            changed(*CONTAINER, "networkConfiguration", {"assignPublicIp": "ENABLED"}),
            "nodeRangeProperties[0].container.networkConfiguration is not applicable to multi-node parallel jobs.",
        ),
        (changed(*CONTAINER, "image", GONE), "nodeRangeProperties[0].container.image must be specified."),
        (
            changed(*CONTAINER, "image", "x" * 256),
            "nodeRangeProperties[0].container.image must be at most 255 characters",
        ),
        (
            changed(*CONTAINER, "command", ["a", ""]),
            "nodeRangeProperties[0].container.command must not have an empty element.",
        ),
        (
            changed(*CONTAINER, "resourceRequirements", [{"type": "NEURON", "value": "1"}]),
            "nodeRangeProperties[0].container.resourceRequirements type must be one of VCPU, MEMORY, GPU, got 'NEURON'",
        ),
        (
            changed(*CONTAINER, "resourceRequirements", [{"type": "VCPU", "value": "1"}]),
            "nodeRangeProperties[0].container must specify MEMORY at least once.",
        ),
        (
            changed(
                *CONTAINER,
                "resourceRequirements",
                [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "3"}],
            ),
            "nodeRangeProperties[0].container.resourceRequirements MEMORY must be an integer of at least 4, got '3'",
        ),
        (
            changed(*CONTAINER, "environment", [{"name": "AWS_BATCH_X", "value": "1"}]),
            "nodeRangeProperties[0].container.environment name must not begin with AWS_BATCH, got 'AWS_BATCH_X'",
        ),
        (
            changed(*CONTAINER, "executionRoleArn", GONE),
            "nodeRangeProperties[0].container.executionRoleArn must be specified when secrets are specified.",
        ),
        (
            changed(*CONTAINER, "linuxParameters", {"devices": [{"containerPath": "/x"}]}),
            "nodeRangeProperties[0].container.linuxParameters.devices hostPath must be specified.",
        ),
        (
            changed(*CONTAINER, "linuxParameters", {"devices": [{"hostPath": "/x", "permissions": ["RUN"]}]}),
            (
                "nodeRangeProperties[0].container.linuxParameters.devices permissions must be of READ, WRITE, MKNOD, "
                "got 'RUN'"
            ),
        ),
        (
            changed(*CONTAINER, "ulimits", [{"name": "nofile"}]),
            "nodeRangeProperties[0].container.ulimits must have name, softLimit and hardLimit.",
        ),
        (
            {"jobDefinitionName": "one", "type": "container"},
            "containerProperties, ecsProperties or eksProperties must be specified.",
        ),
    ],
)
def test_one_thing_wrong(definition, message):
    assert problems(definition) == [message]


def test_a_container_with_nodes_is_refused():
    found = problems(changed("type", "container"))
    assert found[0] == "nodeProperties must not be specified for container job definitions."


def test_a_definition_above_24_kib_is_refused():
    (found,) = problems(changed(*CONTAINER, "command", ["x" * 25_000]))
    assert found.startswith("Job definition size must be less than 24 KiB, got ")


def test_all_problems_at_once():
    definition = changed("timeout", {"attemptDurationSeconds": 1})
    definition["retryStrategy"]["attempts"] = 0
    assert len(problems(definition)) == 2


@pytest.mark.parametrize(
    ("targets", "nodes"),
    [
        (["0:"], 1),
        ([":"], 4),
        ([":3"], 4),
        (["0:3"], 4),
        (["0:0", "1:"], 4),
        (["0", "1:3"], 4),
        (["0:10", "4:5"], 11),
        (["0:", "4:5", "4"], 8),
    ],
)
def test_ranges_that_cover_every_node(targets, nodes):
    assert range_problems(targets, nodes) == []


@pytest.mark.parametrize(
    ("targets", "nodes", "message"),
    [
        (["a:b"], 2, "targetNodes is not a valid node range, got 'a:b'; use n:m, n:, :m or :"),
        (["None"], 2, "targetNodes is not a valid node range, got 'None'; use n:m, n:, :m or :"),
        (["2:1", "0:"], 4, "targetNodes 2:1 is out of range: the nodes of this job are 0 to 3"),
        (["0:4"], 4, "targetNodes 0:4 is out of range: the nodes of this job are 0 to 3"),
        (["0:", "1:"], 1, "targetNodes 1: is out of range: the nodes of this job are 0 to 0"),
        (["0:", "0:"], 2, "Node ranges must not be repeated, got 0:, 0:"),
        (["0:1", "3:"], 4, "Node ranges must cover all nodes: node 2 of 0 to 3 is in no node range."),
        (["1:"], 2, "Node ranges must cover all nodes: node 0 of 0 to 1 is in no node range."),
        (["0:2", "1:3"], 4, "Node ranges 0:2 and 1:3 overlap; a range may only lie within another."),
    ],
)
def test_ranges_that_are_refused(targets, nodes, message):
    assert range_problems(targets, nodes) == [message]


def test_six_ranges_are_refused():
    one = GOOD["nodeProperties"]["nodeRangeProperties"][0]
    ranges = [{**one, "targetNodes": str(index)} for index in range(6)]
    definition = changed("nodeProperties", "nodeRangeProperties", ranges)
    definition["nodeProperties"]["numNodes"] = 6
    assert problems(definition) == [
        "nodeProperties.nodeRangeProperties must have between 1 and 5 node groups, got 6"
    ]
