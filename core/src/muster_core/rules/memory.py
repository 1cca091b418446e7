"""Whether a job's memory fits on the instance."""

from __future__ import annotations

from typing import List, Optional

from muster_core.instances import InstanceType, usable_memory
from muster_core.rules.problem import Number, Problem, Rules, known

MIN_MEMORY = 4
"""Least memory of a container in MiB (``ResourceRequirement`` of the Batch API)."""

RULES: Rules = {
    "memory.size": "a job asks for no more memory than the instance has to give",
    "memory.shared": "shared memory is part of the job's memory and fits in it",
}


def size(instance: InstanceType, memory_mib: Optional[Number]) -> List[Problem]:
    """The job's memory in MiB is at least 4 and at most the usable memory of the type."""
    number, limit = known(memory_mib), usable_memory(instance)
    if number is None or MIN_MEMORY <= number <= limit:
        return []
    return [
        Problem(
            "memory.size",
            f"memory must be from {MIN_MEMORY} to {limit} MiB on {instance.name}, got {memory_mib!r} MiB; "
            f"of the advertised {instance.memory_mib} MiB the host keeps some, and a job that asks for more never "
            "starts; lower memory, or leave it out to get all that is usable",
        )
    ]


def shared(memory_mib: Optional[Number], shared_mib: Optional[Number]) -> List[Problem]:
    """The shared memory (``/dev/shm``) in MiB is at least 1 and at most the job's memory."""
    total, number = known(memory_mib), known(shared_mib)
    if number is None or (number >= 1 and (total is None or number <= total)):
        return []
    limit = "" if total is None else f" and at most the job's memory of {memory_mib!r} MiB, which holds it"
    return [
        Problem(
            "memory.shared",
            f"shared_memory must be at least 1 MiB{limit}, got {shared_mib!r} MiB; change shared_memory",
        )
    ]
