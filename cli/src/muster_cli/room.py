"""Is there room for a job? Batch takes one that is too large for its queue, and it waits for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muster_cli.aws import DENIED
from muster_core.contract import OPEN_NODE_RANGE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mypy_boto3_batch.client import BatchClient

VCPU = "VCPU"


def problem(batch: BatchClient, queue: str, properties: Mapping[str, Any], nodes: int | None) -> str | None:
    """Say why a queue can never hold a job.

    Args:
        batch: The client.
        queue: Name or ARN.
        properties: The definition's ``nodeProperties``.
        nodes: As given. Default: - None, the definition's.

    Returns:
        A sentence; None where there is room, or where Batch does not say.
    """
    count = nodes if nodes is not None else int(properties.get("numNodes") or 0)
    needed, limit = vcpus(properties, count), _limit(batch, queue)
    if not needed or limit is None or needed <= limit:
        return None
    largest = next((fewer for fewer in range(count - 1, 0, -1) if vcpus(properties, fewer) <= limit), 0)
    name = queue.rpartition("/")[2]
    return (
        f"{'--nodes' if nodes is not None else 'the definition'} asks for too many nodes for queue {name!r},"
        f" got {count}; {count} nodes need {needed} vCPUs, and maxvCpus of its compute environment is {limit};"
        f" {_advice(largest)}"
    )


def _advice(largest: int) -> str:
    raised = "raise maxvCpus (max_nodes of the cluster)"
    return f"give at most --nodes {largest}, or {raised}" if largest else raised


def vcpus(properties: Mapping[str, Any], nodes: int) -> int:
    """Return the vCPUs of a job of so many nodes; 0 where the definition does not say; pure."""
    ranges = [(_bounds(each["targetNodes"], nodes), each) for each in properties["nodeRangeProperties"]]
    total = 0
    for index in range(nodes):
        fitting = [(bounds[-1] - bounds[0], each) for bounds, each in ranges if index in bounds]
        # the narrowest range stands for a node that two ranges name
        total += _node_vcpus(min(fitting, key=lambda pair: pair[0])[1]) if fitting else 0
    return total


def _bounds(target: str, nodes: int) -> range:
    first, separator, last = target.partition(OPEN_NODE_RANGE[-1])
    start = int(first or 0)
    if not separator:
        return range(start, start + 1)
    return range(start, int(last) + 1 if last else max(nodes, start + 1))


def _node_vcpus(node_range: Mapping[str, Any]) -> int:
    tasks = (node_range.get("ecsProperties") or {}).get("taskProperties") or ()
    own = [node_range["container"]] if node_range.get("container") else []
    return sum(
        _container_vcpus(each)
        for each in [*own, *(c for task in tasks for c in task.get("containers") or ())]
    )


def _container_vcpus(container: Mapping[str, Any]) -> int:
    asked = [r["value"] for r in container.get("resourceRequirements") or () if r["type"] == VCPU]
    return int(asked[0]) if asked else int(container.get("vcpus") or 0)


def _limit(batch: BatchClient, queue: str) -> int | None:
    """The most vCPUs of one of a queue's environments: a multi-node job lies in a single one."""
    from botocore.exceptions import ClientError  # noqa: PLC0415  loaded with the client

    try:
        return _largest(_environments(batch, queue))
    except ClientError as error:
        if error.response["Error"]["Code"] not in DENIED:
            raise
        return None  # a caller may submit and not look


def _environments(batch: BatchClient, queue: str) -> Sequence[Mapping[str, Any]]:
    queues = batch.describe_job_queues(jobQueues=[queue])["jobQueues"]
    names = [
        each["computeEnvironment"] for found in queues for each in found.get("computeEnvironmentOrder") or ()
    ]
    if not names:
        return []
    return batch.describe_compute_environments(computeEnvironments=names)["computeEnvironments"]


def _largest(environments: Sequence[Mapping[str, Any]]) -> int | None:
    limits = [(each.get("computeResources") or {}).get("maxvCpus") for each in environments]
    known = [int(limit) for limit in limits if limit is not None]
    return max(known) if known and len(known) == len(limits) else None
