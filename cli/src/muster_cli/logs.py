"""``muster logs``: the logs of a job's nodes, merged by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muster_cli import outcome
from muster_cli.aws import PATIENT_ATTEMPTS, Aws
from muster_cli.cancel import how_to_see_and_end
from muster_cli.errors import MusterError
from muster_cli.job_view import FAILED
from muster_cli.jobs import Jobs
from muster_cli.log_printer import LogPrinter
from muster_cli.log_reader import LogReader
from muster_cli.options import JSON, aws_options, examples, output_option

if TYPE_CHECKING:
    from muster_cli.job_view import Job


@click.command(epilog=examples("muster logs JOB", "muster logs --follow --node 3 JOB"))
@click.argument("job_id", metavar="JOB")
@click.option("--follow", "-f", is_flag=True, help="Go on through the end of every node.")
@click.option("--node", type=click.IntRange(min=0), metavar="N", help="One node only. Default: all.")
@aws_options
@output_option
def logs(
    *, job_id: str, follow: bool, node: int | None, region: str | None, profile: str | None, output: str
) -> None:
    """Show the logs of a job's nodes, merged by time, each line behind its node's index.

    The main node's verdict is told in words at the end, where Batch bears it out; --output json has
    it as it was written.

    Exit code: 0 when the job was found, whatever its state.
    """
    aws = Aws(region, profile, PATIENT_ATTEMPTS if follow else 3)
    jobs = Jobs(aws.batch)
    job = jobs.get(job_id)
    check_node(job, node)
    reader = LogReader(aws, jobs, only=node)
    printer = LogPrinter(job, as_json=output == JSON)
    if follow:
        job = _follow(reader, job.job_id, printer)
    else:
        printer.print(reader.read(job))
    printer.close(job, jobs.main_node(job))
    printer.print_verdict()
    if not printer.verdict and (node is None or not printer.count):
        _say_why(jobs, job, nothing=not printer.count)


def _follow(reader: LogReader, job_id: str, printer: LogPrinter) -> Job:
    try:
        return reader.follow(job_id, printer.print)
    except KeyboardInterrupt:
        click.echo(f"\n{how_to_see_and_end(job_id)}", err=True)
        raise


def _say_why(jobs: Jobs, job: Job, *, nothing: bool) -> None:
    """Say on standard error why there is no verdict, or why there are no lines at all."""
    if job.terminal and (job.status == FAILED or nothing):
        outcome.say_end(jobs, outcome.End(job, None))
    elif nothing:
        outcome.say_going(job)


def check_node(job: Job, node: int | None) -> None:
    """Refuse a node that the job does not have.

    Raises:
        MusterError: It does not.
    """
    if node is not None and node >= job.node_count:
        raise MusterError(
            f"--node must be a node of the job, got {node}; its nodes are 0 to {job.node_count - 1}", 2
        )
