"""The compute environment: one type, one subnet, updated in place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from muster_core.instances import BatchImage, InstanceType
from muster_core.rules.capacity import DEFAULT_STRATEGY, REPLACED_STRATEGY

if TYPE_CHECKING:
    from muster_cdk.launch_template import EfaLaunchTemplate

MAX_DRAIN_MINUTES = 7200
"""Batch's cap on how long an update waits for running jobs."""


class GpuComputeEnvironment(Construct):
    """A managed EC2 environment for multi-node jobs on one instance type.

    Attributes:
        compute_environment: The L1 construct.
        max_vcpus: vCPUs of ``max_nodes`` instances.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance: InstanceType,
        max_nodes: int,
        subnet: ec2.ISubnet,
        launch_template: EfaLaunchTemplate,
        placement_group: ec2.IPlacementGroup,
        instance_profile: iam.CfnInstanceProfile,
        allocation_strategy: str = DEFAULT_STRATEGY,
    ) -> None:
        """Make the environment.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            instance: The instance type.
            max_nodes: Nodes that the environment may have at once.
            subnet: The one subnet.
            launch_template: The launch template; its network cards carry the security groups.
            placement_group: A cluster placement group.
            instance_profile: Profile of the instances.
            allocation_strategy: Batch's allocation strategy. Default: ``BEST_FIT_PROGRESSIVE``; with
                ``BEST_FIT`` each update of the hosts replaces the environment.
        """
        super().__init__(scope, id)
        self.max_vcpus = max_nodes * instance.vcpus
        self._drain_minutes: int | None = None
        self.compute_environment = batch.CfnComputeEnvironment(
            self,
            "Resource",
            # No service role: updates in place need the service-linked one.
            type="MANAGED",
            state="ENABLED",
            replace_compute_environment=allocation_strategy == REPLACED_STRATEGY,
            compute_resources=batch.CfnComputeEnvironment.ComputeResourcesProperty(
                type="EC2",  # multi-node jobs run neither on Spot nor on Fargate
                allocation_strategy=allocation_strategy,
                minv_cpus=0,
                maxv_cpus=self.max_vcpus,
                instance_types=[instance.name],
                subnets=[subnet.subnet_id],
                instance_role=instance_profile.attr_arn,
                placement_group=placement_group.placement_group_name,
                # No security groups: Batch refuses them beside network interfaces in the template.
                launch_template=_launch_template(launch_template),
                ec2_configuration=_images(instance),
            ),
        )
        # The environment's tags cannot change: a tag on the app would replace it. See EfaLaunchTemplate.
        self.compute_environment.add_property_deletion_override("Tags")
        # On deletion the hosts go before their way out: they cannot deregister without it.
        self.compute_environment.node.add_dependency(subnet.internet_connectivity_established)
        self.node.default_child = self.compute_environment
        self._set_update_policy(MAX_DRAIN_MINUTES)

    @property
    def arn(self) -> str:
        """ARN of the environment."""
        return self.compute_environment.attr_compute_environment_arn

    def drain(self, timeout: cdk.Duration) -> None:
        """Let an update of the environment wait for a job of this timeout, up to Batch's 7,200 minutes.

        Without any job, updates wait for 7,200 minutes.

        Args:
            timeout: The job's timeout. A token is left alone.
        """
        if timeout.is_unresolved():
            return
        minutes = math.ceil(timeout.to_seconds() / 60)
        if minutes > MAX_DRAIN_MINUTES:
            self._warn_long(minutes)
        self._drain_minutes = min(max(minutes, self._drain_minutes or 1), MAX_DRAIN_MINUTES)
        self._set_update_policy(self._drain_minutes)

    def _set_update_policy(self, minutes: int) -> None:
        self.compute_environment.update_policy = batch.CfnComputeEnvironment.UpdatePolicyProperty(
            terminate_jobs_on_update=False, job_execution_timeout_minutes=minutes
        )

    def _warn_long(self, minutes: int) -> None:
        cdk.Annotations.of(self).add_warning_v2(
            "muster-cdk:drainCapped",
            f"an update of the environment waits {MAX_DRAIN_MINUTES} minutes for running jobs, AWS Batch's most, and a "
            f"job may take {minutes}; deploy changes of the cluster on an empty queue",
        )


def _launch_template(
    template: EfaLaunchTemplate,
) -> batch.CfnComputeEnvironment.LaunchTemplateSpecificationProperty:
    return batch.CfnComputeEnvironment.LaunchTemplateSpecificationProperty(
        launch_template_id=template.template.ref, version=template.version
    )


def _images(instance: InstanceType) -> list[batch.CfnComputeEnvironment.Ec2ConfigurationObjectProperty]:
    image = instance.batch_image or BatchImage("ECS_AL2023")  # a type without one was refused before
    override = None
    if image.ssm_parameter:
        # Read when the environment itself is updated, not at each deployment of the stack.
        override = cdk.CfnDynamicReference(
            cdk.CfnDynamicReferenceService.SSM, image.ssm_parameter
        ).to_string()
    return [
        batch.CfnComputeEnvironment.Ec2ConfigurationObjectProperty(
            image_type=image.image_type, image_id_override=override
        )
    ]
