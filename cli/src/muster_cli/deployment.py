"""Is everything of a template really there? A deployment's green tick alone does not say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mypy_boto3_cloudformation.type_defs import StackResourceSummaryTypeDef

    from muster_cli.aws import Aws

COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")


class Kind(NamedTuple):
    """A kind of Batch's own resources, and the state that a job needs it in."""

    name: str
    resource: str
    describe: str
    """The client's method; its argument and its answer's list are both called ``key``."""
    key: str
    wanted: dict[str, str]


USABLE = {"status": "VALID", "state": "ENABLED"}
KINDS = (
    Kind(
        "job definition",
        "AWS::Batch::JobDefinition",
        "describe_job_definitions",
        "jobDefinitions",
        {"status": "ACTIVE"},
    ),
    Kind(
        "compute environment",
        "AWS::Batch::ComputeEnvironment",
        "describe_compute_environments",
        "computeEnvironments",
        USABLE,
    ),
    Kind("job queue", "AWS::Batch::JobQueue", "describe_job_queues", "jobQueues", USABLE),
)


def problems(aws: Aws, stack: str, template: Mapping[str, Any]) -> list[str]:
    """Return what a deployed stack lacks of its template.

    Args:
        aws: The clients.
        stack: Name of the stack.
        template: The template that was deployed.

    Returns:
        A sentence each: resources that are missing or not complete, and job definitions,
        environments and queues that no job could use. None where all is well.
    """
    pages = aws.cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    resources = [resource for page in pages for resource in page["StackResourceSummaries"]]
    return [*missing(template, resources), *_unusable(aws, resources)]


def missing(template: Mapping[str, Any], resources: Iterable[StackResourceSummaryTypeDef]) -> list[str]:
    """Compare a template with the resources of its stack; pure.

    A resource with a condition may be absent.
    """
    states = {resource["LogicalResourceId"]: resource["ResourceStatus"] for resource in resources}
    found = []
    for name, resource in template["Resources"].items():
        state = states.get(name, "absent")
        if state in COMPLETE or (state == "absent" and "Condition" in resource):
            continue
        found.append(f"{name} ({resource['Type']}) is {state}")
    return found


def _unusable(aws: Aws, resources: Sequence[StackResourceSummaryTypeDef]) -> list[str]:
    found = []
    for kind in KINDS:
        ids = [
            each.get("PhysicalResourceId", "") for each in resources if each["ResourceType"] == kind.resource
        ]
        if ids:
            answer = getattr(aws.batch, kind.describe)(**{kind.key: ids})[kind.key]
            found += judge(kind, len(ids), answer)
    return found


def judge(kind: Kind, expected: int, given: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which of Batch's resources no job could use; pure.

    Args:
        kind: What they are.
        expected: How many the stack has.
        given: What Batch says of them.
    """
    if len(given) < expected:
        return [f"batch knows {len(given)} of {expected} resources of the kind {kind.name}"]
    wanted = _words(kind, kind.wanted)
    return [
        f"a {kind.name} is {state}, not {wanted}" for each in given if (state := _words(kind, each)) != wanted
    ]


def _words(kind: Kind, values: Mapping[str, Any]) -> str:
    return ", ".join(str(values.get(name)) for name in kind.wanted)
