"""How a cluster takes its place in a network: the subnet, the default group's rules, the endpoints."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from muster_cdk import addresses, endpoints, network, security_groups
from muster_cdk.paths import path_of
from muster_core.rules import vpc as rules

if TYPE_CHECKING:
    from constructs import Construct

    from muster_cdk.cluster import GpuCluster
    from muster_cdk.validation import Report
    from muster_core.rules import ClusterRequest


def place(
    cluster: Construct,
    report: Report,
    vpc: ec2.IVpc | None,
    subnet: ec2.ISubnet | None,
    availability_zone: str | None,
) -> tuple[ec2.IVpc, ec2.ISubnet]:
    """The VPC and the one subnet of the nodes, as they are given or made.

    Args:
        cluster: The cluster.
        report: Its problems: those of a given subnet are added.
        vpc: A VPC that is given, if any.
        subnet: A subnet that is given, if any.
        availability_zone: A zone that is given, if any.

    Raises:
        ValueError: There is a subnet without its VPC, or no private subnet in the VPC.
    """
    if vpc is None:
        if subnet is not None:
            raise ValueError("subnet needs its vpc, got a subnet alone; pass vpc too")
        made = network.TrainingNetwork(cluster, "Network", availability_zone=availability_zone)
        return made.vpc, made.subnet
    if subnet is not None:
        report.add(network.check_subnet(vpc, subnet, availability_zone))
        return vpc, subnet
    chosen, problems = network.choose_subnet(vpc, availability_zone)
    report.add(problems)
    network.warn_first_subnet(cluster, chosen, vpc)
    return vpc, chosen


def placed(cluster: GpuCluster, request: ClusterRequest) -> ClusterRequest:
    """The request of a cluster with what is known of its subnet's addresses.

    Args:
        cluster: The cluster, with its subnet.
        request: What it asks for.
    """
    return dataclasses.replace(
        request,
        subnet_cidr=network.cidr_of(cluster.subnet),
        subnet_taken=addresses.taken(cluster, cluster.subnet),
    )


def default_group(
    cluster: Construct, report: Report, vpc: ec2.IVpc, given: ec2.ISecurityGroup | str | None
) -> ec2.ISecurityGroup | None:
    """The VPC's default group with the rules that the jobs' containers need; None where nobody knows it.

    Args:
        cluster: The cluster.
        report: Its problems: those of a given group are added.
        vpc: Its VPC.
        given: The group as it is given, if it is.
    """
    own = vpc.vpc_default_security_group if isinstance(vpc, ec2.Vpc) else None
    group = own if given is None else given
    if group is None:
        security_groups.warn_unseen_default_group(cluster)
        return None
    made = path_of(group) if isinstance(group, ec2.SecurityGroup) else None
    report.add(rules.default_group(group if isinstance(group, str) else group.security_group_id, own, made))
    if isinstance(group, str):
        group = ec2.SecurityGroup.from_security_group_id(cluster, "DefaultGroup", group)
    # The VPC owns the rules where it is made here: two clusters share them.
    owner = vpc if isinstance(vpc, ec2.Vpc) and group.security_group_id == own else cdk.Stack.of(cluster)
    security_groups.open_default_group(owner, group.security_group_id)
    return group


def open_endpoints(cluster: GpuCluster, group: ec2.ISecurityGroup | None) -> None:
    """Let the nodes call the services by the VPC's endpoints, or warn of a subnet without any way out.

    Args:
        cluster: The cluster, all made.
        group: The VPC's default group, None where nobody knows it.
    """
    made = endpoints.endpoints_of(cluster.vpc)
    isolated = network.is_isolated(cluster.vpc, cluster.subnet)
    if made is None:
        if isolated:
            endpoints.warn_isolated(cluster, cluster.subnet)
        return
    if isolated:
        endpoints.warn_missing(cluster, made)
    made.admit(cluster, "FromEfaGroup", cluster.security_group.security_group_id)
    if group is not None:
        made.admit(cluster, "FromDefaultGroup", group.security_group_id)
    # On deletion the hosts go first: they cannot deregister without endpoints.
    cluster.compute_environment.node.add_dependency(made)
