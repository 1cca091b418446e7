"""``muster submit``: start a deployed multi-node job, and see it through."""

from __future__ import annotations

import click

from muster_cli import job_view, outcome
from muster_cli.aws import PATIENT_ATTEMPTS, Aws
from muster_cli.cancel import how_to_see_and_end
from muster_cli.clock import Deadline
from muster_cli.invocation import command
from muster_cli.jobs import Jobs, StillGoingError
from muster_cli.log_printer import LogPrinter
from muster_cli.log_reader import LogReader
from muster_cli.options import JSON, Assignment, Seconds, aws_options, examples, output_option, print_json
from muster_cli.outcome import End
from muster_cli.stack import DEFAULT_STACK
from muster_cli.status import as_data
from muster_cli.submission import Submission, prepare
from muster_cli.submission import submit as send


@click.command(
    epilog=examples(
        "muster submit --nodes 4",
        "muster submit --env SEED=7 --follow",
        "muster submit --definition train --queue gpus --nodes 8 --dry-run",
    )
)
@click.option(
    "--stack", default=DEFAULT_STACK, show_default=True, metavar="NAME", help="Stack that has the job."
)
@click.option("--job", metavar="PATH", help="Which job of the stack. Default: the only one there is.")
@click.option("--definition", metavar="NAME", help="Job definition. Default: the stack's.")
@click.option("--queue", metavar="NAME", help="Job queue. Default: the stack's.")
@click.option(
    "--nodes", type=click.IntRange(min=1), metavar="N", help="Number of nodes. Default: the definition's."
)
@click.option("--name", metavar="NAME", help="Name of the job. Default: the definition's and the time.")
@click.option(
    "--env", "variables", type=Assignment("NAME=VALUE"), multiple=True, help="A variable for every node."
)
@click.option(
    "--share", metavar="NAME", help="Share that the job counts for, where the queue has a fair share."
)
@click.option("--wait", is_flag=True, help="Wait for the end; exit with the job's exit code.")
@click.option("--follow", "-f", is_flag=True, help="--wait, and show the logs of all nodes meanwhile.")
@click.option("--wait-timeout", type=Seconds(), metavar="SECONDS", help="Longest wait. Default: none.")
@click.option("--dry-run", is_flag=True, help="Print the request and do not send it.")
@aws_options
@output_option
def submit(
    *,
    stack: str,
    job: str | None,
    definition: str | None,
    queue: str | None,
    nodes: int | None,
    name: str | None,
    variables: tuple[tuple[str, str], ...],
    share: str | None,
    wait: bool,
    follow: bool,
    wait_timeout: float | None,
    dry_run: bool,
    region: str | None,
    profile: str | None,
    output: str,
) -> None:
    """Submit a deployed multi-node job.

    Definition and queue are found by the outputs of the stack.

    Exit code with --wait or --follow: the job's own, 69 when it has none (it never started, its
    host was lost, or the longest wait is over). The job goes on after 130 (Ctrl-C), 141 (the pipe
    was closed, as by head) and 74 (the output could not be written).
    """
    aws = Aws(region, profile, PATIENT_ATTEMPTS if wait or follow else 3)
    request = prepare(aws, Submission(stack, job, definition, queue, nodes, name, dict(variables), share))
    if dry_run:
        print_json(request)
        return
    job_id = send(aws.batch, request)
    for_programs = output == JSON
    if not (wait or follow):
        _say_submitted(job_id, request["jobName"], for_programs=for_programs)
        return
    click.echo(f"job {job_id} ({request['jobName']}) is submitted", err=True)
    deadline, jobs = Deadline(wait_timeout), Jobs(aws.batch)
    try:
        end = see_through(aws, job_id, follow=follow, deadline=deadline, err=for_programs).job
    except (KeyboardInterrupt, OSError):
        click.echo(f"\n{how_to_see_and_end(job_id)}", err=True)
        raise
    except StillGoingError as error:
        if for_programs:
            print_json(as_data(error.job, jobs.nodes(error.job)))
        raise
    if for_programs:
        print_json(as_data(end, jobs.nodes(end)))
    raise SystemExit(job_view.exit_code(end, jobs.main_node(end)))


def see_through(aws: Aws, job_id: str, *, follow: bool, deadline: Deadline, err: bool = False) -> End:
    """Wait for a job's end, telling each change of state on standard error.

    Args:
        aws: The clients.
        job_id: The job.
        follow: Show the logs of all nodes meanwhile, and the verdict; else that of a job that failed.
        deadline: The longest wait.
        err: Logs go to standard error: standard output is for a program. Default: False.
    """
    jobs = Jobs(aws.batch)
    end = _follow(aws, jobs, job_id, deadline, err=err) if follow else _wait(aws, jobs, job_id, deadline)
    outcome.say_end(jobs, end)
    if end.verdict:
        outcome.say_verdict(end.verdict, err=err)
    elif end.job.status == job_view.FAILED and not follow:
        click.echo(f"see: {command('logs', job_id)}", err=True)
    return end


def _follow(aws: Aws, jobs: Jobs, job_id: str, deadline: Deadline, *, err: bool) -> End:
    printer = LogPrinter(jobs.get(job_id), err=err)
    reader = LogReader(aws, jobs)
    job = reader.follow(job_id, printer.print, deadline=deadline, on_change=outcome.say_going)
    printer.close(job, jobs.main_node(job))
    return End(job, printer.verdict)


def _wait(aws: Aws, jobs: Jobs, job_id: str, deadline: Deadline) -> End:
    job = jobs.wait(job_id, deadline=deadline, on_change=outcome.say_going)
    return End(job, outcome.find_verdict(aws, jobs, job) if job.status == job_view.FAILED else None)


def _say_submitted(job_id: str, name: str, *, for_programs: bool) -> None:
    if for_programs:
        print_json({"jobId": job_id, "jobName": name})
        return
    click.echo(job_id)
    click.echo(f"{name} is submitted; see it with: {command('logs', '--follow', job_id)}", err=True)
