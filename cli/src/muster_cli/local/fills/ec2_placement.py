"""Placement groups, which moto's EC2 does not have at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.ec2.utils import random_id

from muster_cli.local.fills.cloudformation.resources import Fill, Made, Properties, Site, register
from muster_cli.local.fills.ec2_network import ec2
from muster_cli.local.fills.patching import replace

if TYPE_CHECKING:
    from moto.ec2.models import EC2Backend

_groups: WeakKeyDictionary[EC2Backend, dict[str, dict[str, Any]]] = WeakKeyDictionary()


def groups(backend: EC2Backend) -> dict[str, dict[str, Any]]:
    """Return the placement groups by name.

    Args:
        backend: moto's EC2.
    """
    return _groups.setdefault(backend, {})


def create(
    backend: EC2Backend, name: str, strategy: str | None, tags: dict[str, str] | None = None, **more: object
) -> dict[str, Any]:
    """Make a placement group.

    Args:
        backend: moto's EC2.
        name: Its name, once per region.
        strategy: ``cluster``, ``spread`` or ``partition``.
        tags: Its tags. Default: - none.
        **more: ``SpreadLevel`` or ``PartitionCount``.

    Returns:
        The group as DescribePlacementGroups shows it.
    """
    if name in groups(backend):
        raise EC2ClientError(
            "InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists."
        )
    group_id = random_id(prefix="pg", size=17)
    group = {
        "GroupName": name,
        "GroupId": group_id,
        "GroupArn": f"arn:aws:ec2:{backend.region_name}:{backend.account_id}:placement-group/{name}",
        "State": "available",
        "Strategy": strategy or "cluster",
        "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
        **{key: value for key, value in more.items() if value is not None},
    }
    groups(backend)[name] = group
    return group


def delete(backend: EC2Backend, name: str) -> None:
    """Remove a placement group.

    Args:
        backend: moto's EC2.
        name: Its name.
    """
    if groups(backend).pop(name, None) is None:
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")


def _create_placement_group(self: Any) -> ActionResult:  # noqa: ANN401
    tags = self._parse_tag_specification().get("placement-group", {})
    group = create(
        self.ec2_backend,
        self._get_param("GroupName"),
        self._get_param("Strategy"),
        tags,
        SpreadLevel=self._get_param("SpreadLevel"),
        PartitionCount=self._get_param("PartitionCount"),
    )
    return ActionResult({"PlacementGroup": group})


def _describe_placement_groups(self: Any) -> ActionResult:  # noqa: ANN401
    names, ids = self._get_param("GroupNames", []), self._get_param("GroupIds", [])
    existing = groups(self.ec2_backend)
    for name in names:
        if name not in existing:
            raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    found = [
        group
        for group in existing.values()
        if (not names or group["GroupName"] in names) and (not ids or group["GroupId"] in ids)
    ]
    return ActionResult({"PlacementGroups": found})


def _delete_placement_group(self: Any) -> EmptyResult:  # noqa: ANN401
    delete(self.ec2_backend, self._get_param("GroupName"))
    return EmptyResult()


class _PlacementGroup(Fill):
    resource_type = "AWS::EC2::PlacementGroup"

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        tags = {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
        create(
            ec2(site),
            name,
            properties.get("Strategy"),
            {**site.tags, **tags},
            SpreadLevel=properties.get("SpreadLevel"),
            PartitionCount=properties.get("PartitionCount"),
        )
        return Made(name, {"GroupName": name})

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        delete(ec2(site), resource.physical_resource_id)


def install() -> None:
    """Add the API and the fill."""
    replace(EC2Response, "create_placement_group", _create_placement_group)
    replace(EC2Response, "describe_placement_groups", _describe_placement_groups)
    replace(EC2Response, "delete_placement_group", _delete_placement_group)
    register(_PlacementGroup())
