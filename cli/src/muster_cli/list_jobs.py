"""``muster list``: the jobs of a queue, the newest first."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import click

from muster_cli.aws import Aws
from muster_cli.options import JSON, aws_options, examples, output_option, print_json, print_table
from muster_cli.stack import DEFAULT_STACK, stack_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mypy_boto3_batch.client import BatchClient

COLUMNS = ("job", "name", "nodes", "state", "age")
ANY_STATE: Any = [{"name": "AFTER_CREATED_AT", "values": ["0"]}]
"""Without a filter, ListJobs answers with the jobs of one state alone."""
PAGE = 100
"""Jobs that ListJobs answers with at once, at most."""
UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
"""Of an age: seconds and letter, the longest first."""


@dataclass(frozen=True)
class Listed:
    """A job, as a list tells of it."""

    job_id: str
    name: str
    node_count: int
    status: str
    created_ms: int


@click.command(
    name="list",
    epilog=examples("muster list", "muster list --queue gpus --output json | jq -r '.[0].job_id'"),
)
@click.option(
    "--stack", default=DEFAULT_STACK, show_default=True, metavar="NAME", help="Stack that has the queue."
)
@click.option("--queue", metavar="NAME", help="Job queue. Default: the stack's.")
@click.option("--all", "every", is_flag=True, help=f"All jobs. Default: the {PAGE} newest of a queue.")
@aws_options
@output_option
def list_jobs(
    *, stack: str, queue: str | None, every: bool, region: str | None, profile: str | None, output: str
) -> None:
    """List the jobs of a queue, of all states, the newest first.

    Batch forgets a job a week after its end.
    """
    aws = Aws(region, profile)
    queues = [queue] if queue else sorted({job.queue for job in stack_jobs(aws.cloudformation, stack)})
    jobs, more = newest(aws.batch, queues, every=every)
    if output == JSON:
        print_json([asdict(job) for job in jobs])
    elif jobs:
        print_table(COLUMNS, [_row(job, time.time()) for job in jobs])
    else:
        click.echo("there are no jobs", err=True)
    if more:
        click.echo("there are older jobs; --all lists them", err=True)


def newest(batch: BatchClient, queues: list[str], *, every: bool) -> tuple[list[Listed], bool]:
    """Ask for the jobs of queues.

    Args:
        batch: The client.
        queues: Names or ARNs.
        every: All jobs, not the newest of each queue alone.

    Returns:
        The jobs, the newest first, and whether there are older ones.
    """
    jobs: list[Listed] = []
    more = False
    for queue in queues:
        for page in _pages(batch, queue):
            jobs += [_listed(summary) for summary in page["jobSummaryList"]]
            if not every:
                more = more or bool(page.get("nextToken"))
                break
    return sorted(jobs, key=attrgetter("created_ms"), reverse=True), more


def _pages(batch: BatchClient, queue: str) -> Iterator[Mapping[str, Any]]:
    token: Any = {}
    while True:
        page = batch.list_jobs(jobQueue=queue, filters=ANY_STATE, maxResults=PAGE, **token)
        yield page
        if not page.get("nextToken"):
            return
        token = {"nextToken": page["nextToken"]}


def _listed(summary: Mapping[str, Any]) -> Listed:
    return Listed(
        job_id=summary["jobId"],
        name=summary.get("jobName", ""),
        node_count=int((summary.get("nodeProperties") or {}).get("numNodes") or 1),
        status=summary.get("status", ""),
        created_ms=int(summary.get("createdAt") or 0),
    )


def _row(job: Listed, now: float) -> tuple[str, ...]:
    return job.job_id, job.name, str(job.node_count), job.status, age(now - job.created_ms / 1000)


def age(seconds: float) -> str:
    """Return a time in its largest unit, such as ``5m``."""
    whole = max(0, int(seconds))
    return next((f"{whole // length}{unit}" for length, unit in UNITS if whole >= length), "0s")
