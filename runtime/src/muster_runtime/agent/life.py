"""What happens to a node while it is in the group: signals, ends of ranks, faults of its own."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Iterator

from muster_core.contract import EXIT_SOFTWARE, Failure
from muster_runtime.agent.errors import MusterError
from muster_runtime.agent.rendezvous.group import Group, node_failure
from muster_runtime.agent.verdict import shortened

if TYPE_CHECKING:
    from muster_runtime.agent.identity import Node
    from muster_runtime.agent.loop import Loop
    from muster_runtime.agent.output import Writer
    from muster_runtime.agent.supervisor import Rank, Supervisor

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that end the job, everywhere."""
PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2)
"""Signals that this node's ranks get, and that mean nothing to the agent."""


class Life:
    """Tells the group what happens to this node, and this node what the group decides.

    Args:
        node: this node.
        host: its host name.
        group: the coordinator or the membership.
        ranks: this node's processes.
        writer: takes the log.
    """

    def __init__(self, node: Node, host: str, group: Group, ranks: Supervisor, writer: Writer) -> None:
        self._node = node
        self._host = host
        self._group = group
        self._ranks = ranks
        self._writer = writer
        self._asked = False
        self.code = 0
        """Exit code of a fault of the node's own, 0 while there is none."""

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn an error of a phase into a failure of this node, which ends the job."""
        try:
            yield
        except MusterError as error:
            self._fail(error.exit_code, str(error))
        except Exception as error:  # noqa: BLE001  the other nodes must hear of it, whatever it is
            self._writer.log(trace(error))
            self._fail(EXIT_SOFTWARE, f"a fault in muster: {error!r}")

    def _fail(self, code: int, reason: str) -> None:
        self.code = self.code or code
        self._writer.log(f"error: {reason}")
        self._report(
            node_failure(self._node.node_index, self._host, code, f"node {self._node.node_index}: {reason}")
        )

    def _report(self, failure: Failure) -> None:
        self._group.report(shortened(failure))

    def take_signal(self, number: int) -> None:
        """Act on a signal that this process got."""
        if number == signal.SIGCHLD:
            self._ranks.reap()
        elif number in PASSED_ON:
            self._ranks.forward(number)
        elif self._asked:
            self._writer.log(f"{signal.Signals(number).name} again: the grace is over")
            self._ranks.stop(0.0)
            self._group.hurry()
        else:
            self._asked = True
            self._writer.log(f"{signal.Signals(number).name}: the job ends")
            self._group.terminate(number)

    def take_exit(self, rank: Rank) -> None:
        """Act on the end of one of this node's processes."""
        code = rank.code or 0
        reason = f"rank {rank.number} on node {self._node.node_index} {ending(code, rank.killed_by)}"
        if code == 0 or self._group.end is not None:
            self._writer.log(reason)
            return
        self._writer.log(f"error: {reason}")
        self._report(
            Failure(
                node=self._node.node_index,
                rank=rank.number,
                host=self._host,
                code=code,
                reason=reason,
                lines=rank.last_lines(),
            )
        )

    def supervise(self, loop: Loop) -> None:
        """Wait for this node's processes, and end them when the job is to end."""
        loop.run(lambda: self._ranks.all_gone() or self._group.end is not None)
        while not self._ranks.all_gone():
            end = self._group.end
            if end is not None:
                self._ranks.stop(end.grace)
            loop.run(lambda: self._ranks.all_gone() or self._group.end is not end)  # noqa: B023  ends within this turn


def ending(code: int, killed_by: int) -> str:
    """Say how a process ended; a code of 128 + N alone does not tell that signal N ended it."""
    if not killed_by:
        return f"exited with code {code}"
    try:
        name = signal.Signals(killed_by).name
    except ValueError:
        name = f"signal {killed_by}"
    return f"ended by {name} (code {code})"


def trace(error: BaseException) -> str:
    """Give an error's traceback as text."""
    import traceback  # noqa: PLC0415  rare, and every node pays for imports

    return "".join(traceback.format_exception(type(error), error, error.__traceback__))
