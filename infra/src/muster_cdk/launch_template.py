"""How the nodes' hosts start: network cards, volume, metadata service, user data, tags."""

from __future__ import annotations

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from muster_cdk import user_data
from muster_cdk.arguments import checked
from muster_cdk.capacity import Capacity
from muster_cdk.coercion import to_duration, to_flag
from muster_cdk.host_options import HostOptions, key_arn, to_options
from muster_cdk.paths import path_of
from muster_cdk.security_groups import warn_efa_rules
from muster_cdk.validation import is_part, report_of
from muster_core.instances import EFA_ONLY, InstanceType, Nic, nics
from muster_core.rules import Problem, host, is_token_number, volume
from muster_core.rules.host import DEFAULT_STOP_SECONDS
from muster_core.rules.volume import DEFAULT_ROOT_GIB

ROOT_DEVICE = "/dev/xvda"
"""Root volume of the ECS-optimized Amazon Linux images; it also holds the container images."""
CLUSTER_TAG = "muster:cluster"

DEFAULT_STOP_TIMEOUT = f"{DEFAULT_STOP_SECONDS}s"

_TAGGED = ("instance", "volume")


@jsii.implements(cdk.ITaggable)
class EfaLaunchTemplate(Construct):
    """A launch template with every network card of the type, for a Batch compute environment.

    It is the place for cost tags: tags of the app reach the instances and their volumes through
    it, as a tag on the environment itself would replace the environment.

    Attributes:
        template: The L1 construct.
        instance: Facts of the instance type.
        interface_type: Kind of the cards beside the primary one.
        capacity: Where the instances come from.
        stop_timeout: Time between SIGTERM and SIGKILL of a container.
        mount_points: Folders of the hosts that are file systems of their own.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance: InstanceType,
        security_group: ec2.ISecurityGroup,
        interface_type: str = EFA_ONLY,
        root_volume_gib: int = DEFAULT_ROOT_GIB,
        scratch: bool = False,
        stop_timeout: str | cdk.Duration = DEFAULT_STOP_TIMEOUT,
        hosts: HostOptions | None = None,
        capacity: Capacity | None = None,
    ) -> None:
        """Make the launch template.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            instance: The instance type.
            security_group: Group of every network card; it admits all traffic from itself.
            interface_type: Kind of the cards beside the primary one: ``efa-only``, or ``efa`` with
                an address each. Default: ``efa-only``.
            root_volume_gib: Size of the root volume in GiB. Default: 200.
            scratch: Whether the disks of the instance store are one file system at ``/scratch``. Default: False.
            stop_timeout: Time between SIGTERM and SIGKILL of a container, in which it saves a checkpoint: 1 s
                to 1 h. Default: 120s.
            hosts: Further options of the hosts. Default: - the defaults of ``HostOptions``.
            capacity: Where the instances come from. Default: - on demand.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: ``stop_timeout`` is no duration, or not known at synth.
        """
        super().__init__(scope, id)
        self.instance = instance
        self.interface_type = interface_type
        self.capacity = to_capacity(capacity)
        self.stop_timeout = _known(to_duration(stop_timeout, "stop_timeout"))
        options = self._options = to_options(hosts)
        settings = _settings(options, self.stop_timeout, self.capacity, scratch=to_flag(scratch, "scratch"))
        self.mount_points = tuple(settings.mount_points)
        body = user_data.render(settings)
        report = report_of(self, scope)
        report.add(_problems(instance, options, settings, root_volume_gib, body))
        if not is_part(scope):  # a cluster has judged what follows
            report.add(volume.root(_mebibytes(root_volume_gib), "root_volume_gib"))
            warn_efa_rules(self, security_group)
        self._tags = cdk.TagManager(cdk.TagType.STANDARD, "AWS::EC2::LaunchTemplate")
        for key in ("Name", CLUSTER_TAG):
            self._tags.set_tag(key, path_of(scope), 0)
        self.template = ec2.CfnLaunchTemplate(
            self,
            "Resource",
            launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
                network_interfaces=[
                    _interface(nic, security_group) for nic in nics(instance, interface_type)
                ],
                block_device_mappings=[
                    _root_volume(root_volume_gib, options, key_arn(self, options.root_volume_key))
                ],
                metadata_options=_metadata(options.metadata_hop_limit),
                user_data=cdk.Fn.base64(body),
                instance_market_options=_market(self.capacity),
                capacity_reservation_specification=_reservation(self.capacity),
                tag_specifications=cdk.Lazy.uncached_any(_TagSpecifications(self._tags, _TAGGED)),
            ),
            tag_specifications=cdk.Lazy.uncached_any(_TagSpecifications(self._tags, ("launch-template",))),
        )
        self.node.default_child = self.template

    @property
    def tags(self) -> cdk.TagManager:
        """Tags of the instances and volumes; ``Tags.of(app).add(…)`` adds to them."""
        return self._tags

    def admit(self, security_group: ec2.ISecurityGroup, instance_role: iam.IRole) -> None:
        """Let the hosts into the file systems that they mount, as far as those are made in this app.

        Args:
            security_group: Group of the hosts' network cards.
            instance_role: Role of the hosts.
        """
        for each in self._options.file_systems:
            each.admit(security_group, instance_role)

    @property
    def version(self) -> str:
        """The number of the newest version: a new one updates the environment that refers to it.

        ``$Latest`` and ``$Default`` are read once, when the environment is made.
        """
        return self.template.attr_latest_version_number


@jsii.implements(cdk.IAnyProducer)
class _TagSpecifications:
    """The tag specifications, once all aspects have set their tags."""

    def __init__(self, tags: cdk.TagManager, kinds: tuple[str, ...]) -> None:
        self._tags = tags
        self._kinds = kinds

    def produce(self, context: cdk.IResolveContext) -> object:  # noqa: ARG002  CDK's signature
        # Not cached: an aspect may come after somebody looked.
        tags = [{"key": key, "value": value} for key, value in sorted(self._tags.tag_values().items())]
        return [{"resourceType": kind, "tags": tags} for kind in self._kinds]


def _interface(nic: Nic, group: ec2.ISecurityGroup) -> ec2.CfnLaunchTemplate.NetworkInterfaceProperty:
    primary = nic.network_card_index == 0 and nic.device_index == 0
    return ec2.CfnLaunchTemplate.NetworkInterfaceProperty(
        network_card_index=nic.network_card_index,
        device_index=nic.device_index,
        interface_type=nic.interface_type,
        groups=[group.security_group_id],
        delete_on_termination=True,
        # Only the primary may say it, and true is refused beside more cards. Batch ignores a subnet here.
        associate_public_ip_address=False if primary else None,
    )


def _root_volume(
    gib: int, options: HostOptions, key: str | None
) -> ec2.CfnLaunchTemplate.BlockDeviceMappingProperty:
    return ec2.CfnLaunchTemplate.BlockDeviceMappingProperty(
        device_name=ROOT_DEVICE,
        ebs=ec2.CfnLaunchTemplate.EbsProperty(
            volume_size=gib,
            volume_type=options.root_volume_type,
            iops=options.root_volume_iops,
            throughput=options.root_volume_throughput,
            encrypted=True,
            kms_key_id=key,
            delete_on_termination=True,
        ),
    )


def _metadata(hop_limit: int) -> ec2.CfnLaunchTemplate.MetadataOptionsProperty:
    # One hop: containers get their role from ECS, not from the host's metadata service.
    return ec2.CfnLaunchTemplate.MetadataOptionsProperty(
        http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=hop_limit
    )


def _market(capacity: Capacity) -> ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty | None:
    if not capacity.is_block:
        return None
    return ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty(market_type="capacity-block")


def _reservation(
    capacity: Capacity,
) -> ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty | None:
    if capacity.reservation_id is None and capacity.resource_group_arn is None:
        return None
    target = ec2.CfnLaunchTemplate.CapacityReservationTargetProperty(
        capacity_reservation_id=capacity.reservation_id,
        capacity_reservation_resource_group_arn=capacity.resource_group_arn,
    )
    return ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty(capacity_reservation_target=target)


def _settings(
    options: HostOptions, stop_timeout: cdk.Duration, capacity: Capacity, *, scratch: bool
) -> user_data.HostSettings:
    return user_data.HostSettings(
        stop_timeout=int(stop_timeout.to_seconds()),
        scratch=scratch,
        docker_on_scratch=to_flag(options.docker_on_scratch, "docker_on_scratch"),
        file_systems=user_data.to_file_systems(options.file_systems),
        ending=capacity.ending,
        parts=user_data.to_parts(options.user_data_parts),
    )


def _mebibytes(gib: int) -> int:
    return gib if is_token_number(gib) else gib * 1024


def _problems(
    instance: InstanceType,
    options: HostOptions,
    settings: user_data.HostSettings,
    root_volume_gib: int,
    body: str,
) -> list[Problem]:
    request = host.HostRequest(
        root_volume_mib=_mebibytes(root_volume_gib),
        root_volume_type=options.root_volume_type,
        root_volume_iops=options.root_volume_iops,
        root_volume_throughput=options.root_volume_throughput,
        hop_limit=options.metadata_hop_limit,
        stop_timeout_seconds=settings.stop_timeout,
        scratch=settings.scratch,
        docker_on_scratch=settings.docker_on_scratch,
        mount_points=settings.mount_points,
        user_data_parts=settings.parts,
    )
    return [*host.check(instance, request), *host.size(body)]


def to_capacity(value: Capacity | None) -> Capacity:
    """A capacity, on demand for None.

    Raises:
        TypeError: The value is none.
    """
    if value is None:
        return Capacity.on_demand()
    if isinstance(value, Capacity):
        return value
    raise TypeError(
        f"capacity must be a Capacity, got {type(value).__name__} {value!r}; "
        "use a method of Capacity such as Capacity.on_demand()"
    )


def _known(timeout: cdk.Duration) -> cdk.Duration:
    if timeout.is_unresolved():
        raise ValueError("stop_timeout must be known at synth, got a token; give a duration such as '2m'")
    return timeout
