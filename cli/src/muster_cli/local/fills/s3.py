"""Bucket policies, which moto's CloudFormation skips."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from moto.s3.models import s3_backends
from moto.utilities.utils import get_partition

from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)

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


def install() -> None:
    """Add the fill."""
    register(_BucketPolicy())
