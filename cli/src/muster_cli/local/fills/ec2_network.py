"""EC2's network: what moto makes but cannot take away again, or makes without its properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.cloudformation.parsing import get_model_map
from moto.ec2.models import ec2_backends

from muster_cli.local.fills.cloudformation.resources import (
    Properties,
    ReplacementError,
    Site,
    StockFill,
    physical_id_of,
    register,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from moto.ec2.models import EC2Backend


def ec2(site: Site) -> EC2Backend:
    """Return moto's EC2.

    Args:
        site: Where.
    """
    return ec2_backends[site.account][site.region]


class _Removable(StockFill):
    """moto's class with the deletion that it lacks."""

    def __init__(self, resource_type: str, remove: Callable[[EC2Backend, Any, Properties], object]) -> None:
        super().__init__(get_model_map()[resource_type])
        self.resource_type = resource_type
        self._remove = remove

    def delete(self, site: Site, resource: Any, properties: Properties) -> None:  # noqa: ANN401
        self._remove(ec2(site), resource, properties)


def _delete_address(backend: EC2Backend, address: Any, _properties: Properties) -> None:  # noqa: ANN401
    if address.association_id:
        backend.disassociate_address(association_id=address.association_id)
    backend.release_address(allocation_id=address.allocation_id)


def _delete_nat_gateway(backend: EC2Backend, gateway: Any, _properties: Properties) -> None:  # noqa: ANN401
    """Let its address and its interface go, too: moto leaves both."""
    for address in backend.addresses:
        if address.eni is gateway._eni:  # noqa: SLF001
            backend.disassociate_address(association_id=address.association_id)
    backend.enis.pop(gateway._eni.id, None)  # noqa: SLF001
    backend.delete_nat_gateway(gateway.id)


def _delete_route(backend: EC2Backend, _route: Any, properties: Properties) -> None:  # noqa: ANN401
    backend.delete_route(
        properties["RouteTableId"],
        properties.get("DestinationCidrBlock"),  # type: ignore[arg-type]
        properties.get("DestinationIpv6CidrBlock"),
        properties.get("DestinationPrefixListId"),
    )


def _delete_attachment(backend: EC2Backend, _attachment: Any, properties: Properties) -> None:  # noqa: ANN401
    if "InternetGatewayId" in properties:
        backend.detach_internet_gateway(properties["InternetGatewayId"], properties["VpcId"])
    else:
        backend.detach_vpn_gateway(properties["VpnGatewayId"], properties["VpcId"])


def _delete_association(backend: EC2Backend, _association: Any, properties: Properties) -> None:  # noqa: ANN401
    """Dissolve the association in the route table: moto keeps it there, and the table cannot go."""
    table = backend.get_route_table(properties["RouteTableId"])
    for association, subnet in list(table._associations.items()):  # noqa: SLF001
        if subnet == properties["SubnetId"]:
            backend.disassociate_route_table(association)
    backend.subnet_associations.pop(f"{properties['RouteTableId']}:{properties['SubnetId']}", None)


def _delete_endpoint(backend: EC2Backend, endpoint: Any, _properties: Properties) -> None:  # noqa: ANN401
    endpoint.vpc_endpoint_type = endpoint.vpc_endpoint_type or "Gateway"
    backend.delete_vpc_endpoints([endpoint.id])


class _Vpc(StockFill):
    """A VPC with its DNS settings, which moto drops."""

    resource_type = "AWS::EC2::VPC"

    def create(self, site: Site, name: str, properties: Properties) -> Any:  # noqa: ANN401
        vpc = super().create(site, name, properties)
        self._set_dns(site, vpc, properties)
        return vpc

    def update(self, site: Site, resource: Any, old: Properties, new: Properties) -> Any:  # noqa: ANN401
        if old["CidrBlock"] != new["CidrBlock"]:
            raise ReplacementError
        self._set_dns(site, resource, new)
        return super().update(site, resource, {**new, "Tags": []}, new)

    def delete(self, site: Site, resource: Any, properties: Properties) -> None:  # noqa: ANN401
        super().delete(site, resource, properties)
        acls = ec2(site).network_acls  # moto leaves the VPC's own behind
        for name in [name for name, acl in acls.items() if acl.vpc_id == physical_id_of(resource)]:
            del acls[name]

    @staticmethod
    def _set_dns(site: Site, vpc: Any, properties: Properties) -> None:  # noqa: ANN401
        support = str(properties.get("EnableDnsSupport", True)).lower()
        names = str(properties.get("EnableDnsHostnames", False)).lower()
        ec2(site).modify_vpc_attribute(vpc.id, "enable_dns_support", support)
        ec2(site).modify_vpc_attribute(vpc.id, "enable_dns_hostnames", names)


class _Subnet(StockFill):
    """A subnet that gives public addresses or does not, which moto drops."""

    resource_type = "AWS::EC2::Subnet"
    _PUBLIC = "MapPublicIpOnLaunch"

    def create(self, site: Site, name: str, properties: Properties) -> Any:  # noqa: ANN401
        subnet = super().create(site, name, properties)
        self._set_public(site, subnet, properties)
        return subnet

    def update(self, site: Site, resource: Any, old: Properties, new: Properties) -> Any:  # noqa: ANN401
        kept = {key: value for key, value in old.items() if key not in {self._PUBLIC, "Tags"}}
        if kept != {key: value for key, value in new.items() if key not in {self._PUBLIC, "Tags"}}:
            raise ReplacementError
        self._set_public(site, resource, new)
        return super().update(site, resource, new, new)

    def _set_public(self, site: Site, subnet: Any, properties: Properties) -> None:  # noqa: ANN401
        value = str(properties.get(self._PUBLIC, False)).lower()
        ec2(site).modify_subnet_attribute(physical_id_of(subnet), "map_public_ip_on_launch", value)  # type: ignore[arg-type]


def install() -> None:
    """Add the fills."""
    register(
        _Vpc(get_model_map()[_Vpc.resource_type]),
        _Subnet(get_model_map()[_Subnet.resource_type]),
        _Removable("AWS::EC2::EIP", _delete_address),
        _Removable("AWS::EC2::FlowLog", lambda backend, log, _: backend.delete_flow_logs([log.id])),
        _Removable("AWS::EC2::InternetGateway", lambda backend, g, _: backend.delete_internet_gateway(g.id)),
        _Removable("AWS::EC2::NatGateway", _delete_nat_gateway),
        _Removable("AWS::EC2::Route", _delete_route),
        _Removable("AWS::EC2::RouteTable", lambda backend, t, _: backend.delete_route_table(t.id)),
        _Removable("AWS::EC2::SubnetRouteTableAssociation", _delete_association),
        _Removable("AWS::EC2::VPCEndpoint", _delete_endpoint),
        _Removable("AWS::EC2::VPCGatewayAttachment", _delete_attachment),
    )
