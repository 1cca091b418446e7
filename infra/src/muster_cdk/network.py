"""Where the nodes live: one zone, private subnets, the EFA security group, the default group's rules."""

from __future__ import annotations

from ipaddress import IPv4Network

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from muster_core.rules import Problem
from muster_core.rules import network as rules

DEFAULT_CIDR = "10.0.0.0/16"
_LARGEST, _SMALLEST = 16, 24
_PORTS = ec2.Port.tcp_range(0, 65535)


class TrainingNetwork(Construct):
    """A VPC of one zone: a private subnet for the nodes, and NAT in a small public one.

    EFA traffic cannot leave a zone, and the container of a multi-node job never has a public
    address, so a public subnet would leave it without a way out.

    Attributes:
        vpc: The VPC.
        subnet: Its private subnet: half of the VPC's addresses.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        availability_zone: str | None = None,
        cidr: str = DEFAULT_CIDR,
        flow_logs: bool = True,
    ) -> None:
        """Make the network.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            availability_zone: Name of the zone, such as ``us-east-1b``. Default: the region's first
                zone, which often lacks the newest types (a warning says so).
            cidr: IPv4 block of the VPC, /16 to /24. Default: 10.0.0.0/16.
            flow_logs: Whether rejected connections are logged, for 30 days. Default: True.

        Raises:
            ValueError: ``cidr`` is no block of that size.
        """
        super().__init__(scope, id)
        zone = availability_zone if availability_zone is not None else self._first_zone()
        mask = _prefix_length(cidr)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(cidr),
            availability_zones=[zone],
            nat_gateways=1,
            subnet_configuration=_subnets(mask),
        )
        self.subnet: ec2.ISubnet = self.vpc.private_subnets[0]
        open_default_group(self.vpc, self.vpc.vpc_default_security_group)
        if flow_logs:
            self._log_rejects()

    def _first_zone(self) -> str:
        cdk.Annotations.of(self).add_warning_v2(
            "muster-cdk:firstZone",
            "availability_zone is not set, the first zone of the region is taken; it may not offer the instance type; "
            "set availability_zone to one that does",
        )
        return cdk.Fn.select(0, cdk.Fn.get_azs())

    def _log_rejects(self) -> None:
        # Rejects alone: they cost little, and show a security group that stands in the way.
        group = logs.LogGroup(
            self, "FlowLog", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        self.vpc.add_flow_log(
            "Rejects",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(group),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )


class EfaSecurityGroup(ec2.SecurityGroup):
    """The group of the nodes' network cards: everything in and out among themselves, TCP out to the internet.

    EFA asks for the group itself as source *and* as destination of all traffic; a rule to
    0.0.0.0/0 does not stand in for that.
    """

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


def choose_subnet(vpc: ec2.IVpc, availability_zone: str | None) -> tuple[ec2.ISubnet, list[Problem]]:
    """The private subnet of a given VPC that the nodes are to live in.

    Args:
        vpc: The VPC.
        availability_zone: Name of the zone; None where the VPC's private subnets are in one.

    Returns:
        The subnet, and what is wrong with the choice.

    Raises:
        ValueError: The VPC has no private subnet there.
    """
    if vpc.select_subnets().is_pending_lookup:
        return vpc.private_subnets[0], []  # CDK looks the VPC up and synthesizes again
    subnets = [each for each in vpc.private_subnets if availability_zone in (None, each.availability_zone)]
    if not subnets:
        raise ValueError(_no_private_subnet(vpc, availability_zone))
    return subnets[0], rules.one_zone([subnet.availability_zone for subnet in subnets])


def check_subnet(vpc: ec2.IVpc, subnet: ec2.ISubnet, availability_zone: str | None) -> list[Problem]:
    """What is wrong with a subnet that was named: it is public, or in another zone.

    Args:
        vpc: The VPC.
        subnet: The subnet.
        availability_zone: The zone that was named beside it, if any.
    """
    public = [each.subnet_id for each in vpc.public_subnets]
    return [
        *rules.public_subnet(subnet.subnet_id, public, subnet.node.path),
        *rules.zone_mismatch(subnet.availability_zone, availability_zone),
    ]


def cidr_of(subnet: ec2.ISubnet) -> str | None:
    """The subnet's IPv4 block, None where an imported subnet does not say it."""
    try:
        return subnet.ipv4_cidr_block
    except RuntimeError:  # jsii's form of CDK's "cannot reference an imported Subnet's IPv4 CIDR"
        return None


def _prefix_length(cidr: str) -> int:
    try:
        length = IPv4Network(cidr).prefixlen
    except ValueError:
        length = 0
    if not _LARGEST <= length <= _SMALLEST:
        raise ValueError(
            f"cidr is no block for a vpc, got {cidr!r}; allowed is an IPv4 block from /{_LARGEST} to /{_SMALLEST} such as "
            f"{DEFAULT_CIDR!r}; correct it"
        )
    return length


def _subnets(mask: int) -> list[ec2.SubnetConfiguration]:
    return [
        ec2.SubnetConfiguration(
            name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=28, map_public_ip_on_launch=False
        ),
        ec2.SubnetConfiguration(
            name="Nodes", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=mask + 1
        ),
    ]


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


def _no_private_subnet(vpc: ec2.IVpc, zone: str | None) -> str:
    where = f" in {zone!r}" if zone is not None else ""
    return (
        f"vpc has no private subnet{where}, got {len(vpc.public_subnets)} public and {len(vpc.isolated_subnets)} "
        f"isolated in {sorted(vpc.availability_zones)}; the container of a multi-node job has no public address and "
        "needs a way out by NAT; add a private subnet, or name one by subnet"
    )
