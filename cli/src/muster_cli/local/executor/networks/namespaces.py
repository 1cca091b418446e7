"""A network namespace per node, on a bridge: for root on Linux.

Everything made here carries the state folder's tag in its name: :func:`remove` finds it again
after a crash, without any other record.
"""

from __future__ import annotations

import ipaddress
import itertools
import json
import subprocess
import threading
from typing import Any

from muster_cli.local.executor.networks.base import NetworkError, NodeNetwork, host_name
from muster_cli.local.executor.networks.forwarder import Forwarder

PREFIX_LENGTH = 20
"""Each cloud has a /20 of 10/8: room for 4,093 nodes."""
INTERFACE = "eth0"
"""The node's interface, named as a task's on AWS."""
_NETWORKS = 1 << (PREFIX_LENGTH - 8)


def bridge_name(tag: str) -> str:
    """Return the bridge's name; Linux allows 15 characters."""
    return f"mb{tag}"


def link_prefix(tag: str) -> str:
    """Return what the names of the host's ends of the links begin with."""
    return f"m{tag}-"


def namespace_prefix(tag: str) -> str:
    """Return what the names of the namespaces begin with."""
    return f"muster-{tag}-"


def run_ip(*arguments: str, lines: list[str] | None = None) -> str:
    """Run ``ip``.

    Args:
        arguments: Of the command.
        lines: Commands for ``-batch -``. Default: none.

    Raises:
        NetworkError: It failed, or there is no such program.
    """
    try:
        done = subprocess.run(
            ["ip", *arguments, *(["-batch", "-"] if lines else [])],
            input="\n".join(lines) if lines else None,
            capture_output=True,
            text=True,
            check=True,
        )
    except FileNotFoundError:
        raise NetworkError("no program `ip`; install iproute2") from None
    except subprocess.CalledProcessError as error:
        said = " ".join(error.stderr.split())
        raise NetworkError(f"`ip {' '.join(arguments)}` failed: {said}") from None
    return done.stdout


def listed(*arguments: str) -> list[dict[str, Any]]:
    """Return what ``ip -json`` lists."""
    found: list[dict[str, Any]] = json.loads(run_ip("-json", *arguments) or "[]")
    return found


def free_network(tag: str, taken: list[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
    """Return a network of 10/8 that the host has no route into, the tag's own first.

    Args:
        tag: Hexadecimal digits of the state folder.
        taken: Networks that the host has an address in or a route to.

    Raises:
        NetworkError: There is none.
    """
    first = int(tag, 16) % _NETWORKS
    for step in range(_NETWORKS):
        number = (10 << 24) + ((first + step) % _NETWORKS << (32 - PREFIX_LENGTH))
        network = ipaddress.IPv4Network((number, PREFIX_LENGTH))
        if not any(network.overlaps(other) for other in taken):
            return network
    raise NetworkError("the host has routes into every part of 10.0.0.0/8; no network is left for the nodes")


def routes() -> list[ipaddress.IPv4Network]:
    """Return the networks that the host has a route to, without the default route."""
    found = [item.get("dst", "default") for item in listed("-4", "route", "show", "table", "all")]
    return [
        ipaddress.IPv4Network(item, strict=False) for item in found if item not in {"default", "0.0.0.0/0"}
    ]


class NamespaceNetwork:
    """A bridge with a namespace per node; the local cloud answers at the bridge's address too.

    Args:
        tag: Hexadecimal digits of the state folder.
        endpoint_port: Port of the local cloud.
    """

    def __init__(self, tag: str, endpoint_port: int) -> None:
        self._tag = tag
        self._port = endpoint_port
        self._lock = threading.Lock()
        self._network: ipaddress.IPv4Network | None = None
        self._forwarder: Forwarder | None = None
        self._numbers = itertools.count(1)
        self._free: list[int] = []
        self._nodes: dict[int, NodeNetwork] = {}

    def attach(self) -> NodeNetwork:
        """Make a namespace with its link and address."""
        with self._lock:
            network = self._network or self._make_bridge()
            number = self._free.pop() if self._free else next(self._numbers)
            address = network.network_address + 1 + number
            if address >= network.broadcast_address:
                raise NetworkError(f"all addresses of {network} are taken; end some jobs")
            node = self._place(number, str(address), network)
            self._nodes[number] = node
        self._make(node, network)
        return node

    def _place(self, number: int, address: str, network: ipaddress.IPv4Network) -> NodeNetwork:
        return NodeNetwork(
            address=address,
            local=address,
            endpoint=f"http://{network.network_address + 1}:{self._port}",
            hostname=host_name(address),
            namespace=f"{namespace_prefix(self._tag)}{number}",
            links=(f"{link_prefix(self._tag)}{number}",),
        )

    def _make_bridge(self) -> ipaddress.IPv4Network:
        remove(self._tag)  # of an earlier cloud in this folder, if any
        network = free_network(self._tag, routes())
        bridge, address = bridge_name(self._tag), network.network_address + 1
        run_ip(
            lines=[
                f"link add {bridge} type bridge",
                f"addr add {address}/{PREFIX_LENGTH} dev {bridge}",
                f"link set {bridge} up",
            ]
        )
        self._forwarder = Forwarder(str(address), self._port)
        self._network = network
        return network

    def _make(self, node: NodeNetwork, network: ipaddress.IPv4Network) -> None:
        link, name = node.links[0], node.namespace
        run_ip("netns", "add", name)
        run_ip(
            lines=[
                f"link add {link} type veth peer name {INTERFACE} netns {name}",
                f"link set {link} master {bridge_name(self._tag)} up",
            ]
        )
        run_ip(
            "-netns",
            name,
            lines=[
                "link set lo up",
                f"addr add {node.address}/{network.prefixlen} dev {INTERFACE}",
                f"link set {INTERFACE} up",
            ],
        )

    def detach(self, node: NodeNetwork) -> None:
        """Remove a namespace with its link."""
        with self._lock:
            numbers = [number for number, other in self._nodes.items() if other == node]
            for number in numbers:
                del self._nodes[number]
                _remove_link(node.links[0])
                _remove_namespace(node.namespace)
                self._free.append(number)

    def close(self) -> None:
        """Remove every namespace, link and the bridge."""
        with self._lock:
            if self._forwarder:
                self._forwarder.close()
            if self._network:
                remove(self._tag)
            self._forwarder = self._network = None
            self._nodes.clear()


def _remove_link(name: str) -> None:
    _quietly("link", "del", name)


def _remove_namespace(name: str) -> None:
    _quietly("netns", "del", name)


def _quietly(*arguments: str) -> None:
    """Run ``ip`` for something that may be gone already."""
    subprocess.run(["ip", *arguments], capture_output=True, check=False)


def remove(tag: str) -> list[str]:
    """Remove everything that carries a state folder's tag.

    Args:
        tag: Hexadecimal digits of the state folder.

    Returns:
        Names of what was there.
    """
    links = [item["ifname"] for item in listed("link", "show")]
    ours = [name for name in links if name.startswith(link_prefix(tag)) or name == bridge_name(tag)]
    namespaces = [item["name"] for item in listed("netns", "list")]
    spaces = [name for name in namespaces if name.startswith(namespace_prefix(tag))]
    for name in ours:
        _remove_link(name)
    for name in spaces:
        _remove_namespace(name)
    return [*ours, *spaces]
