"""Whether multi-node jobs can run on an instance type at all."""

from __future__ import annotations

from typing import List

from muster_core.instances import NEURON, NVIDIA, InstanceType
from muster_core.rules.problem import Problem, Rules

RULES: Rules = {
    "instance.accelerator": "the instance type has NVIDIA GPUs or Neuron devices",
    "instance.image": "AWS Batch provides a machine image that drives the type's accelerator, or the user does",
}


def check(instance: InstanceType, *, own_image: bool = False) -> List[Problem]:
    """The type's accelerator is one that Muster runs, and there is an image for it.

    Args:
        instance: The instance type.
        own_image: Whether the user brings a machine image. Default: False.
    """
    kind = instance.accelerator.kind if instance.accelerator else None
    if kind not in (NVIDIA, NEURON):
        return [Problem("instance.accelerator", _accelerator(instance))]
    brought = own_image and _whole(instance)
    return (
        [Problem("instance.image", _image(instance))] if instance.batch_image is None and not brought else []
    )


def _whole(instance: InstanceType) -> bool:
    """Whether a job can ask for the type's accelerators: of a fraction there are none."""
    return bool(instance.gpus or instance.neuron_devices)


def _accelerator(instance: InstanceType) -> str:
    found = f"it has {instance.accelerator.name}" if instance.accelerator else "it has no accelerator"
    return (
        f"instance_type has no accelerator that muster runs, got {instance.name!r}, {found}; "
        "allowed are types with NVIDIA GPUs or Neuron devices, such as 'g6.8xlarge', 'p5.48xlarge' or 'trn1.32xlarge'"
    )


def _image(instance: InstanceType) -> str:
    return (
        f"instance_type has no machine image in AWS Batch, got {instance.name!r}, {_why(instance)}; "
        "use an x86_64 type with whole GPUs of a current family, such as 'g6.8xlarge' or 'p5.48xlarge'"
        + (", or bring a machine image by image_id" if _whole(instance) else "")
    )


def _why(instance: InstanceType) -> str:
    if instance.architecture != "x86_64":
        return f"its GPUs sit in an {instance.architecture} host"
    if instance.gpus == 0:
        return "it has a fraction of a GPU"
    return f"the image's driver does not know the GPUs of {instance.family}"
