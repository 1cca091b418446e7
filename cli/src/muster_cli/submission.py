"""A submission: what a person asks for, checked, and as the request that Batch takes."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from muster_cli import room
from muster_cli.errors import MusterError
from muster_cli.stack import DEFAULT_STACK, choose, stack_jobs
from muster_core.contract import TORCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_batch.client import BatchClient
    from mypy_boto3_batch.type_defs import JobDefinitionTypeDef

    from muster_cli.aws import Aws
    from muster_core.rules import Problem

MULTI_NODE = "multinode"
NAME_ROOM = 100
"""Characters of the definition's name that go into a job's default name; Batch takes 128."""


@dataclass(frozen=True)
class Submission:
    """What a person asks for.

    Attributes:
        stack: The stack that is asked for definition and queue. Default: ``Muster``.
        job: Construct path of the job in the stack. Default: - the only one there is.
        definition: Name or ARN of the job definition. Default: - the stack's.
        queue: Name or ARN of the queue. Default: - the stack's.
        nodes: Number of nodes. Default: - the definition's.
        name: The job's name. Default: - the definition's name and the time.
        environment: Variables for every node, over the definition's own. Default: none.
        share: The share that the job counts for: a queue with a fair share takes no job without. Default: none.
    """

    stack: str = DEFAULT_STACK
    job: str | None = None
    definition: str | None = None
    queue: str | None = None
    nodes: int | None = None
    name: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    share: str | None = None


Request = dict[str, Any]
"""The arguments of SubmitJob."""


def prepare(aws: Aws, wanted: Submission) -> Request:
    """Find definition and queue, check what can be checked, and return the request.

    Args:
        aws: The clients.
        wanted: What a person asks for.

    Raises:
        MusterError: Definition or queue are not found, or the request is certainly wrong.
    """
    definition_name, queue = _targets(aws, wanted)
    definition = _describe(aws.batch, definition_name)
    request = build(wanted, definition, definition_name, queue)
    _check(wanted, request)
    no_room = room.problem(aws.batch, queue, definition["nodeProperties"], wanted.nodes)
    if no_room:
        raise MusterError(no_room)
    return request


def submit(batch: BatchClient, request: Request) -> str:
    """Submit a request of :func:`prepare`; return the job's id."""
    return batch.submit_job(**request)["jobId"]


def build(wanted: Submission, definition: JobDefinitionTypeDef, definition_name: str, queue: str) -> Request:
    """Return the arguments of SubmitJob; pure, but for the time in a default name."""
    request: Request = {
        "jobName": wanted.name or _default_name(definition["jobDefinitionName"]),
        "jobQueue": queue,
        "jobDefinition": definition_name,
    }
    if wanted.share is not None:
        request["shareIdentifier"] = wanted.share
    overrides = _node_overrides(wanted, definition)
    return {**request, "nodeOverrides": overrides} if overrides else request


def _node_overrides(wanted: Submission, definition: JobDefinitionTypeDef) -> dict[str, Any]:
    overrides: dict[str, Any] = {}
    if wanted.nodes is not None:
        overrides["numNodes"] = wanted.nodes
    if wanted.environment:
        # Batch wants each override's targets to be written as the definition has them.
        ranges = definition["nodeProperties"]["nodeRangeProperties"]
        overrides["nodePropertyOverrides"] = [
            {"targetNodes": each["targetNodes"], **_environment_override(each, wanted.environment)}
            for each in ranges
        ]
    return overrides


def _environment_override(node_range: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    pairs = [{"name": name, "value": value} for name, value in environment.items()]
    if "ecsProperties" not in node_range:
        return {"containerOverrides": {"environment": pairs}}
    tasks = [
        {
            "containers": [
                {"name": each["name"], "environment": pairs} for each in task["containers"] if "name" in each
            ]
        }
        for task in node_range["ecsProperties"]["taskProperties"]
    ]
    return {"ecsPropertiesOverride": {"taskProperties": tasks}}


def _targets(aws: Aws, wanted: Submission) -> tuple[str, str]:
    """The definition's name and the queue; a stack is asked for those that were not given."""
    if wanted.definition and wanted.queue:
        return wanted.definition, wanted.queue
    if wanted.definition:
        jobs = stack_jobs(aws.cloudformation, wanted.stack)
        queues = sorted({job.queue for job in jobs})
        if len(queues) > 1:
            raise MusterError(f"stack {wanted.stack!r} has several queues; give --queue: {', '.join(queues)}")
        return wanted.definition, queues[0]
    job = choose(stack_jobs(aws.cloudformation, wanted.stack), wanted.stack, wanted.job)
    return job.definition, wanted.queue or job.queue


def _describe(batch: BatchClient, name: str) -> JobDefinitionTypeDef:
    """The active revision that Batch will take: the latest one, unless the name holds one."""
    if name.startswith("arn:") or ":" in name:
        found = batch.describe_job_definitions(jobDefinitions=[name])["jobDefinitions"]
    else:
        pages = batch.get_paginator("describe_job_definitions").paginate(
            jobDefinitionName=name, status="ACTIVE"
        )
        found = [definition for page in pages for definition in page["jobDefinitions"]]
    if not found:
        raise MusterError(f"there is no active job definition {name!r} here; check name, region and profile")
    latest = max(found, key=lambda definition: definition["revision"])
    if latest["type"] != MULTI_NODE:
        raise MusterError(
            f"job definition {name!r} is of type {latest['type']!r}; Muster submits multi-node definitions"
        )
    return latest


def _check(wanted: Submission, request: Request) -> None:
    """Ask the rules; all problems at once."""
    from muster_core.rules import environment, queue, sizes  # noqa: PLC0415  loads the catalogue

    found = [
        *_too_many(wanted.nodes),
        *sizes.name(wanted.name, "--name"),
        *queue.share_identifier(wanted.share, fair_share=wanted.share is not None, argument="--share"),
        *environment.names(wanted.environment, TORCH.name, "--env"),
        *environment.values(wanted.environment, "--env"),
        *sizes.submission(request),
        *_override_sizes(request),
    ]
    if found:
        raise MusterError("; ".join(problem.message for problem in found))


def _too_many(count: int | None) -> list[Problem]:
    from muster_core.rules import Problem, nodes  # noqa: PLC0415  loads the catalogue

    if count is None or count <= nodes.MAX_NODES:
        return []
    text = (
        f"--nodes must be at most {nodes.MAX_NODES}, got {count}; AWS Batch starts no larger multi-node job"
    )
    return [Problem("nodes.count", text)]


def _override_sizes(request: Request) -> list[Problem]:
    from muster_core.rules import sizes  # noqa: PLC0415  loads the catalogue

    overrides = request.get("nodeOverrides", {}).get("nodePropertyOverrides", [])
    return [problem for each in overrides for problem in sizes.overrides(cast("Mapping[str, object]", each))]


def _default_name(definition: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9_-]", "-", definition)[:NAME_ROOM]
    return f"{stem}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
