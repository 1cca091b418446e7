"""Resources that stand for nothing, and the custom resource that the VPC brings.

A custom resource is a Lambda function; moto would need Docker to run it, and waits for ever. The
one that the CDK adds to every VPC is carried out here; any other fails by name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from muster_cli.local.fills.cloudformation.resources import Fill, Made, Properties, Site, register
from muster_cli.local.fills.ec2_groups import ANYWHERE, EGRESS, INGRESS, authorize, revoke
from muster_cli.local.fills.ec2_network import ec2


class _Marker(Fill):
    """A resource that is nothing but its name."""

    def __init__(self, resource_type: str) -> None:
        self.resource_type = resource_type

    def create(self, site: Site, name: str, properties: Properties) -> Made:  # noqa: ARG002
        return Made(name)

    def update(self, site: Site, resource: Any, old: Properties, new: Properties) -> Any:  # noqa: ANN401, ARG002
        return resource

    def delete(self, site: Site, resource: Any, properties: Properties) -> None:  # noqa: ANN401
        pass


class _RestrictDefaultGroup(Fill):
    """Revokes the two rules of a VPC's default group, and gives them back, as the CDK's function does."""

    resource_type = "Custom::VpcRestrictDefaultSG"
    _OUT: ClassVar[Properties] = {"IpProtocol": "-1", "CidrIp": ANYWHERE}

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        group = properties["DefaultSecurityGroupId"]
        backend = ec2(site)
        found = backend.get_security_group_from_id(group)
        if found is None:
            raise ValueError(f"The security group '{group}' does not exist")
        for direction, rule in self._rules(group):
            self._revoke_if_there(backend, direction, rule, group)
        return Made(name)

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        if old["DefaultSecurityGroupId"] != new["DefaultSecurityGroupId"]:
            self.delete(site, resource, old)
            self.create(site, resource.physical_resource_id, new)
        return resource

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        group = properties["DefaultSecurityGroupId"]
        for direction, rule in self._rules(group):
            authorize(ec2(site), direction, rule, group)

    def _rules(self, group: str) -> list[tuple[str, Properties]]:
        return [(INGRESS, {"IpProtocol": "-1", "SourceSecurityGroupId": group}), (EGRESS, self._OUT)]

    @staticmethod
    def _revoke_if_there(backend: Any, direction: str, rule: Properties, group: str) -> None:  # noqa: ANN401
        """The function tolerates a rule that is not there (moto's new VPC has none inwards)."""
        try:
            revoke(backend, direction, rule, group)
        except Exception as error:
            if getattr(error, "code", "") != "InvalidPermission.NotFound":
                raise


def install() -> None:
    """Add the fills."""
    register(_Marker("AWS::CDK::Metadata"), _Marker("AWS::CloudFormation::WaitConditionHandle"))
    register(_RestrictDefaultGroup())
