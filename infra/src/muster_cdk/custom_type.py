"""Facts of an instance type that a person gave, beside those of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk

from muster_core.instances import lookup, names

if TYPE_CHECKING:
    from constructs import Construct

    from muster_core.instances import InstanceType

_FACTS = ("architecture", "vcpus", "memory_mib", "accelerator", "network_cards", "max_efa", "nvme")


def warn_other_facts(scope: Construct, instance: InstanceType) -> None:
    """Say that the facts of a type that the catalogue has are not the catalogue's.

    Args:
        scope: Whoever takes the type.
        instance: Its facts.
    """
    if instance.name not in names():
        return
    other = lookup(instance.name)
    facts = [name for name in _FACTS if getattr(instance, name) != getattr(other, name)]
    if facts:
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:customFacts",
            f"instance_type has other facts than the catalogue's {instance.name}, got {', '.join(facts)}; hosts that do not "
            f"fit them never run a job; give the name {instance.name!r} alone, unless the catalogue is wrong",
        )
