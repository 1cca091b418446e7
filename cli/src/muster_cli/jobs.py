"""Jobs as Batch tells of them: look-up, nodes, and the waiter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster_cli.clock import Backoff, Deadline
from muster_cli.errors import MusterError
from muster_cli.invocation import command
from muster_cli.job_view import Job, Node, job_of, node_of, plain_id
from muster_core.contract import EXIT_UNAVAILABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mypy_boto3_batch.client import BatchClient
    from mypy_boto3_batch.type_defs import JobDetailTypeDef

DESCRIBE_LIMIT = 100
"""Ids that one DescribeJobs call takes."""


class StillGoingError(MusterError):
    """A job was waited for long enough, and has not ended.

    Args:
        message: The sentence.
        job: As it was seen last.
    """

    def __init__(self, message: str, job: Job) -> None:
        super().__init__(message, EXIT_UNAVAILABLE)
        self.job = job


class Jobs:
    """Asks Batch about jobs.

    Args:
        batch: The client.
    """

    def __init__(self, batch: BatchClient) -> None:
        self._batch = batch

    def get(self, job_id: str) -> Job:
        """Return a job.

        Args:
            job_id: Its id; a node's suffix is passed over.

        Raises:
            MusterError: Batch does not know the id.
        """
        plain = plain_id(job_id)
        found = self._describe([plain])
        if plain not in found:
            raise MusterError(
                f"job {plain!r} is not known to Batch here; check the id, the region and the profile"
                " (Batch forgets a job a week after its end)"
            )
        return job_of(found[plain])

    def nodes(self, job: Job, indexes: Iterable[int] | None = None) -> list[Node]:
        """Return nodes of a job, in the order of their index.

        Args:
            job: The job.
            indexes: Which. Default: - all.

        Returns:
            One entry an index, also for nodes that have not started.
        """
        wanted = list(range(job.node_count) if indexes is None else indexes)
        found = self._describe([job.node_id(index) for index in wanted])
        return [node_of(job, index, found.get(job.node_id(index))) for index in wanted]

    def main_node(self, job: Job) -> Node:
        """Return a job's main node."""
        return self.nodes(job, [job.main_node])[0]

    def wait(
        self,
        job_id: str,
        *,
        deadline: Deadline | None = None,
        backoff: Backoff | None = None,
        on_change: Callable[[Job], None] = lambda _job: None,
    ) -> Job:
        """Wait until a job has ended.

        Args:
            job_id: The job.
            deadline: Default: - as long as the job lives.
            backoff: The pauses. Default: - from 0.2 s to 5 s.
            on_change: Called with the job each time its status or reason is another one.

        Returns:
            The job in a terminal state.

        Raises:
            StillGoingError: The deadline passed (exit code 69); the job goes on.
        """
        pauses, seen = backoff or Backoff(), None
        while True:
            job = self.get(job_id)
            if (job.status, job.reason) != seen:
                seen = (job.status, job.reason)
                pauses.reset()
                on_change(job)
            if job.terminal:
                return job
            check_deadline(job, deadline)
            pauses.pause()

    def _describe(self, ids: Sequence[str]) -> dict[str, JobDetailTypeDef]:
        found: dict[str, JobDetailTypeDef] = {}
        for part in _parts(ids):
            for detail in self._batch.describe_jobs(jobs=part)["jobs"]:
                found[detail["jobId"]] = detail
        return found


def check_deadline(job: Job, deadline: Deadline | None) -> None:
    """Raise where a job was waited for long enough.

    Raises:
        StillGoingError: Exit code 69; the sentence holds state and reason.
    """
    if deadline is not None and deadline.passed:
        why = f" ({job.reason})" if job.reason else ""
        raise StillGoingError(
            f"job {job.job_id} is still {job.status}{why} after the time that was given to wait for it;"
            f" it goes on: {command('status', job.job_id)}",
            job,
        )


def _parts(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), DESCRIBE_LIMIT):
        yield list(ids[start : start + DESCRIBE_LIMIT])
