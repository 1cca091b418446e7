"""The compute environment: one type, one subnet, updated in place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from muster_cdk import addresses, environment_place, network, roles
from muster_cdk.capacity import placement_group_of, zone_of
from muster_cdk.coercion import to_amount, to_count, to_flag, to_instance, to_mode, to_part, to_text
from muster_cdk.custom_type import warn_other_facts
from muster_cdk.machine_image import images
from muster_cdk.template_reference import (
    specification,
    template_problems,
    to_others,
    to_reference,
    warn_unseen,
)
from muster_cdk.validation import is_part, refuse_impossible, report_of
from muster_core.instances import ips_per_node, nics
from muster_core.rules import ClusterRequest, cluster
from muster_core.rules.capacity import DEFAULT_STRATEGY, REPLACED_STRATEGY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_ecs as ecs

    from muster_cdk.launch_template import EfaLaunchTemplate
    from muster_cdk.template_reference import GivenTemplate
    from muster_core.instances import InstanceType

MAX_DRAIN_MINUTES = 7200
"""Batch's cap on how long an update waits for running jobs."""


class GpuComputeEnvironment(Construct):
    """A managed EC2 environment for multi-node jobs on one instance type.

    What never changes of it in place is its kind, its tags and its name, which are not set here. The
    instance types, the image, the launch template and the subnet change in place, and running jobs
    are waited for; with the strategy ``BEST_FIT`` each of these changes makes a new environment.
    Container insights, once they are set, cannot be unset: AWS Batch takes that for ``DISABLED``.

    Attributes:
        compute_environment: The L1 construct.
        instance: Facts of the instance type.
        max_nodes: Nodes that the environment may have at once.
        max_vcpus: vCPUs of ``max_nodes`` instances of the largest type; of a smaller one it may hold more.
        placement_group: The cluster placement group, None in a Capacity Block and beside reservations.
        capacity: Where the instances come from, as the launch template says.
        capacities: The same of all types, its own first.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: str | ec2.InstanceType | InstanceType,
        max_nodes: int,
        subnet: ec2.ISubnet,
        launch_template: GivenTemplate,
        placement_group: ec2.IPlacementGroup | None = None,
        instance_role: iam.IRole | None = None,
        instance_profile: iam.IInstanceProfile | iam.CfnInstanceProfile | None = None,
        allocation_strategy: str = DEFAULT_STRATEGY,
        min_nodes: int = 0,
        acknowledge_idle_cost: bool = False,
        scale_down_delay: str | cdk.Duration | None = None,
        image_id: str | None = None,
        image_parameter: str | None = None,
        container_insights: str | ecs.ContainerInsights | None = None,
        other_types: Mapping[str, EfaLaunchTemplate] | None = None,
    ) -> None:
        """Make the environment.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            instance_type: The instance type, or its facts.
            max_nodes: Nodes that the environment may have at once, 1 to 1000; of the largest type beside others.
            subnet: The one subnet, a private one.
            launch_template: The launch template; its network cards carry the security groups. One of yours
                is taken, too, in a version that stands still.
            placement_group: A cluster placement group. Default: - a new one, with capacity on demand.
            instance_role: Role of the hosts, unless ``instance_profile`` has one. Default: - a new one with
                the ECS managed policy.
            instance_profile: Profile of the hosts. Default: - a new one for the role.
            allocation_strategy: Batch's allocation strategy. Default: ``BEST_FIT_PROGRESSIVE``; with
                ``BEST_FIT`` each update of the hosts replaces the environment.
            min_nodes: Hosts that are up without any job, at their full price. Default: 0.
            acknowledge_idle_cost: Whether that price is meant: ``min_nodes`` needs it. Default: False.
            scale_down_delay: How long a host is kept after its job, at its full price: 20 minutes to 7 days;
                a job that follows starts at once. Default: - hosts go when Batch has no job for them.
            image_id: Id of a machine image of yours, made from an ECS-optimized Amazon Linux image; ARM
                hosts with GPUs need one. Default: - Batch's image for the type.
            image_parameter: Name of an SSM parameter with the image's id, and its version, such as
                ``/images/training:3``, in the place of ``image_id``. Default: - Batch's image for the type.
            container_insights: Container insights of the ECS cluster: ``enabled``, ``enhanced`` or
                ``disabled``. Default: - the account's setting.
            other_types: Up to ten more instance types, each with its launch template; a multi-node job
                names the one that it wants. Default: - none.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: An instance type is unknown or cannot run multi-node jobs. All other problems are
                reported together at the synth.
        """
        super().__init__(scope, id)
        _check_parts(subnet, placement_group, instance_role)
        self.instance = to_instance(instance_type)
        warn_other_facts(self, self.instance)
        template = to_reference(launch_template, "launch_template")
        self.max_nodes = int(to_count(max_nodes, "max_nodes", token=False))
        request = ClusterRequest(
            max_nodes=self.max_nodes,
            interface_type=template.interface_type,
            subnet_cidr=network.cidr_of(subnet),
            subnet_taken=addresses.taken(self, subnet),
            allocation_strategy=to_text(allocation_strategy, "allocation_strategy"),
            min_nodes=to_count(min_nodes, "min_nodes", token=False),
            acknowledge_idle_cost=to_flag(acknowledge_idle_cost, "acknowledge_idle_cost"),
            scale_down_delay_minutes=to_amount(scale_down_delay, "scale_down_delay", cdk.Duration.to_minutes),
            image_id=None if image_id is None else to_text(image_id, "image_id"),
            image_parameter=None if image_parameter is None else to_text(image_parameter, "image_parameter"),
            container_insights=to_mode(container_insights, "container_insights"),
            availability_zone=zone_of(subnet, template.capacity),
            capacity=template.capacity.request(placement_group=placement_group),
        )
        refuse_impossible(self.instance, request)
        others = to_others(other_types or {})
        addresses.take(
            self, subnet, self.max_nodes * ips_per_node(nics(self.instance, template.interface_type))
        )
        report = report_of(self, scope)
        report.add(cluster(self.instance, request))
        report.add(template_problems(self.instance, template, others, request, subnet))
        self.max_vcpus = self.max_nodes * max([self.instance.vcpus, *(each.vcpus for each, _ in others)])
        self._drain_minutes: int | None = None
        self.capacity = template.capacity
        self.capacities = [self.capacity, *(each.capacity for _, each in others)]
        self.placement_group = placement_group_of(self, self.capacity, placement_group)
        profile = _profile_arn(instance_profile or self._create_profile(instance_role))
        self.compute_environment = self._create_environment(
            request,
            subnet,
            profile,
            [self.instance.name, *(each.name for each, _ in others)],
            specification(template, others),
        )
        self.node.default_child = self.compute_environment
        self._set_update_policy(MAX_DRAIN_MINUTES)
        warn_unseen(self, launch_template)
        for name, each in (other_types or {}).items():
            warn_unseen(self, each, f"other_types[{name!r}]")
        if not is_part(scope):  # a cluster has judged what follows
            report.add(environment_place.public_subnet(subnet))
            environment_place.warn_of_place(self, subnet)

    @property
    def arn(self) -> str:
        """ARN of the environment."""
        return self.compute_environment.attr_compute_environment_arn

    def drain(self, timeout: cdk.Duration) -> None:
        """Let an update of the environment wait for a job of this timeout, up to Batch's 7,200 minutes.

        Without any job, updates wait for 7,200 minutes.

        Args:
            timeout: The job's timeout. A token may be as long as any.
        """
        unknown = timeout.is_unresolved()
        minutes = MAX_DRAIN_MINUTES if unknown else math.ceil(timeout.to_seconds() / 60)
        if minutes > MAX_DRAIN_MINUTES:
            self._warn_long(minutes)
        self._drain_minutes = min(max(minutes, self._drain_minutes or 1), MAX_DRAIN_MINUTES)
        self._set_update_policy(self._drain_minutes)

    def _create_profile(self, role: iam.IRole | None) -> iam.CfnInstanceProfile:
        made = role or roles.instance_role(self, "InstanceRole")
        return roles.instance_profile(self, "InstanceProfile", made)

    def _create_environment(
        self,
        request: ClusterRequest,
        subnet: ec2.ISubnet,
        profile: str,
        types: list[str],
        launch_template: batch.CfnComputeEnvironment.LaunchTemplateSpecificationProperty,
    ) -> batch.CfnComputeEnvironment:
        made = batch.CfnComputeEnvironment(
            self,
            "Resource",
            # No service role: updates in place need the service-linked one.
            type="MANAGED",
            state="ENABLED",
            replace_compute_environment=request.allocation_strategy == REPLACED_STRATEGY,
            ecs_settings=_settings(request.container_insights),
            compute_resources=batch.CfnComputeEnvironment.ComputeResourcesProperty(
                type="EC2",  # multi-node jobs run neither on Spot nor on Fargate
                allocation_strategy=request.allocation_strategy,
                minv_cpus=int(request.min_nodes or 0) * self.instance.vcpus,
                maxv_cpus=self.max_vcpus,
                instance_types=types,
                subnets=[subnet.subnet_id],
                instance_role=profile,
                placement_group=self.placement_group.placement_group_name if self.placement_group else None,
                # No security groups: Batch refuses them beside network interfaces in the template.
                launch_template=launch_template,
                ec2_configuration=images(self.instance, request),
                scaling_policy=_scaling(request.scale_down_delay_minutes),
            ),
        )
        # The environment's tags cannot change: a tag on the app would replace it. See EfaLaunchTemplate.
        made.add_property_deletion_override("Tags")
        # On deletion the hosts go before their way out: they cannot deregister without it.
        made.node.add_dependency(subnet.internet_connectivity_established)
        return made

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


def _check_parts(
    subnet: ec2.ISubnet, placement_group: ec2.IPlacementGroup | None, instance_role: iam.IRole | None
) -> None:
    to_part(subnet, "subnet_id", "subnet", "an ec2.ISubnet such as one of vpc.private_subnets")
    if placement_group is not None:
        to_part(placement_group, "placement_group_name", "placement_group", "an ec2.PlacementGroup")
    if instance_role is not None:
        to_part(instance_role, "role_arn", "instance_role", "an iam.Role")


def _profile_arn(profile: iam.IInstanceProfile | iam.CfnInstanceProfile) -> str:
    if isinstance(profile, iam.CfnInstanceProfile):
        return profile.attr_arn
    to_part(profile, "instance_profile_arn", "instance_profile", "an iam.InstanceProfile")
    return profile.instance_profile_arn


def _scaling(minutes: float | None) -> batch.CfnComputeEnvironment.ComputeScalingPolicyProperty | None:
    if minutes is None:
        return None
    return batch.CfnComputeEnvironment.ComputeScalingPolicyProperty(min_scale_down_delay_minutes=minutes)


def _settings(mode: str | None) -> batch.CfnComputeEnvironment.EcsSettingsProperty | None:
    return batch.CfnComputeEnvironment.EcsSettingsProperty(container_insights=mode) if mode else None
