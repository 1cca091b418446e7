"""The quotas that a full cluster needs, as an output of its stack: with less, jobs stay RUNNABLE for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster_cdk.outputs import add_output
from muster_core.contract import OUTPUT_QUOTAS
from muster_core.instances import nics
from muster_core.instances.quotas import Quota, interface_quota, on_demand_quota, volume_quota

if TYPE_CHECKING:
    from constructs import Construct

    from muster_cdk.launch_template import EfaLaunchTemplate

_GP3 = "gp3"


def needed(
    template: EfaLaunchTemplate, nodes: int, root_volume_gib: int, root_volume_type: str
) -> tuple[Quota, ...]:
    """The quotas that nodes need, as far as they are known; a Capacity Block is outside of those on demand.

    Args:
        template: Launch template of the nodes.
        nodes: Nodes that run at once.
        root_volume_gib: Size of a root volume in GiB.
        root_volume_type: Kind of a root volume.
    """
    instances = None if template.capacity.is_block else on_demand_quota(template.instance, nodes)
    interfaces = interface_quota(nics(template.instance, template.interface_type), nodes)
    volumes = volume_quota(root_volume_gib, nodes) if root_volume_type == _GP3 else None
    return tuple(each for each in (instances, interfaces, volumes) if each is not None)


def tell(scope: Construct, quotas: tuple[Quota, ...]) -> None:
    """Give the stack an output with the quotas.

    Args:
        scope: The cluster.
        quotas: The quotas.
    """
    rows = (f"{each.service}/{each.code} {each.name}: {each.needed}" for each in quotas)
    add_output(scope, "Quotas", OUTPUT_QUOTAS, "; ".join(rows))
