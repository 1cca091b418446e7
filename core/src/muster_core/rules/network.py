"""Whether the network has a place and enough addresses for the nodes."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import List, Optional, Sequence, Tuple

from muster_core.instances import EFA_ONLY, InstanceType, ips_per_node, nics
from muster_core.rules.nodes import judged
from muster_core.rules.problem import Number, Problem, Rules, is_token_text, known

RESERVED_ADDRESSES = 5
"""Addresses that AWS keeps of every subnet: the first four and the last (Amazon VPC user guide)."""

MAX_DEVICES = 64
"""More RDMA devices than a host of any type has: with EFA they are 32 at most (p5), and a few others beside them."""

# us-east-1a, us-gov-west-1b, cn-north-1a, local zones us-west-2-lax-1a, wavelength us-east-1-wl1-bos-wlz-1
_EFA_DEVICE = re.compile(r"/dev/infiniband/uverbs[0-9]+")
_ZONE = re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d(([a-z])|(-[a-z0-9]+)+-\d+[a-z]?)")

RULES: Rules = {
    "network.interfaces": "the type can have the network interfaces that a multi-node job needs",
    "network.efa_devices": "the EFA devices of a job are paths of such, each once, no more than the type has",
    "network.cidr": "the subnet has an IPv4 block",
    "network.subnet_size": "the subnet has addresses for max_nodes nodes",
    "network.zone": "the availability zone is the name of one zone",
    "network.zone_region": "the availability zone is in the region of the stack",
    "network.one_zone": "the nodes' subnet is in a zone that was chosen, not in one of several",
    "network.public_subnet": "the nodes' subnet is private",
    "network.zone_mismatch": "a subnet and a zone that are named beside each other agree",
}


def interfaces(instance: InstanceType, interface_type: str = EFA_ONLY) -> List[Problem]:
    """The type can have the interfaces: the kind is possible, a slot is left for the job's container."""
    try:
        nics(instance, interface_type)
    except ValueError as error:
        return [Problem("network.interfaces", str(error))]
    return []


def efa_devices(instance: InstanceType, paths: Sequence[str]) -> List[Problem]:
    """The paths of EFA devices are such, each is there once, and they are no more than the type has.

    A device that is not there stops the container from starting.

    Args:
        instance: The instance type.
        paths: The paths; nothing is judged where one is a token.
    """
    if any(is_token_text(path) for path in paths):
        return []
    wrong = [path for path in paths if not _EFA_DEVICE.fullmatch(path)]
    found = [Problem("network.efa_devices", _no_device(path)) for path in wrong]
    far = [path for path in paths if path not in wrong and int(path.partition("uverbs")[2]) >= MAX_DEVICES]
    found += [Problem("network.efa_devices", _device_too_far(path)) for path in far]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    found += [Problem("network.efa_devices", _device_twice(path)) for path in twice]
    if len(set(paths)) > instance.max_efa:
        found.append(Problem("network.efa_devices", _devices_too_many(instance, len(set(paths)))))
    return found


def subnet_size(
    instance: InstanceType,
    max_nodes: Number,
    cidr: Optional[str],
    interface_type: str = EFA_ONLY,
    taken: int = 0,
) -> List[Problem]:
    """The subnet has an address for each interface of ``max_nodes`` nodes.

    Args:
        instance: The instance type.
        max_nodes: Nodes that the cluster may have.
        cidr: The subnet's IPv4 block such as ``10.0.0.0/20``; None where it is not known.
        interface_type: Kind of the interfaces beside the primary one.
        taken: Addresses that others take: endpoints, nodes of other clusters. Default: 0.
    """
    nodes, others = judged(max_nodes), int(known(taken) or 0)
    if nodes is None or cidr is None or is_token_text(cidr) or interfaces(instance, interface_type):
        return []
    try:
        free = IPv4Network(cidr, strict=False).num_addresses - RESERVED_ADDRESSES - others
    except ValueError:
        return [Problem("network.cidr", _no_block(cidr))]
    each = ips_per_node(nics(instance, interface_type))
    return (
        []
        if nodes * each <= free
        else [Problem("network.subnet_size", _too_small((nodes, each), cidr, free, others))]
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


def zone_region(name: Optional[str], region: Optional[str]) -> List[Problem]:
    """The zone is in the region, where both are known and the zone has the name of one.

    Args:
        name: Name of the zone.
        region: Name of the region.
    """
    if name is None or region is None or is_token_text(name) or is_token_text(region) or zone(name):
        return []
    if re.match(rf"{re.escape(region)}[a-z-]", name):
        return []
    return [
        Problem(
            "network.zone_region",
            f"availability_zone is in another region than the stack, got {name!r} and {region!r}; the name of a zone "
            "begins with its region; name a zone of the stack's region",
        )
    ]


def one_zone(zones: Sequence[str]) -> List[Problem]:
    """The private subnets that the nodes' one may be chosen from are in one zone.

    Args:
        zones: Names of the subnets' zones, in any order.
    """
    found = sorted(set(zones))
    if len(found) <= 1 or any(is_token_text(each) for each in found):
        return []
    return [
        Problem(
            "network.one_zone",
            f"vpc has private subnets in several zones, got {found}; EFA cannot leave a zone; "
            "choose one by availability_zone or subnet",
        )
    ]


def public_subnet(subnet: str, public_subnets: Sequence[str], name: Optional[str] = None) -> List[Problem]:
    """The nodes' subnet is none of the public ones.

    Args:
        subnet: Id of the subnet. A token equals itself alone.
        public_subnets: Ids of the public subnets of its VPC.
        name: What the problem calls the subnet. Default: its id.
    """
    if subnet not in public_subnets:
        return []
    return [
        Problem(
            "network.public_subnet",
            f"subnet is public, got {name or subnet!r}; the container of a multi-node job has no public address and "
            "would have no way out; give a private subnet with NAT",
        )
    ]


def zone_mismatch(subnet_zone: Optional[str], availability_zone: Optional[str]) -> List[Problem]:
    """The subnet is in the zone that was named beside it.

    Args:
        subnet_zone: Zone of the subnet; None where it is not known.
        availability_zone: The zone that was named; None where none was.
    """
    pair = (subnet_zone, availability_zone)
    if None in pair or any(is_token_text(each) for each in pair) or subnet_zone == availability_zone:
        return []
    return [
        Problem(
            "network.zone_mismatch",
            f"subnet is in another zone than availability_zone, got {subnet_zone!r} and {availability_zone!r}; "
            "leave availability_zone out, or name the subnet's",
        )
    ]


def _no_device(path: str) -> str:
    return f"efa_devices has what is no EFA device, got {path!r}; a path is such as '/dev/infiniband/uverbs0'; correct it"


def _device_too_far(path: str) -> str:
    return (
        f"efa_devices has a device that no host has, got {path!r}; hosts number their devices from 0 and have fewer than "
        f"{MAX_DEVICES}; correct it"
    )


def _device_twice(path: str) -> str:
    return f"efa_devices has a device twice, got {path!r}; remove one"


def _devices_too_many(instance: InstanceType, count: int) -> str:
    return (
        f"efa_devices has more devices than the type has interfaces with EFA, got {count}; {instance.name} has "
        f"{instance.max_efa}; a container does not start with a device that is not there; remove "
        f"{count - instance.max_efa}"
    )


def _no_block(cidr: str) -> str:
    return f"subnet has no IPv4 block, got {cidr!r}; a block is such as '10.0.0.0/20'; correct it"


def _too_small(needed: Tuple[int, int], cidr: str, free: int, others: int) -> str:
    nodes, each = needed
    beside = f" beside {others} for endpoints and other clusters" if others else ""
    return (
        f"max_nodes needs more addresses than the subnet has, got {nodes}; each node takes {each}, together "
        f"{nodes * each}, and {cidr} has {max(free, 0)} to give{beside}; use a larger subnet or lower max_nodes"
    )
