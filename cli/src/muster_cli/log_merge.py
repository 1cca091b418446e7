"""Lines of several nodes merged by time; pure.

While a job is followed, a node's lines arrive in pieces. :class:`Merger` holds a piece back for
one turn, so that another node's earlier lines, read a moment later, still come out before it.
It compares the log service's own times with each other, never with this machine's clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Line(NamedTuple):
    """One line of a node's log."""

    time_ms: int
    """Milliseconds since the epoch, as the log service has it."""
    node: int
    text: str


class Merger:
    """Merges lines of nodes by time, in turns.

    Lines of one node keep their order, whatever times they carry. Between nodes, the time
    decides; at the same time, the node's index.
    """

    def __init__(self) -> None:
        self._held: list[Line] = []
        self._latest: dict[int, int] = {}
        self._horizon: int | None = None

    def push(self, lines: Iterable[Line]) -> None:
        """Take lines, each node's in their order."""
        for line in lines:
            time_ms = max(line.time_ms, self._latest.get(line.node, line.time_ms))
            self._latest[line.node] = time_ms
            self._held.append(line if time_ms == line.time_ms else line._replace(time_ms=time_ms))

    def turn(self) -> list[Line]:
        """End a turn: every stream has been read once more.

        Returns:
            The lines no later than the latest one of the turn before, in order.
        """
        horizon, self._horizon = self._horizon, max((line.time_ms for line in self._held), default=None)
        if horizon is None:
            return []
        return self._release(horizon)

    def rest(self) -> list[Line]:
        """Return everything that is held, in order: nothing more will come."""
        self._horizon = None
        return self._release(None)

    def _release(self, horizon: int | None) -> list[Line]:
        # sort is stable: a node's lines of one time stay in their order
        self._held.sort(key=_order)
        ready = len(self._held)
        if horizon is not None:
            ready = next((i for i, line in enumerate(self._held) if line.time_ms > horizon), ready)
        lines, self._held = self._held[:ready], self._held[ready:]
        return lines


def merge(lines: Iterable[Line]) -> list[Line]:
    """Merge lines that are all there.

    Args:
        lines: Each node's in their order.
    """
    merger = Merger()
    merger.push(lines)
    return merger.rest()


def _order(line: Line) -> tuple[int, int]:
    return line.time_ms, line.node
