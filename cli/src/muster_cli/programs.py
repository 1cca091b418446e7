"""Programs that a command starts: each with a log of its own, in a session of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TAIL_LINES = 25
"""Lines of a failed program's log that are shown."""
STOP_GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""
_KEEPER = 'read -r group && { read -r word || kill -s KILL -- "-$group"; }'


class ProgramFailed(Exception):  # noqa: N818  it reads as a sentence
    """A program ended with an exit code other than 0."""

    def __init__(self, program: Program, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.log = program.log


class _Keeper:
    """A shell that kills a process group when this process is killed.

    It reads from a pipe of which this process alone has the other end, so it works on every POSIX
    system, and for all processes of the group, which a parent-death signal does not reach.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """Name the process group."""
        self._say(str(group))

    def dismiss(self) -> None:
        """End the keeper, as there is nothing left to kill; a second time does nothing."""
        if self._process.stdin and not self._process.stdin.closed:
            self._say("done\ndone")  # in the place of the group too, where none was named
            self._process.stdin.close()
        self._process.wait()

    def _say(self, word: str) -> None:
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):  # it was killed: nobody keeps the group then
                self._process.stdin.write(f"{word}\n".encode())


class Program:
    """A running program.

    A terminal's Ctrl-C does not reach it, as it leads a session of its own: whoever started it
    ends it. Where that one is killed, it dies too with all that it started.

    Args:
        arguments: The program and its arguments.
        folder: Where it runs.
        environment: All of its environment.
        log: The file that takes its output.
    """

    def __init__(
        self, arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path
    ) -> None:
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self._keeper = _Keeper()
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    list(arguments),
                    cwd=folder,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except BaseException:
            self._keeper.dismiss()
            raise
        self._keeper.watch(self._process.pid)

    def wait(self) -> None:
        """Wait for its end.

        Raises:
            ProgramFailed: Its exit code is not 0.
        """
        code = self._process.wait()
        self._keeper.dismiss()
        if code:
            raise ProgramFailed(self, code)

    def stop(self) -> None:
        """End it and all that it started. Nothing happens where it has ended by itself."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_GRACE)
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._keeper.dismiss()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """Return the last lines of a log that are not empty."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]
