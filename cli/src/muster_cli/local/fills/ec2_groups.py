"""Security groups and their rules, which moto's CloudFormation reads in part or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)
from muster_cli.local.fills.ec2_network import ec2

if TYPE_CHECKING:
    from moto.ec2.models import EC2Backend

_GROUP = "AWS::EC2::SecurityGroup"
INGRESS, EGRESS = "Ingress", "Egress"
ANYWHERE = "0.0.0.0/0"
"""CloudFormation takes the rule to everywhere away where a template has egress rules of its own."""


def rule_arguments(rule: Properties, *, group_id: str) -> dict[str, Any]:
    """Return a rule of a template as moto's backend takes it.

    Args:
        rule: Its properties.
        group_id: The group that the rule belongs to.
    """
    protocol = str(rule["IpProtocol"])
    cidrs = {key: rule[key] for key in ("CidrIp", "CidrIpv6") if key in rule}
    peer = rule.get("SourceSecurityGroupId") or rule.get("DestinationSecurityGroupId")
    prefix = rule.get("SourcePrefixListId") or rule.get("DestinationPrefixListId")
    note = {"Description": rule["Description"]} if "Description" in rule else {}
    return {
        "group_name_or_id": group_id,
        "ip_protocol": protocol,
        "from_port": None if protocol == "-1" else str(rule["FromPort"]),
        "to_port": None if protocol == "-1" else str(rule["ToPort"]),
        "ip_ranges": [{**cidrs, **note}] if cidrs else [],
        "source_groups": [{"GroupId": peer, **note}] if peer else [],
        "prefix_list_ids": [{"PrefixListId": prefix}] if prefix else [],
    }


def authorize(backend: EC2Backend, direction: str, rule: Properties, group_id: str) -> str:
    """Add a rule.

    Args:
        backend: moto's EC2.
        direction: :data:`INGRESS` or :data:`EGRESS`.
        rule: Its properties.
        group_id: The group.

    Returns:
        The rule's id.
    """
    method = getattr(backend, f"authorize_security_group_{direction.lower()}")
    added, _ = method(**rule_arguments(rule, group_id=group_id))
    return str(added[0].id)


def revoke(backend: EC2Backend, direction: str, rule: Properties, group_id: str) -> None:
    """Take a rule away.

    Args:
        backend: moto's EC2.
        direction: :data:`INGRESS` or :data:`EGRESS`.
        rule: Its properties.
        group_id: The group.
    """
    getattr(backend, f"revoke_security_group_{direction.lower()}")(**rule_arguments(rule, group_id=group_id))


class _Rule(Fill):
    """A rule that stands by itself; every change of one is a new rule."""

    def __init__(self, direction: str) -> None:
        self._direction = direction
        self.resource_type = f"{_GROUP}{direction}"

    def create(self, site: Site, name: str, properties: Properties) -> Made:  # noqa: ARG002
        rule_id = authorize(ec2(site), self._direction, properties, properties["GroupId"])
        return Made(rule_id, {"Id": rule_id})

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        revoke(ec2(site), self._direction, properties, properties["GroupId"])


class _Group(Fill):
    """A group with its own rules in both directions."""

    resource_type = _GROUP
    name_property = "GroupName"
    _FIXED = ("GroupName", "GroupDescription", "VpcId")

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        tags = {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
        group = ec2(site).create_security_group(
            name, properties["GroupDescription"], properties.get("VpcId"), {**site.tags, **tags}
        )
        if properties.get(f"{_GROUP_PROPERTY}{EGRESS}"):
            revoke(ec2(site), EGRESS, {"IpProtocol": "-1", "CidrIp": ANYWHERE}, group.id)
        self._rules(site, group.id, properties, authorize)
        return Made(group.id, {"GroupId": group.id, "Id": group.id, "GroupName": name, "VpcId": group.vpc_id})

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        if any(old.get(key) != new.get(key) for key in self._FIXED):
            raise ReplacementError
        group_id = resource.physical_resource_id
        self._rules(site, group_id, old, revoke)
        self._rules(site, group_id, new, authorize)
        ec2(site).create_tags([group_id], {tag["Key"]: tag["Value"] for tag in new.get("Tags", [])})
        return resource

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        ec2(site).delete_security_group(group_id=resource.physical_resource_id)

    @staticmethod
    def _rules(site: Site, group_id: str, properties: Properties, act: Any) -> None:  # noqa: ANN401
        for direction in (INGRESS, EGRESS):
            for rule in properties.get(f"{_GROUP_PROPERTY}{direction}", []):
                act(ec2(site), direction, rule, group_id)


_GROUP_PROPERTY = "SecurityGroup"


def install() -> None:
    """Add the fills."""
    register(_Group(), _Rule(INGRESS), _Rule(EGRESS))
