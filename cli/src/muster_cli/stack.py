"""Jobs of a deployed stack, found by the descriptions of its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muster_cli.errors import MusterError
from muster_core.contract import EXIT_CONFIG, OUTPUT_JOB_DEFINITION, OUTPUT_JOB_QUEUE, OUTPUT_LOG_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_boto3_cloudformation.client import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import OutputTypeDef

DEFAULT_STACK = "Muster"
"""The stack of the reference app."""


@dataclass(frozen=True)
class StackJob:
    """A job that a stack offers."""

    path: str
    """Construct path of the job within the stack, such as ``Train``."""
    definition: str
    """Name of the job definition."""
    queue: str
    """ARN of the queue."""
    log_group: str
    """Name of the log group, empty where the stack names none."""


def stack_jobs(cloudformation: CloudFormationClient, stack: str) -> list[StackJob]:
    """Return the jobs that a stack offers, in the order of their paths.

    Args:
        cloudformation: The client.
        stack: Name of the stack.

    Raises:
        MusterError: There is no such stack, or it offers no job.
    """
    jobs = read_outputs(_outputs(cloudformation, stack))
    if not jobs:
        raise MusterError(
            f"stack {stack!r} offers no job: none of its outputs is described as {OUTPUT_JOB_DEFINITION!r};"
            " name another stack with --stack, or give --definition and --queue",
            EXIT_CONFIG,
        )
    return jobs


def read_outputs(outputs: Iterable[OutputTypeDef]) -> list[StackJob]:
    """Read a stack's outputs; pure."""
    found: dict[str, dict[str, str]] = {}
    for output in outputs:
        kind, _, path = output.get("Description", "").partition(" ")
        if kind in (OUTPUT_JOB_DEFINITION, OUTPUT_JOB_QUEUE, OUTPUT_LOG_GROUP) and "OutputValue" in output:
            found.setdefault(path, {})[kind] = output["OutputValue"]
    return [
        StackJob(
            path, values[OUTPUT_JOB_DEFINITION], values[OUTPUT_JOB_QUEUE], values.get(OUTPUT_LOG_GROUP, "")
        )
        for path, values in sorted(found.items())
        if OUTPUT_JOB_DEFINITION in values and OUTPUT_JOB_QUEUE in values
    ]


def choose(jobs: list[StackJob], stack: str, wanted: str | None) -> StackJob:
    """Choose a job of a stack.

    Args:
        jobs: At least one.
        stack: Name of the stack, for the sentence.
        wanted: Construct path of the job, or the end of it. Default: - the only one there is.

    Raises:
        MusterError: None fits, or more than one.
    """
    fitting = jobs if wanted is None else [job for job in jobs if f"/{job.path}".endswith(f"/{wanted}")]
    exact = [job for job in fitting if job.path == wanted]
    if len(exact or fitting) == 1:
        return (exact or fitting)[0]
    paths = ", ".join(job.path for job in jobs)
    if not fitting:
        raise MusterError(f"stack {stack!r} has no job {wanted!r}; it has: {paths}", EXIT_CONFIG)
    problem = "has several jobs" if wanted is None else f"has several jobs that {wanted!r} fits"
    raise MusterError(f"stack {stack!r} {problem}; choose one with --job: {paths}", EXIT_CONFIG)


def _outputs(cloudformation: CloudFormationClient, stack: str) -> list[OutputTypeDef]:
    from botocore.exceptions import ClientError  # noqa: PLC0415  loaded with the client

    try:
        described = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        raise MusterError(
            f"there is no stack {stack!r} in this region and account; deploy it, name another with --stack,"
            " or give --definition and --queue",
            EXIT_CONFIG,
        ) from error
    return described[0].get("Outputs", []) if described else []
