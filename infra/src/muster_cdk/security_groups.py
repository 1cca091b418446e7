"""The two security groups of a node: its network cards', and the VPC's default one of its containers."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from muster_cdk.arguments import checked
from muster_cdk.paths import path_of
from muster_core.rules import Problem, is_token_number
from muster_core.rules import vpc as vpc_rules

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
    rules = _rules(group)
    own = _resolved(group, group.security_group_id)
    if {kind for kind, protocol, peer, _ in rules if protocol == "-1" and peer == own} != {_IN, _OUT}:
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:efaSecurityGroup",
            f"security_group has no rule for all traffic from and to itself, got {group.node.path!r}; EFA needs both, and "
            "to 0.0.0.0/0 does not count; use EfaSecurityGroup, or give the group both rules, and tcp to 0.0.0.0/0 "
            "beside them, before the cluster, with allow_all_outbound=False",
        )
    if not any(
        kind == _OUT and peer != own and _lets_https(protocol, ports) for kind, protocol, peer, ports in rules
    ):
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:efaSecurityGroupWayOut",
            f"security_group has no rule out but to itself, got {group.node.path!r}; the hosts reach ECS, registries and "
            "logs through it, and without them never register; use EfaSecurityGroup, or give the group a rule for tcp "
            "to 0.0.0.0/0, or to the endpoints' group, before the cluster",
        )


def check_vpc(group: ec2.ISecurityGroup | None, vpc: ec2.IVpc) -> list[Problem]:
    """What is wrong with the place of a given group: another VPC than the cluster's; nothing for an imported one.

    Args:
        group: The group; None where none was given.
        vpc: The cluster's VPC.
    """
    made = group.node.default_child if isinstance(group, ec2.SecurityGroup) else None
    if group is None or not isinstance(made, ec2.CfnSecurityGroup):
        return []
    return vpc_rules.same("security_group", path_of(group), vpc_name(made.vpc_id), vpc_name(vpc.vpc_id))


def vpc_name(vpc_id: str | None) -> str | None:
    """A VPC by its id, or by its path where it is made in this app; None where neither is known."""
    if vpc_id is None or not cdk.Token.is_unresolved(vpc_id):
        return vpc_id
    token = cdk.Tokenization.reverse_string(vpc_id).first_token
    target = token.target if isinstance(token, cdk.Reference) else None
    return target.node.path.removesuffix("/Resource") if isinstance(target, ec2.CfnVPC) else None


class _Rule(NamedTuple):
    """A rule of a group: which way, the protocol, the other side, its ports."""

    kind: str
    protocol: str
    peer: object
    ports: tuple[float | None, float | None]


def _rules(group: ec2.SecurityGroup) -> list[_Rule]:
    """The rules of a group of this app, but those of IPv6: CDK writes some into it, and others beside it."""
    found = []
    for rule in group.node.children:
        if isinstance(rule, ec2.CfnSecurityGroupIngress):
            peer = _resolved(group, rule.source_security_group_id)
            found.append(_Rule(_IN, rule.ip_protocol, peer, (None, None)))
        elif isinstance(rule, ec2.CfnSecurityGroupEgress) and rule.cidr_ipv6 is None:
            peer = _resolved(group, rule.destination_security_group_id)
            found.append(_Rule(_OUT, rule.ip_protocol, peer, (rule.from_port, rule.to_port)))
    return found + _written(group)


def _written(group: ec2.SecurityGroup) -> list[_Rule]:
    made = group.node.default_child
    rules = _resolved(group, made.security_group_egress) if isinstance(made, ec2.CfnSecurityGroup) else None
    return [
        _Rule(_OUT, each["ipProtocol"], None, (each.get("fromPort"), each.get("toPort")))
        for each in (rules if isinstance(rules, list) else ())
        if "cidrIpv6" not in each
    ]


def _lets_https(protocol: str, ports: tuple[float | None, float | None]) -> bool:
    first, last = ports
    if protocol != "tcp" or not isinstance(first, (int, float)) or not isinstance(last, (int, float)):
        return protocol in ("-1", "tcp")
    return first <= _HTTPS <= last or is_token_number(first) or is_token_number(last)


def _resolved(group: ec2.SecurityGroup, value: object) -> object:
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
