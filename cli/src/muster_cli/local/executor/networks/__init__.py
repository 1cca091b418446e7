"""How nodes reach one another: three ways, one interface.

- ``namespaces``: a network namespace per node on a bridge (Linux, root): as on AWS, every node has
  its own address, interface ``eth0`` and ports.
- ``loopback``: a loopback address per node (Linux).
- ``ports``: one address, a range of ports per node (macOS has one loopback address only).
"""

from __future__ import annotations

from muster_cli.local.executor.networks.base import Network, NetworkError, NodeNetwork
from muster_cli.local.executor.networks.choose import MODES, choose_mode, make_network

__all__ = ["MODES", "Network", "NetworkError", "NodeNetwork", "choose_mode", "make_network"]
