"""Is everything of a template really there? A deployment's green tick alone does not say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mypy_boto3_cloudformation.type_defs import StackResourceSummaryTypeDef

    from muster_cli.aws import Aws

COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")

JOB_DEFINITION = "AWS::Batch::JobDefinition"
JOB_QUEUE = "AWS::Batch::JobQueue"
COMPUTE_ENVIRONMENT = "AWS::Batch::ComputeEnvironment"


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
    ids: dict[str, list[str]] = {}
    for resource in resources:
        ids.setdefault(resource["ResourceType"], []).append(resource.get("PhysicalResourceId", ""))
    definitions, environments, queues = (
        ids.get(kind, []) for kind in (JOB_DEFINITION, COMPUTE_ENVIRONMENT, JOB_QUEUE)
    )
    states: list[tuple[str, list[str], str, list[tuple[str, ...]]]] = []
    if definitions:
        answer = aws.batch.describe_job_definitions(jobDefinitions=definitions)["jobDefinitions"]
        states.append(
            ("job definition", definitions, "ACTIVE", [(each.get("status", ""),) for each in answer])
        )
    if environments:
        found = aws.batch.describe_compute_environments(computeEnvironments=environments)[
            "computeEnvironments"
        ]
        states.append(
            (
                "compute environment",
                environments,
                "VALID, ENABLED",
                [(e["status"], e["state"]) for e in found],
            )
        )
    if queues:
        listed = aws.batch.describe_job_queues(jobQueues=queues)["jobQueues"]
        states.append(("job queue", queues, "VALID, ENABLED", [(e["status"], e["state"]) for e in listed]))
    return [text for kind, names, wanted, given in states for text in judge(kind, names, wanted, given)]


def judge(kind: str, names: Sequence[str], wanted: str, given: Sequence[tuple[str, ...]]) -> list[str]:
    """Say which of Batch's resources no job could use; pure.

    Args:
        kind: What they are, for the sentence.
        names: Those that the stack has.
        wanted: The state that each must be in.
        given: The states that Batch answers.
    """
    if len(given) < len(names):
        return [f"batch knows {len(given)} of {len(names)} {kind}s of the stack"]
    states = [", ".join(state) for state in given]
    return [f"a {kind} is {state}, not {wanted}" for state in states if state != wanted]
