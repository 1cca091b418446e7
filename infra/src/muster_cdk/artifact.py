"""A bucket for what training takes and gives: code, checkpoints, outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3

from muster_cdk.arguments import checked
from muster_cdk.coercion import to_duration
from muster_cdk.outputs import add_output
from muster_core.contract import OUTPUT_ARTIFACT_BUCKET

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from constructs import Construct

PARTS_DAYS = 7
"""Days after which the parts of an upload that never ended are deleted: a killed node leaves gigabytes."""
REPLACED_DAYS = 30
TLS_VERSION = 1.2
DAY_SECONDS = 86400


class ArtifactBucket(s3.Bucket):
    """A private, encrypted S3 bucket that speaks TLS only; its name is an output of the stack.

    Jobs get nothing on it by themselves: ``cluster.artifact_bucket.grant_read_write(job)``.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        versioned: bool = False,
        expire_after: str | cdk.Duration | None = None,
        encryption_key: kms.IKey | None = None,
        access_log_bucket: s3.IBucket | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        """Make the bucket.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            versioned: Whether what is overwritten or deleted is kept, and paid, for another 30 days: off, as
                checkpoints are large and often replaced; on guards against mistakes. Default: False.
            expire_after: Whole days such as ``90d`` after which objects are deleted. Default: - never.
            encryption_key: A KMS key; who reads or writes needs it too, and grants on the bucket give it.
                Default: - a key of S3's.
            access_log_bucket: A bucket for S3's access logs. Default: - no access logs.
            removal_policy: What becomes of it when it leaves the stack; DESTROY deletes its objects too.
                Default: RETAIN.

        Raises:
            TypeError: ``expire_after`` is neither a str nor a Duration.
            ValueError: ``expire_after`` is not a whole number of days.
        """
        super().__init__(
            scope,
            id,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.KMS if encryption_key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=encryption_key,
            bucket_key_enabled=True if encryption_key else None,
            enforce_ssl=True,
            minimum_tls_version=TLS_VERSION,
            versioned=versioned,
            lifecycle_rules=_lifecycle(_days(expire_after), versioned=versioned),
            server_access_logs_bucket=access_log_bucket,
            server_access_logs_prefix=f"{id}/" if access_log_bucket else None,
            removal_policy=removal_policy,
            auto_delete_objects=removal_policy == cdk.RemovalPolicy.DESTROY,
        )
        add_output(self, "Name", OUTPUT_ARTIFACT_BUCKET, self.bucket_name)


def _lifecycle(days: int | None, *, versioned: bool) -> list[s3.LifecycleRule]:
    parts = s3.LifecycleRule(
        id="parts", abort_incomplete_multipart_upload_after=cdk.Duration.days(PARTS_DAYS)
    )
    replaced = s3.LifecycleRule(id="replaced", noncurrent_version_expiration=cdk.Duration.days(REPLACED_DAYS))
    rules = [parts, *([replaced] if versioned else [])]
    if days is not None:
        rules.append(s3.LifecycleRule(id="expired", expiration=cdk.Duration.days(days)))
    return rules


def _days(value: str | cdk.Duration | None) -> int | None:
    if value is None:
        return None
    seconds = to_duration(value, "expire_after").to_seconds()
    if seconds % DAY_SECONDS or seconds < DAY_SECONDS:
        raise ValueError(
            f"expire_after must be a whole number of days, got {seconds:g} s; S3 counts in days, such as '90d'; round it"
        )
    return int(seconds) // DAY_SECONDS
