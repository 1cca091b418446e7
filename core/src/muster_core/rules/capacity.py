"""Whether the compute environment can start what the job asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

from muster_core.rules.nodes import judged
from muster_core.rules.problem import Number, Problem, Rules, is_token_text, known

if TYPE_CHECKING:
    from muster_core.instances import InstanceType

DEFAULT_STRATEGY = "BEST_FIT_PROGRESSIVE"
REPLACED_STRATEGY = "BEST_FIT"
"""The one strategy with which Batch updates no environment in place: CloudFormation makes a new one."""
STRATEGIES = (REPLACED_STRATEGY, DEFAULT_STRATEGY, "BEST_FIT_PROGRESSIVE_ORDERED")
"""Batch's allocation strategies for instances on demand (``CRAllocationStrategy`` of the Batch API)."""

RULES: Rules = {
    "capacity.max_vcpus": "maxvCpus of the environment holds max_nodes whole instances",
    "capacity.on_demand": "a cluster on demand has a type that is sold on demand",
    "capacity.strategy": "the allocation strategy is one for instances on demand",
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
