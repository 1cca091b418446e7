"""Whether the compute environment can start what the job asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional

from muster_core.rules.nodes import judged
from muster_core.rules.problem import Number, Problem, Rules, is_token_text, is_whole, known

if TYPE_CHECKING:
    from muster_core.instances import InstanceType

DEFAULT_STRATEGY = "BEST_FIT_PROGRESSIVE"
REPLACED_STRATEGY = "BEST_FIT"
"""The one strategy with which Batch updates no environment in place: CloudFormation makes a new one."""
STRATEGIES = (REPLACED_STRATEGY, DEFAULT_STRATEGY, "BEST_FIT_PROGRESSIVE_ORDERED")
"""Batch's allocation strategies for instances on demand (``CRAllocationStrategy`` of the Batch API)."""

ON_DEMAND, RESERVATION, BLOCK = "on-demand", "reservation", "block"
"""Where instances come from: the open pool, a reservation on demand, a Capacity Block."""
CLUSTER_GROUP = "cluster"
"""The strategy of placement groups that keeps hosts close together."""
ENDING_SECONDS = 30 * 60
"""EC2 ends the instances of a Capacity Block from so long before its end (Amazon EC2 user guide, "Capacity Blocks")."""

_RESERVATION = re.compile(r"cr-[0-9a-f]{8,17}")
_GROUP = re.compile(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:\d{12}:group/.+")

RULES: Rules = {
    "capacity.max_vcpus": "maxvCpus of the environment holds max_nodes whole instances",
    "capacity.on_demand": "a cluster on demand has a type that is sold on demand",
    "capacity.strategy": "the allocation strategy is one for instances on demand",
    "capacity.reservation": "a reservation is named by its id or by the resource group that it is in",
    "capacity.block_type": "a cluster in a Capacity Block has a type that is sold in blocks",
    "capacity.block_group": "a Capacity Block has no placement group beside it",
    "capacity.reservation_group": "a reservation in a placement group has no other one beside it",
    "capacity.group_strategy": "a placement group of the nodes is of the strategy cluster",
    "capacity.block_zone": "a Capacity Block is in the zone of the nodes' subnet",
    "capacity.block_size": "max_nodes is no more than the instances of the Capacity Block",
    "capacity.block_times": "a Capacity Block ends after it starts, by more than EC2 takes to end its instances",
    "capacity.block_timeout": "a job's timeout is no longer than a Capacity Block lasts",
}


@dataclass(frozen=True)
class CapacityRequest:
    """Where the instances of a cluster come from. A token, or None, is not judged.

    Attributes:
        kind: ``on-demand``, ``reservation`` or ``block``. Default: ``on-demand``.
        reservation_id: Id of the reservation. Default: None.
        resource_group_arn: ARN of the resource group of reservations. Default: None.
        zone: Name of the block's zone. Default: None.
        size: Instances of the block. Default: None.
        start: When the block starts, in seconds since 1970. Default: None.
        end: When the block ends, in seconds since 1970. Default: None.
        own_group: Whether the reservation is in a placement group of its own. Default: False.
        other_group: Whether the cluster is given a placement group. Default: False.
        group_strategy: Strategy of its placement group, such as ``cluster``. Default: None.
    """

    kind: str = ON_DEMAND
    reservation_id: Optional[str] = None
    resource_group_arn: Optional[str] = None
    zone: Optional[str] = None
    size: Optional[Number] = None
    start: Optional[Number] = None
    end: Optional[Number] = None
    own_group: bool = False
    other_group: bool = False
    group_strategy: Optional[str] = None

    @property
    def usable_seconds(self) -> Optional[Number]:
        """How long a job in the block may take: from its start until EC2 begins to end its instances."""
        start, end = known(self.start), known(self.end)
        return None if start is None or end is None else end - ENDING_SECONDS - start


def max_vcpus(instance: InstanceType, max_nodes: Number, value: Optional[Number]) -> List[Problem]:
    """The environment's ``maxvCpus`` holds ``max_nodes`` whole instances, else the job never starts."""
    nodes, limit = judged(max_nodes), known(value)
    if nodes is None or limit is None or limit >= nodes * instance.vcpus:
        return []
    return [
        Problem(
            "capacity.max_vcpus",
            f"max_vcpus is too small for max_nodes, got {value!r}; {nodes} nodes of {instance.name} have "
            f"{nodes * instance.vcpus} vCPUs; raise max_vcpus to that, or lower max_nodes",
        )
    ]


def check(
    instance: InstanceType, request: CapacityRequest, max_nodes: Number, zone: Optional[str] = None
) -> List[Problem]:
    """Everything that is certainly wrong with where the instances come from.

    Args:
        instance: The instance type.
        request: Where they come from.
        max_nodes: Nodes that the cluster may have.
        zone: Name of the zone of the nodes' subnet. Default: None.
    """
    if request.kind != BLOCK:
        return [*on_demand(instance), *reservation(request), *group(request)]
    return [
        *block_type(instance),
        *reservation(request),
        *group(request),
        *block_zone(request.zone, zone),
        *block_size(request.size, max_nodes),
        *block_times(request),
    ]


def on_demand(instance: InstanceType) -> List[Problem]:
    """The type is sold on demand."""
    if instance.on_demand:
        return []
    return [
        Problem(
            "capacity.on_demand",
            f"instance_type is not sold on demand, got {instance.name!r}; it is sold in Capacity Blocks only; "
            "give capacity=Capacity.block(...), or use another type",
        )
    ]


def reservation(request: CapacityRequest) -> List[Problem]:
    """A reservation has an id, or the ARN of a resource group, and not both."""
    if request.kind == ON_DEMAND:
        return []
    given = [each for each in (request.reservation_id, request.resource_group_arn) if each is not None]
    if len(given) != 1:
        return [Problem("capacity.reservation", _one_of_both(given))]
    shape = _RESERVATION if request.reservation_id is not None else _GROUP
    if is_token_text(given[0]) or shape.fullmatch(given[0]):
        return []
    return [Problem("capacity.reservation", _no_reservation(given[0], group=shape is _GROUP))]


def group(request: CapacityRequest) -> List[Problem]:
    """A placement group is a cluster, and none stands beside one that the capacity is in already."""
    strategy = request.group_strategy
    if strategy not in (None, CLUSTER_GROUP) and not is_token_text(strategy):
        return [Problem("capacity.group_strategy", _no_cluster_group(strategy))]
    if not request.other_group:
        return []
    if request.kind == BLOCK:
        return [Problem("capacity.block_group", _BLOCK_GROUP)]
    return [Problem("capacity.reservation_group", _RESERVATION_GROUP)] if request.own_group else []


def block_type(instance: InstanceType) -> List[Problem]:
    """The type is sold in Capacity Blocks."""
    if instance.capacity_block:
        return []
    return [
        Problem(
            "capacity.block_type",
            f"instance_type is not sold in Capacity Blocks, got {instance.name!r}; use Capacity.on_demand() or "
            "Capacity.reservation(...), or another type such as 'p5.48xlarge'",
        )
    ]


def block_zone(block: Optional[str], subnet: Optional[str]) -> List[Problem]:
    """The block is in the zone of the nodes' subnet."""
    if None in (block, subnet) or is_token_text(block) or is_token_text(subnet) or block == subnet:
        return []
    return [
        Problem(
            "capacity.block_zone",
            f"the nodes' subnet is in another zone than the Capacity Block, got {subnet!r} and {block!r}; no instance "
            "would start; name the block's zone by availability_zone, or give a subnet there",
        )
    ]


def block_size(size: Optional[Number], max_nodes: Number) -> List[Problem]:
    """The block has at least one instance, and one for each node."""
    number, nodes = known(size), judged(max_nodes)
    if number is None:
        return []
    if not (is_whole(number) and number >= 1):
        return [
            Problem(
                "capacity.block_size",
                f"size of the Capacity Block must be a whole number of at least 1, got {size!r}; give its instances",
            )
        ]
    if nodes is None or nodes <= number:
        return []
    return [
        Problem(
            "capacity.block_size",
            f"max_nodes is more than the Capacity Block has, got {max_nodes!r}; the block has {size!r} instances, and "
            "a larger job would never start; lower max_nodes",
        )
    ]


def block_times(request: CapacityRequest) -> List[Problem]:
    """The block leaves time for a job between its start and the end of its instances."""
    usable = known(request.usable_seconds)
    if usable is None or usable > 0:
        return []
    return [
        Problem(
            "capacity.block_times",
            f"end of the Capacity Block must be more than {ENDING_SECONDS // 60} minutes after its start, got "
            f"{usable + ENDING_SECONDS:.0f} s between them; EC2 ends the instances so long before the end; correct both",
        )
    ]


def block_timeout(timeout_seconds: Optional[Number], usable_seconds: Optional[Number]) -> List[Problem]:
    """A job's timeout is no longer than its cluster's Capacity Block lasts.

    Args:
        timeout_seconds: Timeout of an attempt.
        usable_seconds: What the block lasts, see ``CapacityRequest.usable_seconds``.
    """
    number, most = known(timeout_seconds), known(usable_seconds)
    if number is None or most is None or number <= most or most <= 0:
        return []
    return [
        Problem(
            "capacity.block_timeout",
            f"timeout is longer than the Capacity Block lasts, got {timeout_seconds!r} s; a job has {most:.0f} s from its "
            f"start, as EC2 ends the instances from {ENDING_SECONDS // 60} minutes before its end; lower timeout",
        )
    ]


def strategy(value: Optional[str]) -> List[Problem]:
    """The allocation strategy is one for instances on demand."""
    if value is None or value in STRATEGIES or is_token_text(value):
        return []
    return [
        Problem(
            "capacity.strategy",
            f"allocation_strategy is none for instances on demand, got {value!r}; allowed: {', '.join(STRATEGIES)}; "
            "multi-node jobs do not run on Spot; change it",
        )
    ]


def _no_cluster_group(strategy: Optional[str]) -> str:
    return (
        f"placement_group is of another strategy than {CLUSTER_GROUP!r}, got {strategy!r}; it keeps hosts apart, where "
        "multi-node jobs need them close together, and may refuse them; give a cluster placement group"
    )


_BLOCK_GROUP = (
    "placement_group cannot stand beside a Capacity Block, got both; the block's instances are close together "
    "already, and no instance would start; leave placement_group out"
)
_RESERVATION_GROUP = (
    "placement_group is another one than the reservation's, got both; the reservation's instances start in its own "
    "alone; leave placement_group out"
)


def _one_of_both(given: List[str]) -> str:
    return (
        f"capacity wants the id of a reservation or the ARN of a resource group, got {' and '.join(map(repr, given)) or 'neither'}; "
        "give one of the two"
    )


def _no_reservation(value: str, *, group: bool) -> str:
    if group:
        return (
            f"resource_group_arn is no ARN of a resource group, got {value!r}; it has the shape "
            "'arn:<partition>:resource-groups:<region>:<account>:group/<name>'; correct it"
        )
    return f"id is none of a capacity reservation, got {value!r}; one is such as 'cr-0123456789abcdef0'; correct it"
