"""Where the nodes live: one zone, a private subnet with a way out or the endpoints in its place."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from muster_cdk.arguments import checked
from muster_cdk.endpoints import EXEC_SERVICES, NODE_SERVICES, NetworkEndpoints, service_names
from muster_cdk.security_groups import open_default_group, vpc_name
from muster_cdk.validation import Report
from muster_core.rules import Problem
from muster_core.rules import network as rules
from muster_core.rules import vpc as vpc_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muster_core.instances import InstanceType

DEFAULT_CIDR = "10.0.0.0/16"
_LARGEST, _SMALLEST = 16, 24


class TrainingNetwork(Construct):
    """A VPC of one zone: a private subnet for the nodes, and NAT in a small public one.

    EFA traffic cannot leave a zone, and the container of a multi-node job never has a public
    address, so a public subnet would leave it without a way out. With ``isolated`` there is no way
    to the internet at all, and endpoints for every service that a node calls.

    The jobs' containers are in the VPC's default security group, so whatever else is put into that
    group can reach them by TCP, and they it: keep the VPC for training.

    Attributes:
        vpc: The VPC.
        subnet: Its private subnet: half of the VPC's addresses.
        endpoints: The endpoints, None without any.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        availability_zone: str | None = None,
        cidr: str = DEFAULT_CIDR,
        isolated: bool = False,
        ecs_exec: bool = False,
        endpoints: Sequence[str] = (),
        flow_logs: bool = True,
        flow_log_group: logs.ILogGroup | None = None,
    ) -> None:
        """Make the network.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            availability_zone: Name of the zone, such as ``us-east-1b``. Default: the region's first
                zone, which often lacks the newest types (a warning says so).
            cidr: IPv4 block of the VPC, /16 to /24. Default: 10.0.0.0/16.
            isolated: No NAT, no public subnet: the nodes reach ECS, ECR, CloudWatch Logs, Secrets Manager
                and S3 by endpoints, and nothing else. Default: False.
            ecs_exec: Whether an isolated network gets the endpoints of ECS Exec. Default: False.
            endpoints: More services with an endpoint, by their short names such as ``sts``, ``fsx`` or
                ``ssm``, which parameters as secrets need. Beside NAT ``s3`` costs nothing and takes the
                images' layers off the gateway's bill. Default: none.
            flow_logs: Whether rejected connections are logged. Default: True.
            flow_log_group: The log group for them. Default: - a new one that keeps them for 30 days.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: ``cidr`` is no block of that size, or an endpoint is no service.
        """
        super().__init__(scope, id)
        self._isolated = isolated
        zone = availability_zone if availability_zone is not None else self._first_zone()
        mask = _prefix_length(cidr)
        Report(self).add(rules.zone_region(zone, cdk.Stack.of(self).region))
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(cidr),
            availability_zones=[zone],
            nat_gateways=0 if isolated else 1,
            subnet_configuration=_subnets(mask, isolated=isolated),
        )
        self.subnet: ec2.ISubnet = (self.vpc.isolated_subnets if isolated else self.vpc.private_subnets)[0]
        open_default_group(self.vpc, self.vpc.vpc_default_security_group)
        self.endpoints = self._create_endpoints(service_names(endpoints, "endpoints"), ecs_exec=ecs_exec)
        if flow_logs:
            self._log_rejects(flow_log_group)

    def _create_endpoints(self, more: Sequence[str], *, ecs_exec: bool) -> NetworkEndpoints | None:
        services = [*(NODE_SERVICES if self._isolated else ()), *(("s3",) if self._isolated else ())]
        services += [*(EXEC_SERVICES if self._isolated and ecs_exec else ()), *more]
        if not services:
            return None
        made = NetworkEndpoints(self, "Endpoints", vpc=self.vpc, subnet=self.subnet, services=services)
        made.admit(made, "FromDefaultGroup", self.vpc.vpc_default_security_group)
        return made

    def _first_zone(self) -> str:
        cdk.Annotations.of(self).add_warning_v2(
            "muster-cdk:firstZone",
            "availability_zone is not set, the first zone of the region is taken; it may not offer the instance type; "
            "set availability_zone to one that does",
        )
        return cdk.Fn.select(0, cdk.Fn.get_azs())

    def _log_rejects(self, given: logs.ILogGroup | None) -> None:
        # Rejects alone: they cost little, and show a security group that stands in the way.
        group = given or logs.LogGroup(
            self, "FlowLog", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        self.vpc.add_flow_log(
            "Rejects",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(group),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )


def choose_subnet(vpc: ec2.IVpc, availability_zone: str | None) -> tuple[ec2.ISubnet, list[Problem]]:
    """The private subnet of a given VPC that the nodes are to live in, an isolated one if it has none.

    Args:
        vpc: The VPC.
        availability_zone: Name of the zone; None where the VPC's private subnets are in one.

    Returns:
        The subnet, and what is wrong with the choice.

    Raises:
        ValueError: The VPC has no private subnet there.
    """
    if _is_pending(vpc):
        return vpc.private_subnets[0], []  # CDK looks the VPC up and synthesizes again
    subnets = _in_zone(vpc.private_subnets, availability_zone)
    subnets = subnets or _in_zone(vpc.isolated_subnets, availability_zone)
    if not subnets:
        raise ValueError(_no_private_subnet(vpc, availability_zone))
    return subnets[0], rules.one_zone([subnet.availability_zone for subnet in subnets])


def warn_first_subnet(scope: Construct, subnet: ec2.ISubnet, vpc: ec2.IVpc) -> None:
    """Say that the first of several subnets was taken, where their zones are known at deployment only."""
    if len(vpc.private_subnets) > 1 and cdk.Token.is_unresolved(subnet.availability_zone):
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:firstSubnet",
            "subnet is not set and the zones of the vpc's private subnets are known at deployment only, the first is "
            "taken; its zone may not offer the instance type; pass the subnet whose zone does",
        )


def warn_few_devices(scope: Construct, instance: InstanceType, devices: Sequence[str]) -> None:
    """Say that jobs map fewer EFA devices than the hosts have: a list of the user's own."""
    if len(devices) < instance.max_efa:
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:efaDevices",
            f"efa_devices has fewer devices than the type has interfaces with EFA, got {len(devices)} of "
            f"{instance.max_efa}; the bandwidth of the others is not used; leave efa_devices out to map all",
        )


def is_isolated(vpc: ec2.IVpc, subnet: ec2.ISubnet) -> bool:
    """Whether a subnet is one of the VPC's isolated ones, or a private one of this app without any route."""
    if isinstance(subnet, ec2.PrivateSubnet):
        return not any(isinstance(each, ec2.CfnRoute) for each in subnet.node.children)
    return subnet.subnet_id in {each.subnet_id for each in vpc.isolated_subnets}


def check_subnet(vpc: ec2.IVpc, subnet: ec2.ISubnet, availability_zone: str | None) -> list[Problem]:
    """What is wrong with a subnet that was named: it is public, or in another zone.

    Args:
        vpc: The VPC.
        subnet: The subnet.
        availability_zone: The zone that was named beside it, if any.
    """
    public = [each.subnet_id for each in vpc.public_subnets]
    return [
        *vpc_rules.same("subnet", subnet.node.path, _vpc_of(subnet), vpc_name(vpc.vpc_id)),
        *rules.public_subnet(subnet.subnet_id, public, subnet.node.path),
        *rules.zone_mismatch(_zone_of(subnet), availability_zone),
    ]


def _vpc_of(subnet: ec2.ISubnet) -> str | None:
    """The subnet's VPC by its id or its path; None for an imported subnet outside of an imported VPC."""
    made, owner = subnet.node.default_child, subnet.node.scope
    if isinstance(made, ec2.CfnSubnet):
        return vpc_name(made.vpc_id)
    return vpc_name(getattr(owner, "vpc_id", None)) if hasattr(owner, "select_subnets") else None


def _zone_of(subnet: ec2.ISubnet) -> str | None:
    """The subnet's zone, None where an imported subnet does not say it."""
    try:
        return subnet.availability_zone
    except RuntimeError:  # jsii's form of CDK's "cannot reference an imported Subnet's availability zone"
        return None


def cidr_of(subnet: ec2.ISubnet) -> str | None:
    """The subnet's IPv4 block, None where an imported subnet does not say it."""
    try:
        return subnet.ipv4_cidr_block
    except RuntimeError:  # jsii's form of CDK's "cannot reference an imported Subnet's IPv4 CIDR"
        return None


def _is_pending(vpc: ec2.IVpc) -> bool:
    """Whether CDK has yet to look the VPC up."""
    try:
        return bool(vpc.select_subnets().is_pending_lookup)
    except RuntimeError:  # jsii's form of CDK's "there are no subnet groups in this VPC"
        return False


def _in_zone(subnets: Sequence[ec2.ISubnet], zone: str | None) -> list[ec2.ISubnet]:
    return [each for each in subnets if zone in (None, each.availability_zone)]


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


def _subnets(mask: int, *, isolated: bool) -> list[ec2.SubnetConfiguration]:
    kind = ec2.SubnetType.PRIVATE_ISOLATED if isolated else ec2.SubnetType.PRIVATE_WITH_EGRESS
    nodes = ec2.SubnetConfiguration(name="Nodes", subnet_type=kind, cidr_mask=mask + 1)
    if isolated:
        return [nodes]
    public = ec2.SubnetConfiguration(
        name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=28, map_public_ip_on_launch=False
    )
    return [public, nodes]


def _no_private_subnet(vpc: ec2.IVpc, zone: str | None) -> str:
    private, unseen = [*vpc.private_subnets, *vpc.isolated_subnets], "known at deployment only"
    hidden = any(map(cdk.Token.is_unresolved, vpc.availability_zones))
    if private and hidden:
        return (
            f"availability_zone cannot choose a subnet, got {zone!r}; the zones of the vpc's {len(private)} private subnets "
            f"are {unseen}; pass subnet, or set the zones of the vpc or the region of its stack"
        )
    where = f" in {zone!r}" if zone is not None else ""
    zones = f"zones {unseen}" if hidden else sorted(vpc.availability_zones)
    return (
        f"vpc has no private subnet{where}, got {len(vpc.public_subnets)} public and {len(vpc.isolated_subnets)} "
        f"isolated in {zones}; the container of a multi-node job has no public address and "
        "needs a way out by NAT; add a private subnet, or name one by subnet"
    )
