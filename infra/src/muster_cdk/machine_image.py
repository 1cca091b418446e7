"""The machine image of the hosts: Batch's for the type, AWS's by a parameter, or the user's, pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_batch as batch

from muster_core.instances import BatchImage

if TYPE_CHECKING:
    from muster_core.instances import InstanceType
    from muster_core.rules import ClusterRequest


def images(
    instance: InstanceType, request: ClusterRequest
) -> list[batch.CfnComputeEnvironment.Ec2ConfigurationObjectProperty]:
    """The environment's ``ec2Configuration``.

    Args:
        instance: The instance type.
        request: Says which image the user brings, if any.
    """
    # A type without an image of Batch and of its own was refused before.
    image = None if request.own_image else instance.batch_image
    image = image or BatchImage(instance.own_image_type)
    parameter = request.image_parameter or image.ssm_parameter
    override = request.image_id
    if parameter:
        # Read when the environment itself is updated, not at each deployment of the stack.
        override = cdk.CfnDynamicReference(cdk.CfnDynamicReferenceService.SSM, parameter).to_string()
    return [
        batch.CfnComputeEnvironment.Ec2ConfigurationObjectProperty(
            image_type=image.image_type, image_id_override=override
        )
    ]


def image_name(instance: InstanceType) -> str:
    """What the hosts of a type start from, where the user brings no image.

    Args:
        instance: The instance type.
    """
    image = instance.batch_image or BatchImage(instance.own_image_type)
    return image.ssm_parameter or image.image_type
