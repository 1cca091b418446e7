"""Whether a job's variables lead its traffic past the network cards with EFA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk

from muster_core.rules import is_token_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs import Construct

    from muster_core.instances import InstanceType

_PROVIDER, _NET, _PLUGIN = "FI_PROVIDER", "NCCL_NET", "NCCL_NET_PLUGIN"


def warn_of_transport(scope: Construct, variables: Mapping[str, str], instance: InstanceType) -> None:
    """Say that a variable of the job keeps libfabric or NCCL from EFA, which the type has.

    Args:
        scope: The job.
        variables: Its variables.
        instance: Its instance type.
    """
    found = {name: value for name, value in variables.items() if _avoids_efa(name, value.strip().lower())}
    if not found or not instance.max_efa:
        return
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:slowNetwork",
        f"environment keeps the traffic from EFA, got {found!r}; the nodes would speak TCP, a fraction of what the network "
        f"cards of {instance.name} can; remove it",
    )


def _avoids_efa(name: str, value: str) -> bool:
    if not value or is_token_text(value):
        return False
    if name == _PROVIDER:  # a filter: a list of providers, or of those to leave out
        return ("efa" in value) == value.startswith("^")
    # "none" leaves NCCL its own networks alone; others are names of plugins.
    return (name == _NET and value in {"socket", "ib"}) or (name == _PLUGIN and value == "none")
