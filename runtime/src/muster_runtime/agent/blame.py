"""Which failure was the first one. Pure.

When a process dies its peers soon die of it: their connections break. Such a symptom may even be
reported before its cause, since a dying interpreter closes its sockets long before it is gone. So
a failure whose last lines speak of a broken peer waits a moment for a better one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster_core.contract import Failure

SETTLE = 0.7
"""Seconds that a symptom waits for its cause."""

_SYMPTOMS = (
    "connection reset by peer",
    "connection closed by peer",
    "connection refused",
    "connection aborted",
    "broken pipe",
    "remote process exited",
    "ncclremoteerror",
    "nccl communicator was aborted",
    "socket closed",
    "recvvalue failed",
    "failed to recv",
    "brokenpipeerror",
    "connectionreseterror",
)
_LINES = 8  # of a failure that are looked at


class Blame:
    """Gathers failures in the order in which they are reported, and names the first."""

    def __init__(self) -> None:
        self._symptom: Failure | None = None
        self.first: Failure | None = None
        """The failure that ends the job, once it is certain."""

    def add(self, failure: Failure) -> None:
        """Take a failure that was just reported."""
        if self.first is not None:
            return
        if not is_symptom(failure):
            self.first = failure
        elif self._symptom is None:
            self._symptom = failure

    def settle(self) -> None:
        """Make a symptom the first failure: nothing better came in time."""
        if self.first is None:
            self.first = self._symptom

    @property
    def waits(self) -> bool:
        """Whether a symptom waits for its cause."""
        return self.first is None and self._symptom is not None


def is_symptom(failure: Failure) -> bool:
    """Whether a process seems to have died of another's death."""
    if failure["rank"] is None:
        return False
    text = "\n".join(failure["lines"][-_LINES:]).lower()
    return any(symptom in text for symptom in _SYMPTOMS)
