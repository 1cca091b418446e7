"""``muster status``: one job and its nodes."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import click

from muster_cli import reasons
from muster_cli.aws import Aws
from muster_cli.jobs import Jobs
from muster_cli.options import JSON, aws_options, examples, output_option, print_json, print_table

if TYPE_CHECKING:
    from muster_cli.job_view import Job, Node

COLUMNS = ("node", "state", "exit", "address", "started", "seconds")
"""A table of these fits in 80 columns."""


@click.command(
    epilog=examples(
        "muster status 3e5c7fd1-6c0f-4b6a-9a0a-1d4c8d3f2b11",
        "muster status JOB --output json | jq '.nodes[] | select(.exit_code != 0)'",
    )
)
@click.argument("job_id", metavar="JOB")
@aws_options
@output_option
def status(job_id: str, region: str | None, profile: str | None, output: str) -> None:
    """Show a job's state and its nodes.

    Exit code: 0 when the job was found, whatever its state.
    """
    jobs = Jobs(Aws(region, profile).batch)
    job = jobs.get(job_id)
    nodes = jobs.nodes(job)
    if output == JSON:
        print_json(as_data(job, nodes))
        return
    for line in headline(job):
        click.echo(line)
    print_table(COLUMNS, [row(node) for node in nodes])
    for line in footer(job, nodes):
        click.echo(line)


def as_data(job: Job, nodes: list[Node]) -> dict[str, Any]:
    """Return the job for ``--output json``."""
    return {**asdict(job), "nodes": [asdict(node) for node in nodes]}


def headline(job: Job) -> list[str]:
    """Return what is said of the job itself, a line each."""
    attempts = f", attempt {len(job.attempts)}" if len(job.attempts) > 1 else ""
    ended = ", it was asked to end" if job.terminated else ""
    return [
        f"{job.name} ({job.job_id}): {job.status}{ended}{attempts}",
        *([f"  {job.reason}"] if job.reason else []),
        f"  definition {_last(job.definition)}, queue {_last(job.queue)}, {job.node_count} nodes",
    ]


def footer(job: Job, nodes: list[Node]) -> list[str]:
    """Return the nodes' reasons, each once, but those that say nothing or are the job's own."""
    found = reasons.of_nodes(nodes)
    return [
        f"{where}: {reason}" for reason, where in found if reason != job.reason and reasons.telling(reason)
    ]


def row(node: Node) -> tuple[str, ...]:
    """Return a node's row of :data:`COLUMNS`."""
    return (
        f"{node.index} (main)" if node.main else str(node.index),
        node.status or "not started",
        "-" if node.exit_code is None else str(node.exit_code),
        node.address or "-",
        _clock(node.started_ms),
        _seconds(node),
    )


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _clock(time_ms: int | None) -> str:
    if not time_ms:
        return "-"
    return datetime.fromtimestamp(time_ms / 1000, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")


def _seconds(node: Node) -> str:
    if not node.started_ms:
        return "-"
    end_ms = node.stopped_ms or time.time() * 1000
    return f"{max(0.0, end_ms - node.started_ms) / 1000:.1f}"
