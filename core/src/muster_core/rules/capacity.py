"""Whether the compute environment can start what the job asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

from muster_core.rules.nodes import judged
from muster_core.rules.problem import Number, Problem, Rules, known

if TYPE_CHECKING:
    from muster_core.instances import InstanceType

RULES: Rules = {
    "capacity.max_vcpus": "maxvCpus of the environment holds max_nodes whole instances",
    "capacity.on_demand": "a cluster on demand has a type that is sold on demand",
}


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


def on_demand(instance: InstanceType) -> List[Problem]:
    """The type is sold on demand."""
    if instance.on_demand:
        return []
    return [
        Problem(
            "capacity.on_demand",
            f"instance_type is not sold on demand, got {instance.name!r}; it is sold in Capacity Blocks only; "
            "use another type",
        )
    ]
