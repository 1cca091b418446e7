"""Who may join, and what a member may say. Pure, but for the connection that a member has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, NamedTuple

from muster_core.contract import EXIT_SOFTWARE, Failure

if TYPE_CHECKING:
    from muster_runtime.agent.rendezvous.connection import Connection
    from muster_runtime.agent.rendezvous.roster import Facts

_HIGHEST_CODE = 255


class Member(NamedTuple):
    """A node that has joined, or wants to."""

    connection: Connection
    facts: Facts
    container: str
    """Drawn once by each agent: tells a reconnection from a second container of the same index."""


class Rules(NamedTuple):
    """What a node that wants to join is held against."""

    main: Facts
    nodes: int

    def problem_of(self, candidate: Member, known: Mapping[int, Member], *, started: bool) -> str | None:
        """Say why a node may not join, None if it may.

        Args:
            candidate: has proved that it knows the job's secret.
            known: the members by index.
            started: whether every node has joined, or the job has ended.
        """
        node = candidate.facts.node
        if started:
            return f"the job has started, node {node} comes too late"
        if node == self.main.node:
            return f"node {node} is the main node {self.main.host} {self.main.address} itself"
        if not 0 <= node < self.nodes or candidate.connection.session.claimed != node:
            return f"node {node} is not of this job of {self.nodes} nodes"
        if candidate.facts.slots < 1:
            return f"node {node} has no process to run"
        other = known.get(node)
        if other is not None and other.container != candidate.container:
            return f"node {node} is already here: {other.facts.host} {other.facts.address}"
        return None


def sound(failure: Failure, node: int) -> Failure:
    """Hold a node to itself: it may tell of no other, and only of a code that a process can have."""
    failure["node"] = node
    if not 0 < failure["code"] <= _HIGHEST_CODE:
        failure["code"] = EXIT_SOFTWARE
    return failure
