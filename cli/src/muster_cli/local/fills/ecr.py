"""ECR repositories: a lower-case name of CloudFormation's own, policies, and emptying on deletion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moto.ecr.models import ecr_backends

from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)
from muster_cli.local.fills.shapes import to_api

if TYPE_CHECKING:
    from moto.ecr.models import ECRBackend, Repository

_OF_REQUEST = ("ImageScanningConfiguration", "EncryptionConfiguration", "ImageTagMutability", "Tags")


def _ecr(site: Site) -> ECRBackend:
    return ecr_backends[site.account][site.region]


class _Repository(Fill):
    resource_type = "AWS::ECR::Repository"
    name_property = "RepositoryName"

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        request = to_api(
            "ecr",
            "CreateRepositoryRequest",
            {"repositoryName": name, **{key: properties[key] for key in _OF_REQUEST if key in properties}},
        )
        repository = _ecr(site).create_repository(
            repository_name=name,
            registry_id=None,
            encryption_config=request.get("encryptionConfiguration"),  # type: ignore[arg-type]
            image_scan_config=request.get("imageScanningConfiguration"),
            image_tag_mutability=request.get("imageTagMutability"),  # type: ignore[arg-type]
            tags=request.get("tags", []),
        )
        self._set_policies(repository, properties)
        return Made(name, {"Arn": repository.arn, "RepositoryUri": repository.uri})

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        if any(old.get(key) != new.get(key) for key in ("RepositoryName", "EncryptionConfiguration")):
            raise ReplacementError
        repository = _ecr(site).repositories[resource.physical_resource_id]
        scanning = new.get("ImageScanningConfiguration", {}).get("ScanOnPush", False)
        repository.image_scanning_configuration = {"scanOnPush": bool(scanning)}
        repository.image_tag_mutability = new.get("ImageTagMutability", "MUTABLE")
        self._set_policies(repository, new)
        return resource

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:
        force = str(properties.get("EmptyOnDelete", False)).lower() == "true"
        _ecr(site).delete_repository(resource.physical_resource_id, force=force)

    @staticmethod
    def _set_policies(repository: Repository, properties: Properties) -> None:
        lifecycle = properties.get("LifecyclePolicy", {}).get("LifecyclePolicyText")
        repository.lifecycle_policy = lifecycle
        repository.policy = _json(properties.get("RepositoryPolicyText"))


def _json(document: Any) -> str | None:  # noqa: ANN401
    return document if document is None or isinstance(document, str) else json.dumps(document)


def install() -> None:
    """Add the fill."""
    register(_Repository())
