"""The way out of a subnet without a NAT gateway: endpoints for every service that a node calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from muster_cdk.addresses import take
from muster_cdk.arguments import checked
from muster_cdk.coercion import to_strings
from muster_cdk.paths import path_of
from muster_cdk.validation import Report
from muster_core.rules import vpc as rules

if TYPE_CHECKING:
    from collections.abc import Sequence

NODE_SERVICES = ("ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr", "logs", "secretsmanager")
"""What a host registers with, pulls from and logs to, and where the job's secret is."""
EXEC_SERVICES = ("ssm", "ssmmessages")
"""What ECS Exec needs on top."""
GATEWAYS = {
    "s3": ec2.GatewayVpcEndpointAwsService.S3,
    "dynamodb": ec2.GatewayVpcEndpointAwsService.DYNAMODB,
}
"""Services with an entry in the route table, which costs nothing. ECR keeps the images' layers in S3."""
HTTPS = 443
_SERVICE = re.compile(r"(?!(com|cn|aws)\.)[a-z0-9]+([.-][a-z0-9]+)*")


class NetworkEndpoints(Construct):
    """Endpoints of a VPC, so that nodes without a way to the internet register, pull, log and read secrets.

    Each interface endpoint costs by the hour. Their group admits the VPC's default group, if that is
    known, and each cluster admits the group of its network cards: the hosts and the jobs' containers
    are in different ones.

    Attributes:
        vpc: The VPC.
        security_group: Group of the interface endpoints; it admits HTTPS from the groups of the nodes.
        services: Names of the services.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        subnet: ec2.ISubnet,
        services: Sequence[str] = (*NODE_SERVICES, "s3"),
    ) -> None:
        """Make the endpoints.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            vpc: The VPC.
            subnet: The nodes' subnet.
            services: The services by their short names, such as ``ecr.api`` or ``sts``; s3 and dynamodb
                get a gateway. Default: ECS (ecs, ecs-agent, ecs-telemetry), ECR (ecr.api, ecr.dkr),
                logs, secretsmanager and s3.

        Raises:
            TypeError: ``services`` is no list of str.
            ValueError: A service is no short name.
        """
        super().__init__(scope, id)
        self.vpc = vpc
        self.services = service_names(services)
        self._admitted: set[str] = set()
        _Marker(vpc, self)
        self.security_group = ec2.SecurityGroup(
            self,
            "Group",
            vpc=vpc,
            description="Endpoints for the nodes of a GPU cluster",
            allow_all_outbound=False,
        )
        if isinstance(vpc, ec2.Vpc) and not GATEWAYS.keys() >= set(self.services):
            flags = {"hostnames": vpc.dns_hostnames_enabled, "support": vpc.dns_support_enabled}
            Report(self).add(rules.dns(path_of(vpc), **flags))
        take(self, subnet, sum(name not in GATEWAYS for name in self.services))
        for name in self.services:
            self._create_endpoint(name, ec2.SubnetSelection(subnets=[subnet]))

    def admit(self, owner: Construct, name: str, group_id: str) -> None:
        """Let the members of a security group call the services; once for each group.

        Args:
            owner: A construct in the stack that is to own the rule.
            name: Name of the rule within ``owner``.
            group_id: Id of the group.
        """
        if group_id in self._admitted:
            return
        self._admitted.add(group_id)
        ec2.CfnSecurityGroupIngress(
            owner,
            f"Endpoints{name}",
            group_id=self.security_group.security_group_id,
            source_security_group_id=group_id,
            ip_protocol="tcp",
            from_port=HTTPS,
            to_port=HTTPS,
            description="Nodes to the services",
        )

    def _create_endpoint(self, name: str, subnets: ec2.SubnetSelection) -> None:
        if name in GATEWAYS:
            ec2.GatewayVpcEndpoint(self, name, vpc=self.vpc, service=GATEWAYS[name], subnets=[subnets])
            return
        ec2.InterfaceVpcEndpoint(
            self,
            name,
            vpc=self.vpc,
            service=ec2.InterfaceVpcEndpointAwsService(name),
            subnets=subnets,
            security_groups=[self.security_group],
            open=False,
            private_dns_enabled=True,
        )


def service_names(services: Sequence[str], argument: str = "services") -> tuple[str, ...]:
    """Short names of services, each once, in the order given.

    Raises:
        TypeError: It is no list of str.
        ValueError: One is no short name.
    """
    for index, name in enumerate(to_strings(services, argument)):
        if not _SERVICE.fullmatch(name):
            raise ValueError(
                f"{argument}[{index}] is no service, got {name!r}; allowed is the short name that follows the region in "
                "the endpoint's name, such as 'sts' or 'ecr.api'; correct it"
            )
    return tuple(dict.fromkeys(services))


class _Marker(Construct):
    """Makes the endpoints known to whoever holds the VPC."""

    def __init__(self, vpc: ec2.IVpc, endpoints: NetworkEndpoints) -> None:
        if endpoints_of(vpc) is not None:
            raise ValueError(
                f"vpc has endpoints already, got {vpc.node.path!r} twice; a service has one endpoint with a private name "
                "in a vpc; put all services into one NetworkEndpoints"
            )
        super().__init__(cdk.Stack.of(vpc), _marker(vpc))
        self.endpoints = endpoints


def endpoints_of(vpc: ec2.IVpc) -> NetworkEndpoints | None:
    """The endpoints that were made for a VPC before; None where there are none."""
    marker = cdk.Stack.of(vpc).node.try_find_child(_marker(vpc))
    return marker.endpoints if isinstance(marker, _Marker) else None


def _marker(vpc: ec2.IVpc) -> str:
    return f"MusterEndpoints-{vpc.node.addr}"  # not below it: an imported one takes no child


def warn_isolated(scope: Construct, subnet: ec2.ISubnet) -> None:
    """Say that nobody here knows the way out of a subnet without a route to the internet."""
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:isolatedSubnet",
        f"subnet has no route to the internet, got {subnet.node.path!r}, and no endpoints are known; without a way to ECS, "
        "ECR, CloudWatch Logs, Secrets Manager and S3 the hosts never register and each job stays RUNNABLE; make "
        "NetworkEndpoints in it before the cluster, or acknowledge this where they are made elsewhere",
    )


def warn_missing(scope: Construct, made: NetworkEndpoints) -> None:
    """Say that the endpoints of a subnet without a route to the internet lack some that each node calls."""
    missing = [name for name in (*NODE_SERVICES, "s3") if name not in made.services]
    if missing:
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:missingEndpoints",
            f"subnet has no route to the internet, and its endpoints lack services that each node calls, got {path_of(made)!r} "
            f"without {', '.join(missing)}; the hosts never register or their jobs never start; add the services, or "
            "acknowledge this where their endpoints are made elsewhere",
        )
