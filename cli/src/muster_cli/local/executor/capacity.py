"""Whether a queue's compute environments hold a job: why it waits in RUNNABLE.

The texts are those of the Batch user guide, "Jobs stuck in a RUNNABLE status".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from muster_core import instances

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from muster_core.instances import InstanceType

MAX_RESOURCE = "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"
RESOURCE_REQUIREMENT = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"
_TEXTS = {
    MAX_RESOURCE: "CE(s) associated with the job queue cannot meet the CPU requirement of the job.",
    RESOURCE_REQUIREMENT: "The job resource requirement (vCPU/memory/GPU) is higher than that can be met by"
    " the CE(s) attached to the job queue.",
}
_OPTIMAL = ("c", "m", "r")
"""Families of ``optimal`` begin with these."""


class Demand(NamedTuple):
    """What a job needs of a compute environment."""

    nodes: int
    instance_types: tuple[str, ...]
    """Empty: any of the environment's."""
    vcpus: int
    """Of a node's container, as are the next two."""
    memory: int = 0
    """MiB."""
    gpus: int = 0

    def vcpus_in(self, environment: Environment) -> int:
        """Return the vCPUs that the job takes: whole instances, for a node has its instance to itself."""
        types = self.instance_types or environment.instance_types[:1]
        each = [known.vcpus for known in map(_lookup, types) if known]
        return self.nodes * max(each, default=self.vcpus)

    def exceeds(self, instance: InstanceType) -> bool:
        """Tell whether a node's container asks for more than an instance has."""
        return self.vcpus > instance.vcpus or self.memory >= instance.memory_mib or self.gpus > instance.gpus


class Environment(NamedTuple):
    """A compute environment, as far as it matters here."""

    name: str
    enabled: bool
    instance_types: tuple[str, ...]
    max_vcpus: int | None
    """None: not stated (unmanaged)."""


def status_reason(code: str) -> str:
    """Return the ``statusReason`` of a job that waits."""
    return f"{code} - {_TEXTS[code]}"


def _lookup(name: str) -> InstanceType | None:
    """Return what is known of an instance type, None for a family or a type that is not in the catalogue."""
    try:
        return instances.lookup(name)
    except ValueError:
        return None


def _offers(environment: Environment, instance_type: str) -> bool:
    family = instance_type.partition(".")[0]
    for offered in environment.instance_types:
        if offered in {instance_type, family} or (offered == "optimal" and family.startswith(_OPTIMAL)):
            return True
    return not environment.instance_types


def fit(demand: Demand, environment: Environment) -> str:
    """Return why an environment can never hold a job, empty where it can."""
    types = demand.instance_types or environment.instance_types
    known = [instance for instance in map(_lookup, types) if instance]
    if not all(_offers(environment, name) for name in demand.instance_types):
        return RESOURCE_REQUIREMENT
    if known and all(demand.exceeds(instance) for instance in known):
        return RESOURCE_REQUIREMENT
    if environment.max_vcpus is not None and demand.vcpus_in(environment) > environment.max_vcpus:
        return MAX_RESOURCE
    return ""


def blocked(demand: Demand, environments: Sequence[Environment]) -> str:
    """Return why none of a queue's environments can ever hold a job, empty where one can."""
    reasons = [fit(demand, environment) for environment in environments]
    return "" if "" in reasons else (reasons[0] if reasons else RESOURCE_REQUIREMENT)


def place(demand: Demand, environments: Sequence[Environment], used: Mapping[str, int]) -> Environment | None:
    """Return the first environment that has room now.

    Args:
        demand: Of the job.
        environments: Of the queue, in its order.
        used: vCPUs in use, by the environment's name.
    """
    for environment in environments:
        free = environment.max_vcpus is None or (
            demand.vcpus_in(environment) <= environment.max_vcpus - used.get(environment.name, 0)
        )
        if environment.enabled and free and not fit(demand, environment):
            return environment
    return None


def time_limit(actions: Sequence[Mapping[str, Any]], code: str) -> int | None:
    """Return after how many seconds in RUNNABLE a queue cancels a job that waits for a reason.

    Args:
        actions: ``jobStateTimeLimitActions`` of the queue.
        code: Such as :data:`MAX_RESOURCE`.
    """
    limits = [int(action["maxTimeSeconds"]) for action in actions if action["reason"] == code]
    return min(limits, default=None)
