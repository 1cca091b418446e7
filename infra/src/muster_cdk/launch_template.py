"""How the nodes' hosts start: network cards, volume, metadata service, user data, tags."""

from __future__ import annotations

from importlib.resources import files

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from muster_core.instances import EFA_ONLY, InstanceType, Nic, nics
from muster_core.rules.volume import DEFAULT_ROOT_GIB

ROOT_DEVICE = "/dev/xvda"
"""Root volume of the ECS-optimized Amazon Linux images; it also holds the container images."""
CLUSTER_TAG = "muster:cluster"

_TAGGED = ("instance", "volume")
_SHELL_PART = 'text/x-shellscript; charset="us-ascii"'


@jsii.implements(cdk.ITaggable)
class EfaLaunchTemplate(Construct):
    """A launch template with every network card of the type, for a Batch compute environment.

    It is the place for cost tags: tags of the app reach the instances and their volumes through
    it, as a tag on the environment itself would replace the environment.

    Attributes:
        template: The L1 construct.
        instance: Facts of the instance type.
        interface_type: Kind of the cards beside the primary one.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance: InstanceType,
        security_group: ec2.ISecurityGroup,
        interface_type: str = EFA_ONLY,
        root_volume_gib: int = DEFAULT_ROOT_GIB,
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
        """
        super().__init__(scope, id)
        self.instance = instance
        self.interface_type = interface_type
        self._tags = cdk.TagManager(cdk.TagType.STANDARD, "AWS::EC2::LaunchTemplate")
        for key in ("Name", CLUSTER_TAG):
            self._tags.set_tag(key, scope.node.path, 0)
        self.template = ec2.CfnLaunchTemplate(
            self,
            "Resource",
            launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
                network_interfaces=[
                    _interface(nic, security_group) for nic in nics(instance, interface_type)
                ],
                block_device_mappings=[_root_volume(root_volume_gib)],
                metadata_options=_metadata(),
                user_data=cdk.Fn.base64(_user_data()),
                tag_specifications=cdk.Lazy.uncached_any(_TagSpecifications(self._tags, _TAGGED)),
            ),
            tag_specifications=cdk.Lazy.uncached_any(_TagSpecifications(self._tags, ("launch-template",))),
        )
        self.node.default_child = self.template

    @property
    def tags(self) -> cdk.TagManager:
        """Tags of the instances and volumes; ``Tags.of(app).add(…)`` adds to them."""
        return self._tags

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


def _root_volume(gib: int) -> ec2.CfnLaunchTemplate.BlockDeviceMappingProperty:
    return ec2.CfnLaunchTemplate.BlockDeviceMappingProperty(
        device_name=ROOT_DEVICE,
        ebs=ec2.CfnLaunchTemplate.EbsProperty(
            volume_size=gib, volume_type="gp3", encrypted=True, delete_on_termination=True
        ),
    )


def _metadata() -> ec2.CfnLaunchTemplate.MetadataOptionsProperty:
    # One hop: containers get their role from ECS, not from the host's metadata service.
    return ec2.CfnLaunchTemplate.MetadataOptionsProperty(
        http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
    )


def _user_data() -> str:
    """MIME parts, as Batch merges its own part in; a bare script would make the environment INVALID."""
    parts = ec2.MultipartUserData()
    script = files("muster_cdk").joinpath("files/host_log.sh").read_text(encoding="utf-8")
    parts.add_part(ec2.MultipartBody.from_raw_body(content_type=_SHELL_PART, body=script))
    return parts.render()
