"""One address, a range of ports per node: for macOS, where 127.0.0.1 is the only loopback address."""

from __future__ import annotations

import contextlib
import socket
import threading

from muster_cli.local.executor.networks.base import NetworkError, NodeNetwork
from muster_cli.local.settings import HOST

PORTS = 32
"""Ports per node: the coordinator's, the launcher's and some of the user's own. The last one is held by
the cloud as long as the node has the range, so that no other cloud takes it."""
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
        self._taken: dict[int, socket.socket] = {}
        self._lock = threading.Lock()

    def attach(self) -> NodeNetwork:
        """Give a node a range of ports of which nobody listens on any."""
        with self._lock:
            first = self._take()
        ports = range(first, first + PORTS - 1)
        return NodeNetwork(
            address=HOST,
            local=f"{HOST}/{ports[0]}-{ports[-1]}",
            endpoint=self._endpoint,
            hostname="localhost",
            ports=ports,
        )

    def _take(self) -> int:
        for _ in range(self._ranges):
            first = FIRST_PORT + self._next * PORTS
            self._next = (self._next + 1) % self._ranges
            if first not in self._taken and (held := _hold(first)):
                self._taken[first] = held
                return first
        raise NetworkError(
            f"no range of {PORTS} free ports is left between {FIRST_PORT} and {LAST_PORT}; end some jobs"
        )

    def detach(self, node: NodeNetwork) -> None:
        """Make the range free again."""
        with self._lock:
            if held := self._taken.pop(node.ports[0], None):
                held.close()

    def close(self) -> None:
        """Make every range free."""
        with self._lock:
            for held in self._taken.values():
                held.close()
            self._taken.clear()


def _hold(first: int) -> socket.socket | None:
    """Hold a range by listening on its last port; None where somebody has a port of it."""
    with contextlib.ExitStack() as others:
        try:
            held = socket.create_server((HOST, first + PORTS - 1))
            others.callback(held.close)
            for port in range(first, first + PORTS - 1):
                others.enter_context(socket.create_server((HOST, port)))
        except OSError:
            return None
        return held.dup()
