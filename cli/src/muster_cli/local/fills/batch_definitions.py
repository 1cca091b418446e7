"""Job definitions of every type, with all that they say; wrong ones are refused as Batch refuses them."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from moto.batch.exceptions import ClientException
from moto.batch.models import BatchBackend, JobDefinition, batch_backends
from moto.batch.responses import BatchResponse

from muster_cli.local.fills import batch_rules
from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)
from muster_cli.local.fills.patching import replace, stock
from muster_cli.local.fills.shapes import to_api

_EXTRA = (
    "ecsProperties",
    "schedulingPriority",
    "consumableResourceProperties",
    "containerOrchestrationType",
)
"""What moto's definition has no attribute for."""
_LISTS = ("command", "environment", "mountPoints", "resourceRequirements", "secrets", "ulimits", "volumes")
"""Batch shows these of a container even where they are empty."""
_RETENTION = "ResourceRetentionPolicy"


def register_definition(backend: BatchBackend, request: dict[str, Any]) -> JobDefinition:
    """Register a job definition as the API does.

    Args:
        backend: moto's Batch.
        request: Arguments of RegisterJobDefinition.

    Returns:
        The new revision.

    Raises:
        ClientException: Batch would refuse it; all reasons at once.
    """
    found = batch_rules.problems(request)
    if found:
        raise ClientException(f"Error executing request, Exception : {' '.join(found)}")
    kept = deepcopy(request)
    _show_lists(kept)
    definition = backend.register_job_definition(
        def_name=kept["jobDefinitionName"],
        parameters=kept.get("parameters"),  # type: ignore[arg-type]
        _type=kept["type"],
        tags=kept.get("tags"),  # type: ignore[arg-type]
        retry_strategy=kept.get("retryStrategy"),  # type: ignore[arg-type]
        container_properties=kept.get("containerProperties"),
        node_properties=kept.get("nodeProperties"),
        eks_properties=kept.get("eksProperties"),
        timeout=kept.get("timeout"),  # type: ignore[arg-type]
        platform_capabilities=kept.get("platformCapabilities"),  # type: ignore[arg-type]
        propagate_tags=kept.get("propagateTags"),  # type: ignore[arg-type]
    )
    # moto takes what is missing from the revision before; Batch does not
    definition.parameters = kept.get("parameters") or {}
    definition.retry_strategy = kept.get("retryStrategy")  # type: ignore[assignment]
    definition.platform_capabilities = kept.get("platformCapabilities") or ["EC2"]
    definition.propagate_tags = bool(kept.get("propagateTags"))
    definition.extra = {key: kept[key] for key in _EXTRA if key in kept}  # type: ignore[attr-defined]
    return definition


def _show_lists(request: dict[str, Any]) -> None:
    containers = [each.get("container") for each in _ranges(request)]
    for container in [request.get("containerProperties"), *containers]:
        if container is not None:
            for key in _LISTS:
                container.setdefault(key, [])


def _ranges(request: dict[str, Any]) -> list[dict[str, Any]]:
    ranges: list[dict[str, Any]] = (request.get("nodeProperties") or {}).get("nodeRangeProperties") or []
    return ranges


def _register(self: Any) -> str:  # noqa: ANN401
    definition = register_definition(self.batch_backend, json.loads(self.body))
    return json.dumps(
        {
            "jobDefinitionArn": definition.arn,
            "jobDefinitionName": definition.name,
            "revision": definition.revision,
        }
    )


def _describe(self: JobDefinition) -> dict[str, Any]:
    shown: dict[str, Any] = stock(JobDefinition, "describe")(self)
    if self.node_properties is not None:
        shown["nodeProperties"] = self.node_properties
    shown.update({"containerOrchestrationType": "ECS", **getattr(self, "extra", {})})
    return {key: value for key, value in shown.items() if value is not None}


def _by_name(self: BatchBackend, name: str) -> JobDefinition | None:
    """The latest *active* revision, as a submission by name means; moto takes the latest of all."""
    revisions = [d for d in self._job_definitions.values() if d.name == name and d.status == "ACTIVE"]
    return max(revisions, key=lambda d: d.revision, default=None)


def _register_backend(self: BatchBackend, def_name: str, **arguments: Any) -> JobDefinition:  # noqa: ANN401
    """Count on from the latest revision of all, be it active or not."""
    revisions = [d.revision for d in self._job_definitions.values() if d.name == def_name]
    rules = (arguments["retry_strategy"] or {}).get("evaluateOnExit") or []
    for rule in rules:
        rule["action"] = str(rule["action"]).lower()  # Batch shows it so
    arguments["tags"] = arguments["tags"] or {}
    definition = JobDefinition(  # type: ignore[abstract]
        def_name, backend=self, revision=max(revisions, default=0), **arguments
    )
    self._job_definitions[definition.arn] = definition
    return definition


class _Definition(Fill):
    resource_type = "AWS::Batch::JobDefinition"
    name_property = "JobDefinitionName"

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        request = _request(name, site, properties)
        definition = register_definition(batch_backends[site.account][site.region], request)
        return Made(definition.arn, {"JobDefinitionArn": definition.arn})

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        """Register the next revision; the one before is deregistered unless it is to be kept."""
        if old.get(self.name_property) != new.get(self.name_property):
            raise ReplacementError
        name = resource.physical_resource_id.rsplit("/", 1)[1].rsplit(":", 1)[0]
        made = self.create(site, name, new)
        if not new.get(_RETENTION, {}).get("SkipDeregisterOnUpdate"):
            self.delete(site, resource, old)
        return made

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        backend = batch_backends[site.account][site.region]
        backend.deregister_job_definition(resource.physical_resource_id)


def _request(name: str, site: Site, properties: Properties) -> dict[str, Any]:
    known = {key: value for key, value in properties.items() if key not in {_RETENTION, "JobDefinitionName"}}
    request = to_api("batch", "RegisterJobDefinitionRequest", {**known, "jobDefinitionName": name})
    return {**request, "tags": {**site.tags, **request.get("tags", {})}}


def install() -> None:
    """Put the fills in the place of moto's methods."""
    replace(BatchResponse, "registerjobdefinition", _register)
    replace(BatchBackend, "register_job_definition", _register_backend)
    replace(BatchBackend, "get_job_definition_by_name", _by_name)
    replace(JobDefinition, "describe", _describe)
    register(_Definition())
