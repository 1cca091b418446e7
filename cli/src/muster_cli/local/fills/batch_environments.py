"""Compute environments: without a service role, with a launch template's groups, changed in place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moto.batch.exceptions import ClientException, InvalidParameterValueException
from moto.batch.models import BatchBackend, ComputeEnvironment, batch_backends
from moto.batch.responses import BatchResponse

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

if TYPE_CHECKING:
    from collections.abc import Mapping

_GROUPS = "securityGroupIds"
_SERVICE_ROLE = "AWSServiceRoleForBatch"
_NOT_OF_REQUEST = ("ReplaceComputeEnvironment", "UpdatePolicy", "ComputeEnvironmentName")
_SCALING = ("MinvCpus", "MaxvCpus", "DesiredvCpus", "UpdateToLatestImageVersion")


def batch(site: Site) -> BatchBackend:
    """Return moto's Batch.

    Args:
        site: Where.
    """
    return batch_backends[site.account][site.region]


def service_linked_role(backend: BatchBackend) -> str:
    """Return the ARN of Batch's service-linked role; it is made when it is first needed, as on AWS.

    Args:
        backend: moto's Batch.
    """
    iam = backend.iam_backend
    for role in iam.roles.values():
        if role.name == _SERVICE_ROLE:
            return str(role.arn)
    role = iam.create_service_linked_role("batch.amazonaws.com", "Batch's own role", "")
    role.name = _SERVICE_ROLE  # moto writes the service's name small
    return str(role.arn)


def _create(  # noqa: PLR0917  the signature is moto's
    self: BatchBackend,
    compute_environment_name: str,
    _type: str,
    state: str,
    compute_resources: dict[str, Any],
    service_role: str,
    tags: dict[str, str] | None = None,
) -> ComputeEnvironment:
    checked = _checked(compute_resources)
    environment: ComputeEnvironment = stock(BatchBackend, "create_compute_environment")(
        self,
        compute_environment_name,
        _type,
        state or "ENABLED",
        checked,
        service_role or service_linked_role(self),
        tags,
    )
    return environment


def _checked(resources: dict[str, Any] | None) -> dict[str, Any] | None:
    """Refuse what Batch refuses; moto starts instances and reads groups that need not be there."""
    if resources is None:
        return None
    template = resources.get("launchTemplate")
    if template is not None and not ({"launchTemplateId", "launchTemplateName"} & template.keys()):
        raise ClientException("Error executing request, Exception : Launch Template Id or Name is required.")
    if not resources.get(_GROUPS) and template is None and "FARGATE" not in resources.get("type", ""):
        raise ClientException("Error executing request, Exception : securityGroupIds is required.")
    return {**resources, "minvCpus": resources.get("minvCpus", 0)}


def _validate(self: BatchBackend, resources: dict[str, Any]) -> None:
    """Let moto check what it can: it insists on a group, which a launch template may bring instead."""
    groups = resources.get(_GROUPS) or []
    standing_in = [next(iter(self.ec2_backend.groups[vpc])) for vpc in _vpcs(self, resources)]
    stock(BatchBackend, "_validate_compute_resources")(self, {**resources, _GROUPS: groups or standing_in})
    _check_launch_template(self, resources)
    resources.setdefault(_GROUPS, [])


def _vpcs(backend: BatchBackend, resources: dict[str, Any]) -> list[str]:
    subnets = {s.id: s for zone in backend.ec2_backend.subnets.values() for s in zone.values()}
    for name in resources["subnets"]:
        if name not in subnets:
            raise InvalidParameterValueException(f"subnet {name} does not exist")
    return [subnets[name].vpc_id for name in resources["subnets"]][:1]


def _check_launch_template(backend: BatchBackend, resources: dict[str, Any]) -> None:
    template = resources.get("launchTemplate")
    if template is None:
        return
    ec2 = backend.ec2_backend
    found = (
        ec2.get_launch_template(template["launchTemplateId"])
        if "launchTemplateId" in template
        else ec2.get_launch_template_by_name(template["launchTemplateName"])
    )
    version = found.get_version(template.get("version") or "$Default")
    if resources.get(_GROUPS) and _interfaces(version.data):
        raise ClientException(
            "Error executing request, Exception : securityGroupIds can't be given beside a launch template "
            "with network interfaces."
        )


def _interfaces(data: Mapping[str, Any]) -> list[Any]:
    return list(data.get("NetworkInterfaces") or data.get("NetworkInterface") or [])


def _update(
    self: BatchBackend,
    compute_environment_name: str,
    state: str | None,
    compute_resources: dict[str, Any] | None,
    service_role: str | None,
) -> tuple[str, str]:
    """Change the resources, too: moto takes and forgets them."""
    environment = self.get_compute_environment(compute_environment_name)
    if environment is None:
        raise ClientException(
            f"Error executing request, Exception : {compute_environment_name} does not exist"
        )
    if compute_resources is not None:
        merged = {**environment.compute_resources, **compute_resources}
        self._validate_compute_resources(merged)
        environment.compute_resources = merged
    answer: tuple[str, str] = stock(BatchBackend, "update_compute_environment")(
        self, compute_environment_name, state, None, service_role
    )
    return answer


def _delete(self: BatchBackend, compute_environment_name: str) -> None:
    """Refuse what Batch refuses: an environment that works, or that a queue uses."""
    environment = self.get_compute_environment(compute_environment_name)
    if environment is None:
        return
    if environment.state != "DISABLED":
        raise ClientException("Cannot delete, resource must be disabled")
    if any(environment in queue.environments for queue in self._job_queues.values()):
        raise ClientException("Cannot delete, found existing JobQueue relationship")
    stock(BatchBackend, "delete_compute_environment")(self, compute_environment_name)
    self.ecs_backend.clusters.pop(environment.ecs_name, None)  # moto lists an inactive one for ever


class _Environment(Fill):
    resource_type = "AWS::Batch::ComputeEnvironment"
    name_property = "ComputeEnvironmentName"

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        request = _request(name, properties)
        environment = batch(site).create_compute_environment(
            name,
            request["type"],
            request.get("state", "ENABLED"),
            request.get("computeResources"),  # type: ignore[arg-type]
            request.get("serviceRole", ""),
            {**site.tags, **request.get("tags", {})},
        )
        return Made(environment.arn, {"ComputeEnvironmentArn": environment.arn})

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        """In place, unless the template asks for replacement or changes what cannot change."""
        fixed = any(old.get(key) != new.get(key) for key in ("ComputeEnvironmentName", "Type", "Tags"))
        replaces = str(new.get("ReplaceComputeEnvironment", True)).lower() == "true"
        if fixed or (replaces and _infrastructure(old) != _infrastructure(new)):
            raise ReplacementError
        request = _request("same", new)
        environment = batch(site).get_compute_environment(resource.physical_resource_id)
        if environment is not None:
            environment.compute_resources = {}
        batch(site).update_compute_environment(
            resource.physical_resource_id,
            request.get("state", "ENABLED"),
            request.get("computeResources"),
            request.get("serviceRole"),
        )
        return resource

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        backend, arn = batch(site), resource.physical_resource_id
        backend.update_compute_environment(arn, "DISABLED", None, None)
        backend.delete_compute_environment(arn)


def _request(name: str, properties: Properties) -> dict[str, Any]:
    known = {key: value for key, value in properties.items() if key not in _NOT_OF_REQUEST}
    return to_api("batch", "CreateComputeEnvironmentRequest", {**known, "computeEnvironmentName": name})


def _infrastructure(properties: Properties) -> dict[str, Any]:
    resources = properties.get("ComputeResources", {})
    return {key: value for key, value in resources.items() if key not in _SCALING}


def _describe(self: Any) -> str:  # noqa: ANN401
    environments = self.batch_backend.describe_compute_environments(self._get_param("computeEnvironments"))
    for each in environments:
        each.setdefault("containerOrchestrationType", "ECS")
        each.setdefault("uuid", each["computeEnvironmentName"])
    return json.dumps({"computeEnvironments": environments})


def install() -> None:
    """Put the fills in the place of moto's methods."""
    replace(BatchBackend, "create_compute_environment", _create)
    replace(BatchBackend, "_validate_compute_resources", _validate)
    replace(BatchBackend, "update_compute_environment", _update)
    replace(BatchBackend, "delete_compute_environment", _delete)
    replace(BatchResponse, "describecomputeenvironments", _describe)
    register(_Environment())
