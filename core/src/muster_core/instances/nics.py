"""Which network interfaces an instance is launched with, and the devices that they bring.

Sources: "Maximize network bandwidth on Amazon EC2 instances with multiple network cards" of the
EC2 user guide; ParallelCluster #6066 for the device index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator, NamedTuple, Tuple

if TYPE_CHECKING:
    from muster_core.instances.model import InstanceType, NetworkCard

INTERFACE = "interface"
"""A plain interface (ENA): has an address, no EFA."""
EFA = "efa"
"""An interface with ENA and EFA: has an address."""
EFA_ONLY = "efa-only"
"""EFA alone: takes no address, and cannot be the primary interface."""

TASK_INTERFACES = 1
"""Interfaces that ECS attaches for the job's container: a multi-node job is a task with an
interface of its own, which takes a slot on card 0 and an address of the subnet."""


class Nic(NamedTuple):
    """One network interface of a launch template."""

    network_card_index: int
    device_index: int
    interface_type: str
    """``interface``, ``efa`` or ``efa-only``."""


def nics(instance: InstanceType, interface_type: str = EFA_ONLY) -> Tuple[Nic, ...]:
    """The network interfaces that give an instance all of its EFA bandwidth.

    Card 0 carries the primary interface: ``efa``, or ``interface`` where the card takes no EFA.
    Every other card with EFA carries one more interface, on device 1; on device 0 where the card
    holds one interface only, or where card 0 takes no EFA. A type without EFA gets the plain
    primary interface.

    Args:
        instance: The instance type.
        interface_type: Kind of the interfaces beside the primary one: ``efa-only``, or ``efa`` for
            parity with AWS's samples, at the price of an address each. Default: ``efa-only``.

    Returns:
        The interfaces in the order of their cards, the primary one first.

    Raises:
        ValueError: The kind is unknown or impossible on this type, or card 0 has no slot left for
            the interface of the job's container.
    """
    _check_kind(instance, interface_type)
    _check_slot(instance)
    first = instance.network_cards[0]
    primary = Nic(first.index, 0, EFA if first.efa and instance.max_efa else INTERFACE)
    return (
        primary,
        *(_further(card, first, interface_type) for card in _efa_cards(instance) if card != first),
    )


def ips_per_node(interfaces: Iterable[Nic]) -> int:
    """Addresses of the subnet that one node takes: its own interfaces' and the job container's."""
    return sum(nic.interface_type != EFA_ONLY for nic in interfaces) + TASK_INTERFACES


def efa_devices(instance: InstanceType) -> Tuple[str, ...]:
    """Paths of the EFA devices that a container needs, such as ``/dev/infiniband/uverbs0``.

    Empty without EFA. The numbers on p6-b200 and p6-b300 are not certain: other RDMA devices have
    been seen there too.
    """
    return tuple(f"/dev/infiniband/uverbs{number}" for number in instance.uverbs)


def neuron_device_paths(instance: InstanceType) -> Tuple[str, ...]:
    """Paths of the Neuron devices that a container needs, such as ``/dev/neuron0``; else empty."""
    return tuple(f"/dev/neuron{number}" for number in range(instance.neuron_devices))


def _efa_cards(instance: InstanceType) -> Iterator[NetworkCard]:
    # Some types (i7ie, i8ge) have more cards that take EFA than they may have interfaces with it.
    able = (card for card in instance.network_cards if card.efa)
    return (card for card, _ in zip(able, range(instance.max_efa)))


def _further(card: NetworkCard, first: NetworkCard, interface_type: str) -> Nic:
    return Nic(card.index, 1 if card.max_interfaces > 1 and first.efa else 0, interface_type)


def _check_kind(instance: InstanceType, interface_type: str) -> None:
    if interface_type not in (EFA, EFA_ONLY):
        raise ValueError(f"interface_type is unknown, got {interface_type!r}; allowed: {EFA_ONLY!r}, {EFA!r}")
    if interface_type == EFA and instance.max_efa and not instance.network_cards[0].efa:
        raise ValueError(
            f"interface_type is impossible on {instance.name}, got {EFA!r}; its card 0 takes no EFA and EC2 then "
            f"refuses interfaces with an address on the other cards; use {EFA_ONLY!r}"
        )


def _check_slot(instance: InstanceType) -> None:
    slots = instance.network_cards[0].max_interfaces
    if slots < 1 + TASK_INTERFACES:
        raise ValueError(
            f"instance_type cannot run multi-node jobs, got {instance.name!r}; its network card 0 holds {slots} "
            f"interface and the primary one takes it, the job's container needs another; use another type"
        )
