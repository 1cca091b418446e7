"""Whether the hosts of a compute environment are kept, replaced and imaged as AWS Batch can do it.

Source: ``ComputeResource``, ``ComputeScalingPolicy``, ``Ec2Configuration`` and ``EcsSettings`` of
the Batch API, and "Public parameters" of the Systems Manager user guide.
"""

from __future__ import annotations

import re
from typing import List, Optional, Sequence

from muster_core.rules.nodes import judged
from muster_core.rules.problem import Number, Problem, Rules, is_token_text, is_whole, known

MIN_DELAY, MAX_DELAY = 20, 10080
"""Minutes that an idle host may be kept after its job: 10,080 are a week."""
INSIGHTS = ("ENABLED", "ENHANCED", "DISABLED")
MAX_OVERRIDES = 10
"""Launch templates of an environment beside its first."""

_AMI = re.compile(r"ami-(?:[0-9a-f]{8}|[0-9a-f]{17})")
_PARAMETER = re.compile(r"/?[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*(:[1-9]\d*)?")
_PUBLIC = "/aws/service/"
_FLOATING = re.compile(r"/(?:recommended|latest)(?:/|$)")

RULES: Rules = {
    "compute.min_nodes": "hosts that are always up are a whole number from 0 to max_nodes",
    "compute.idle_cost": "hosts that are always up are paid for knowingly",
    "compute.scale_down_delay": f"idle hosts are kept from {MIN_DELAY} to {MAX_DELAY} whole minutes, or not at all",
    "compute.image_id": "the hosts' own machine image is named by the id of one",
    "compute.image_parameter": "a parameter with the machine image's id is named with its version",
    "compute.image_once": "the hosts' machine image is named once",
    "compute.container_insights": "container insights are in a mode of ECS",
    "compute.template_type": "a launch template has the network cards of the type that it starts",
    "compute.template_version": "an environment names a launch template by a concrete version",
    "compute.types_twice": "an instance type of an environment has one launch template",
    "compute.overrides": f"an environment has at most {MAX_OVERRIDES} launch templates beside its first",
    "compute.capacity_alike": "instance types that share an environment share its kind of capacity",
    "compute.types_alike": "instance types that share an environment share its machine image",
}


def min_nodes(value: Optional[Number], max_nodes: Number, *, acknowledged: bool = True) -> List[Problem]:
    """Hosts that are always up: none, unless their price is acknowledged, and no more than ``max_nodes``.

    Args:
        value: ``min_nodes``; None is not judged.
        max_nodes: Nodes that the environment may have.
        acknowledged: Whether the cost of idle hosts was acknowledged. Default: True.
    """
    number, limit = known(value), judged(max_nodes)
    if number is None or number == 0:
        return []
    if not is_whole(number) or number < 0 or (limit is not None and number > limit):
        return [Problem("compute.min_nodes", _min_nodes(value, max_nodes))]
    return [] if acknowledged else [Problem("compute.idle_cost", _idle_cost(number))]


def scale_down_delay(minutes: Optional[Number]) -> List[Problem]:
    """The time that an idle host is kept, in minutes; None is not at all."""
    number = known(minutes)
    if number is None or (is_whole(number) and MIN_DELAY <= number <= MAX_DELAY):
        return []
    return [
        Problem(
            "compute.scale_down_delay",
            f"scale_down_delay must be a whole number of minutes from {MIN_DELAY} to {MAX_DELAY}, got {_number(number)} "
            "minutes; AWS Batch keeps idle hosts that long or not at all; change it, or leave it out",
        )
    ]


def image(image_id: Optional[str], parameter: Optional[str]) -> List[Problem]:
    """The hosts' own machine image: pinned by its id, or by the version of a parameter that holds it.

    Args:
        image_id: Such as ``ami-0123456789abcdef0``; None for none.
        parameter: Name of an SSM parameter; None for none.
    """
    found = []
    if image_id is not None and parameter is not None:
        found.append(Problem("compute.image_once", _twice(image_id, parameter)))
    if image_id is not None and not is_token_text(image_id) and not _AMI.fullmatch(image_id):
        found.append(Problem("compute.image_id", _no_ami(image_id)))
    return found + (_parameter(parameter) if parameter is not None and not is_token_text(parameter) else [])


def container_insights(mode: Optional[str]) -> List[Problem]:
    """The mode of container insights is one of ECS; None leaves the account's setting."""
    if mode is None or mode in INSIGHTS or is_token_text(mode):
        return []
    return [
        Problem(
            "compute.container_insights",
            f"container_insights is no mode of ECS, got {mode!r}; allowed: {', '.join(INSIGHTS)}; change it",
        )
    ]


def overrides(first: str, others: Sequence[str]) -> List[Problem]:
    """The instance types that share an environment, each with a launch template of its own.

    Args:
        first: The environment's own type.
        others: The types of the overrides.
    """
    found = []
    if len(others) > MAX_OVERRIDES:
        found.append(
            Problem(
                "compute.overrides",
                f"other_types has too many instance types, got {len(others)}; AWS Batch takes {MAX_OVERRIDES} launch "
                "templates beside the first; make another environment for the rest",
            )
        )
    if first in others:
        found.append(
            Problem(
                "compute.types_twice",
                f"other_types names the environment's own instance type, got {first!r}; its launch template is "
                "launch_template; remove it",
            )
        )
    return found


def template_type(argument: str, made_for: str, instance_type: str) -> List[Problem]:
    """A launch template was made for the type that it is to start.

    Args:
        argument: What the person passed it by.
        made_for: The type whose network cards it has.
        instance_type: The type that it is to start.
    """
    if made_for == instance_type:
        return []
    return [
        Problem(
            "compute.template_type",
            f"{argument} is made for another instance type, got one for {made_for!r}; {instance_type!r} has other "
            "network cards; make a launch template for it",
        )
    ]


def template_version(argument: str, version: str) -> List[Problem]:
    """A launch template is named by a version that stands still.

    Args:
        argument: What the person passed it by.
        version: Its version.
    """
    if version not in ("$Default", "$Latest"):
        return []
    return [
        Problem(
            "compute.template_version",
            f"{argument} has a floating version, got {version!r}; AWS Batch reads it once, when the environment is made, and "
            "no later change would reach the hosts; name its version by version_number",
        )
    ]


def alike(first: str, first_image: str, other: str, other_image: str) -> List[Problem]:
    """Two types that share an environment are started from one machine image.

    Args:
        first: The environment's own type.
        first_image: What its hosts start from, in words.
        other: The type of an override.
        other_image: What its hosts would start from.
    """
    if first_image == other_image:
        return []
    return [
        Problem(
            "compute.types_alike",
            f"other_types has an instance type with another machine image, got {other!r} with {other_image}; the "
            f"environment's {first} starts from {first_image}; make another environment for it",
        )
    ]


def capacity_alike(argument: str, kind: str, first: str) -> List[Problem]:
    """The instances of a type come from where the environment's own do: it has one placement group for all, or none.

    Args:
        argument: What the person passed the type's launch template by.
        kind: Where the launch template takes its instances from, in words.
        first: Where the environment's own takes them from.
    """
    if kind == first:
        return []
    return [
        Problem(
            "compute.capacity_alike",
            f"{argument} takes its instances from elsewhere than the environment's own launch template, got {kind!r} beside "
            f"{first!r}; an environment has one placement group for all, or none; give both the same kind of capacity, or "
            "make another environment",
        )
    ]


def _parameter(name: str) -> List[Problem]:
    match = _PARAMETER.fullmatch(name)
    public = name.startswith(_PUBLIC) and not _FLOATING.search(name)
    if match and (match.group(1) or public):
        return []
    return [Problem("compute.image_parameter", _no_version(name) if match else _no_parameter(name))]


def _number(value: Number) -> str:
    return str(int(value)) if is_whole(value) else repr(value)


def _min_nodes(value: Optional[Number], max_nodes: Number) -> str:
    return (
        f"min_nodes must be a whole number from 0 to max_nodes, got {value!r} with max_nodes {max_nodes!r}; "
        "lower min_nodes or raise max_nodes"
    )


def _idle_cost(value: Number) -> str:
    return (
        f"min_nodes keeps hosts that are paid for without any job, got {_number(value)}; an idle cluster has 0; "
        "leave min_nodes out, or say acknowledge_idle_cost=True beside it"
    )


def _twice(image_id: str, parameter: str) -> str:
    return (
        f"image_parameter and image_id both name the machine image, got {parameter!r} and {image_id!r}; hosts have one "
        "image; remove one of the two"
    )


def _no_ami(image_id: str) -> str:
    return (
        f"image_id is not the id of a machine image, got {image_id!r}; an id is such as 'ami-0123456789abcdef0'; "
        "correct it, or name a parameter by image_parameter"
    )


def _no_parameter(name: str) -> str:
    return (
        f"image_parameter is not the name of an SSM parameter, got {name!r}; allowed is a name with its version such as "
        "'/images/training:3'; correct it"
    )


def _no_version(name: str) -> str:
    return (
        f"image_parameter has no version, got {name!r}; the image would change under the cluster; add the version such as "
        f"'{name}:3', or take a public parameter that holds a release in its name"
    )
