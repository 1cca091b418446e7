"""HostOptions: how the hosts of a cluster start, beyond what follows from their type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from muster_cdk.coercion import to_count, to_part, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_ec2 as ec2
    from aws_cdk import aws_kms as kms
    from constructs import Construct

    from muster_cdk.storage import SharedFileSystem

_EBS_ACTIONS = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*")


@dataclass(frozen=True, kw_only=True)
class HostOptions:
    """Options of the hosts, for a cluster or a launch template.

    Attributes:
        root_volume_type: Kind of the root volume, ``gp3`` or ``io2``. Default: ``gp3``.
        root_volume_iops: Its operations per second; ``io2`` needs them. Default: - EBS's 3000 of ``gp3``.
        root_volume_throughput: MiB per second of a ``gp3`` volume. Default: - EBS's 125.
        root_volume_key: A customer key for the root volume, or its ARN. Default: - the account's key for EBS.
        metadata_hop_limit: Hops of an answer of the metadata service: 2 lets containers without an address
            of their own have it. Default: 1.
        docker_on_scratch: Whether docker's images and containers lie on the instance store, too. Default: False.
        file_systems: File systems that every host mounts. Default: - none.
        user_data_parts: Parts that are added to the user data: programs that begin with ``#!``,
            ``#cloud-boothook`` or ``#cloud-config``, or user data of CDK. Default: - none.
    """

    root_volume_type: str = "gp3"
    root_volume_iops: int | None = None
    root_volume_throughput: int | None = None
    root_volume_key: kms.IKey | str | None = None
    metadata_hop_limit: int = 1
    docker_on_scratch: bool = False
    file_systems: Sequence[SharedFileSystem] = ()
    user_data_parts: Sequence[str | ec2.UserData] = ()


def to_options(value: HostOptions | None, argument: str = "hosts") -> HostOptions:
    """The options, the defaults for None.

    Raises:
        TypeError: The value is no ``HostOptions``, or a field of it has a wrong type.
    """
    if value is None:
        return HostOptions()
    if not isinstance(value, HostOptions):
        raise TypeError(
            f"{argument} must be a HostOptions, got {type(value).__name__} {value!r}; "
            "use HostOptions(root_volume_throughput=500)"
        )
    for name in ("root_volume_iops", "root_volume_throughput", "metadata_hop_limit"):
        if getattr(value, name) is not None:
            to_count(getattr(value, name), f"{argument}.{name}")
    to_text(value.root_volume_type, f"{argument}.root_volume_type")
    if value.root_volume_key is not None and not isinstance(value.root_volume_key, str):
        to_part(value.root_volume_key, "key_arn", f"{argument}.root_volume_key", "a kms.Key or its ARN")
    return value


def key_arn(scope: Construct, key: kms.IKey | str | None) -> str | None:
    """ARN of the key of the root volume, which is opened to EC2 on behalf of this account.

    Instances are started by a role of the service, which a customer key does not know: without
    this they end before they have begun, and jobs wait for ever.

    Args:
        scope: Construct of the volume.
        key: The key, or its ARN.
    """
    if key is None or isinstance(key, str):
        if key is not None:
            _warn_unseen_key(scope)
        return key
    stack = cdk.Stack.of(scope)
    through_ec2 = {
        "StringEquals": {
            "kms:CallerAccount": stack.account,
            "kms:ViaService": f"ec2.{stack.region}.{stack.url_suffix}",
        }
    }
    grants = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    added = [
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.AnyPrincipal()], actions=actions, resources=["*"], conditions=conditions
            )
        )
        for actions, conditions in (
            (list(_EBS_ACTIONS), through_ec2),
            (["kms:CreateGrant"], {**through_ec2, **grants}),
        )
    ]
    if not all(each.statement_added for each in added):
        _warn_unseen_key(scope)
    return key.key_arn


def _warn_unseen_key(scope: Construct) -> None:
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:volumeKey",
        "root_volume_key is imported, and its policy is left alone; it must let EC2 use the key for this account "
        "(kms:ViaService), CreateGrant too, else no instance starts; pass the kms.Key that was made here to have that "
        "added",
    )
