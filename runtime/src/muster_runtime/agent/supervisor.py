"""The processes of this node: started, listened to, signalled, reaped."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Callable, Mapping, NamedTuple, Sequence

from muster_core.contract import SIGNAL_BASE
from muster_runtime.agent.loop import READ, Loop, Timer, now
from muster_runtime.agent.output import PROGRESS_DELAY, Lines, Writer
from muster_runtime.agent.processes import (
    Guardian,
    become_subreaper,
    exit_code,
    kill_orphans,
    killed_by,
    reap,
    signal_group,
    start,
)

if TYPE_CHECKING:
    import subprocess

    from typing_extensions import Self

LAST_LINES = 30
"""Lines of a failing process that are told of."""
LAST_WIDTH = 400
"""Characters of such a line."""

_PIECE = 65536
_DRAIN = 64  # pieces: more than a pipe holds
_SWEEP = 2.0  # seconds
_BETWEEN_SWEEPS = 0.01
_UNKILLABLE = 5.0  # seconds after SIGKILL until a process that hangs in the kernel is given up


class Program(NamedTuple):
    """A process that a launcher wants on this node."""

    rank: int
    """Global rank."""
    argv: Sequence[str]
    environ: Mapping[str, str]


class Rank:
    """A running process of this node."""

    def __init__(self, program: Program, process: subprocess.Popen[bytes], pipe: int, lines: Lines) -> None:
        self.number = program.rank
        self.process = process
        self.pipe: int | None = pipe
        self.lines = lines
        self.code: int | None = None
        """Exit code, None while it runs."""
        self.killed_by = 0
        """Signal that ended it, 0 where it exited by itself."""
        self.left_some = False
        """Whether processes of its group were there when it ended."""

    def last_lines(self) -> list[str]:
        """Give the last lines of its output."""
        return self.lines.last(LAST_LINES, LAST_WIDTH)


class Supervisor:
    """Runs the ranks of this node.

    Args:
        loop: where everything is served.
        writer: takes the ranks' lines.
    """

    def __init__(self, loop: Loop, writer: Writer) -> None:
        self._loop = loop
        self._writer = writer
        self._ranks: dict[int, Rank] = {}
        self._guardian: Guardian | None = None
        self._paused: list[Rank] = []
        self._kill_at: float | None = None
        self._kill_timer: Timer | None = None
        self._on_exit: Callable[[Rank], None] = lambda _: None
        self.code = 0
        """Exit code of the first of this node's ranks that failed, 0 while none has."""
        writer.when_drained(self._resume)

    def __enter__(self) -> Self:
        become_subreaper()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind, whatever happened."""
        self._signal(signal.SIGKILL)
        self._loop.run(self.all_gone, _UNKILLABLE)
        self.sweep()
        if self._guardian is not None:
            self._guardian.dismiss()

    def launch(self, programs: Sequence[Program], on_exit: Callable[[Rank], None]) -> None:
        """Start programs.

        Args:
            programs: the processes of this node.
            on_exit: called with each rank when it has ended and its output was read.

        Raises:
            LaunchError: one of them cannot be started; those before it run.
        """
        self._on_exit = on_exit
        self._guardian = Guardian()
        for program in programs:
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            try:
                process = start(program.argv, program.environ, writer)
            except BaseException:
                os.close(reader)
                raise
            finally:
                os.close(writer)
            self._guardian.watch(process.pid)
            prefix = b"[%d] " % program.rank if len(programs) > 1 else b""
            rank = Rank(program, process, reader, Lines(self._writer.write, prefix, self._after_a_while))
            self._ranks[process.pid] = rank
            self._listen(rank)

    def all_gone(self) -> bool:
        """Whether no rank runs any more."""
        return all(rank.code is not None for rank in self._ranks.values())

    def _after_a_while(self, call: Callable[[], None]) -> None:
        self._loop.call_later(PROGRESS_DELAY, call)

    # --- output -------------------------------------------------------------------------------

    def _listen(self, rank: Rank) -> None:
        if rank.pipe is not None:
            self._loop.watch(rank.pipe, READ, lambda _: self._readable(rank))

    def _readable(self, rank: Rank) -> None:
        if rank.pipe is None:
            return
        if self._writer.is_full:  # the reader of the log is slow: let the rank wait, not the agent
            self._loop.forget(rank.pipe)
            self._paused.append(rank)
            return
        self._read(rank)

    def _read(self, rank: Rank) -> bool:
        if rank.pipe is None:
            return False
        try:
            data = os.read(rank.pipe, _PIECE)
        except BlockingIOError:
            return False
        if data:
            rank.lines.feed(data)
            return True
        self._hang_up(rank)
        return False

    def _hang_up(self, rank: Rank) -> None:
        if rank.pipe is not None:
            self._loop.forget(rank.pipe)
            os.close(rank.pipe)
            rank.pipe = None
            rank.lines.close()

    def _resume(self) -> None:
        paused, self._paused = self._paused, []
        for rank in paused:
            self._listen(rank)

    # --- ends ---------------------------------------------------------------------------------

    def reap(self) -> None:
        """Take every child that has ended; to be called on SIGCHLD."""
        ended = [(self._ranks[pid], status) for pid, status in reap() if pid in self._ranks]
        for rank, status in ended:
            self._note(rank, status)
        for rank, _ in ended:
            self._on_exit(rank)

    def _note(self, rank: Rank, status: int) -> None:
        rank.code = code = exit_code(status)
        rank.killed_by = killed_by(status)
        rank.process.returncode = code  # it was reaped here, not by subprocess
        if code and not self.code:
            self.code = code
        rank.left_some = signal_group(rank.process.pid, 0)  # asked now: later the number may be another's
        self._drain(rank)

    def _drain(self, rank: Rank) -> None:
        for _ in range(_DRAIN):  # what it said last; its children may hold the pipe open for ever
            if not self._read(rank):
                break

    def forward(self, number: int) -> None:
        """Pass a signal on to every rank's process group."""
        self._signal(number)

    def stop(self, grace: float) -> None:
        """End the ranks: SIGTERM, then SIGKILL after ``grace`` seconds; a later call may shorten that."""
        moment = now() + grace
        if self._kill_at is None:
            self._signal(signal.SIGTERM)
        elif moment >= self._kill_at:
            return
        self._kill_at = moment
        if self._kill_timer is not None:
            self._kill_timer.cancel()
        self._kill_timer = self._loop.call_later(grace, self._kill)

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._kill_timer = self._loop.call_later(_UNKILLABLE, self._abandon)

    def _abandon(self) -> None:
        for rank in self._ranks.values():
            if rank.code is None:
                self._writer.log(
                    f"rank {rank.number} does not die of SIGKILL: it hangs in the kernel, and is given up"
                )
                rank.code = SIGNAL_BASE + signal.SIGKILL
                self.code = self.code or rank.code

    def _signal(self, number: int) -> None:
        for pid, rank in self._ranks.items():
            if rank.code is None:
                signal_group(pid, number)

    def sweep(self) -> None:
        """Kill what the ranks have left behind, and read the last of their output."""
        for pid, rank in self._ranks.items():
            if rank.left_some:
                signal_group(pid, signal.SIGKILL)
        deadline = now() + _SWEEP
        while self._guardian is not None and kill_orphans(self._guardian.pid) and now() < deadline:
            self.reap()
            self._loop.run(lambda: False, _BETWEEN_SWEEPS)
        for rank in self._ranks.values():
            self._drain(rank)
            self._hang_up(rank)
