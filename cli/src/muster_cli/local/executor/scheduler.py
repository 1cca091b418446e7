"""When a job may leave RUNNABLE: first come, first served in each queue, as far as vCPUs go."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from muster_cli.local.executor import capacity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from muster_cli.local.executor.capacity import Demand, Environment

LOOK_SECONDS = 0.2
"""How often a waiting job looks again at queue and environments, which anybody may change meanwhile."""
TIME_LIMIT_TEXT = "Canceled by JobStateTimeLimit action due to reason: {code}"


class Stopped(Exception):  # noqa: N818  not an error: somebody asked for it
    """The job is not to run; the text is its ``statusReason``."""


class TimeLimited(Stopped):
    """The queue's time limit on RUNNABLE cancels the job."""


class Waiting(Protocol):
    """A job that wants to run."""

    queue: str
    demand: Demand

    def environments(self) -> Sequence[Environment]:
        """Return the compute environments of the queue as they are now."""

    def time_limits(self) -> Sequence[dict[str, Any]]:
        """Return ``jobStateTimeLimitActions`` of the queue as they are now."""

    def stop_reason(self) -> str:
        """Return why the job is to stop, empty while it is not."""

    def waits_for(self, reason: str) -> None:
        """Take note of why the job waits; empty: for its turn."""


class Scheduler:
    """Gives out the vCPUs of compute environments.

    Args:
        time_scale: Factor on the queue's time limits.
    """

    def __init__(self, time_scale: float = 1.0) -> None:
        self._scale = time_scale
        self._changed = threading.Condition()
        self._waiting: list[Waiting] = []
        self._used: Counter[str] = Counter()

    def claim(self, job: Waiting) -> Environment:
        """Wait for a job's turn and take its vCPUs.

        Args:
            job: The job; it is in RUNNABLE.

        Returns:
            The environment that it runs in; give it back by :meth:`release`.

        Raises:
            Stopped: The job is not to run any more.
        """
        with self._changed:
            self._waiting.append(job)
            try:
                return next(environment for environment in self._looks(job) if environment)
            finally:
                self._waiting.remove(job)
                self._changed.notify_all()

    def _looks(self, job: Waiting) -> Iterator[Environment | None]:
        """Look again and again: at the job's environment, None while there is none."""
        blocked_since: tuple[str, float] = ("", 0.0)
        while True:
            if reason := job.stop_reason():
                raise Stopped(reason)
            if self._is_first(job):
                environments = job.environments()
                yield self._take(job, environments)
                code = capacity.blocked(job.demand, environments)
                if code != blocked_since[0]:
                    blocked_since = (code, time.monotonic())
                    job.waits_for(capacity.status_reason(code) if code else "")
                self._check_limit(job, *blocked_since)
            self._changed.wait(LOOK_SECONDS)

    def _is_first(self, job: Waiting) -> bool:
        return next(other for other in self._waiting if other.queue == job.queue) is job

    def _take(self, job: Waiting, environments: Sequence[Environment]) -> Environment | None:
        environment = capacity.place(job.demand, environments, self._used)
        if environment:
            self._used[environment.name] += job.demand.vcpus_in(environment)
        return environment

    def _check_limit(self, job: Waiting, code: str, since: float) -> None:
        limit = capacity.time_limit(job.time_limits(), code) if code else None
        if limit is not None and time.monotonic() - since >= limit * self._scale:
            raise TimeLimited(TIME_LIMIT_TEXT.format(code=code))

    def release(self, job: Waiting, environment: Environment) -> None:
        """Give a job's vCPUs back."""
        with self._changed:
            self._used[environment.name] -= job.demand.vcpus_in(environment)
            self._changed.notify_all()

    def look(self) -> None:
        """Let waiting jobs look again now."""
        with self._changed:
            self._changed.notify_all()
