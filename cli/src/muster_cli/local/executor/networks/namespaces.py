"""A network namespace per node, on a bridge in a namespace of its own: for root on Linux.

Nothing of it appears among the host's interfaces and routes: no firewall, no network manager and
no other cloud is in the way. Every name carries the state folder's tag: :func:`remove` finds it
again after a crash, without any other record.
"""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import itertools
import json
import os
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from muster_cli.local.executor.networks.base import NetworkError, NodeNetwork, host_name
from muster_cli.local.executor.networks.forwarder import Forwarder
from muster_cli.local.settings import NAMESPACES, namespace_prefix

NETWORK = ipaddress.IPv4Network("10.0.0.0/16")
"""Of every cloud: they do not see one another."""
INTERFACE = "eth0"
"""The node's interface, named as a task's on AWS."""
BRIDGE = "bridge"
_RESERVED = 4
"""A VPC's subnet keeps its first four addresses; the second one is the bridge's."""
_GATEWAY = NETWORK.network_address + 1
_CLONE_NEWNET = 0x40000000


def namespace_path(name: str) -> str:
    """Return the file of a namespace."""
    return str(NAMESPACES / name)


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


def listen_in(name: str, address: str, port: int) -> socket.socket:
    """Listen in a namespace; connections are accepted from anywhere in this process.

    Args:
        name: The namespace.
        address: Of an interface in it.
        port: TCP port.

    Raises:
        OSError: The address cannot be listened on.
    """

    def enter_and_listen() -> socket.socket:
        descriptor = os.open(namespace_path(name), os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(descriptor)
        return socket.create_server((address, port))

    # a thread of its own enters the namespace, and ends there
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(enter_and_listen).result()


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
        self._switch = f"{namespace_prefix(tag)}switch"
        self._forwarder: Forwarder | None = None
        self._numbers = itertools.count()
        self._free: list[int] = []
        self._nodes: dict[str, int] = {}

    def attach(self) -> NodeNetwork:
        """Make a namespace with its link and address."""
        with self._lock:
            self._forwarder = self._forwarder or self._make_switch()
            number = self._free.pop() if self._free else next(self._numbers)
            address = NETWORK.network_address + _RESERVED + number
            if address >= NETWORK.broadcast_address:
                raise NetworkError(f"all addresses of {NETWORK} are taken; end some jobs")
            name = f"{namespace_prefix(self._tag)}{number}"
            self._nodes[name] = number
        self._make(name, number, str(address))
        return NodeNetwork(
            address=str(address),
            local=str(address),
            endpoint=f"http://{_GATEWAY}:{self._port}",
            hostname=host_name(str(address)),
            namespace=name,
        )

    def _make_switch(self) -> Forwarder:
        remove(self._tag)  # of an earlier cloud in this folder, if any
        run_ip("netns", "add", self._switch)
        lines = [
            "link set lo up",
            f"link add {BRIDGE} type bridge",
            f"addr add {_GATEWAY}/{NETWORK.prefixlen} dev {BRIDGE}",
            f"link set {BRIDGE} up",
        ]
        run_ip("-netns", self._switch, lines=lines)
        return Forwarder(listen_in(self._switch, str(_GATEWAY), self._port), self._port)

    def _make(self, name: str, number: int, address: str) -> None:
        link = f"node{number}"
        run_ip("netns", "add", name)
        run_ip(
            "-netns",
            self._switch,
            lines=[
                f"link add {link} type veth peer name {INTERFACE} netns {name}",
                f"link set {link} master {BRIDGE} up",
            ],
        )
        run_ip(
            "-netns",
            name,
            lines=[
                "link set lo up",
                f"addr add {address}/{NETWORK.prefixlen} dev {INTERFACE}",
                f"link set {INTERFACE} up",
            ],
        )

    def detach(self, node: NodeNetwork) -> None:
        """Remove a namespace with its link."""
        with self._lock:
            number = self._nodes.pop(node.namespace, None)
            if number is not None:
                # the link first: a namespace is taken apart later, when the kernel has the time
                _quietly("-netns", self._switch, "link", "del", f"node{number}")
                _quietly("netns", "del", node.namespace)
                self._free.append(number)

    def close(self) -> None:
        """Remove every namespace, those of the nodes and the bridge's."""
        with self._lock:
            if self._forwarder:
                self._forwarder.close()
                remove(self._tag)
            self._forwarder = None
            self._nodes.clear()


def _quietly(*arguments: str) -> None:
    """Run ``ip`` for something that may be gone already."""
    with contextlib.suppress(NetworkError):
        run_ip(*arguments)


def remove(tag: str) -> list[str]:
    """Remove every namespace that carries a state folder's tag, and with them their links.

    Args:
        tag: Hexadecimal digits of the state folder.

    Returns:
        Names of what was there.
    """
    found = [item["name"] for item in listed("netns", "list")]
    ours = [name for name in found if name.startswith(namespace_prefix(tag))]
    for name in ours:
        _quietly("netns", "del", name)
    return ours
