"""A loopback address per node: for Linux without root."""

from __future__ import annotations

import ipaddress
import threading

from muster_cli.local.executor.networks.base import NetworkError, NodeNetwork, host_name
from muster_cli.local.settings import HOST

_HOSTS = 65_534


class LoopbackNetwork:
    """Addresses of one /16 of 127/8; where in it they begin is the tag's too, so that no two clouds meet.

    Args:
        tag: Hexadecimal digits of the state folder.
        endpoint_port: Port of the local cloud.
    """

    def __init__(self, tag: str, endpoint_port: int) -> None:
        second = 16 + int(tag[:4], 16) % 224  # 127.0/16 and its neighbours are everybody's
        self._first = int(ipaddress.IPv4Address(f"127.{second}.0.0"))
        self._endpoint = f"http://{HOST}:{endpoint_port}"
        self._next = 1 + int(tag[4:], 16) % _HOSTS
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    def attach(self) -> NodeNetwork:
        """Give a node an address that no other node has, the least recently used first."""
        with self._lock:
            address = self._free_address()
            self._taken.add(address)
        return NodeNetwork(address, address, self._endpoint, host_name(address))

    def _free_address(self) -> str:
        for _ in range(_HOSTS):
            address = str(ipaddress.IPv4Address(self._first + self._next))
            self._next = self._next % _HOSTS + 1
            if address not in self._taken:
                return address
        raise NetworkError(f"all {_HOSTS} loopback addresses of this cloud are taken; end some jobs")

    def detach(self, node: NodeNetwork) -> None:
        """Make the address free again."""
        with self._lock:
            self._taken.discard(node.address)

    def close(self) -> None:
        """Nothing to take away."""
