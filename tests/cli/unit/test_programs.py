"""Programs with a log and a session of their own, checkouts, and the steps' lines."""

import os
import signal
import sys
import time
from pathlib import Path

import click
import pytest

from muster_cli.checkout import find_checkout
from muster_cli.errors import MusterError
from muster_cli.programs import Program, ProgramFailed, tail
from muster_cli.progress import Progress

pytestmark = pytest.mark.unit


def _program(tmp_path: Path, script: str) -> Program:
    return Program(
        (sys.executable, "-S", "-c", script),
        folder=tmp_path,
        environment=os.environ,
        log=tmp_path / "logs" / "x.log",
    )


def _wait_for(path: Path) -> str:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if path.exists() and path.read_text().endswith("\n"):
            return path.read_text()
        time.sleep(0.01)
    raise AssertionError(f"{path} did not appear")


def _wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while _alive(pid):
        assert time.monotonic() < deadline, f"process {pid} lives"
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2]
    except FileNotFoundError:
        return False
    return not state.startswith("Z")


def test_output_goes_to_the_log_and_a_failure_knows_it(tmp_path: Path) -> None:
    program = _program(tmp_path, "print('one'); import sys; print('two', file=sys.stderr); sys.exit(3)")
    with pytest.raises(ProgramFailed, match="exit code 3") as caught:
        program.wait()
    assert sorted(tail(caught.value.log)) == ["one", "two"]
    program.stop()


def test_a_good_end_says_nothing(tmp_path: Path) -> None:
    program = _program(tmp_path, "pass")
    program.wait()
    program.stop()


GRANDCHILD = """
import os, signal, sys, time
{setup}
child = os.fork()
if child:
    with open("pid", "w") as file:
        print(child, file=file)
time.sleep(60)
"""


def test_stop_ends_what_the_program_started_too(tmp_path: Path) -> None:
    program = _program(tmp_path, GRANDCHILD.format(setup=""))
    grandchild = int(_wait_for(tmp_path / "pid"))
    program.stop()
    _wait_until_gone(grandchild)


def test_stop_kills_what_does_not_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster_cli.programs.STOP_GRACE", 0.1)
    program = _program(tmp_path, GRANDCHILD.format(setup="signal.signal(signal.SIGTERM, signal.SIG_IGN)"))
    grandchild = int(_wait_for(tmp_path / "pid"))
    program.stop()
    _wait_until_gone(grandchild)
    with pytest.raises(ProgramFailed, match=f"exit code {-signal.SIGKILL}"):
        program.wait()


def test_the_tail_is_what_is_not_empty_at_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert tail(log) == []
    log.write_text("\n".join(f"line {number}\n" for number in range(40)) + "\n\n")
    assert tail(log, 2) == ["line 38", "line 39"]
    assert len(tail(log)) == 25


def test_the_nearest_checkout_at_or_above_is_found(tmp_path: Path) -> None:
    (tmp_path / "cdk.json").touch()
    (tmp_path / "node_modules" / ".bin").mkdir(parents=True)
    (tmp_path / "node_modules" / ".bin" / "cdk").touch()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    checkout = find_checkout(below)
    assert checkout.root == tmp_path
    for folder in (checkout.state, checkout.logs, checkout.assembly):
        assert folder.is_relative_to(tmp_path / ".muster")


def test_no_checkout_and_no_cdk_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match=r"no cdk.json in .* or above; run this in a checkout of Muster"):
        find_checkout(tmp_path)
    (tmp_path / "cdk.json").touch()
    with pytest.raises(
        MusterError, match=r"the CDK CLI is missing: no node_modules/.bin/cdk in .*; run `make demo`"
    ):
        find_checkout(tmp_path)


def test_a_step_has_a_line_with_its_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(2)
    with progress.step("deploy"):
        pass
    with progress.step("train", lines=True):
        click.echo("[0] epoch")
    assert capsys.readouterr().out.splitlines() == [
        "[1/2] deploy ... 0.0 s",
        "[2/2] train ...",
        "[0] epoch",
        "[2/2] train: 0.0 s",
    ]
    assert [title for title, _ in progress.rows] == ["deploy", "train"]
    assert progress.seconds >= 0


def test_a_step_that_fails_says_so_and_counts_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(2)
    with pytest.raises(ValueError, match="x"), progress.step("deploy"):
        raise ValueError("x")
    assert capsys.readouterr().out == "[1/2] deploy ... stopped\n"
    assert progress.rows == []
