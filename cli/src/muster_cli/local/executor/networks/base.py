"""What the executor asks of a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from muster_core import contract


class NetworkError(Exception):
    """A network could not be made; the text says which step failed and why."""


@dataclass(frozen=True)
class NodeNetwork:
    """A node's place in a network."""

    address: str
    """Private IPv4 address."""
    local: str
    """Value of ``MUSTER_LOCAL``."""
    endpoint: str
    """The local cloud as the node reaches it, such as ``http://10.31.0.1:40123``."""
    hostname: str
    namespace: str = ""
    """Name of the network namespace; empty: none."""
    ports: range = field(default_factory=lambda: range(0))
    """Ports that the node may listen on; empty: all."""

    @property
    def namespace_path(self) -> str:
        """File of the namespace; empty: none."""
        return f"/run/netns/{self.namespace}" if self.namespace else ""


def host_name(address: str) -> str:
    """Return the host name that EC2 gives to a private address."""
    return f"ip-{address.replace('.', '-')}"


def rendezvous_variables(main: NodeNetwork, node: NodeNetwork) -> dict[str, str]:
    """Return the variables of the contract that only the local cloud sets.

    Args:
        main: The main node's place: where nodes share an address, its first port is the
            coordinator's.
        node: The node's own.
    """
    variables = {contract.ENV_LOCAL: node.local}
    if main.ports:
        variables[contract.ENV_RENDEZVOUS_PORT] = str(main.ports[0])
    return variables


class Network(Protocol):
    """A network that nodes are attached to and detached from; every method may be called by any thread."""

    def attach(self) -> NodeNetwork:
        """Make a place for one node.

        Raises:
            NetworkError: There is none left, or it could not be made.
        """

    def detach(self, node: NodeNetwork) -> None:
        """Take a node's place away; one that is gone already is no error."""

    def close(self) -> None:
        """Take the network away, with whatever is still attached."""
