"""Process groups that end with the agent, on Linux and elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Callable, Iterator, Mapping, Sequence

from muster_core.contract import SIGNAL_BASE
from muster_runtime.agent.errors import LaunchError

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _find_prctl() -> Callable[[int, int], int] | None:
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # noqa: PLC0415  some small builds have none

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return lambda option, value: int(prctl(option, value, 0, 0, 0))


_prctl = _find_prctl()


def become_subreaper() -> None:
    """Make orphans of the ranks children of this process; Linux alone can."""
    if _prctl is not None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def start(argv: Sequence[str], environ: Mapping[str, str], output: int) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own that ends with this process.

    Args:
        argv: the program and its arguments.
        environ: all of its environment.
        output: the descriptor for its output and its errors.

    Raises:
        LaunchError: the program is not there or cannot be run.
    """
    try:
        return subprocess.Popen(
            list(argv),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=None if _prctl is None else _die_with_parent,  # noqa: PLW1509  no thread but this one
        )
    except (OSError, ValueError) as error:
        words = (getattr(error, "strerror", None) or str(error)).lower()
        raise LaunchError(f"cannot start {argv[0]!r}: {words}; is it in the image and executable?") from None


def _die_with_parent() -> None:
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def reap() -> Iterator[tuple[int, int]]:
    """Give (process id, wait status) of every child that has ended, ranks and orphans alike."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def exit_code(status: int) -> int:
    """Read a wait status: the program's own code, or 128 + N for signal N."""
    killer = killed_by(status)
    return SIGNAL_BASE + killer if killer else os.WEXITSTATUS(status)


def killed_by(status: int) -> int:
    """Read the signal out of a wait status, 0 where the program exited by itself, with whatever code."""
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def signal_group(group: int, number: int) -> bool:
    """Signal a process group; tell whether there was one."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_orphans(spare: int) -> bool:
    """Kill what ranks have left behind in sessions of their own; Linux alone can tell.

    Args:
        spare: the process id of a child that stays.

    Returns:
        Whether there was any; their own children then become orphans in turn.
    """
    orphans = [pid for pid in _children() if pid != spare]
    for pid in orphans:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(orphans)


def _children() -> Iterator[int]:
    own = str(os.getpid())
    with contextlib.suppress(OSError):
        for entry in os.scandir("/proc"):
            if entry.name.isdigit() and _parent(entry.path) == own:
                yield int(entry.name)


def _parent(folder: str) -> str:
    try:
        with open(f"{folder}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123  as torch.py's
            return file.read().rpartition(")")[2].split()[1]
    except (OSError, IndexError):
        return ""


class Guardian:
    """A small process that kills the ranks' groups when the agent itself was killed.

    It waits on a pipe of which the agent alone has the other end, so it works on every POSIX
    system, and for a rank's children too, which no parent-death signal reaches.
    """

    def __init__(self) -> None:
        reader, self._writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _guard(reader)
        os.close(reader)

    def watch(self, group: int) -> None:
        """Kill this process group if the agent dies."""
        with contextlib.suppress(OSError):
            os.write(self._writer, b"%d\n" % group)

    def dismiss(self) -> None:
        """End the guardian: nothing is left to kill."""
        with contextlib.suppress(OSError):
            os.write(self._writer, b"0\n")
        os.close(self._writer)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _guard(reader: int) -> None:
    """Be the guardian; never returns."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.dup2(reader, 3)
        for name in os.listdir("/dev/fd"):  # noqa: PTH208  the limit may be a thousand million
            if int(name) > 3:  # noqa: PLR2004
                with contextlib.suppress(OSError):
                    os.close(int(name))
        _wait_for_end(3)
    finally:
        os._exit(0)


def _wait_for_end(reader: int) -> None:
    told = b""
    while True:
        data = os.read(reader, 4096)
        if not data:
            break
        told += data
    groups = [int(line) for line in told.split()]
    if 0 not in groups:
        for group in groups:
            signal_group(group, signal.SIGKILL)
