"""What a node knows of the job's nodes together: the same for the main node and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Mapping, NamedTuple, Optional, Protocol

from muster_core.contract import OUTCOME_FAILED, OUTCOME_SUCCEEDED, OUTCOME_TERMINATED, SIGNAL_BASE, Failure

if TYPE_CHECKING:
    from muster_runtime.agent.config import Config
    from muster_runtime.agent.identity import Node
    from muster_runtime.agent.rendezvous.roster import Facts, Roster

FAILURE_GRACE = 1.6
"""Seconds from the first failure's report until SIGKILL: the whole job is over within 2 s."""


class Place(NamedTuple):
    """A node's place in the job."""

    node: Node
    config: Config
    me: Facts
    """What it says of itself."""


class End(NamedTuple):
    """How the job ends: decided once, by the main node."""

    outcome: str
    code: int
    failure: Optional[Failure]
    grace: float
    """Seconds that processes which still run have between SIGTERM and SIGKILL."""


SUCCESS = End(OUTCOME_SUCCEEDED, 0, None, 0.0)


class Group(Protocol):
    """The coordinator or a member, as the phases see it."""

    @property
    def end(self) -> End | None:
        """How the job ends, once that is decided."""

    @property
    def roster(self) -> Roster | None:
        """Every node, once all have joined."""

    def join(self) -> None:
        """Wait until every node has joined, or the job has ended."""

    def report(self, failure: Failure) -> None:
        """Tell of a failure on this node."""

    def terminate(self, number: int) -> None:
        """Tell that this node was asked to end by a signal."""

    def hurry(self) -> None:
        """Tell that the grace is over, as this node was asked to end once more."""

    def done(self, code: int) -> None:
        """Tell that this node's processes are gone."""

    def leave(self) -> End:
        """Wait at the exit barrier; afterwards the end is decided."""

    def codes(self) -> Mapping[int, int]:
        """Give the exit codes of the nodes whose processes are gone, as far as they are known."""

    def facts(self) -> Mapping[int, Facts]:
        """Give what is known of the nodes that have joined, by index."""

    def close(self) -> None:
        """Close every connection."""


Log = Callable[[str], None]


def node_failure(node: int | None, host: str, code: int, reason: str) -> Failure:
    """Describe a failure of a node rather than of one of its processes."""
    return Failure(node=node, rank=None, host=host, code=code, reason=reason, lines=[])


def failed(failure: Failure, grace: float) -> End:
    """End a job by its first failure."""
    return End(OUTCOME_FAILED, failure["code"], failure, grace)


def terminated(node: int, host: str, number: int, name: str, grace: float) -> End:
    """End a job by a signal that a node got."""
    code = SIGNAL_BASE + number
    return End(
        OUTCOME_TERMINATED,
        code,
        node_failure(node, host, code, f"node {node} was asked to end by {name}"),
        grace,
    )
