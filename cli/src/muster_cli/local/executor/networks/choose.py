"""Which network this machine allows."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Literal

from muster_cli.local.executor.networks.loopback import LoopbackNetwork
from muster_cli.local.executor.networks.namespaces import NamespaceNetwork
from muster_cli.local.executor.networks.ports import PortNetwork

if TYPE_CHECKING:
    from muster_cli.local.executor.networks.base import Network

Mode = Literal["namespaces", "loopback", "ports"]
MODES: tuple[Mode, ...] = ("namespaces", "loopback", "ports")


def choose_mode() -> Mode:
    """Return the network that comes nearest to AWS's on this machine."""
    if sys.platform != "linux":
        return "ports"
    return "namespaces" if os.geteuid() == 0 and _namespaces_work() else "loopback"


def _namespaces_work() -> bool:
    """Try it: root in a container often may not."""
    steps = "ip link add type veth && mount -t sysfs sysfs /sys && mount -t tmpfs shm /dev/shm"
    try:
        tried = subprocess.run(
            ["unshare", "--net", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "sh", "-c", steps],
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        return False
    return tried.returncode == 0


def make_network(mode: Mode, tag: str, endpoint_port: int) -> Network:
    """Make a network.

    Args:
        mode: One of :data:`MODES`.
        tag: Hexadecimal digits of the state folder.
        endpoint_port: Port of the local cloud.
    """
    if mode == "namespaces":
        return NamespaceNetwork(tag, endpoint_port)
    if mode == "loopback":
        return LoopbackNetwork(tag, endpoint_port)
    return PortNetwork(tag, endpoint_port)
