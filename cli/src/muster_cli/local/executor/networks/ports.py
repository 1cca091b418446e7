"""One address, a range of ports per node: for macOS, where 127.0.0.1 is the only loopback address."""

from __future__ import annotations

import contextlib
import socket
import threading

from muster_cli.local.executor.networks.base import NetworkError, NodeNetwork
from muster_cli.local.settings import HOST

PORTS = 32
"""Ports per node: the coordinator's, the launcher's and some of the user's own."""
FIRST_PORT = 20_000
LAST_PORT = 28_799
"""Below the contract's coordinator port, and below every system's ephemeral range."""


class PortNetwork:
    """Ranges of ports, a range in use by somebody else passed over.

    Args:
        tag: Hexadecimal digits of the state folder: where the search begins.
        endpoint_port: Port of the local cloud.
    """

    def __init__(self, tag: str, endpoint_port: int) -> None:
        self._ranges = (LAST_PORT + 1 - FIRST_PORT) // PORTS
        self._next = int(tag[:4], 16) % self._ranges
        self._endpoint = f"http://{HOST}:{endpoint_port}"
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def attach(self) -> NodeNetwork:
        """Give a node a range of ports of which nobody listens on any."""
        with self._lock:
            place = self._free_place()
            self._taken.add(place)
        first = FIRST_PORT + place * PORTS
        ports = range(first, first + PORTS)
        return NodeNetwork(
            address=HOST,
            local=f"{HOST}/{ports[0]}-{ports[-1]}",
            endpoint=self._endpoint,
            hostname="localhost",
            ports=ports,
        )

    def _free_place(self) -> int:
        for _ in range(self._ranges):
            place = self._next
            self._next = (self._next + 1) % self._ranges
            if place not in self._taken and _nobody_listens(FIRST_PORT + place * PORTS):
                return place
        raise NetworkError(
            f"no range of {PORTS} free ports is left between {FIRST_PORT} and {LAST_PORT}; end some jobs"
        )

    def detach(self, node: NodeNetwork) -> None:
        """Make the range free again."""
        with self._lock:
            self._taken.discard((node.ports[0] - FIRST_PORT) // PORTS)

    def close(self) -> None:
        """Nothing to take away."""


def _nobody_listens(first: int) -> bool:
    with contextlib.ExitStack() as stack:
        try:
            for port in range(first, first + PORTS):
                probe = stack.enter_context(socket.socket())
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((HOST, port))
        except OSError:
            return False
    return True
