"""Output that nobody takes any more: a pipe that was closed, as by ``head``, or a device that is full."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING

import click

from muster_core.contract import SIGNAL_BASE

if TYPE_CHECKING:
    from typing import TextIO

EXIT_PIPE = SIGNAL_BASE + signal.SIGPIPE
"""What a shell has for a program that a closed pipe ended."""
EXIT_OUTPUT = 74
"""Output could not be written (EX_IOERR of sysexits)."""
PRINTERS = ("click.", "rich.")
"""Modules that write to standard output and standard error, and to nothing else."""


def leave_if_broken(error: BaseException) -> None:
    """Leave where an error came from standard output or standard error; else do nothing.

    Args:
        error: What was raised.

    Raises:
        click.exceptions.Exit: With 141 for a closed pipe, quietly as all programs do, else with 74
            and a sentence.
    """
    if not isinstance(error, OSError) or not _is_of_output(error):
        return
    _drop_broken()
    if isinstance(error, BrokenPipeError):
        raise click.exceptions.Exit(EXIT_PIPE) from None
    with contextlib.suppress(OSError):
        click.echo(f"muster: the output cannot be written: {error.strerror}", err=True)
    _drop_broken()
    raise click.exceptions.Exit(EXIT_OUTPUT) from None


def _is_of_output(error: OSError) -> bool:
    """Whether what prints raised it: a stream that is not buffered forgets what it could not write."""
    frames = [frame for frame, _line in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_globals.get("__name__", "").startswith(PRINTERS)


def _drop_broken() -> None:
    """Let the streams that take nothing lead to nowhere: the interpreter flushes them at its end."""
    broken = [stream for stream in (sys.stdout, sys.stderr) if stream and not _takes(stream)]
    if broken:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in broken:
            os.dup2(nowhere, stream.fileno())


def _takes(stream: TextIO) -> bool:
    try:
        stream.flush()
    except OSError:
        return False
    return True
