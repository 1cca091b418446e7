"""The state of a job's nodes, as DescribeJobs tells of it."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field

SUBMITTED = "SUBMITTED"
PENDING = "PENDING"
RUNNABLE = "RUNNABLE"
STARTING = "STARTING"
RUNNING = "RUNNING"
SUCCEEDED = "SUCCEEDED"
FAILED = "FAILED"
TERMINAL = (SUCCEEDED, FAILED)

EXITED = "Essential container in task exited"
NOT_STARTED = "Task failed to start"
TIMED_OUT = "Job attempt duration exceeded timeout"
SHUTDOWN = "the local cloud was taken down"
STOPPED_BY_MAIN = "stopped: the main node has exited"
"""Ours: what Batch writes on such a child is not published."""
NEVER_STARTED = "not started: the main node has exited"
"""Ours: likewise."""


def now_ms() -> int:
    """Return the time as Batch gives it: milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass
class NodeAttempt:
    """One node in one attempt: an ECS task on AWS."""

    number: int
    task_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    instance_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    address: str = ""
    log_stream: str = ""
    started_at: int | None = None
    stopped_at: int | None = None
    exit_code: int | None = None
    reason: str = ""
    """Of the container: why it could not run."""
    status_reason: str = ""

    @property
    def ended(self) -> bool:
        """Whether the attempt is over."""
        return self.stopped_at is not None

    def end(self, exit_code: int | None, status_reason: str, reason: str = "") -> None:
        """Write down the end."""
        self.exit_code, self.status_reason, self.reason = exit_code, status_reason, reason
        self.stopped_at = now_ms()


@dataclass
class NodeState:
    """One node of a job over all attempts."""

    index: int
    is_main: bool
    status: str = SUBMITTED
    attempts: list[NodeAttempt] = field(default_factory=list)

    @property
    def current(self) -> NodeAttempt | None:
        """The latest attempt; None before the first."""
        return self.attempts[-1] if self.attempts else None

    def begin(self, number: int) -> NodeAttempt:
        """Start an attempt."""
        attempt = NodeAttempt(number)
        self.attempts.append(attempt)
        self.status = STARTING
        return attempt

    def end(self, exit_code: int | None, status_reason: str, reason: str = "") -> None:
        """End the running attempt; the status follows the exit code."""
        if self.current and not self.current.ended:
            self.current.end(exit_code, status_reason, reason)
            self.status = SUCCEEDED if exit_code == 0 else FAILED
