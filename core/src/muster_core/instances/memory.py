"""How much of the advertised memory a job can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster_core.instances.model import InstanceType


def usable_memory(instance: InstanceType) -> int:
    """The memory that a job may ask for on a whole instance, in MiB.

    ECS registers what the kernel leaves less a reserve; a job that asks for more stays RUNNABLE
    for ever. See :func:`usable_of` for the margin.
    """
    return usable_of(instance.memory_mib)


def usable_of(advertised_mib: int) -> int:
    """95 % of the advertised memory, rounded down to a MiB.

    AWS advises a margin of about 5 %. Every registration that was measured lies between 96.6 %
    and 97.5 % (m4.large 7,985 of 8,192; r5d.xlarge 31,672 of 32,768; trn1.32xlarge 507,821 of
    524,288; sources: the ECS developer guide, hyp3#582, torchx#795).
    """
    return advertised_mib * 95 // 100
