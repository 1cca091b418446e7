"""Whether the hosts' volumes can be made and hold what they must."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional

from muster_core.rules.problem import Number, Problem, Rules, is_token_text, is_whole, known

if TYPE_CHECKING:
    from muster_core.instances import InstanceType

DEFAULT_ROOT_GIB = 200
IMAGE_GIB = 30
"""Size of the root volume in the ECS-optimized images: a smaller one cannot hold their snapshot
(``block_device_size_gb`` of aws/amazon-ecs-ami)."""
MAX_GIB = 65536
"""Largest volume of the kinds below (Amazon EBS user guide, "Amazon EBS volume types")."""
_MEBIBYTES = 1024
"""Mebibytes in a gibibyte, the unit of EBS."""


class VolumeType(NamedTuple):
    """Limits of a kind of EBS volume."""

    name: str
    min_iops: int
    max_iops: int
    iops_per_gib: int
    needs_iops: bool


# Source: Amazon EBS user guide, "Amazon EBS volume types", and ``LaunchTemplateEbsBlockDeviceRequest`` of EC2.
VOLUME_TYPES: Dict[str, VolumeType] = {
    "gp3": VolumeType("gp3", 3000, 80000, 500, needs_iops=False),
    "io2": VolumeType("io2", 100, 256000, 1000, needs_iops=True),
}
MIN_THROUGHPUT, MAX_THROUGHPUT = 125, 2000
"""MiB per second of a gp3 volume."""
IOPS_PER_MIB = 4
"""IOPS that each MiB per second of a gp3 volume takes."""

RULES: Rules = {
    "volume.root": (
        f"the root volume is a whole number of GiB, at least the {IMAGE_GIB} of the machine image, at most {MAX_GIB}"
    ),
    "volume.type": "the root volume is of a kind that boots and is fast",
    "volume.iops": "the root volume's IOPS are within the limits of its kind and size",
    "volume.throughput": "the root volume's throughput is within the limits of its kind and IOPS",
    "volume.scratch": "a scratch file system is asked of a type with an instance store",
    "volume.docker_root": "docker's data lie on a scratch file system that is there",
}


def root(mebibytes: Optional[Number], argument: str = "root_volume_size") -> List[Problem]:
    """The size of the root volume in MiB is a whole number of GiB, holds the machine image and can be made.

    Args:
        mebibytes: The size; None is not judged.
        argument: What the person wrote it in. Default: ``root_volume_size``.
    """
    number = known(mebibytes)
    if number is not None and number > MAX_GIB * _MEBIBYTES:
        text = f"{argument} must be at most {MAX_GIB} GiB, got {mebibytes} MiB; EBS makes no larger volume; give less"
        return [Problem("volume.root", text)]
    if number is None or (number % _MEBIBYTES == 0 and number >= IMAGE_GIB * _MEBIBYTES):
        return []
    return [
        Problem(
            "volume.root",
            f"{argument} must be a whole number of GiB and at least {IMAGE_GIB}, got {mebibytes} MiB; the machine "
            f"image alone takes {IMAGE_GIB} GiB, and training images come on top; give more",
        )
    ]


def performance(
    kind: str,
    mebibytes: Optional[Number] = None,
    iops: Optional[Number] = None,
    throughput: Optional[Number] = None,
) -> List[Problem]:
    """The root volume's kind is one that boots and is fast, and has the performance that is asked of it.

    Args:
        kind: ``gp3`` or ``io2``.
        mebibytes: Size in MiB. Default: None.
        iops: Operations per second. Default: None.
        throughput: MiB per second. Default: None.
    """
    if is_token_text(kind):
        return []
    if kind not in VOLUME_TYPES:
        return [Problem("volume.type", _no_type(kind))]
    return [*_iops(VOLUME_TYPES[kind], mebibytes, iops), *_throughput(kind, iops, throughput)]


def instance_store(instance: InstanceType, *, scratch: bool, docker: bool) -> List[Problem]:
    """The type has an instance store where one is asked for.

    Args:
        instance: The instance type.
        scratch: Whether a scratch file system is asked for.
        docker: Whether docker's data are to lie on it.
    """
    found = []
    if scratch and instance.nvme is None:
        found.append(Problem("volume.scratch", _no_store(instance)))
    if docker and not scratch:
        found.append(
            Problem(
                "volume.docker_root",
                "docker_on_scratch needs the scratch file system, got scratch=False; set scratch=True too",
            )
        )
    return found


def _iops(limits: VolumeType, mebibytes: Optional[Number], iops: Optional[Number]) -> List[Problem]:
    if iops is None and limits.needs_iops:
        return [Problem("volume.iops", _iops_missing(limits))]
    number, size = known(iops), known(mebibytes)
    if number is None:
        return []
    most = (
        limits.max_iops
        if size is None
        else min(limits.max_iops, int(size // _MEBIBYTES) * limits.iops_per_gib)
    )
    most = max(most, limits.min_iops)
    if is_whole(number) and limits.min_iops <= number <= most:
        return []
    return [Problem("volume.iops", _iops_wrong(limits, most, iops))]


def _throughput(kind: str, iops: Optional[Number], throughput: Optional[Number]) -> List[Problem]:
    number = known(throughput)
    if number is None:
        return []
    if kind != "gp3":
        return [Problem("volume.throughput", _no_throughput(kind, throughput))]
    given = VOLUME_TYPES["gp3"].min_iops if iops is None else known(iops)
    most = MAX_THROUGHPUT if given is None else min(MAX_THROUGHPUT, int(given) // IOPS_PER_MIB)
    if is_whole(number) and MIN_THROUGHPUT <= number <= most:
        return []
    return [Problem("volume.throughput", _throughput_wrong(most, throughput))]


def _no_type(kind: str) -> str:
    return (
        f"root_volume_type is none that muster uses, got {kind!r}; allowed: {', '.join(VOLUME_TYPES)}; older types are "
        "slower at no lower price; change it"
    )


def _iops_missing(limits: VolumeType) -> str:
    return (
        f"root_volume_iops is missing for {limits.name}, got None; EC2 wants a number from {limits.min_iops} to "
        f"{limits.max_iops}; give one"
    )


def _iops_wrong(limits: VolumeType, most: int, iops: Optional[Number]) -> str:
    return (
        f"root_volume_iops must be a whole number from {limits.min_iops} to {most} for this {limits.name} volume, got "
        f"{iops!r}; it may have {limits.iops_per_gib} per GiB and at most {limits.max_iops}; change it or "
        "root_volume_size"
    )


def _no_throughput(kind: str, throughput: Optional[Number]) -> str:
    return (
        f"root_volume_throughput is not an option of {kind}, got {throughput!r}; its throughput follows from "
        "root_volume_iops; leave it out"
    )


def _throughput_wrong(most: int, throughput: Optional[Number]) -> str:
    return (
        f"root_volume_throughput must be a whole number from {MIN_THROUGHPUT} to {most} MiB/s for this gp3 volume, got "
        f"{throughput!r}; it may have 1 MiB/s per {IOPS_PER_MIB} IOPS and at most {MAX_THROUGHPUT}; change it or "
        "root_volume_iops"
    )


def _no_store(instance: InstanceType) -> str:
    return (
        f"scratch needs an instance store, and {instance.name} has none; use a type with NVMe disks such as "
        "'g6.8xlarge' or 'p5.48xlarge', or leave scratch out and raise root_volume_size"
    )
