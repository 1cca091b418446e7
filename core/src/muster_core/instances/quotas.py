"""The quotas of an account that a number of nodes needs; a new account has 0 for most accelerators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muster_core.instances.model import InstanceType
    from muster_core.instances.nics import Nic

# Names and codes as Service Quotas lists them (ListServiceQuotas, read in several public listings of 2026).
_ON_DEMAND = {
    "p": ("L-417A185B", "Running On-Demand P instances"),
    "g": ("L-DB2E81BA", "Running On-Demand G and VT instances"),
    "gr": ("L-DB2E81BA", "Running On-Demand G and VT instances"),
    "trn": ("L-2C3B7624", "Running On-Demand Trn instances"),
    "inf": ("L-1945791B", "Running On-Demand Inf instances"),
}
_INTERFACES = ("L-DF5E4CA3", "Network interfaces per Region")
_GP3 = ("L-7A658B76", "Storage for General Purpose SSD (gp3) volumes, in TiB")
_GIB_PER_TIB = 1024
_TASK_INTERFACES = 1
"""The container of a multi-node job has a network interface of its own."""


class Quota(NamedTuple):
    """A quota of Service Quotas, per account and region, and how much of it is needed.

    Attributes:
        service: Code of the service, such as ``ec2``.
        code: Code of the quota.
        name: Its name.
        needed: How much of it, in the quota's own unit (vCPUs for instances).
    """

    service: str
    code: str
    name: str
    needed: int


def on_demand_quota(instance: InstanceType, nodes: int) -> Optional[Quota]:
    """The vCPUs of running instances that on-demand nodes and open reservations need.

    Args:
        instance: The instance type.
        nodes: Nodes that run at once.

    Returns:
        The quota; None for a family whose quota is not known.
    """
    letters = re.match(r"[a-z]*", instance.family)
    found = _ON_DEMAND.get(letters.group() if letters else "")
    return None if found is None else Quota("ec2", *found, nodes * instance.vcpus)


def interface_quota(layout: Sequence[Nic], nodes: int) -> Quota:
    """The network interfaces of the nodes, and of the container on each.

    Args:
        layout: The interfaces of a node.
        nodes: Nodes that run at once.
    """
    return Quota("vpc", *_INTERFACES, nodes * (len(layout) + _TASK_INTERFACES))


def volume_quota(gib: int, nodes: int) -> Quota:
    """The storage of the nodes' root volumes of the type gp3, rounded up to a TiB.

    Args:
        gib: Size of one root volume.
        nodes: Nodes that run at once.
    """
    return Quota("ebs", *_GP3, -(-nodes * gib // _GIB_PER_TIB))
