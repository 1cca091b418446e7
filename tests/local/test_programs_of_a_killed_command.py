"""What a command started dies with it, even when it was killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from muster_cli.programs import Program

COMMAND = """
import os, sys, time
from pathlib import Path
from muster_cli.programs import Program
folder = Path(sys.argv[1])
program = Program(("/bin/sh", "-c", sys.argv[2]), folder=folder, environment=os.environ, log=folder / "log")
print("started", flush=True)
time.sleep(1000)
"""
PROGRAM = """
trap '' TERM HUP
sh -c 'echo $$; while :; do sleep 1; done' &
echo $$
while :; do sleep 1; done
"""


def until(condition):
    deadline = time.monotonic() + 20
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return value


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def children():
    return {int(pid) for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()}


def test_a_killed_command_takes_its_programs_with_it(tmp_path):
    killed = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(tmp_path), PROGRAM], stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout.readline() == "started\n"
    log = tmp_path / "log"
    until(lambda: log.read_text().count("\n") == 2)
    pids = [int(pid) for pid in log.read_text().split()]
    assert all(map(alive, pids))
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    until(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize("end", [Program.wait, Program.stop])
def test_nobody_watches_a_program_that_has_ended(tmp_path, end):
    before = children()
    program = Program(("/bin/sh", "-c", "exit 0"), folder=tmp_path, environment={}, log=tmp_path / "log")
    assert len(children() - before) == 2
    end(program)
    assert children() == before
    program.stop()


def test_nobody_watches_a_program_that_cannot_be_started(tmp_path):
    before = children()
    with pytest.raises(FileNotFoundError):
        Program((str(tmp_path / "none"),), folder=tmp_path, environment={}, log=tmp_path / "log")
    assert children() == before


def test_a_watcher_that_was_killed_is_not_missed(tmp_path):
    before = children()
    program = Program(("/bin/sleep", "1000"), folder=tmp_path, environment={}, log=tmp_path / "log")
    watcher = (children() - before - {program._process.pid}).pop()
    os.kill(watcher, signal.SIGKILL)
    until(lambda: not alive(watcher))
    program.stop()
    assert children() == before
