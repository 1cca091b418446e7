"""GpuCluster: from an instance type to a queue that runs multi-node jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from muster_cdk import cluster_network, network, quotas, roles, security_groups, trust
from muster_cdk.arguments import checked
from muster_cdk.artifact import ArtifactBucket
from muster_cdk.capacity import environment_id
from muster_cdk.coercion import to_count, to_instance, to_mebibytes, to_strings, to_text
from muster_cdk.compute_environment import GpuComputeEnvironment
from muster_cdk.host_options import HostOptions
from muster_cdk.job_queue import DEFAULT_LIMIT, FairShare, TrainingQueue
from muster_cdk.launch_template import DEFAULT_STOP_TIMEOUT, EfaLaunchTemplate, to_capacity
from muster_cdk.repository import TrainingRepository
from muster_cdk.validation import Report, refuse_impossible
from muster_core.instances import EFA_ONLY, InstanceType, efa_devices
from muster_core.rules import ClusterRequest, cluster
from muster_core.rules.capacity import DEFAULT_STRATEGY, ON_DEMAND, REPLACED_STRATEGY
from muster_core.rules.volume import DEFAULT_ROOT_GIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_ecs as ecs

    from muster_cdk.capacity import Capacity


@jsii.implements(ec2.IConnectable)
class GpuCluster(Construct):
    """Everything that multi-node GPU jobs need, from one fact: the instance type.

    It makes a network of one zone (unless one is given), a security group for EFA, a launch
    template with every network card of the type, a cluster placement group, a Batch compute
    environment and queue, a repository for images, and the hosts' role. An idle cluster has no
    instances; its NAT gateway is what costs.

    Attributes:
        instance: Facts of the instance type.
        max_nodes: Nodes that the cluster may have at once.
        efa_devices: Paths of the EFA devices that a job maps.
        vpc: The VPC.
        subnet: The one subnet of the nodes.
        security_group: Group of the nodes' network cards.
        instance_role: Role of the hosts.
        launch_template: The launch template.
        placement_group: The cluster placement group, None in a Capacity Block and beside reservations.
        capacity: Where the instances come from.
        compute_environment: The compute environment.
        job_queue: The queue.
        repository: The repository for images.
        artifact_bucket: The bucket for code, checkpoints and outputs, None without one.
        quotas: The quotas of the account that ``max_nodes`` need, which the stack's outputs list.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: str | ec2.InstanceType | InstanceType,
        max_nodes: int,
        vpc: ec2.IVpc | None = None,
        subnet: ec2.ISubnet | None = None,
        availability_zone: str | None = None,
        default_security_group: ec2.ISecurityGroup | str | None = None,
        security_group: ec2.ISecurityGroup | None = None,
        placement_group: ec2.IPlacementGroup | None = None,
        instance_role: iam.IRole | None = None,
        inline_instance_policy: bool = False,
        permissions_boundary: iam.IManagedPolicy | str | None = None,
        repository: ecr.IRepository | None = None,
        artifact_bucket: s3.IBucket | bool = False,
        interface_type: str = EFA_ONLY,
        efa_devices: Sequence[str] | None = None,
        root_volume_size: str | cdk.Size = f"{DEFAULT_ROOT_GIB}GiB",
        scratch: bool = False,
        stop_timeout: str | cdk.Duration = DEFAULT_STOP_TIMEOUT,
        hosts: HostOptions | None = None,
        capacity: Capacity | None = None,
        allocation_strategy: str = DEFAULT_STRATEGY,
        min_nodes: int = 0,
        acknowledge_idle_cost: bool = False,
        scale_down_delay: str | cdk.Duration | None = None,
        image_id: str | None = None,
        image_parameter: str | None = None,
        container_insights: str | ecs.ContainerInsights | None = None,
        priority: int = 1,
        misconfiguration_limit: str | cdk.Duration | None = DEFAULT_LIMIT,
        capacity_limit: str | cdk.Duration | None = None,
        unsupported_limit: str | cdk.Duration | None = None,
        fair_share: FairShare | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        """Make the cluster.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            instance_type: The type of every node, such as ``p5.48xlarge``: any with NVIDIA GPUs or
                Neuron devices that Batch has a machine image for; or its facts, by ``InstanceType.custom``.
            max_nodes: Nodes that the cluster may have at once, 1 to 1000.
            vpc: A VPC of yours. Default: - a new one with one private subnet and a NAT gateway.
            subnet: The subnet of the nodes in ``vpc``. Default: - the private one of ``vpc``.
            availability_zone: Name of the nodes' zone, one that offers the type. Default: - the region's
                first zone, or the zone of ``vpc``'s private subnets.
            default_security_group: The default security group of an imported ``vpc``, or its id: rules
                for the jobs' containers are added to it. Default: - its rules are left alone, with a warning.
            security_group: Group of the nodes' network cards; it must admit all traffic from and to
                itself. Default: - a new one that does.
            placement_group: A cluster placement group. Default: - a new one, with capacity on demand.
            instance_role: Role of the hosts. Default: - a new one with the ECS managed policy.
            inline_instance_policy: Whether a new role of the hosts holds a copy of that policy in its place,
                for accounts that allow none; the copy must be kept up by hand. Default: False.
            permissions_boundary: A managed policy, or its ARN, that bounds the roles made here. Default: none.
            repository: A repository for images. Default: - a new one.
            artifact_bucket: A bucket for code, checkpoints and outputs, or True for a new ``ArtifactBucket``
                with ``removal_policy``. Default: False.
            interface_type: Kind of the network cards beside the primary one: ``efa-only``, or ``efa``
                with an address each, as in AWS's samples. Default: ``efa-only``.
            efa_devices: Paths of the EFA devices that jobs map. Default: - the type's, by the catalogue.
            root_volume_size: Size of the hosts' root volume, which holds the images. Default: 200GiB.
            scratch: Whether the disks of the type's instance store are one file system at ``/scratch``, which
                jobs see, too. Default: False.
            stop_timeout: Time between SIGTERM and SIGKILL, in which a job saves a checkpoint: 1 s to 1 h.
                Default: 120s.
            hosts: Further options of the hosts: volume, file systems, user data. Default: - those of
                ``HostOptions``.
            capacity: Where the instances come from. Default: - on demand.
            allocation_strategy: Batch's allocation strategy. Default: ``BEST_FIT_PROGRESSIVE``.
            min_nodes: Hosts that are up without any job, at their full price. Default: 0.
            acknowledge_idle_cost: Whether that price is meant: ``min_nodes`` needs it. Default: False.
            scale_down_delay: How long a host is kept after its job, at its full price: 20 minutes to 7 days.
                Default: - hosts go when Batch has no job for them.
            image_id: Id of a machine image of yours; ARM hosts with GPUs need one. Default: - Batch's image.
            image_parameter: Name and version of an SSM parameter with the image's id, such as
                ``/images/training:3``, in the place of ``image_id``. Default: - Batch's image.
            container_insights: ``enabled``, ``enhanced`` or ``disabled``. Default: - the account's setting.
            priority: Priority of the queue, 0 to 1000. Default: 1.
            misconfiguration_limit: How long a job at the head of the queue may wait for what can never come
                until it is cancelled: 1 to 24 hours, or None for ever. Default: 1h.
            capacity_limit: How long it may wait for capacity: 10 minutes to 24 hours. Default: - for ever.
            unsupported_limit: How long it may wait where EC2 cannot start its hosts as configured: 1 to 24
                hours. Default: - for ever.
            fair_share: How the capacity is divided among shares, which jobs then name; it can neither be added
                later nor taken away. Default: - first in, first out.
            removal_policy: What becomes of a new repository and bucket on deletion. Default: RETAIN.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: The instance type is unknown or cannot run multi-node jobs, or ``vpc`` has no
                private subnet. All other problems are reported together at the synth.
        """
        super().__init__(scope, id)
        self.instance: InstanceType = to_instance(instance_type)
        self.max_nodes = int(to_count(max_nodes, "max_nodes", token=False))
        self.efa_devices = _efa_devices(self.instance, efa_devices)
        network.warn_few_devices(self, self.instance, self.efa_devices)
        self.capacity = to_capacity(capacity)
        availability_zone = self.capacity.zone if availability_zone is None else availability_zone
        root_mib = to_mebibytes(root_volume_size, "root_volume_size")
        request = ClusterRequest(
            max_nodes=self.max_nodes,
            interface_type=to_text(interface_type, "interface_type"),
            efa_devices=self.efa_devices,
            availability_zone=availability_zone,
            root_volume_mib=root_mib,
            allocation_strategy=to_text(allocation_strategy, "allocation_strategy"),
            image_id=image_id,
            image_parameter=image_parameter,
            capacity=self.capacity.request(placement_group=placement_group),
        )
        refuse_impossible(self.instance, request)
        self._report = Report(self)
        self.vpc, self.subnet = cluster_network.place(self, self._report, vpc, subnet, availability_zone)
        self._default_group = cluster_network.default_group(
            self, self._report, self.vpc, default_security_group
        )
        request = cluster_network.placed(self, request)
        self._report.add(cluster(self.instance, request))
        self.security_group = security_group or security_groups.EfaSecurityGroup(
            self, "EfaGroup", vpc=self.vpc
        )
        security_groups.warn_efa_rules(self, self.security_group)
        self._report.add(security_groups.check_vpc(security_group, self.vpc))
        roles.bound(self, permissions_boundary)
        trust.check_service(self, "instance_role", instance_role, "ec2")
        trust.warn_without_policy(self, instance_role)
        self.instance_role = instance_role or roles.instance_role(
            self, "InstanceRole", inline=inline_instance_policy
        )
        name = environment_id(
            self.capacity, placement_group, replaced=allocation_strategy == REPLACED_STRATEGY
        )
        if placement_group is None and self.capacity.kind == ON_DEMAND:
            placement_group = ec2.PlacementGroup(
                self, "PlacementGroup", strategy=ec2.PlacementGroupStrategy.CLUSTER
            )
        self.launch_template = EfaLaunchTemplate(
            self,
            "LaunchTemplate",
            instance=self.instance,
            security_group=self.security_group,
            interface_type=interface_type,
            root_volume_gib=root_mib // 1024,
            scratch=scratch,
            stop_timeout=stop_timeout,
            hosts=hosts,
            capacity=self.capacity,
        )
        self.launch_template.admit(self.security_group, self.instance_role)
        self.compute_environment = GpuComputeEnvironment(
            self,
            name,
            instance_type=self.instance,
            max_nodes=self.max_nodes,
            subnet=self.subnet,
            launch_template=self.launch_template,
            placement_group=placement_group,
            instance_profile=roles.instance_profile(self, "InstanceProfile", self.instance_role),
            allocation_strategy=allocation_strategy,
            min_nodes=min_nodes,
            acknowledge_idle_cost=acknowledge_idle_cost,
            scale_down_delay=scale_down_delay,
            image_id=image_id,
            image_parameter=image_parameter,
            container_insights=container_insights,
        )
        self.placement_group = self.compute_environment.placement_group
        self.job_queue = TrainingQueue(
            self,
            "Queue",
            compute_environment=self.compute_environment,
            priority=priority,
            misconfiguration_limit=misconfiguration_limit,
            capacity_limit=capacity_limit,
            unsupported_limit=unsupported_limit,
            fair_share=fair_share,
        )
        self.repository = repository or TrainingRepository(self, "Repository", removal_policy=removal_policy)
        self.artifact_bucket = self._create_bucket(artifact_bucket, removal_policy)
        kind = (hosts or HostOptions()).root_volume_type
        self.quotas = quotas.needed(self.launch_template, self.max_nodes, root_mib // 1024, kind)
        quotas.tell(self, self.quotas)
        cluster_network.open_endpoints(self, self._default_group)

    @property
    def connections(self) -> ec2.Connections:
        """Both groups of the nodes as a peer of rules: their hosts', and their containers' if it is known."""
        groups = [self.security_group, *([self._default_group] if self._default_group else [])]
        return ec2.Connections(security_groups=groups)

    def grant_manage(
        self, grantee: iam.IGrantable, *, job_tags: Mapping[str, str] | None = None
    ) -> iam.Grant:
        """Let somebody look at jobs, cancel and end them, and see what waits in the queue.

        Args:
            grantee: Who may.
            job_tags: Tags of the jobs that may be ended, as given at their submission. Default: - every job
                of the account in the region: IAM knows no queue of a job.

        Returns:
            The grant.
        """
        return roles.grant_manage(cdk.Stack.of(self), grantee, self.job_queue.arn, job_tags)

    @checked
    def grant_pull(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let somebody pull images from the repository.

        Args:
            grantee: Who may pull.

        Returns:
            The grant.
        """
        return self.repository.grant_pull(grantee)

    def _create_bucket(
        self, given: s3.IBucket | bool, removal_policy: cdk.RemovalPolicy
    ) -> s3.IBucket | None:
        if given is True:
            return ArtifactBucket(self, "Artifacts", removal_policy=removal_policy)
        return None if isinstance(given, bool) else given


def _efa_devices(instance: InstanceType, given: Sequence[str] | None) -> tuple[str, ...]:
    return efa_devices(instance) if given is None else tuple(to_strings(given, "efa_devices"))
