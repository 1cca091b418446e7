"""Whether the hosts' volumes can be made and hold what they must."""

from __future__ import annotations

from typing import List, Optional

from muster_core.rules.problem import Number, Problem, Rules, known

DEFAULT_ROOT_GIB = 200
IMAGE_GIB = 30
"""Size of the root volume in the ECS-optimized images: a smaller one cannot hold their snapshot
(``block_device_size_gb`` of aws/amazon-ecs-ami)."""
_MEBIBYTES = 1024
"""Mebibytes in a gibibyte, the unit of EBS."""

RULES: Rules = {
    "volume.root": f"the root volume is a whole number of GiB, at least the {IMAGE_GIB} of the machine image",
}


def root(mebibytes: Optional[Number]) -> List[Problem]:
    """The size of the root volume in MiB is a whole number of GiB, and holds the machine image."""
    number = known(mebibytes)
    if number is None or (number % _MEBIBYTES == 0 and number >= IMAGE_GIB * _MEBIBYTES):
        return []
    return [
        Problem(
            "volume.root",
            f"root_volume_size must be a whole number of GiB and at least {IMAGE_GIB}, got {mebibytes} MiB; the machine "
            f"image alone takes {IMAGE_GIB} GiB, and training images come on top; give more",
        )
    ]
