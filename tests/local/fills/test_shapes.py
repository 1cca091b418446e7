"""CloudFormation's properties in the API's names."""

import pytest

from muster_cli.local.fills.shapes import PropertyError, to_api

REQUEST = "RegisterJobDefinitionRequest"


def test_structures_are_renamed_and_maps_are_left_alone():
    properties = {
        "JobDefinitionName": "d",
        "Type": "multinode",
        "Parameters": {"Epochs": "3"},
        "PropagateTags": "true",
        "Tags": {"Team": "Vision"},
        "NodeProperties": {
            "NumNodes": "2",
            "MainNode": 0,
            "NodeRangeProperties": [
                {
                    "TargetNodes": "0:",
                    "Container": {
                        "Image": "i",
                        "Privileged": False,
                        "LogConfiguration": {"LogDriver": "awslogs", "Options": {"Awslogs-Group": "G"}},
                    },
                }
            ],
        },
    }
    assert to_api("batch", REQUEST, properties) == {
        "jobDefinitionName": "d",
        "type": "multinode",
        "parameters": {"Epochs": "3"},
        "propagateTags": True,
        "tags": {"Team": "Vision"},
        "nodeProperties": {
            "numNodes": 2,
            "mainNode": 0,
            "nodeRangeProperties": [
                {
                    "targetNodes": "0:",
                    "container": {
                        "image": "i",
                        "privileged": False,
                        "logConfiguration": {"logDriver": "awslogs", "options": {"Awslogs-Group": "G"}},
                    },
                }
            ],
        },
    }


def test_vcpus_have_the_case_of_the_service():
    properties = {
        "ComputeEnvironmentName": "e",
        "Type": "MANAGED",
        "ComputeResources": {"Type": "EC2", "MaxvCpus": 8, "MinvCpus": "0", "Subnets": ["s"]},
    }
    resources = to_api("batch", "CreateComputeEnvironmentRequest", properties)["computeResources"]
    assert resources == {"type": "EC2", "maxvCpus": 8, "minvCpus": 0, "subnets": ["s"]}


def test_a_share_is_a_number_with_a_fraction():
    policy = {
        "Name": "p",
        "FairsharePolicy": {"ShareDistribution": [{"ShareIdentifier": "a", "WeightFactor": "0.5"}]},
    }
    converted = to_api("batch", "CreateSchedulingPolicyRequest", policy)
    assert converted["fairsharePolicy"]["shareDistribution"][0]["weightFactor"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"Nonsense": 1}, "#: extraneous key [Nonsense] is not permitted"),
        ({"RetryStrategy": []}, "#/RetryStrategy: expected type: dict, found: list"),
        (
            {"RetryStrategy": {"Attempts": "many"}},
            "#/RetryStrategy/Attempts: expected type: number, found: 'many'",
        ),
        ({"Type": {"a": 1}}, "#/Type: expected type: string, found: dict"),
        ({"Timeout": {"Seconds": 1}}, "#/Timeout: extraneous key [Seconds] is not permitted"),
    ],
)
def test_what_the_service_does_not_know_is_named(more, message):
    with pytest.raises(PropertyError) as caught:
        to_api("batch", REQUEST, {"JobDefinitionName": "d", "Type": "container", **more})
    assert str(caught.value) == message


def test_what_the_service_requires_is_named():
    with pytest.raises(PropertyError, match=r"#: required key \[type\] not found"):
        to_api("batch", REQUEST, {"JobDefinitionName": "d"})


def test_a_boolean_where_a_text_is_asked_for():
    assert to_api("batch", REQUEST, {"JobDefinitionName": "d", "Type": "x", "Parameters": {"A": True}})[
        "parameters"
    ] == {"A": "true"}
