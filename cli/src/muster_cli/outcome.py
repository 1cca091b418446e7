"""The end of a job, told to a person: its state, its verdict, or why it has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from muster_cli import reasons, verdict
from muster_cli.clock import Backoff, Deadline
from muster_cli.job_view import FAILED
from muster_cli.log_reader import last_lines, settle_of

if TYPE_CHECKING:
    from muster_cli.aws import Aws
    from muster_cli.job_view import Job
    from muster_cli.jobs import Jobs
    from muster_core.contract import Verdict


@dataclass(frozen=True)
class End:
    """How a job ended."""

    job: Job
    """In a terminal state."""
    verdict: Verdict | None
    """The main node's, None where it was not looked for or is not there."""


def say_going(job: Job) -> None:
    """Tell the state of a job on standard error; its end is told by :func:`say_end`, after its logs."""
    if not job.terminal:
        click.echo(_state(job, job.reason), err=True)


def say_end(jobs: Jobs, end: End) -> None:
    """Tell on standard error how a job ended, and why where no verdict says it."""
    if end.verdict:
        click.echo(_state(end.job, reasons.telling(end.job.reason)), err=True)
        return
    first, *more = why(jobs, end.job) or [end.job.reason]
    click.echo(_state(end.job, first), err=True)
    for reason in more:
        click.echo(f"  {reason}", err=True)


def say_verdict(found: Verdict, *, err: bool) -> None:
    """Tell a verdict, on standard output or on standard error."""
    for text in verdict.render(found):
        click.echo(text, err=err)


def why(jobs: Jobs, job: Job) -> list[str]:
    """Return why a job failed, a reason each with the nodes that have it; none of a job that did not."""
    return reasons.of_job(job, jobs.nodes(job)) if job.status == FAILED else []


def find_verdict(aws: Aws, jobs: Jobs, job: Job) -> Verdict | None:
    """Look for the verdict at the end of the main node's log, where lines may arrive late.

    Args:
        aws: The clients.
        jobs: Asks about the main node.
        job: In a terminal state.
    """
    main = jobs.main_node(job)
    deadline, pauses = Deadline(settle_of(aws)), Backoff(ceiling=1.0)
    while main.streams:
        found = verdict.find(last_lines(aws.logs, main), job, main)
        if found or deadline.passed:
            return found
        pauses.pause()
    return None


def _state(job: Job, reason: str) -> str:
    return f"job {job.job_id} is {job.status}{f': {reason}' if reason else ''}"
