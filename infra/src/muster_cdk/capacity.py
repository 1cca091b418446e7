"""Capacity: where the nodes' instances come from."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from muster_cdk.coercion import to_count, to_part, to_text
from muster_core.rules.capacity import BLOCK, ENDING_SECONDS, ON_DEMAND, RESERVATION, CapacityRequest

if TYPE_CHECKING:
    from constructs import Construct

_DIGITS = 8


@dataclass(frozen=True)
class Capacity:
    """Where the nodes' instances come from: made by one of its methods, given to a cluster.

    A change of the kind makes a new compute environment beside the old one, and so does another
    block: AWS Batch cannot take a placement group away, and an environment does not outlive its block.

    Attributes:
        kind: ``on-demand``, ``reservation`` or ``block``.
        reservation_id: Id of the reservation or block.
        resource_group_arn: ARN of the resource group of reservations.
        placement_group: The placement group that the reservation is in.
        zone: Name of the block's zone.
        size: Instances of the block.
        start: When the block starts.
        end: When the block ends.
    """

    kind: str
    reservation_id: str | None = None
    resource_group_arn: str | None = None
    placement_group: ec2.IPlacementGroup | None = None
    zone: str | None = None
    size: float | None = None
    start: dt.datetime | None = None
    end: dt.datetime | None = None

    def __post_init__(self) -> None:
        """Refuse what none of the methods makes."""
        parts = (self.reservation_id, self.zone, self.size) if self.is_block else ()
        if self.kind not in {ON_DEMAND, RESERVATION, BLOCK} or None in parts:
            raise ValueError(
                f"capacity is none that a method of Capacity makes, got kind {self.kind!r} with reservation_id "
                f"{self.reservation_id!r}, zone {self.zone!r} and size {self.size!r}; use Capacity.on_demand(), "
                ".reservation(...) or .block(...)"
            )

    @classmethod
    def on_demand(cls) -> Capacity:
        """Instances of the open pool, as far as there are any."""
        return cls(ON_DEMAND)

    @classmethod
    def reservation(
        cls,
        id: str | None = None,
        *,
        resource_group_arn: str | None = None,
        placement_group: ec2.IPlacementGroup | None = None,
    ) -> Capacity:
        """A reservation on demand (ODCR) of yours, or a resource group of them: one of the two.

        Args:
            id: Id of the reservation, such as ``cr-0123456789abcdef0``. Default: - the resource group's.
            resource_group_arn: ARN of a resource group of reservations. Default: - ``id`` names one.
            placement_group: The cluster placement group that the reservation was made in. Default: - it
                was made in none, and the cluster has none: another one would keep instances out of it.

        Raises:
            TypeError: An argument has a type that cannot be taken.
        """
        if placement_group is not None:
            to_part(placement_group, "placement_group_name", "placement_group", "an ec2.PlacementGroup")
        return cls(
            RESERVATION,
            reservation_id=None if id is None else to_text(id, "id"),
            resource_group_arn=(
                None if resource_group_arn is None else to_text(resource_group_arn, "resource_group_arn")
            ),
            placement_group=placement_group,
        )

    @classmethod
    def block(
        cls,
        id: str,
        *,
        zone: str,
        size: int,
        start: dt.datetime | str | None = None,
        end: dt.datetime | str | None = None,
    ) -> Capacity:
        """A Capacity Block for ML that was bought: its instances sit close together without a placement group.

        Args:
            id: Id of the block, such as ``cr-0123456789abcdef0``.
            zone: Name of the block's zone.
            size: Instances of the block.
            start: When it starts, with a time zone, such as ``2027-01-31T11:30:00Z``. Default: - not known.
            end: When it ends, likewise: hosts then tell their job in time, and a job's timeout is held
                against it. Default: - not known.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: A time is none, or has no time zone.
        """
        return cls(
            BLOCK,
            reservation_id=to_text(id, "id"),
            zone=to_text(zone, "zone"),
            size=to_count(size, "size"),
            start=_to_time(start, "start"),
            end=_to_time(end, "end"),
        )

    @property
    def is_block(self) -> bool:
        """Whether it is a Capacity Block."""
        return self.kind == BLOCK

    @property
    def words(self) -> str:
        """The kind, and whether it is in a placement group of its own."""
        return f"{self.kind} in a placement group" if self.placement_group is not None else self.kind

    @property
    def ending(self) -> int | None:
        """When EC2 begins to end the instances of the block, in seconds since 1970; None where that is not known."""
        return None if self.end is None else int(self.end.timestamp()) - ENDING_SECONDS

    def request(self, *, placement_group: ec2.IPlacementGroup | None = None) -> CapacityRequest:
        """What the rules judge.

        Args:
            placement_group: The placement group that the cluster is given. Default: - none.
        """
        group = self.placement_group or placement_group
        return CapacityRequest(
            kind=self.kind,
            reservation_id=self.reservation_id,
            resource_group_arn=self.resource_group_arn,
            zone=self.zone,
            size=self.size,
            start=None if self.start is None else self.start.timestamp(),
            end=None if self.end is None else self.end.timestamp(),
            own_group=self.placement_group is not None,
            other_group=placement_group not in (None, self.placement_group),
            group_strategy=_strategy(group),
        )


def _strategy(group: ec2.IPlacementGroup | None) -> str | None:
    """Strategy of a placement group that is made here, None where it is not known or set."""
    strategy = group.strategy if isinstance(group, ec2.PlacementGroup) else None
    return None if strategy is None else strategy.value.lower()


def environment_id(capacity: Capacity, given: ec2.IPlacementGroup | None, *, replaced: bool = False) -> str:
    """Id of the construct of the environment: another one where AWS Batch could not change it in place.

    Args:
        capacity: Where the instances come from.
        given: The placement group that was given beside it, if any.
        replaced: Whether each update replaces it, which Batch neither takes up nor gives up in place. Default: False.
    """
    name = f"ComputeEnvironment{'-replaced' if replaced else ''}"
    if capacity.kind == RESERVATION:
        return f"{name}-reservation{'-grouped' if capacity.placement_group or given else ''}"
    if capacity.kind == BLOCK:
        block = str(capacity.reservation_id)
        known = not cdk.Token.is_unresolved(block)
        return f"{name}-block{'-' + hashlib.sha256(block.encode()).hexdigest()[:_DIGITS] if known else ''}"
    return name


def placement_group_of(
    scope: Construct, capacity: Capacity, given: ec2.IPlacementGroup | None
) -> ec2.IPlacementGroup | None:
    """The placement group of the nodes: one that is given, the reservation's, a new one, or none.

    Args:
        scope: Construct that a new one belongs to.
        capacity: Where the instances come from.
        given: The placement group that was given.
    """
    if capacity.is_block:
        return None
    if capacity.kind == RESERVATION:
        if given is not None and capacity.placement_group is None:
            _warn_other_group(scope)
        return capacity.placement_group or given
    return given or ec2.PlacementGroup(scope, "PlacementGroup", strategy=ec2.PlacementGroupStrategy.CLUSTER)


def zone_of(subnet: ec2.ISubnet, capacity: Capacity) -> str | None:
    """Name of the zone that a block is held against; None where it is not known, or there is no block.

    Args:
        subnet: The nodes' subnet.
        capacity: Where the instances come from.
    """
    if not capacity.is_block:
        return None
    try:
        zone = subnet.availability_zone
    except RuntimeError:  # jsii's form of CDK's "cannot reference an imported Subnet's availability zone"
        return None
    # CDK stands in for a VPC that it has yet to look up.
    return None if zone.startswith("dummy") else zone


def _warn_other_group(scope: Construct) -> None:
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:reservationGroup",
        "placement_group is set beside a reservation that names none; a reservation that was not made in this group "
        "gives it no instance; pass the group to Capacity.reservation where it was, else leave it out",
    )


def _to_time(value: dt.datetime | str | None, argument: str) -> dt.datetime | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = _parsed(value, argument)
    if not isinstance(value, dt.datetime):
        raise TypeError(
            f"{argument} must be a datetime or a str such as '2027-01-31T11:30:00Z', got {type(value).__name__} "
            f"{value!r}; change it"
        )
    if value.tzinfo is None:
        raise ValueError(f"{argument} has no time zone, got {value.isoformat()!r}; write it as UTC with a Z")
    return value


def _parsed(text: str, argument: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 knows no Z
    except ValueError:
        raise ValueError(
            f"{argument} is no time, got {text!r}; allowed is ISO 8601 such as '2027-01-31T11:30:00Z'; correct it"
        ) from None
