"""What an environment by itself sees of its subnet's place, which a GpuCluster has judged already."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from muster_cdk import endpoints, network
from muster_cdk.security_groups import is_open
from muster_core.rules import network as rules

if TYPE_CHECKING:
    from constructs import Construct

    from muster_core.rules import Problem

_RESTRICTED = "RestrictDefaultSecurityGroupCustomResource"


def public_subnet(subnet: ec2.ISubnet) -> list[Problem]:
    """The problem of a subnet that is public, as far as it or its VPC says so.

    Args:
        subnet: The subnet.
    """
    vpc = _vpc_of(subnet)
    public = [subnet.subnet_id] if isinstance(subnet, ec2.PublicSubnet) else []
    if vpc is not None:
        public += [each.subnet_id for each in vpc.public_subnets]
    return rules.public_subnet(subnet.subnet_id, public, subnet.node.path)


def warn_of_place(scope: Construct, subnet: ec2.ISubnet) -> None:
    """Say that the subnet has no way out that is known, or that its VPC's default group is shut.

    Args:
        scope: The environment.
        subnet: Its subnet.
    """
    vpc = _vpc_of(subnet)
    if vpc is None:
        return
    if network.is_isolated(vpc, subnet) and endpoints.endpoints_of(vpc) is None:
        endpoints.warn_isolated(scope, subnet)
    if isinstance(vpc, ec2.Vpc) and vpc.node.try_find_child(_RESTRICTED) is not None and not is_open(vpc):
        _warn_shut(scope, vpc)


def _vpc_of(subnet: ec2.ISubnet) -> ec2.IVpc | None:
    """The VPC that a subnet stands in; an imported one where the app still holds it."""
    parent = subnet.node.scope
    return cast("ec2.IVpc", parent) if hasattr(parent, "public_subnets") else None


def _warn_shut(scope: Construct, vpc: ec2.Vpc) -> None:
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:shutDefaultGroup",
        f"the default security group of the vpc has no rules, got {vpc.node.path!r}, and the containers of multi-node jobs "
        "are in it; they would reach neither each other nor the internet; make the vpc by TrainingNetwork or with "
        "restrict_default_security_group=False, or give the group tcp from itself and tcp out",
    )
