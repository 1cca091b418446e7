"""`muster demo` in a checkout of its own: a whole day with it, and Ctrl-C at several moments."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from muster_cli.local.state import StateFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

# One after the other: each has the cores of the machine to itself.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

MUSTER = str(Path(sys.executable).parent / "muster")
DEADLINE = 300.0
DEPLOY = "node_modules/.bin/cdk deploy --require-approval never"

FAULT = """
import os
import time
if os.environ.get("HANG"):
    print("it hangs", flush=True)
    time.sleep(600)
if os.environ.get("FAIL_ON_RANK") == os.environ["RANK"]:
    print("the disk is full", flush=True)
    raise SystemExit(7)
"""


@pytest.fixture
def checkout(repository: Path, tmp_path: Path) -> Iterator[Path]:
    """The reference app alone, with the repository's CDK CLI; nothing is left up afterwards."""
    for name in ("app.py", "cdk.json"):
        shutil.copy(repository / name, tmp_path / name)
    shutil.copytree(repository / "examples" / "digits", tmp_path / "examples" / "digits")
    (tmp_path / "node_modules").symlink_to(repository / "node_modules")
    yield tmp_path
    _muster(tmp_path, "local", "down")
    assert _left_behind(tmp_path) == []


def _muster(
    checkout: Path, *arguments: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MUSTER, *arguments], cwd=checkout, env=env, capture_output=True, text=True, timeout=DEADLINE
    )


def _left_behind(checkout: Path) -> list[str]:
    """Processes and network namespaces of the checkout's local cloud."""
    state = StateFolder(checkout / ".muster" / "local")
    found = [f"process {pid}: {words[:400]}" for pid, words in _processes() if str(checkout) in words]
    with contextlib.suppress(FileNotFoundError):
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
        found += [line for line in listed.splitlines() if state.tag in line]
    return found


def _processes() -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes() + b"\0" + (folder / "environ").read_bytes()
            if int(folder.name) != os.getpid():
                yield int(folder.name), words.decode(errors="replace").replace("\0", " ")


def _exports(checkout: Path) -> dict[str, str]:
    """The environment of a shell after `eval "$(muster local env)"`."""
    script = f'eval "$({MUSTER} local env)" && env -0'
    shown = subprocess.run(
        ["sh", "-c", script], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout
    return dict(line.split("=", 1) for line in shown.split("\0") if line)


def _end_a_job_that_hangs(checkout: Path, shell: dict[str, str]) -> None:
    """`muster cancel` in one shell ends what `muster submit --follow` shows in another."""
    following = _Running(checkout, "submit", "--env", "HANG=1", "--follow", env=shell)
    following.read_until("[1] it hangs")
    job_id = re.search(r"job ([0-9a-f-]{36}) ", following.output)
    assert job_id
    ended = _muster(checkout, "cancel", f"{job_id.group(1)}#1", "--reason", "it hangs again", env=shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (
        f"job {job_id.group(1)} (RUNNING) was asked to end: it hangs again; see it with: muster status"
        in (ended.stdout)
    )
    assert following.end() == 143, following.output
    last = following.output.splitlines()[-3:]
    assert last[0] == f"job {job_id.group(1)} is FAILED: it hangs again"
    assert last[1].startswith("verdict: terminated with exit code 143 (2 nodes, 2 ranks, launcher torch")
    assert re.fullmatch(r"stopped: node [01] was asked to end by SIGTERM", last[2])
    status = _muster(checkout, "status", job_id.group(1), env=shell).stdout.splitlines()
    assert status[0].endswith(": FAILED, it was asked to end")
    assert status[1] == "  it hangs again"
    again = _muster(checkout, "cancel", job_id.group(1), env=shell)
    assert (again.returncode, again.stdout) == (0, f"job {job_id.group(1)} has ended already: it is FAILED\n")


def _deploy_a_change(checkout: Path, shell: dict[str, str]) -> None:
    """What `muster demo --keep` says of a changed train.py, as it says it."""
    train = checkout / "examples" / "digits" / "train.py"
    train.write_text("print('the changed one', flush=True)\nraise SystemExit(5)\n")
    _deploy(checkout, shell)
    waited = _muster(checkout, "submit", "--wait", env=shell)
    assert waited.returncode == 5, waited.stdout + waited.stderr
    told = waited.stdout.splitlines()
    assert told[0].startswith("verdict: failed with exit code 5 (2 nodes, 2 ranks, launcher torch")
    assert told[1].startswith("first failure: ")
    assert "  | the changed one" in told


def _deploy_an_image_that_cannot_be_followed(checkout: Path, shell: dict[str, str]) -> None:
    with (checkout / "examples" / "digits" / "Dockerfile").open("a") as file:
        file.write("ADD https://example.com/x /x\n")
    _deploy(checkout, shell)
    for how in ("--wait", "--follow"):
        waited = _muster(checkout, "submit", how, env=shell)
        assert (waited.returncode, waited.stdout) == (69, "")
        assert re.search(
            r"is FAILED: Task failed to start: CannotPullContainerError: .*'https://example.com/x' would be "
            r"downloaded.* \(node 0\)$",
            waited.stderr,
            re.MULTILINE,
        )
    job_id = re.search(r"job ([0-9a-f-]{36}) ", waited.stderr)
    assert job_id
    logs = _muster(checkout, "logs", job_id.group(1), env=shell)
    assert (logs.returncode, logs.stdout) == (0, "")
    assert "'https://example.com/x' would be downloaded" in logs.stderr


def _deploy(checkout: Path, shell: dict[str, str]) -> None:
    done = subprocess.run(
        ["sh", "-c", DEPLOY], cwd=checkout, env=shell, capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_day_with_the_demo(checkout: Path) -> None:
    train = checkout / "examples" / "digits" / "train.py"
    train.write_text(train.read_text().replace("\nimport argparse\n", f"\nimport argparse\n{FAULT}\n"))

    done = _muster(checkout, "demo", "--keep")
    assert done.returncode == 0, done.stdout + done.stderr
    steps = re.findall(r"^\[(\d)/6\] (.*?)(?: \.\.\.|:) \d+\.\d s$", done.stdout, re.MULTILINE)
    assert steps == [
        ("1", "start the local cloud"),
        ("2", "synthesize the reference app"),
        ("3", "bootstrap the local cloud's account"),
        ("4", "deploy"),
        ("5", "check that every resource exists"),
        ("6", "train on 2 nodes"),
    ]
    for node in (0, 1):
        assert re.search(
            rf"^\[{node}\] rank {node} of 2: .*same weights on 2 ranks$", done.stdout, re.MULTILINE
        )
    assert "verdict: succeeded (2 nodes, 2 ranks, launcher torch in the local cloud)" in done.stdout
    assert re.search(r"^in all +\d+\.\d$", done.stdout, re.MULTILINE)
    assert "the local cloud stays up at http://127.0.0.1:" in done.stdout
    how_to_play = done.stdout.splitlines()
    assert f"  {DEPLOY}   # after a change of the app or of its train.py" in how_to_play
    assert how_to_play[-1] in {f"and to end it: {program} local down" for program in ("muster", MUSTER)}

    again = _muster(checkout, "demo")
    assert again.returncode == 1
    assert "the local cloud of this checkout is up already at http://127.0.0.1:" in again.stderr

    shell = _exports(checkout)
    broken = _muster(checkout, "submit", "--nodes", "3", "--env", "FAIL_ON_RANK=1", "--follow", env=shell)
    assert broken.returncode == 7, broken.stdout + broken.stderr
    assert "SUCCEEDED" not in broken.stderr
    assert re.search(r"^job [0-9a-f-]{36} is FAILED$", broken.stderr, re.MULTILINE)  # the verdict says why
    last = broken.stdout[broken.stdout.index("verdict:") :].splitlines()
    assert last[0] == "verdict: failed with exit code 7 (3 nodes, 3 ranks, launcher torch in the local cloud)"
    assert "node 1, rank 1" in last[1]
    assert "  | the disk is full" in last

    job_id = re.search(r"job ([0-9a-f-]{36}) ", broken.stderr)
    assert job_id
    status = json.loads(_muster(checkout, "status", job_id.group(1), "--output", "json", env=shell).stdout)
    assert (status["status"], status["exit_code"]) == ("FAILED", 7)
    assert [node["index"] for node in status["nodes"]] == [0, 1, 2]
    logs = _muster(checkout, "logs", "--node", "1", job_id.group(1), env=shell).stdout
    assert "[1] the disk is full\n" in logs
    assert not re.search(r"^\[[02]\]", logs, re.MULTILINE)

    too_many = _muster(checkout, "submit", "--nodes", "5", env=shell)
    assert too_many.returncode == 1
    assert re.search(
        r"got 5; 5 nodes need 160 vCPUs, and maxvCpus of its compute environment is 128; give at most --nodes 4,",
        too_many.stderr,
    )
    found = shutil.which("cdk", path=shell["PATH"])
    assert found == str(checkout / "node_modules" / ".bin" / "cdk")
    _end_a_job_that_hangs(checkout, shell)
    _deploy_a_change(checkout, shell)
    _deploy_an_image_that_cannot_be_followed(checkout, shell)

    assert _muster(checkout, "local", "down").returncode == 0
    gone = _muster(checkout, "local", "status")
    assert gone.returncode == 1
    assert gone.stdout.startswith(f"no local cloud is up in {checkout / '.muster' / 'local'}; name another")


class _Running:
    """A command of `muster` with its output read line by line."""

    def __init__(self, checkout: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [MUSTER, *arguments],
            cwd=checkout,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.output = ""

    def read_until(self, text: str) -> None:
        assert self.process.stdout
        while text not in self.output:
            character = self.process.stdout.read(1)
            assert character, f"{text!r} did not come:\n{self.output}"
            self.output += character

    def end(self) -> int:
        rest, _ = self.process.communicate(timeout=DEADLINE)
        self.output += rest
        return self.process.returncode


@pytest.mark.parametrize(
    ("moment", "signals", "code"),
    [
        ("[1/7]", [signal.SIGTERM], 143),
        ("[2/7]", [signal.SIGINT, signal.SIGINT], 130),
        ("[0] epoch 1", [signal.SIGINT], 130),
    ],
)
def test_a_signal_at_any_moment_takes_everything_down(
    checkout: Path, moment: str, signals: list[signal.Signals], code: int
) -> None:
    running = _Running(checkout, "demo")
    running.read_until(moment)
    running.process.send_signal(signals[0])
    for number in signals[1:]:
        running.read_until("take everything down")
        running.process.send_signal(number)
    begun = time.monotonic()
    assert running.end() == code, running.output
    assert time.monotonic() - begun < 60
    assert f"muster demo was ended by {signals[0].name}; everything is down again" in running.output
    assert _left_behind(checkout) == []


def test_a_second_demo_while_one_is_going_is_a_sentence(checkout: Path) -> None:
    running = _Running(checkout, "demo")
    running.read_until("[1/7]")
    second = _muster(checkout, "demo")
    assert second.returncode == 1
    assert re.fullmatch(r"muster: `muster demo` \(process \d+\) is working on .*\n", second.stderr)
    running.process.send_signal(signal.SIGINT)
    assert running.end() == 130


def test_a_step_that_fails_shows_its_last_lines_and_where_the_log_is(checkout: Path) -> None:
    (checkout / "app.py").write_text("raise SystemExit('the app is broken')\n")
    done = _muster(checkout, "demo")
    assert done.returncode == 1
    assert "[2/7] synthesize the reference app ... stopped" in done.stdout
    assert "synth failed (exit code 1); its last lines:" in done.stderr
    assert "  | the app is broken" in done.stderr
    log = re.search(r"^the whole log: (.*)$", done.stderr, re.MULTILINE)
    assert log
    assert "the app is broken" in Path(log.group(1)).read_text()
    assert _left_behind(checkout) == []


def test_a_taken_port_is_a_sentence(checkout: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = _muster(checkout, "demo", "--port", str(port))
    assert done.returncode == 1
    assert str(port) in done.stderr
    assert "Traceback" not in done.stderr
    assert _left_behind(checkout) == []
