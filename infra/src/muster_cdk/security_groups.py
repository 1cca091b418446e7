"""The two security groups of a node: its network cards', and the VPC's default one of its containers."""

from __future__ import annotations

import hashlib
import json

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from muster_cdk.arguments import checked
from muster_cdk.paths import path_of

_PORTS = ec2.Port.tcp_range(0, 65535)
_DEFAULT_GROUP = "MusterDefaultGroup"
_HTTPS = 443
_IN, _OUT = "in", "out"


class EfaSecurityGroup(ec2.SecurityGroup):
    """The group of the nodes' network cards: everything in and out among themselves, TCP out to the internet.

    EFA asks for the group itself as source *and* as destination of all traffic; a rule to
    0.0.0.0/0 does not stand in for that.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc) -> None:
        """Make the group.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            vpc: The VPC of the nodes.
        """
        super().__init__(
            scope, id, vpc=vpc, description="EFA among the nodes of a GPU cluster", allow_all_outbound=False
        )
        self.add_ingress_rule(self, ec2.Port.all_traffic(), "EFA from the nodes")
        self.add_egress_rule(self, ec2.Port.all_traffic(), "EFA to the nodes")
        self.add_egress_rule(ec2.Peer.any_ipv4(), _PORTS, "ECS, registries and storage")


def open_default_group(owner: Construct, group_id: str) -> None:
    """Give a VPC's default security group the rules that a job's containers need, once for each owner.

    The interface of a multi-node job's container is in the VPC's default group, as an environment
    whose launch template has network interfaces may name no group. CDK's flag
    ``restrictDefaultSecurityGroup`` takes away the group's own rules ("all from itself", "all to
    anywhere"), and gives them back on delete without tolerating doubles: so ours are TCP, never
    all protocols.

    Args:
        owner: The VPC where it is made in this app, else the stack that is to own the rules: two
            stacks cannot own the same.
        group_id: Id of the default group.
    """
    stack = cdk.Stack.of(owner)
    name = _DEFAULT_GROUP
    if path_of(owner) == path_of(stack):
        name += f"-{_plain(stack, group_id)}"
    if owner.node.try_find_child(name) is None:
        _open_group(Construct(owner, name), group_id)


def is_open(vpc: ec2.Vpc) -> bool:
    """Whether the default group of a VPC of this app was given these rules.

    Args:
        vpc: The VPC.
    """
    return vpc.node.try_find_child(_DEFAULT_GROUP) is not None


def warn_unseen_default_group(scope: Construct) -> None:
    """Say that nobody here knows the rules of an imported VPC's default group."""
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:defaultSecurityGroup",
        "default_security_group is not set, and the containers of multi-node jobs are in the default security group of "
        "the imported vpc; it must admit tcp from itself and let tcp out; pass default_security_group to have "
        "these rules added",
    )


def warn_efa_rules(scope: Construct, group: ec2.ISecurityGroup) -> None:
    """Say that a group of this app lacks a rule that EFA needs; nobody here knows an imported one's.

    Args:
        scope: Whoever takes the group.
        group: The group of the nodes' network cards.
    """
    if isinstance(group, EfaSecurityGroup) or not isinstance(group, ec2.SecurityGroup):
        return
    if _admits_itself(group):
        return
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:efaSecurityGroup",
        f"security_group has no rule for all traffic from and to itself, got {group.node.path!r}; EFA needs both, and to "
        "0.0.0.0/0 does not count; use EfaSecurityGroup, or give the group both rules before the cluster, with "
        "allow_all_outbound=False",
    )


def _admits_itself(group: ec2.SecurityGroup) -> bool:
    own, found = _resolved(group, group.security_group_id), set()
    for rule in group.node.children:
        if isinstance(rule, ec2.CfnSecurityGroupIngress):
            protocol, peer = rule.ip_protocol, rule.source_security_group_id
        elif isinstance(rule, ec2.CfnSecurityGroupEgress):
            protocol, peer = rule.ip_protocol, rule.destination_security_group_id
        else:
            continue
        if protocol == "-1" and peer is not None and _resolved(group, peer) == own:
            found.add(rule.cfn_resource_type)
    return len(found) == 2  # noqa: PLR2004  in and out


def _resolved(group: ec2.SecurityGroup, value: str) -> object:
    return cdk.Stack.of(group).resolve(value)


def _plain(stack: cdk.Stack, group_id: str) -> str:
    """A name for a group's id; one that is known at deployment only goes by what it refers to."""
    if not cdk.Token.is_unresolved(group_id):
        return group_id
    text = json.dumps(stack.resolve(group_id), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _open_group(rules: Construct, group_id: str) -> None:
    ec2.CfnSecurityGroupIngress(
        rules,
        "TcpIn",
        group_id=group_id,
        source_security_group_id=group_id,
        ip_protocol="tcp",
        from_port=0,
        to_port=65535,
        description="Containers of multi-node jobs among themselves",
    )
    ec2.CfnSecurityGroupEgress(
        rules,
        "TcpOut",
        group_id=group_id,
        cidr_ip="0.0.0.0/0",
        ip_protocol="tcp",
        from_port=0,
        to_port=65535,
        description="Containers of multi-node jobs to the internet",
    )
