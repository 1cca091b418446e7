"""A repository for training images that are built outside of CDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr

from muster_cdk.arguments import checked
from muster_cdk.coercion import to_count
from muster_cdk.outputs import add_output
from muster_core.contract import OUTPUT_REPOSITORY

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from constructs import Construct

UNTAGGED_DAYS = 7
IMAGES_KEPT = 50


class TrainingRepository(ecr.Repository):
    """An ECR repository: images scanned on push, tags immutable, old images expired.

    Images that CDK builds itself go to the bootstrap repository; this one is for those that a
    person or a pipeline pushes. Its URI is an output of the stack.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        scan_on_push: bool = True,
        immutable_tags: bool = True,
        images_kept: int = IMAGES_KEPT,
        untagged_days: int = UNTAGGED_DAYS,
        encryption_key: kms.IKey | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        """Make the repository.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            scan_on_push: Whether each image is scanned for known flaws. Default: True.
            immutable_tags: Whether a tag stays on its image: a job that is tried again then runs the same
                image. Default: True.
            images_kept: Images that stay, the newest first; the older expire. A job definition may still
                name one that is gone. Default: 50.
            untagged_days: Days after which an image without a tag expires. Default: 7.
            encryption_key: A KMS key for the images; it cannot change later. Default: - a key of ECR's.
            removal_policy: What becomes of it when it leaves the stack; DESTROY deletes its images too.
                Default: RETAIN.

        Raises:
            TypeError: A number is none.
            ValueError: A number is below 1.
        """
        mutability = ecr.TagMutability.IMMUTABLE if immutable_tags else ecr.TagMutability.MUTABLE
        super().__init__(
            scope,
            id,
            image_scan_on_push=scan_on_push,
            image_tag_mutability=mutability,
            encryption_key=encryption_key,
            removal_policy=removal_policy,
            empty_on_delete=removal_policy == cdk.RemovalPolicy.DESTROY,
            lifecycle_rules=[
                _untagged(_at_least_one(untagged_days, "untagged_days")),
                _oldest(_at_least_one(images_kept, "images_kept")),
            ],
        )
        add_output(self, "Uri", OUTPUT_REPOSITORY, self.repository_uri)


def _untagged(days: int) -> ecr.LifecycleRule:
    return ecr.LifecycleRule(
        rule_priority=1,
        description="untagged images",
        tag_status=ecr.TagStatus.UNTAGGED,
        max_image_age=cdk.Duration.days(days),
    )


def _oldest(kept: int) -> ecr.LifecycleRule:
    return ecr.LifecycleRule(
        rule_priority=2,
        description="all but the newest images",
        tag_status=ecr.TagStatus.ANY,
        max_image_count=kept,
    )


def _at_least_one(value: int, argument: str) -> int:
    number = int(to_count(value, argument, token=False))
    if number < 1:
        raise ValueError(f"{argument} must be at least 1, got {number}; raise it")
    return number
