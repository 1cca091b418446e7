"""Log groups that change in place: moto has no update of them, and a replacement loses the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.logs.models import logs_backends

from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)

if TYPE_CHECKING:
    from moto.logs.models import LogsBackend


def _logs(site: Site) -> LogsBackend:
    return logs_backends[site.account][site.region]


def _tags(properties: Properties) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}


class _LogGroup(Fill):
    resource_type = "AWS::Logs::LogGroup"
    name_property = "LogGroupName"

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        group = _logs(site).create_log_group(
            name, {**site.tags, **_tags(properties)}, kmsKeyId=properties.get("KmsKeyId")
        )
        self._set_retention(site, name, properties)
        return Made(name, {"Arn": f"{group.arn.removesuffix(':*')}:*"})

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        if old.get("LogGroupName") != new.get("LogGroupName"):
            raise ReplacementError
        self._set_retention(site, resource.physical_resource_id, new)
        return resource

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        _logs(site).delete_log_group(resource.physical_resource_id)

    @staticmethod
    def _set_retention(site: Site, name: str, properties: Properties) -> None:
        days = properties.get("RetentionInDays")
        _logs(site).groups[name].set_retention_policy(None if days is None else int(days))  # type: ignore[arg-type]


def install() -> None:
    """Add the fill."""
    register(_LogGroup())
