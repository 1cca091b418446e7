"""The address and the interface that reach the main node."""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

from muster_core.contract import BATCH_MAIN_NODE_ADDRESS, ENV_LOCAL
from muster_runtime.agent.errors import ConfigError, NetworkError

if TYPE_CHECKING:
    from muster_runtime.agent.config import Config
    from muster_runtime.agent.identity import Node

_ANYWHERE = (
    "192.0.2.1"  # a documentation address (RFC 5737): routed by the default route, and nothing is sent
)
_DISCARD = 9  # a connected datagram socket needs some port
_SIOCGIFADDR = 0xC0206921 if sys.platform == "darwin" else 0x8915
_SIOCGIFCONF = 0x8912
_IFREQ = struct.Struct("16s16s8x")  # Linux, 64 bits: name, address, rest
_IFCONF = struct.Struct("iP")
_VIRTUAL = ("docker", "br-", "veth", "virbr", "cni")  # bridges of container engines: never between hosts


class Network(NamedTuple):
    """How this node is reached by the others."""

    address: str
    """IPv4."""
    interface: str


def find_network(node: Node, config: Config) -> Network:
    """Find this node's own address by the route to the main node, and the interface that has it.

    Raises:
        ConfigError: the main node's address cannot be one.
        NetworkError: there is no such route, or no interface for it.
    """
    if config.local:
        return Network(config.local.address, interface_of(config.local.address))
    address = _default_address(node) if node.main_address is None else _address_towards(node.main_address)
    return Network(address, interface_of(address))


def is_unusable(address: str) -> bool:
    """Whether no other host can reach this address: loopback, link-local or unspecified."""
    return address.startswith(("127.", "169.254.", "0."))


def _address_towards(main_address: str) -> str:
    if is_unusable(main_address):
        raise ConfigError(
            f"{BATCH_MAIN_NODE_ADDRESS} must be an address that other hosts reach, got {main_address!r}; "
            f"only the local cloud, by {ENV_LOCAL}, permits loopback"
        )
    address = _source_address(main_address)
    if address is None or is_unusable(address):
        raise NetworkError(f"no route to the main node {main_address} from a usable address, found {address}")
    return address


def _default_address(node: Node) -> str:
    address = _source_address(_ANYWHERE)
    if address is not None and not is_unusable(address):
        return address
    usable = [
        address
        for name, address in interfaces()
        if not is_unusable(address) and not name.startswith(_VIRTUAL)
    ]
    if usable:
        return usable[0]  # an isolated subnet has no default route
    if node.nodes == 1:
        return "127.0.0.1"  # nobody else is to reach it
    raise NetworkError(f"no address that other hosts reach, found {_listing()}")


def _source_address(target: str) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((target, _DISCARD))
        except OSError:
            return None
        return str(probe.getsockname()[0])


def interface_of(address: str) -> str:
    """Find the interface that has an address.

    Raises:
        NetworkError: no interface has it.
    """
    found = interfaces()
    for name, candidate in found:
        if candidate == address:
            return name
    if address.startswith("127."):
        for name, candidate in found:
            if candidate.startswith("127."):
                return name  # all of 127/8 is one interface's
    raise NetworkError(f"no interface has the address {address}, found {_listing()}")


def _listing() -> str:
    return ", ".join(f"{name} {address}" for name, address in interfaces()) or "none"


def interfaces() -> list[tuple[str, str]]:
    """Give (interface, IPv4 address), every address of every interface that is up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return _all_addresses(probe) if sys.platform == "linux" else _first_addresses(probe)


def _all_addresses(probe: socket.socket) -> list[tuple[str, str]]:
    import array  # noqa: PLC0415  Linux alone

    room = array.array("B", bytes(_IFREQ.size * 1024))
    where, size = room.buffer_info()
    used, _ = _IFCONF.unpack(fcntl.ioctl(probe, _SIOCGIFCONF, _IFCONF.pack(size, where)))
    return [
        (name.split(b"\0")[0].split(b":")[0].decode(), socket.inet_ntoa(address[4:8]))
        for name, address in _IFREQ.iter_unpack(room.tobytes()[:used])
    ]


def _first_addresses(probe: socket.socket) -> list[tuple[str, str]]:
    found = []
    for _, name in socket.if_nameindex():
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            continue  # without an IPv4 address
        found.append((name, socket.inet_ntoa(answer[20:24])))
    return found
