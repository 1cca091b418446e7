"""Which machine image AWS Batch has for which family.

Source: ``Ec2Configuration.imageType`` of the Batch API (ECS_AL2023_NVIDIA: not for p3 and g3, not
for ARM), and "Amazon ECS-optimized AMI metadata" for the Neuron image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

NEURON_PARAMETER = "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id"
"""SSM parameter of the ECS-optimized Amazon Linux 2023 image with the Neuron driver."""

TOO_OLD = ("p2", "p3", "p3dn", "g2", "g3", "g3s")
"""Families whose GPUs the driver of ECS_AL2023_NVIDIA no longer knows."""


@dataclass(frozen=True)
class BatchImage:
    """A machine image for a compute environment.

    Attributes:
        image_type: ``imageType`` of the environment's ``ec2Configuration``.
        ssm_parameter: Name of the public SSM parameter with the image's id, to be set as
            ``imageIdOverride``; None where Batch picks the image by its type.
    """

    image_type: str
    ssm_parameter: Optional[str] = None


def batch_image(
    family: str, architecture: str, kind: Optional[str], *, fraction: bool
) -> Optional[BatchImage]:
    """The image for a family.

    Args:
        family: Such as ``p5``.
        architecture: ``x86_64`` or ``arm64``.
        kind: Kind of the accelerator, None without one.
        fraction: Whether the type holds a fraction of a device: that takes another driver.

    Returns:
        The image, or None where Batch provides none that drives the accelerator.
    """
    if kind is None:
        return BatchImage("ECS_AL2023")
    if kind == "neuron":
        return BatchImage("ECS_AL2023", NEURON_PARAMETER)
    drives = kind == "nvidia" and architecture == "x86_64" and family not in TOO_OLD and not fraction
    return BatchImage("ECS_AL2023_NVIDIA") if drives else None


def own_image_type(family: str, architecture: str, kind: Optional[str]) -> str:
    """The ``imageType`` beside an own image: Batch takes the image for the hosts that match the type.

    Args:
        family: Such as ``p5``.
        architecture: ``x86_64`` or ``arm64``.
        kind: Kind of the accelerator, None without one.
    """
    if kind != "nvidia" or architecture != "x86_64":
        return "ECS_AL2023"  # the NVIDIA types are not for Graviton
    return "ECS_AL2_NVIDIA" if family in TOO_OLD else "ECS_AL2023_NVIDIA"
