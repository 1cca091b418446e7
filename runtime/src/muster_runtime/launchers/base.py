"""What a launcher is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, NamedTuple, Protocol, Sequence

if TYPE_CHECKING:
    from muster_runtime.agent.config import Config
    from muster_runtime.agent.network import Network
    from muster_runtime.agent.rendezvous.group import Log
    from muster_runtime.agent.rendezvous.roster import Roster
    from muster_runtime.agent.supervisor import Program

Options = Mapping[str, object]
"""A launcher's options by name in snake case; an option that was not given is absent."""


class Job(NamedTuple):
    """What a launcher is made from."""

    id: str
    """AWS Batch's job id, without a node's suffix."""
    options: Options
    program: Sequence[str]
    """The user's program and its arguments."""
    environ: Mapping[str, str]
    config: Config
    log: Log
    """Takes sentences."""


class Launcher(Protocol):
    """Turns the roster into this node's processes. Made from a :class:`Job`."""

    @property
    def slots(self) -> int:
        """Processes on this node."""

    def check(self) -> None:
        """Find out early whether the program can be started.

        Raises:
            LaunchError: it certainly cannot.
        """

    def share(self, network: Network) -> Mapping[str, int]:
        """Give what the launchers of the other nodes must know; asked on the main node alone.

        Raises:
            NetworkError: a port that was asked for is taken.
        """

    def programs(self, roster: Roster, position: int, network: Network) -> list[Program]:
        """Give this node's processes.

        Args:
            roster: every node, by group rank.
            position: this node's group rank.
            network: how this node is reached.

        Raises:
            LaunchError: the environment contradicts the roster; tells of all contradictions.
        """
