"""The two security groups of a node: its network cards', and the VPC's default one of its containers."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from muster_cdk.arguments import checked

_PORTS = ec2.Port.tcp_range(0, 65535)


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
    name = "MusterDefaultGroup"
    if owner.node.path == stack.node.path:
        name += f"-{group_id if not cdk.Token.is_unresolved(group_id) else stack.to_json_string(group_id)}"
    if owner.node.try_find_child(name) is None:
        _open_group(Construct(owner, name), group_id)


def warn_unseen_default_group(scope: Construct) -> None:
    """Say that nobody here knows the rules of an imported VPC's default group."""
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:defaultSecurityGroup",
        "default_security_group is not set, and the containers of multi-node jobs are in the default security group of "
        "the imported vpc; it must admit tcp from itself and let tcp out; pass default_security_group to have "
        "these rules added",
    )


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
