"""Is everything of a template really there?"""

from typing import Any

import pytest
from cli_fakes import FakePaginator

from muster_cli import deployment
from muster_cli.deployment import judge, missing

pytestmark = pytest.mark.unit

TEMPLATE: dict[str, Any] = {
    "Resources": {
        "Vpc": {"Type": "AWS::EC2::VPC"},
        "Queue": {"Type": "AWS::Batch::JobQueue"},
        "Metadata": {"Type": "AWS::CDK::Metadata", "Condition": "Available"},
    }
}


def _resource(
    name: str, status: str = "CREATE_COMPLETE", kind: str = "AWS::EC2::VPC", physical: str = "p"
) -> Any:
    return {
        "LogicalResourceId": name,
        "ResourceStatus": status,
        "ResourceType": kind,
        "PhysicalResourceId": physical,
    }


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([_resource("Vpc"), _resource("Queue", "UPDATE_COMPLETE"), _resource("Metadata")], []),
        ([_resource("Vpc"), _resource("Queue")], []),
        ([_resource("Vpc")], ["Queue (AWS::Batch::JobQueue) is absent"]),
        (
            [_resource("Vpc", "CREATE_FAILED"), _resource("Queue"), _resource("Metadata", "DELETE_COMPLETE")],
            ["Vpc (AWS::EC2::VPC) is CREATE_FAILED", "Metadata (AWS::CDK::Metadata) is DELETE_COMPLETE"],
        ),
    ],
)
def test_every_resource_must_be_complete_but_conditional_ones_may_be_absent(
    resources: list[Any], expected: list[str]
) -> None:
    assert missing(TEMPLATE, resources) == expected


VALID = {"status": "VALID", "state": "ENABLED"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([VALID] * 2, []),
        ([VALID], ["batch knows 1 of 2 resources of the kind job queue"]),
        ([VALID, VALID | {"status": "INVALID"}], ["a job queue is INVALID, ENABLED, not VALID, ENABLED"]),
    ],
)
def test_what_no_job_could_use_is_named(given: list[dict[str, str]], expected: list[str]) -> None:
    assert judge(deployment.KINDS[2], 2, given) == expected


class _Batch:
    def describe_job_definitions(self, **request: list[str]) -> dict[str, Any]:
        return {"jobDefinitions": [{"status": "INACTIVE"} for _ in request["jobDefinitions"]]}

    def describe_compute_environments(self, **request: list[str]) -> dict[str, Any]:
        return {
            "computeEnvironments": [
                {"status": "VALID", "state": "ENABLED"} for _ in request["computeEnvironments"]
            ]
        }

    def describe_job_queues(self, **request: list[str]) -> dict[str, Any]:
        return {"jobQueues": [{"status": "VALID", "state": "DISABLED"} for _ in request["jobQueues"]]}


class _Aws:
    batch = _Batch()

    def __init__(self, resources: list[Any]) -> None:
        self.resources = resources

    @property
    def cloudformation(self) -> Any:
        return self

    def get_paginator(self, operation: str) -> FakePaginator:
        assert operation == "list_stack_resources"
        return FakePaginator(lambda **_request: {"StackResourceSummaries": self.resources})


def test_batchs_own_states_are_asked_for() -> None:
    resources = [
        _resource("Vpc"),
        _resource("Queue", kind="AWS::Batch::JobQueue"),
        _resource("Environment", kind="AWS::Batch::ComputeEnvironment"),
        _resource("Definition", kind="AWS::Batch::JobDefinition"),
    ]
    assert deployment.problems(_Aws(resources), "Muster", TEMPLATE) == [  # type: ignore[arg-type]
        "a job definition is INACTIVE, not ACTIVE",
        "a job queue is VALID, DISABLED, not VALID, ENABLED",
    ]
    assert deployment.problems(_Aws(resources[:1]), "Muster", TEMPLATE) == [  # type: ignore[arg-type]
        "Queue (AWS::Batch::JobQueue) is absent"
    ]
