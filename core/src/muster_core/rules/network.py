"""Whether the network has a place and enough addresses for the nodes."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import List, Optional

from muster_core.instances import EFA_ONLY, InstanceType, ips_per_node, nics
from muster_core.rules.nodes import judged
from muster_core.rules.problem import Number, Problem, Rules, is_token_text

RESERVED_ADDRESSES = 5
"""Addresses that AWS keeps of every subnet: the first four and the last (Amazon VPC user guide)."""

# us-east-1a, us-gov-west-1b, cn-north-1a, local zones us-west-2-lax-1a, wavelength us-east-1-wl1-bos-wlz-1
_ZONE = re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d(([a-z])|(-[a-z0-9]+)+-\d+[a-z]?)")

RULES: Rules = {
    "network.interfaces": "the type can have the network interfaces that a multi-node job needs",
    "network.cidr": "the subnet has an IPv4 block",
    "network.subnet_size": "the subnet has addresses for max_nodes nodes",
    "network.zone": "the availability zone is the name of one zone",
}


def interfaces(instance: InstanceType, interface_type: str = EFA_ONLY) -> List[Problem]:
    """The type can have the interfaces: the kind is possible, a slot is left for the job's container."""
    try:
        nics(instance, interface_type)
    except ValueError as error:
        return [Problem("network.interfaces", str(error))]
    return []


def subnet_size(
    instance: InstanceType, max_nodes: Number, cidr: Optional[str], interface_type: str = EFA_ONLY
) -> List[Problem]:
    """The subnet has an address for each interface of ``max_nodes`` nodes.

    Args:
        instance: The instance type.
        max_nodes: Nodes that the cluster may have.
        cidr: The subnet's IPv4 block such as ``10.0.0.0/20``; None where it is not known.
        interface_type: Kind of the interfaces beside the primary one.
    """
    nodes = judged(max_nodes)
    if nodes is None or cidr is None or is_token_text(cidr) or interfaces(instance, interface_type):
        return []
    try:
        free = IPv4Network(cidr, strict=False).num_addresses - RESERVED_ADDRESSES
    except ValueError:
        return [Problem("network.cidr", _no_block(cidr))]
    each = ips_per_node(nics(instance, interface_type))
    return (
        [] if nodes * each <= free else [Problem("network.subnet_size", _too_small(nodes, each, cidr, free))]
    )


def zone(name: Optional[str]) -> List[Problem]:
    """The zone's name has the shape of one: ``us-east-1a``, or a local zone's."""
    if name is None or is_token_text(name) or _ZONE.fullmatch(name):
        return []
    return [
        Problem(
            "network.zone",
            f"availability_zone is not the name of a zone, got {name!r}; a zone is a region and a letter such as "
            "'us-east-1a'; give the zone that offers the instance type",
        )
    ]


def _no_block(cidr: str) -> str:
    return f"subnet has no IPv4 block, got {cidr!r}; a block is such as '10.0.0.0/20'; correct it"


def _too_small(max_nodes: int, each: int, cidr: str, free: int) -> str:
    return (
        f"max_nodes needs more addresses than the subnet has, got {max_nodes}; each node takes {each}, together "
        f"{max_nodes * each}, and {cidr} has {free} to give; use a larger subnet or lower max_nodes"
    )
