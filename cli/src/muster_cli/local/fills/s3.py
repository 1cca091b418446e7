"""Bucket policies, which moto's CloudFormation skips, and whose conditions moto's S3 does not read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket, s3_backends
from moto.utilities.utils import get_partition

from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)
from muster_cli.local.fills.patching import replace

if TYPE_CHECKING:
    from moto.s3.models import S3Backend


def _s3(site: Site) -> S3Backend:
    return s3_backends[site.account][get_partition(site.region)]


class _BucketPolicy(Fill):
    resource_type = "AWS::S3::BucketPolicy"

    def create(self, site: Site, name: str, properties: Properties) -> Made:  # noqa: ARG002
        bucket = properties["Bucket"]
        document = properties["PolicyDocument"]
        text = document if isinstance(document, str) else json.dumps(document, default=str)
        _s3(site).put_bucket_policy(bucket, text.encode())
        return Made(bucket)

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        if old["Bucket"] != new["Bucket"]:
            raise ReplacementError
        return self.create(site, resource.physical_resource_id, new)

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        _s3(site).delete_bucket_policy(resource.physical_resource_id)


def _permission(self: FakeBucket, action: str, resource: str) -> Any:  # noqa: ANN401
    """Leave statements with conditions aside: moto takes "deny what is not TLS" for "deny all".

    The endpoint is plain HTTP on loopback, so such a statement would hold here; on AWS it does not.
    """
    if self.policy is None:
        return PermissionResult.NEUTRAL
    document = json.loads(self.policy)
    statements = document["Statement"] if isinstance(document["Statement"], list) else [document["Statement"]]
    document["Statement"] = [statement for statement in statements if not statement.get("Condition")]
    return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)


def install() -> None:
    """Put the fill in the place of moto's method, and add the policy."""
    replace(FakeBucket, "get_permission", _permission)
    register(_BucketPolicy())
