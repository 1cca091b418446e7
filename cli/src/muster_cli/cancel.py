"""``muster cancel``: end a job on all its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muster_cli.aws import Aws
from muster_cli.invocation import command
from muster_cli.jobs import Jobs
from muster_cli.options import JSON, aws_options, examples, output_option, print_json

if TYPE_CHECKING:
    from muster_cli.job_view import Job

REASON = "ended by muster cancel"


@click.command(
    epilog=examples(
        "muster cancel 3e5c7fd1-6c0f-4b6a-9a0a-1d4c8d3f2b11",
        "muster cancel JOB --reason 'the learning rate was wrong'",
    )
)
@click.argument("job_id", metavar="JOB")
@click.option("--reason", default=REASON, show_default=True, metavar="TEXT", help="What the job will say.")
@aws_options
@output_option
def cancel(*, job_id: str, reason: str, region: str | None, profile: str | None, output: str) -> None:
    """End a job on all its nodes, whatever it is doing. It is not retried.

    A node's id, such as JOB#1, stands for its whole job: Batch ends no node alone.

    Exit code: 0 when the job was asked to end or has ended already.
    """
    batch = Aws(region, profile).batch
    job = Jobs(batch).get(job_id)
    asked = not job.terminal
    if asked:
        batch.terminate_job(jobId=job.job_id, reason=reason)
    if output == JSON:
        print_json({"jobId": job.job_id, "status": job.status, "asked_to_end": asked})
        return
    if job_id != job.job_id:
        click.echo(f"{job_id} is a node of job {job.job_id}, which ends as a whole")
    click.echo(_asked(job, reason) if asked else f"job {job.job_id} has ended already: it is {job.status}")


def how_to_see_and_end(job_id: str) -> str:
    """Say how a job that goes on is seen, and how it is ended."""
    return (
        f"job {job_id} goes on; see it with: {command('logs', '--follow', job_id)};"
        f" end it with: {command('cancel', job_id)}"
    )


def _asked(job: Job, reason: str) -> str:
    return (
        f"job {job.job_id} ({job.status}) was asked to end: {reason};"
        f" see it with: {command('status', job.job_id)}"
    )
