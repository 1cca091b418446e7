"""What DescribeJobs says of a job, a node or an attempt, as plain data; pure.

Both of Batch's container schemas are read: ``container``, and ``ecsProperties`` with
``attempts[].taskProperties``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster_cli.reasons import SEPARATOR
from muster_core.contract import BATCH_ID_SEPARATOR, EXIT_UNAVAILABLE

SUCCEEDED = "SUCCEEDED"
FAILED = "FAILED"
TERMINAL = frozenset({SUCCEEDED, FAILED})
"""The states that a job never leaves."""

DEFAULT_LOG_GROUP = "/aws/batch/job"
"""Where Batch logs when a definition names no group."""

Detail = Mapping[str, Any]
"""A ``JobDetail`` as boto3 returns it."""


@dataclass(frozen=True)
class Attempt:
    """One attempt of a job or a node."""

    exit_code: int | None
    reason: str
    streams: tuple[str, ...]
    """Log streams, one a container."""


@dataclass(frozen=True)
class Node:
    """One node of a job; a job that is not multi-node has one, of its own id."""

    index: int
    job_id: str
    main: bool
    status: str | None
    """None where Batch does not know the node yet."""
    reason: str
    exit_code: int | None
    address: str
    """Private IPv4 address, empty where unknown."""
    started_ms: int | None
    stopped_ms: int | None
    log_group: str
    streams: tuple[str, ...]
    """Log streams of all attempts, the oldest first."""

    @property
    def terminal(self) -> bool:
        """Whether the node will do nothing more."""
        return self.status in TERMINAL


@dataclass(frozen=True)
class Job:
    """One job."""

    job_id: str
    name: str
    status: str
    reason: str
    queue: str
    definition: str
    node_count: int
    main_node: int
    attempts: tuple[Attempt, ...]
    exit_code: int | None
    """What Batch says of the main node; None where it says nothing."""
    created_ms: int | None
    started_ms: int | None
    stopped_ms: int | None
    multi_node: bool
    terminated: bool
    """Whether somebody asked Batch to end it."""

    @property
    def terminal(self) -> bool:
        """Whether the job has ended."""
        return self.status in TERMINAL

    def node_id(self, index: int) -> str:
        """Return the id by which Batch describes a node."""
        return f"{self.job_id}{BATCH_ID_SEPARATOR}{index}" if self.multi_node else self.job_id


def plain_id(job_id: str) -> str:
    """Return the job's id without a node's suffix."""
    return job_id.split(BATCH_ID_SEPARATOR, maxsplit=1)[0]


def job_of(detail: Detail) -> Job:
    """Read a job."""
    properties = detail.get("nodeProperties")
    attempts = tuple(_attempt(entry) for entry in detail.get("attempts") or ())
    return Job(
        job_id=detail["jobId"],
        name=detail.get("jobName", ""),
        status=detail["status"],
        reason=_reason(detail),
        queue=detail.get("jobQueue", ""),
        definition=detail.get("jobDefinition", ""),
        node_count=int(properties["numNodes"]) if properties else 1,
        main_node=int(properties.get("mainNode", 0)) if properties else 0,
        attempts=attempts,
        exit_code=_exit_code(detail, attempts),
        created_ms=detail.get("createdAt"),
        started_ms=detail.get("startedAt"),
        stopped_ms=detail.get("stoppedAt"),
        multi_node=properties is not None,
        terminated=bool(detail.get("isTerminated") or detail.get("isCancelled")),
    )


def node_of(job: Job, index: int, detail: Detail | None) -> Node:
    """Read a node of a job.

    Args:
        job: The job.
        index: The node's index.
        detail: What Batch says of the node; None where it says nothing yet.
    """
    known: Detail = detail or {}
    attempts = tuple(_attempt(entry) for entry in known.get("attempts") or ())
    return Node(
        index=index,
        job_id=job.node_id(index),
        main=index == job.main_node,
        status=known.get("status"),
        reason=_reason(known),
        exit_code=_exit_code(known, attempts),
        address=_address(known),
        started_ms=known.get("startedAt"),
        stopped_ms=known.get("stoppedAt"),
        log_group=_log_group(known),
        streams=_unique([*(name for attempt in attempts for name in attempt.streams), *_streams(known)]),
    )


def exit_code(job: Job, main: Node | None) -> int:
    """Return the exit code that stands for a job that has ended: its status speaks first.

    Args:
        job: A job in a terminal state.
        main: Its main node, asked where the job itself names no exit code.

    Returns:
        0 for a job that succeeded; the main node's exit code for one that failed; 69 where it
        failed and there is none, or where Batch failed it although its code is 0.
    """
    if job.status == SUCCEEDED:
        return 0
    found = job.exit_code if job.exit_code is not None else main and main.exit_code
    return found or EXIT_UNAVAILABLE


def _reason(detail: Detail) -> str:
    """The status reason, and the container's own where it adds something (OOM, image pull).

    Of what has ended, the last attempt says it where the description itself does not.
    """
    attempts = detail.get("attempts") if detail.get("status") in TERMINAL else None
    last: Mapping[str, Any] = attempts[-1] if attempts else {}
    containers = [*_containers(detail), *_attempt_containers(last)]
    return _joined(detail.get("statusReason") or last.get("statusReason"), containers)


def _joined(status: str | None, containers: Iterable[Mapping[str, Any]]) -> str:
    own = [status or "", *(container.get("reason") or "" for container in containers)]
    return SEPARATOR.join(_unique(text for text in own if text))


def _attempt(entry: Mapping[str, Any]) -> Attempt:
    containers = _attempt_containers(entry)
    return Attempt(
        exit_code=_first_code(containers),
        reason=_joined(entry.get("statusReason"), containers),
        streams=_stream_names(containers),
    )


def _attempt_containers(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tasks = entry.get("taskProperties") or ()
    own = [entry["container"]] if entry.get("container") else []
    return own + [container for task in tasks for container in task.get("containers") or ()]


def _containers(detail: Detail) -> list[Mapping[str, Any]]:
    tasks = (detail.get("ecsProperties") or {}).get("taskProperties") or ()
    own = [detail["container"]] if detail.get("container") else []
    return own + [container for task in tasks for container in task.get("containers") or ()]


def _streams(detail: Detail) -> tuple[str, ...]:
    return _stream_names(_containers(detail))


def _stream_names(containers: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(name for container in containers if (name := container.get("logStreamName")))


def _exit_code(detail: Detail, attempts: Sequence[Attempt]) -> int | None:
    """The last attempt's code, else that of the description itself; None before the end."""
    if detail.get("status") not in TERMINAL:
        return None
    last = attempts[-1].exit_code if attempts else None
    return last if last is not None else _first_code(_containers(detail))


def _first_code(containers: Sequence[Mapping[str, Any]]) -> int | None:
    """The first code that is not 0 among the containers, as a sidecar may well end with 0."""
    codes = [int(code) for container in containers if (code := container.get("exitCode")) is not None]
    return next((code for code in codes if code), codes[0] if codes else None)


def _address(detail: Detail) -> str:
    attempts = detail.get("attempts") or ()
    last = _attempt_containers(attempts[-1]) if attempts else []
    for container in [*last, *_containers(detail)]:
        for interface in container.get("networkInterfaces") or ():
            if interface.get("privateIpv4Address"):
                return str(interface["privateIpv4Address"])
    return ""


def _log_group(detail: Detail) -> str:
    for container in _containers(detail):
        options = (container.get("logConfiguration") or {}).get("options") or {}
        if "awslogs-group" in options:
            return str(options["awslogs-group"])
    return DEFAULT_LOG_GROUP


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
