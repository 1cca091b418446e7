"""Who is in the job, and in what order. Pure."""

from __future__ import annotations

from typing import Any, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

from muster_runtime.agent.errors import ProtocolError
from muster_runtime.agent.identity import node_order
from muster_runtime.agent.rendezvous.messages import check

_NODE = {"node": int, "address": str, "host": str, "slots": int}


class Facts(NamedTuple):
    """What a node says of itself when it joins."""

    node: int
    """Its index."""
    address: str
    host: str
    slots: int
    """Processes that this node will run."""


class Roster(NamedTuple):
    """Every node of the job, by group rank: the main node first, the others in index order."""

    nodes: Tuple[Facts, ...]
    shared: Mapping[str, int]
    """What the main node's launcher tells the others', such as a port."""

    @property
    def world_size(self) -> int:
        """Processes of the whole job."""
        return sum(node.slots for node in self.nodes)

    @property
    def main(self) -> Facts:
        """The main node."""
        return self.nodes[0]

    def position(self, index: int) -> int:
        """Give the group rank of a node."""
        return [node.node for node in self.nodes].index(index)

    def first_rank(self, position: int) -> int:
        """Give the global rank of the first process of the node with this group rank."""
        return sum(node.slots for node in self.nodes[:position])


def make_roster(facts: Mapping[int, Facts], main_index: int, shared: Mapping[str, int]) -> Roster:
    """Put the nodes in order."""
    return Roster(tuple(facts[index] for index in node_order(len(facts), main_index)), shared)


def roster_of(nodes: Sequence[Any], shared: Mapping[str, Any]) -> Roster:
    """Read a roster out of a message.

    Raises:
        ProtocolError: it is not of a roster's shape.
    """
    for node in nodes:
        if not isinstance(node, dict):
            raise ProtocolError("a node of the roster has the wrong type")
        check(node, _NODE, "node")
    if not nodes or not all(type(value) is int for value in shared.values()):
        raise ProtocolError("the roster has the wrong shape")
    return Roster(tuple(Facts(**node) for node in nodes), dict(shared))


def compact(indexes: Iterable[int]) -> str:
    """Write indexes shortly: ``3, 17-31``."""
    runs: List[List[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][-1] + 1:
            runs[-1][1:] = [index]
        else:
            runs.append([index])
    return ", ".join("-".join(map(str, run)) for run in runs)


def nodes_text(indexes: Iterable[int]) -> str:
    """Write ``node 3`` or ``nodes 3, 17-31``."""
    known = sorted(indexes)
    return f"node{'s' if len(known) != 1 else ''} {compact(known)}"
