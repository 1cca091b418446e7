"""A repository for training images that are built outside of CDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr

if TYPE_CHECKING:
    from constructs import Construct

UNTAGGED_DAYS = 7
IMAGES_KEPT = 50


class TrainingRepository(ecr.Repository):
    """An ECR repository: images scanned on push, tags immutable, old images expired.

    Images that CDK builds itself go to the bootstrap repository.
    """

    def __init__(
        self, scope: Construct, id: str, *, removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN
    ) -> None:
        """Make the repository.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            removal_policy: What becomes of it when it leaves the stack; DESTROY deletes its images too.
                Default: RETAIN.
        """
        super().__init__(
            scope,
            id,
            image_scan_on_push=True,
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            removal_policy=removal_policy,
            empty_on_delete=removal_policy == cdk.RemovalPolicy.DESTROY,
            lifecycle_rules=[
                ecr.LifecycleRule(
                    rule_priority=1,
                    description="untagged images",
                    tag_status=ecr.TagStatus.UNTAGGED,
                    max_image_age=cdk.Duration.days(UNTAGGED_DAYS),
                ),
                ecr.LifecycleRule(
                    rule_priority=2,
                    description="all but the newest images",
                    tag_status=ecr.TagStatus.ANY,
                    max_image_count=IMAGES_KEPT,
                ),
            ],
        )
