"""The real program: interrupted at any moment, and with output that nobody takes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

HOOK = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
"""
"""Sends SIGINT while a module is being imported."""


def _program(*arguments: str) -> list[str]:
    """What the console script does, in this Python."""
    (script,) = entry_points(group="console_scripts", name="muster")
    module, _, function = script.value.partition(":")
    code = f"import sys\nfrom {module} import {function}\nsys.argv[0] = 'muster'\nsys.exit({function}())"
    return [sys.executable, "-c", code, *arguments]


@pytest.mark.parametrize(
    "module",
    ["muster_cli.main", "click", "muster_cli.options", "muster_core.contract", "muster_cli.status", "boto3"],
)
def test_ctrl_c_while_modules_are_loaded_is_130_without_a_traceback(tmp_path: Path, module: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "INTERRUPT_AT": module}
    done = subprocess.run(
        _program("status", "x"), env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_while_arguments_are_read_is_130_too(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, signal\n"
        "def trace(frame, event, argument):\n"
        "    if frame.f_code.co_name == 'parse_args':\n"
        "        sys.settrace(None)\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "sys.settrace(trace)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        _program("--help"), env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.fixture(params=["", "1"])
def buffering(request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment of a Python that buffers its output, and of one that does not."""
    return {**os.environ, "PYTHONUNBUFFERED": request.param}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["submit", "--help"]])
def test_a_closed_pipe_ends_it_quietly_with_141(buffering: dict[str, str], arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        _program(*arguments),
        env=buffering,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["submit", "--help"]])
def test_a_full_device_is_a_sentence_and_74(buffering: dict[str, str], arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ends = [
            subprocess.run(
                _program(*arguments), env=buffering, stdout=full, stderr=errors, check=False, timeout=60
            )
            for errors in (subprocess.PIPE, full)
        ]
    assert [done.returncode for done in ends] == [74, 74]
    assert ends[0].stderr == b"muster: the output cannot be written: No space left on device\n"
