"""``muster demo``: deploy the reference app to a local cloud and train on its nodes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster_cli import deployment, job_view, reasons
from muster_cli.aws import PATIENT_ATTEMPTS, Aws
from muster_cli.checkout import CDK, Checkout, find_checkout
from muster_cli.clock import Deadline
from muster_cli.errors import EXIT_REFUSED, MusterError
from muster_cli.interrupts import Interrupted, Interrupts
from muster_cli.invocation import command
from muster_cli.jobs import Jobs
from muster_cli.local_command import need_extra, sentences
from muster_cli.options import examples, print_table
from muster_cli.programs import Program, ProgramFailed, tail
from muster_cli.progress import Progress
from muster_cli.stack import DEFAULT_STACK
from muster_cli.submission import Submission, prepare
from muster_cli.submission import submit as send
from muster_cli.submit import see_through

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from muster_cli.local.lifecycle import Cloud
    from muster_core.contract import Verdict

COMMAND = "muster demo"
STEPS = 7
JOB_TIMEOUT = 600.0
"""Seconds that the demo waits for its job, which takes about 10."""
AFTER_THE_EVAL = (
    "muster submit --nodes 3 --follow",
    "muster cancel JOB_ID   # end a job",
    f"{CDK} deploy --require-approval never   # after a change of the app or of its train.py",
    "aws batch describe-job-queues",
)
"""The eval puts this environment's programs first on PATH: ``muster`` goes by its name then."""
TEMPLATE = f"{DEFAULT_STACK}.template.json"


@click.command(epilog=examples("muster demo", "muster demo --nodes 3 --keep"))
@click.option("--nodes", type=click.IntRange(min=1), default=2, show_default=True, help="Nodes to train on.")
@click.option(
    "--keep", is_flag=True, help="Leave the local cloud up afterwards, and say how to play with it."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Default: a free one.")
def demo(nodes: int, keep: bool, port: int) -> None:
    """Deploy the reference app to a local cloud and train on its nodes. No AWS account is met.

    The full output of each step goes to .muster/demo/logs.

    Exit code: 0 when everything went well, the job's own when the training failed.
    """
    need_extra()
    checkout = find_checkout(Path.cwd())
    with sentences():
        raise SystemExit(_Demo(checkout, nodes=nodes, keep=keep, port=port).run())


class _Demo:
    """The demo of one checkout."""

    def __init__(self, checkout: Checkout, *, nodes: int, keep: bool, port: int) -> None:
        from muster_cli.local.state import StateFolder  # noqa: PLC0415  only where the extra is there

        self._checkout = checkout
        self._nodes = nodes
        self._keep = keep
        self._port = port
        self._state = StateFolder(checkout.state)
        self._progress = Progress(STEPS - keep)
        self._interrupts = Interrupts()
        self._programs: list[Program] = []
        self._stays_up = False

    def run(self) -> int:
        """Run it; return the exit code."""
        with self._state.exclusive(COMMAND):
            self._refuse_running_cloud()
            shutil.rmtree(self._checkout.logs, ignore_errors=True)
            try:
                verdict, cloud = self._interrupts.run(self._work, self._take_down)
            except Interrupted as interrupted:
                click.echo(f"{COMMAND} was ended by {interrupted}; everything is down again", err=True)
                return interrupted.exit_code
            except ProgramFailed as failed:
                return self._tell_failure(failed)
        print_table(("phase", "seconds"), table_rows(self._progress.rows, verdict, self._progress.seconds))
        if self._keep:
            self._tell_how_to_play(cloud)
        return 0

    # --- the steps ------------------------------------------------------------------------------

    def _work(self) -> tuple[Verdict, Cloud]:
        with self._progress.step("start the local cloud"):
            cloud = self._start_cloud()
        with _environment(self._guarded(cloud)):
            self._deploy()
            aws = Aws(attempts=PATIENT_ATTEMPTS)
            with self._progress.step("check that every resource exists"):
                self._check(aws)
            with self._progress.step(f"train on {self._nodes} nodes", lines=True):
                verdict = self._train(aws)
        self._stays_up = self._keep
        return verdict, cloud

    def _start_cloud(self) -> Cloud:
        from muster_cli.local import lifecycle  # noqa: PLC0415  only where the extra is there

        with self._interrupts.held():
            return lifecycle.up(self._state, port=self._port)

    def _deploy(self) -> None:
        """Bootstrap waits for CloudFormation most of the time: the synth runs meanwhile."""
        from muster_cli.local.settings import ACCOUNT, REGION  # noqa: PLC0415  only where the extra is there

        assembly = str(self._checkout.assembly)
        shutil.rmtree(assembly, ignore_errors=True)
        bootstrap = self._cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}")
        synth = self._cdk("synth", "--quiet", "--output", assembly)
        with self._progress.step("synthesize the reference app"):
            synth.wait()
        with self._progress.step("bootstrap the local cloud's account"):
            bootstrap.wait()
        with self._progress.step("deploy"):
            self._cdk(
                "deploy",
                DEFAULT_STACK,
                "--app",
                assembly,
                "--require-approval",
                "never",
                "--method",
                "direct",
            ).wait()

    def _check(self, aws: Aws) -> None:
        template = json.loads((self._checkout.assembly / TEMPLATE).read_text(encoding="utf-8"))
        found = deployment.problems(aws, DEFAULT_STACK, template)
        if found:
            raise MusterError(
                f"the deployment is not whole: {'; '.join(found)}; the server's log is {self._state.server_log}"
            )

    def _train(self, aws: Aws) -> Verdict:
        job_id = send(aws.batch, prepare(aws, Submission(nodes=self._nodes)))
        end = see_through(aws, job_id, follow=True, deadline=Deadline(JOB_TIMEOUT))
        code = job_view.exit_code(end.job, Jobs(aws.batch).main_node(end.job))
        if code:
            why = reasons.telling(end.job.reason) if end.verdict else end.job.reason
            raise MusterError(f"the training failed with exit code {code}{f': {why}' if why else ''}", code)
        if end.verdict is None:
            raise MusterError("the training succeeded, but its main node left no verdict")
        return end.verdict

    # --- what they need -------------------------------------------------------------------------

    def _cdk(self, step: str, *arguments: str) -> Program:
        with self._interrupts.held():
            program = Program(
                (str(self._checkout.cdk), step, *arguments, "--no-notices", "--no-color"),
                folder=self._checkout.root,
                environment=os.environ,
                log=self._checkout.logs / f"{step}.log",
            )
            self._programs.append(program)
        return program

    def _guarded(self, cloud: Cloud) -> dict[str, str]:
        from muster_cli.local.guard import guarded_environment  # noqa: PLC0415  only where the extra is there

        return guarded_environment(cloud.endpoint, self._state)

    def _take_down(self) -> None:
        from muster_cli.local import lifecycle  # noqa: PLC0415  only where the extra is there

        for program in self._programs:
            program.stop()
        if not self._stays_up:
            with self._progress.step("take everything down"):
                lifecycle.down(self._state)

    def _refuse_running_cloud(self) -> None:
        from muster_cli.local import lifecycle  # noqa: PLC0415  only where the extra is there

        cloud = lifecycle.status(self._state)
        if cloud:
            raise MusterError(
                f"the local cloud of this checkout is up already at {cloud.endpoint};"
                f" end it first: {command('local', 'down')}"
            )

    # --- what is said ---------------------------------------------------------------------------

    def _tell_failure(self, failed: ProgramFailed) -> int:
        click.echo(f"\n{failed.log.stem} failed ({failed}); its last lines:", err=True)
        for line in tail(failed.log):
            click.echo(f"  | {line}", err=True)
        click.echo(f"the whole log: {failed.log}", err=True)
        return EXIT_REFUSED

    def _tell_how_to_play(self, cloud: Cloud) -> None:
        click.echo(
            f"\nthe local cloud stays up at {cloud.endpoint}; to play with it, from {self._checkout.root}:"
        )
        click.echo(
            f'  eval "$({command("local", "env")})"   # AWS_ENDPOINT_URL={cloud.endpoint} and the like'
        )
        for line in AFTER_THE_EVAL:
            click.echo(f"  {line}")
        click.echo(f"and to end it: {command('local', 'down')}")


def table_rows(steps: list[tuple[str, float]], verdict: Verdict, total: float) -> list[tuple[str, str]]:
    """Return the closing table: the steps, the main node's phases among them, and the whole.

    Args:
        steps: Title and seconds of each step.
        verdict: Its phases are those of the step that trained.
        total: Seconds from begin to end.
    """
    rows = []
    for title, seconds in steps:
        rows.append((title, f"{seconds:.1f}"))
        if title.startswith("train"):
            rows += [(f"  {phase}", f"  {spent:.1f}") for phase, spent in verdict["phases"].items()]
    return [*rows, ("in all", f"{total:.1f}")]


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Replace this process's environment: boto3 here must meet no real account either."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
