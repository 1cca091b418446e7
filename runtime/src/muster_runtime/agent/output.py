"""What leaves this node's log: whole lines, in order, never waiting for a slow reader."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from typing import Callable

from muster_runtime.agent.loop import WRITE, Loop, now

LINE_LIMIT = 65536
"""Bytes after which a line without an end is passed on as it is."""
TAIL_LIMIT = 65536
"""Bytes of a process's output that are kept for the verdict."""
PROGRESS_DELAY = 1.0
"""Seconds after which a progress bar is passed on, though its line has no end yet."""

_PIECE = 4096  # PIPE_BUF: a pipe that is ready takes this much without waiting
_BACKLOG_LIMIT = 1 << 20  # above this the ranks' output is not read further
_PREFIX = "muster: "


class Writer:
    """Writes to a descriptor that may be slow, full or closed, without ever blocking the loop.

    Args:
        loop: tells when the descriptor takes more.
        fd: usually standard output.
    """

    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop = loop
        self._fd = fd
        self._backlog = bytearray()
        self._waits = not stat.S_ISREG(os.fstat(fd).st_mode)  # a file is always ready, and epoll takes none
        self._on_drained: Callable[[], None] = lambda: None

    @property
    def is_full(self) -> bool:
        """Whether so much waits to be written that nothing should be added."""
        return len(self._backlog) > _BACKLOG_LIMIT

    def when_drained(self, call: Callable[[], None]) -> None:
        """Call back each time that the backlog has been written."""
        self._on_drained = call

    def log(self, sentence: str) -> None:
        """Write a line of the agent's own."""
        for line in sentence.splitlines():
            self.write(f"{_PREFIX}{line}\n".encode("utf-8", "backslashreplace"))

    def write(self, data: bytes) -> None:
        """Write, or keep for later what the reader does not take now."""
        self._backlog += data
        self._push()
        if self._backlog:
            self._loop.watch(self._fd, WRITE, lambda _: self._more())

    def flush(self, timeout: float) -> None:
        """Write what is left, for at most ``timeout`` seconds; what is then left is lost."""
        deadline = now() + timeout
        while self._backlog and now() < deadline:
            self._wait(deadline - now())
            self._push()
        self._loop.forget(self._fd)

    def _more(self) -> None:
        self._push()
        if not self._backlog:
            self._loop.forget(self._fd)
            self._on_drained()

    def _push(self) -> None:
        sent = 0
        try:
            while sent < len(self._backlog) and self._wait(0):
                sent += os.write(self._fd, self._backlog[sent : sent + _PIECE])
        except BlockingIOError:
            pass
        except OSError:
            sent = len(self._backlog)  # nobody listens or the disk is full: the job goes on
        del self._backlog[:sent]

    def _wait(self, seconds: float) -> bool:
        if not self._waits:
            return True
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        return bool(poll.poll(seconds * 1000))


class Lines:
    """Turns a rank's bytes into whole lines with a prefix, and keeps the last of them.

    Args:
        write: takes whole lines.
        prefix: put before each line.
        later: calls back after :data:`PROGRESS_DELAY`.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        prefix: bytes,
        later: Callable[[Callable[[], None]], object],
    ) -> None:
        self._write = write
        self._prefix = prefix
        self._later = later
        self._waits = False
        self._partial = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        """Take bytes as they come."""
        self._tail += data
        if len(self._tail) > 2 * TAIL_LIMIT:
            del self._tail[:-TAIL_LIMIT]
        self._partial += data
        end = self._partial.rfind(b"\n") + 1
        if end:
            self._pass(end)
        while len(self._partial) >= LINE_LIMIT:
            self._pass(LINE_LIMIT)
        if not self._waits and self._has_progress():
            self._waits = True
            self._later(self._pass_progress)

    def _has_progress(self) -> bool:
        """Tell a progress bar, which goes back to the line's begin, from half of a buffered line."""
        return b"\r" in self._partial

    def _pass_progress(self) -> None:
        self._waits = False
        if self._has_progress():
            self._pass(len(self._partial))

    def close(self) -> None:
        """Pass on what has no end of line."""
        if self._partial:
            self._pass(len(self._partial))

    def _pass(self, end: int) -> None:
        block = bytes(self._partial[:end])
        del self._partial[:end]
        if not block.endswith(b"\n"):
            block += b"\n"
        if self._prefix:
            block = b"".join(self._prefix + line + b"\n" for line in block[:-1].split(b"\n"))
        self._write(block)

    def last(self, count: int, width: int) -> list[str]:
        """Give the last lines that are not blank, each cut to a number of characters."""
        text = bytes(self._tail[-TAIL_LIMIT:]).decode("utf-8", "replace")
        lines = [line.rstrip() for line in text.replace("\r", "\n").split("\n")]
        return [line[:width] for line in lines if line][-count:]


def open_standard_descriptors() -> None:
    """Make sure that 0, 1 and 2 are open, lest a socket gets one of these numbers."""
    with contextlib.suppress(OSError):
        fd = os.open(os.devnull, os.O_RDWR)
        while fd <= 2:  # noqa: PLR2004
            fd = os.open(os.devnull, os.O_RDWR)
        os.close(fd)
