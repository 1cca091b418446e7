"""Node ranges and overrides, without a job."""

import pytest

from muster_cli.local.executor import ranges
from muster_cli.local.executor.ranges import NodeRange


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("0:", NodeRange(0, None)),
        (":", NodeRange(0, None)),
        (":3", NodeRange(0, 3)),
        ("2:3", NodeRange(2, 3)),
        ("4:", NodeRange(4, None)),
        ("5", NodeRange(5, 5)),
    ],
)
def test_targets(target, expected):
    assert ranges.parse(target) == expected


@pytest.mark.parametrize("target", ["", "a:b", "1-3", "0:1:2", "-1:"])
def test_other_targets_are_refused(target):
    with pytest.raises(ValueError, match="targetNodes must be like 0:, 0:3 or :3, got"):
        ranges.parse(target)


@pytest.mark.parametrize(
    ("targets", "node", "expected"),
    [
        (["0:"], 3, 0),
        (["0:0", "1:"], 0, 0),
        (["0:0", "1:"], 3, 1),
        (["0:10", "4:5"], 4, 1),
        (["4:5", "0:10"], 4, 0),
        (["0:10", "4:5"], 6, 0),
        (["0:", "2:"], 3, 1),
    ],
)
def test_the_narrowest_range_wins(targets, node, expected):
    assert ranges.range_of_node(targets, node, 11) == expected


def test_a_node_without_a_range():
    expected = "targetNodes must cover every node, node 2 of 3 is in none of 0:1; add a range such as 2:"
    with pytest.raises(ValueError, match=expected):
        ranges.range_of_node(["0:1"], 2, 3)


CONTAINER = {
    "image": "image",
    "command": ["a"],
    "environment": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "resourceRequirements": [{"type": "VCPU", "value": "4"}, {"type": "MEMORY", "value": "100"}],
}


def _properties(*targets, nodes=2):
    return {
        "numNodes": nodes,
        "mainNode": 0,
        "nodeRangeProperties": [{"targetNodes": target, "container": CONTAINER} for target in targets],
    }


def test_overrides_touch_their_range_alone():
    overrides = {
        "numNodes": 4,
        "nodePropertyOverrides": [
            {
                "targetNodes": "1:",
                "containerOverrides": {
                    "command": ["b"],
                    "environment": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}],
                    "resourceRequirements": [{"type": "VCPU", "value": "8"}],
                    "instanceType": "g5.8xlarge",
                },
                "instanceTypes": ["g5.8xlarge"],
            }
        ],
    }
    before = _properties("0:0", "1:")
    after = ranges.effective(before, overrides)
    assert after["numNodes"] == 4
    assert ranges.container_of(after, 0) == CONTAINER
    assert ranges.container_of(after, 3) == {
        "image": "image",
        "command": ["b"],
        "instanceType": "g5.8xlarge",
        "environment": [
            {"name": "A", "value": "1"},
            {"name": "B", "value": "3"},
            {"name": "C", "value": "4"},
        ],
        "resourceRequirements": [{"type": "VCPU", "value": "8"}, {"type": "MEMORY", "value": "100"}],
    }
    assert after["nodeRangeProperties"][1]["instanceTypes"] == ["g5.8xlarge"]
    assert before == _properties("0:0", "1:"), "the definition is left as it is"


def test_no_overrides_change_nothing():
    assert ranges.effective(_properties("0:"), None) == _properties("0:")


def test_deprecated_overrides_do_not_touch_resource_requirements():
    assert ranges.override_container(CONTAINER, {"vcpus": 2, "memory": 5}) == CONTAINER
    assert ranges.override_container({}, {"vcpus": 2, "memory": 5}) == {"vcpus": 2, "memory": 5}


def test_instance_types_of_all_ranges():
    properties = {
        "nodeRangeProperties": [
            {"container": {"instanceType": "p5.48xlarge"}},
            {"container": {}, "instanceTypes": ["p5.48xlarge", "g5.8xlarge"]},
            {"container": None},
        ]
    }
    assert ranges.instance_types(properties) == ["p5.48xlarge", "g5.8xlarge"]
