"""A job and its nodes in the shapes of DescribeJobs and ListJobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muster_cli.local.executor import nodes as states
from muster_core import contract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muster_cli.local.executor.job import BatchJob
    from muster_cli.local.executor.nodes import NodeAttempt, NodeState


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what has no value: Batch has no nulls in its answers."""
    return {name: value for name, value in values.items() if value is not None and value != ""}


def _arns(job: BatchJob, attempt: NodeAttempt) -> dict[str, str]:
    start = f"arn:aws:ecs:{job.plan.region}:{job.plan.account}"
    return {
        "containerInstanceArn": f"{start}:container-instance/muster-local/{attempt.instance_id}",
        "taskArn": f"{start}:task/muster-local/{attempt.task_id}",
    }


def _ran(job: BatchJob, attempt: NodeAttempt) -> dict[str, Any]:
    """What an attempt adds to a container."""
    addresses = [{"privateIpv4Address": attempt.address}] if attempt.address else []
    return _present(
        {
            **_arns(job, attempt),
            "exitCode": attempt.exit_code,
            "reason": attempt.reason,
            "logStreamName": attempt.log_stream,
            "networkInterfaces": addresses,
        }
    )


def attempt_detail(job: BatchJob, attempt: NodeAttempt) -> dict[str, Any]:
    """Return an ``AttemptDetail``."""
    return _present(
        {
            "container": _ran(job, attempt),
            "startedAt": attempt.started_at,
            "stoppedAt": attempt.stopped_at,
            "statusReason": attempt.status_reason,
        }
    )


def _attempts(job: BatchJob, node: NodeState) -> list[dict[str, Any]]:
    """The attempts that have ended."""
    return [attempt_detail(job, attempt) for attempt in node.attempts if attempt.ended]


def _head(job: BatchJob, suffix: str = "") -> dict[str, Any]:
    return {
        "jobArn": job.arn + suffix,
        "jobId": job.job_id + suffix,
        "jobName": job.job_name,
        "createdAt": job.created_at,
        "jobDefinition": job.job_definition.arn,
    }


def _times(job: BatchJob) -> dict[str, Any]:
    return {
        "status": job.status,
        "statusReason": job.status_reason,
        "startedAt": job.started_at,
        "stoppedAt": job.stopped_at,
    }


def job_detail(job: BatchJob) -> dict[str, Any]:
    """Return the ``JobDetail`` of a job; of a multi-node one without a container, as its nodes have those."""
    detail = {
        **_head(job),
        **_times(job),
        "jobQueue": job.job_queue.arn,
        "attempts": _attempts(job, job.nodes[job.plan.main_node]),
        "dependsOn": job.depends_on or [],
        "parameters": dict(job.plan.parameters),
        "tags": job.backend.list_tags_for_resource(job.arn),
        "retryStrategy": {"attempts": 1, "evaluateOnExit": [], **job.plan.retry},
        "propagateTags": job.propagate_tags,
        "platformCapabilities": job.job_definition.platform_capabilities or ["EC2"],
        "timeout": {"attemptDurationSeconds": job.plan.timeout} if job.plan.timeout else None,
        "isCancelled": job.is_cancelled,
        "isTerminated": job.is_terminated,
    }
    if job.plan.multinode:
        detail["nodeProperties"] = job.plan.properties
    else:
        detail["container"] = _container(job, job.nodes[0])
    return _present(detail)


def _container(job: BatchJob, node: NodeState) -> dict[str, Any]:
    container = job.plan.container(node.index)
    return {**container, **(_ran(job, node.current) if node.current else {})}


def _suffix(node: NodeState) -> str:
    return f"{contract.BATCH_ID_SEPARATOR}{node.index}"


def _node_times(node: NodeState) -> dict[str, Any]:
    current = node.current
    return {
        "status": node.status,
        "statusReason": current.status_reason if current else "",
        "startedAt": current.started_at if current else None,
        "stoppedAt": current.stopped_at if current else None,
    }


def node_detail(job: BatchJob, node: NodeState) -> dict[str, Any]:
    """Return the ``JobDetail`` of a node, whose id is ``<job id>#<index>``. Job tags do not reach nodes."""
    return _present(
        {
            **_head(job, _suffix(node)),
            **_node_times(node),
            "jobQueue": job.job_queue.arn,
            "attempts": _attempts(job, node),
            "dependsOn": [],
            "parameters": dict(job.plan.parameters),
            "container": _container(job, node),
            "nodeDetails": {"nodeIndex": node.index, "isMainNode": node.is_main},
            "timeout": {"attemptDurationSeconds": job.plan.timeout} if job.plan.timeout else None,
            "platformCapabilities": job.job_definition.platform_capabilities or ["EC2"],
            "tags": {},
        }
    )


def _container_summary(node: NodeState) -> dict[str, Any] | None:
    current = node.current
    if current is None or not current.ended:
        return None
    return _present({"exitCode": current.exit_code, "reason": current.reason}) or None


def job_summary(job: BatchJob) -> dict[str, Any]:
    """Return the ``JobSummary`` of a job."""
    summary = {**_head(job), **_times(job)}
    if job.plan.multinode:
        summary["nodeProperties"] = {"numNodes": job.plan.num_nodes}
    elif job.status in states.TERMINAL:
        summary["container"] = _container_summary(job.nodes[0])
    return _present(summary)


def node_summary(job: BatchJob, node: NodeState) -> dict[str, Any]:
    """Return the ``JobSummary`` of a node."""
    return _present(
        {
            **_head(job, _suffix(node)),
            **_node_times(node),
            "container": _container_summary(node),
            "nodeProperties": {
                "isMainNode": node.is_main,
                "numNodes": job.plan.num_nodes,
                "nodeIndex": node.index,
            },
        }
    )
