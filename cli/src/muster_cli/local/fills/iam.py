"""IAM roles with their managed policies, and updates that reach what they change."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from moto.cloudformation.parsing import get_model_map
from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.exceptions import NotFoundException
from moto.iam.models import AWSManagedPolicy, iam_backends
from moto.utilities.utils import get_partition

from muster_cli.local.fills.cloudformation.resources import (
    Properties,
    ReplacementError,
    Site,
    StockFill,
    register,
)

if TYPE_CHECKING:
    from moto.iam.models import IAMBackend


def iam(site: Site) -> IAMBackend:
    """Return moto's IAM.

    Args:
        site: Where.
    """
    return iam_backends[site.account][get_partition(site.region)]


@lru_cache
def _aws_policies() -> dict[str, dict[str, Any]]:
    policies: dict[str, dict[str, Any]] = json.loads(aws_managed_policies_data)
    return policies


def _attach(site: Site, role_name: str, arn: str) -> None:
    """Attach a policy; AWS's own are taken out of moto's data when they are first asked for."""
    backend = iam(site)
    name = arn.rsplit("/", 1)[-1]
    if arn not in backend.managed_policies and ":iam::aws:policy/" in arn and name in _aws_policies():
        policy = AWSManagedPolicy.from_data(name, "aws", site.region, _aws_policies()[name])
        backend.managed_policies[policy.arn] = policy
    if arn not in backend.managed_policies:
        raise NotFoundException(f"Policy {arn} does not exist or is not attachable.")
    backend.attach_role_policy(arn, role_name)


def _text(document: Any) -> str:  # noqa: ANN401
    return document if isinstance(document, str) else json.dumps(document, default=str)


class _Role(StockFill):
    resource_type = "AWS::IAM::Role"
    _FIXED = ("RoleName", "Path")

    def create(self, site: Site, name: str, properties: Properties) -> Any:  # noqa: ANN401
        role = super().create(site, name, properties)
        for arn in properties.get("ManagedPolicyArns", []):
            _attach(site, name, arn)
        return role

    def update(self, site: Site, resource: Any, old: Properties, new: Properties) -> Any:  # noqa: ANN401
        if any(old.get(key) != new.get(key) for key in self._FIXED):
            raise ReplacementError
        resource.assume_role_policy_document = _text(new["AssumeRolePolicyDocument"])
        resource.description = new.get("Description", "")
        resource.max_session_duration = int(new.get("MaxSessionDuration", 3600))
        resource.tags = list(new.get("Tags", []))
        self._update_policies(site, resource, old, new)
        return resource

    @staticmethod
    def _update_policies(site: Site, role: Any, old: Properties, new: Properties) -> None:  # noqa: ANN401
        for policy in old.get("Policies", []):
            role.delete_policy(policy["PolicyName"])
        for policy in new.get("Policies", []):
            role.put_policy(policy["PolicyName"], policy["PolicyDocument"])
        before, after = old.get("ManagedPolicyArns", []), new.get("ManagedPolicyArns", [])
        for arn in before:
            if arn not in after:
                iam(site).detach_role_policy(arn, role.name)
        for arn in after:
            if arn not in before:
                _attach(site, role.name, arn)

    def delete(self, site: Site, resource: Any, properties: Properties) -> None:  # noqa: ANN401
        for arn in list(resource.managed_policies):
            iam(site).detach_role_policy(arn, resource.name)
        super().delete(site, resource, properties)


class _Profile(StockFill):
    resource_type = "AWS::IAM::InstanceProfile"

    def update(self, site: Site, resource: Any, old: Properties, new: Properties) -> Any:  # noqa: ANN401
        if {**old, "Roles": None} != {**new, "Roles": None}:
            raise ReplacementError
        resource.roles = [iam(site).get_role(name) for name in new["Roles"]]
        return resource


class _ManagedPolicy(StockFill):
    resource_type = "AWS::IAM::ManagedPolicy"

    def delete(self, site: Site, resource: Any, properties: Properties) -> None:  # noqa: ANN401, ARG002
        backend = iam(site)
        for role in [r for r in backend.roles.values() if resource.arn in r.managed_policies]:
            backend.detach_role_policy(resource.arn, role.name)
        backend.delete_policy(resource.arn)


def install() -> None:
    """Add the fills."""
    register(*(fill(get_model_map()[fill.resource_type]) for fill in (_Role, _Profile, _ManagedPolicy)))
