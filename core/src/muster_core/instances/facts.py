"""Whether facts that a person gives for an instance type can be facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Iterator

if TYPE_CHECKING:
    from muster_core.instances.model import Accelerator, InstanceType

ARCHITECTURES = ("x86_64", "arm64")
KINDS = ("nvidia", "neuron", "gaudi", "qualcomm", "fpga", "media", "amd")
MIN_MIB_PER_VCPU = 512
"""A quarter of what the leanest type of the catalogue has: less is a number of GiB."""
MAX_MIB_PER_VCPU = 128 * 1024
"""More than three times what the largest type of the catalogue has: more is a number of KiB."""

_NAME = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")


def problems_of(instance: InstanceType) -> Iterator[str]:
    """What is certainly wrong with the facts of a type, a sentence each."""
    yield from _identity(instance)
    yield from _size(instance)
    if instance.accelerator is not None:
        yield from _accelerator(instance.accelerator)
    yield from _cards(instance)
    yield from _efa(instance)
    if instance.nvme is not None and not (_count(instance.nvme.count) and _count(instance.nvme.size_gb)):
        yield f"nvme must have at least 1 disk of at least 1 GB, got {instance.nvme!r}; leave it out where there is none"


def _identity(instance: InstanceType) -> Iterator[str]:
    if not isinstance(instance.name, str) or not _NAME.fullmatch(instance.name):
        yield (
            f"name is not one of an instance type, got {instance.name!r}; a name is a family, a dot and a size such as "
            "'p5.48xlarge'; correct it"
        )
    if instance.architecture not in ARCHITECTURES:
        yield f"architecture is unknown, got {instance.architecture!r}; allowed: {', '.join(ARCHITECTURES)}; change it"
    if not (instance.on_demand or instance.capacity_block):
        yield (
            "on_demand and capacity_block are both False; multi-node jobs do not run on Spot; "
            "say how the type is sold"
        )


def _size(instance: InstanceType) -> Iterator[str]:
    vcpus = instance.vcpus
    if not _count(vcpus):
        yield f"vcpus must be a whole number of at least 1, got {vcpus!r}; change it"
        return
    if not _count(instance.cores) or instance.cores > vcpus:
        yield f"cores must be a whole number from 1 to the {vcpus} vcpus, got {instance.cores!r}; change it"
    if not _count(instance.memory_mib) or instance.memory_mib < MIN_MIB_PER_VCPU * vcpus:
        yield (
            f"memory_mib is too little for {vcpus} vcpus, got {instance.memory_mib!r}; it is in MiB, and types have at "
            f"least {MIN_MIB_PER_VCPU} for each vcpu; give GiB times 1024"
        )
    elif instance.memory_mib > MAX_MIB_PER_VCPU * vcpus:
        yield (
            f"memory_mib is too much for {vcpus} vcpus, got {instance.memory_mib!r}; it is in MiB, and types have at "
            f"most {MAX_MIB_PER_VCPU} for each vcpu; give GiB times 1024"
        )


def _accelerator(device: Accelerator) -> Iterator[str]:
    if device.kind not in KINDS:
        yield f"accelerator has an unknown kind, got {device.kind!r}; allowed: {', '.join(KINDS)}; change it"
    if not _whole(device.count):
        yield f"accelerator must have a whole count, 0 for a fraction of a device, got {device.count!r}; change it"
    if not _whole(device.memory_mib) or not _whole(device.cores):
        yield (
            f"accelerator must have memory_mib and cores of at least 0, got {device.memory_mib!r} and {device.cores!r}; "
            "change them"
        )


def _cards(instance: InstanceType) -> Iterator[str]:
    indexes = [card.index for card in instance.network_cards]
    if not indexes or indexes != list(range(len(indexes))):
        yield (
            f"network_cards must be numbered from 0 without a gap, got {indexes}; give every card of the type, in order"
        )
    for card in instance.network_cards:
        if not _count(card.max_interfaces):
            yield (
                f"network card {card.index} must hold at least 1 interface, got {card.max_interfaces!r}; "
                "change max_interfaces"
            )
        if not isinstance(card.efa, bool):
            yield f"network card {card.index} must have True or False for efa, got {card.efa!r}; change it"


def _efa(instance: InstanceType) -> Iterator[str]:
    able = sum(bool(card.efa) for card in instance.network_cards)
    if not _whole(instance.max_efa) or instance.max_efa > able:
        yield (
            f"max_efa must be from 0 to the number of cards that take EFA, got {instance.max_efa!r}; {able} of "
            "network_cards do; change one of them"
        )
    elif (
        not len({number for number in instance.uverbs if _whole(number)})
        == len(instance.uverbs)
        == instance.max_efa
    ):
        yield (
            f"uverbs must be a device number for each of the {instance.max_efa} interfaces with EFA, got "
            f"{list(instance.uverbs)}; leave it out for 0 to max_efa - 1"
        )


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def _count(number: object) -> bool:
    return _whole(number) and number != 0
