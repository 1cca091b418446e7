"""What an environment reads of a launch template: Muster's own, or one that the user has."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2

from muster_cdk import user_data
from muster_cdk.capacity import Capacity, zone_of
from muster_cdk.coercion import to_instance
from muster_cdk.launch_template import EfaLaunchTemplate
from muster_cdk.machine_image import image_name
from muster_core.instances import EFA_ONLY, InstanceType
from muster_core.rules import Problem, cluster, compute
from muster_core.rules import template as template_rules

if TYPE_CHECKING:
    from constructs import Construct

    from muster_core.rules import ClusterRequest

GivenTemplate = EfaLaunchTemplate | ec2.ILaunchTemplate | ec2.CfnLaunchTemplate


@dataclass(frozen=True)
class TemplateReference:
    """A launch template as an environment sees it.

    Attributes:
        id: Its id; None where it is known by name.
        name: Its name; None where it is known by id.
        version: A concrete version.
        instance_type: The type that it was made for; None where that is not known.
        interface_type: Kind of the cards beside the primary one.
        capacity: Where its instances come from.
        problems: What is certainly wrong with it, as far as it can be seen.
    """

    id: str | None
    name: str | None
    version: str
    instance_type: str | None = None
    interface_type: str = EFA_ONLY
    capacity: Capacity = Capacity.on_demand()  # noqa: RUF009  frozen, and the same for all
    problems: tuple[Problem, ...] = ()


def to_reference(template: GivenTemplate, argument: str) -> TemplateReference:
    """Read a launch template.

    Args:
        template: The template.
        argument: What it was given by.

    Raises:
        TypeError: The value is no launch template.
    """
    if isinstance(template, EfaLaunchTemplate):
        return TemplateReference(
            id=template.template.ref,
            name=None,
            version=template.version,
            instance_type=template.instance.name,
            interface_type=template.interface_type,
            capacity=template.capacity,
        )
    problems = (
        (*user_data.check_imported(template), *template_rules.check(argument, _data(template)))
        if _is_template(template)
        else ()
    )
    if isinstance(template, ec2.CfnLaunchTemplate):
        return TemplateReference(template.ref, None, template.attr_latest_version_number, problems=problems)
    if isinstance(template, ec2.LaunchTemplate):
        return TemplateReference(
            template.launch_template_id, None, template.latest_version_number, problems=problems
        )
    if not _is_template(template):
        raise TypeError(
            f"{argument} must be an EfaLaunchTemplate or a launch template of CDK's, got {type(template).__name__} "
            f"{template!r}; change it"
        )
    floating = compute.template_version(argument, template.version_number)
    name = None if template.launch_template_id else template.launch_template_name
    return TemplateReference(
        template.launch_template_id, name, template.version_number, problems=(*problems, *floating)
    )


def warn_unseen(scope: Construct, template: GivenTemplate, argument: str = "launch_template") -> None:
    """Say that nobody here knows the network cards of a template that the user has.

    Args:
        scope: Construct of the environment.
        template: Its template.
        argument: What it was given by. Default: ``launch_template``.
    """
    if not isinstance(template, EfaLaunchTemplate):
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:ownLaunchTemplate",
            f"{argument} is one of yours, and its network cards are not judged; it must have an interface for each "
            "network card of the type, with its security groups on each; use an EfaLaunchTemplate to have them made",
        )


Others = list[tuple[InstanceType, TemplateReference]]
"""The types that share an environment with its first, each with its launch template."""


def to_others(types: Mapping[str, EfaLaunchTemplate]) -> Others:
    """Read the types that share an environment.

    Args:
        types: Instance type -> launch template.

    Raises:
        TypeError: The value is no mapping to launch templates.
    """
    if not isinstance(types, Mapping):
        raise TypeError(
            f"other_types must be a dict of instance type to EfaLaunchTemplate, got {type(types).__name__} {types!r}; "
            "change it"
        )
    return [
        (to_instance(name, "other_types"), to_reference(each, f"other_types[{name!r}]"))
        for name, each in types.items()
    ]


def template_problems(
    first: InstanceType,
    template: TemplateReference,
    others: Others,
    request: ClusterRequest,
    subnet: ec2.ISubnet,
) -> list[Problem]:
    """What is wrong with the launch templates of an environment, and with the types that share it.

    Args:
        first: The environment's own type.
        template: Its launch template.
        others: The other types.
        request: What the environment asks for.
        subnet: Its subnet.
    """
    found = [*template.problems, *_made_for("launch_template", template, first)]
    found += compute.overrides(first.name, [each.name for each, _ in others])
    for each, other in others:
        argument = f"other_types[{each.name!r}]"
        found += [*other.problems, *_made_for(argument, other, each)]
        if other.instance_type is not None and template.instance_type is not None:
            found += compute.capacity_alike(argument, other.capacity.words, template.capacity.words)
        asked = dataclasses.replace(
            request,
            interface_type=other.interface_type,
            availability_zone=zone_of(subnet, other.capacity),
            capacity=dataclasses.replace(
                other.capacity.request(), group_strategy=request.capacity.group_strategy
            ),
        )
        problems = cluster(each, asked)
        found += problems or compute.alike(first.name, image_name(first), each.name, image_name(each))
    return found


def specification(
    template: TemplateReference, others: Others
) -> batch.CfnComputeEnvironment.LaunchTemplateSpecificationProperty:
    """The environment's launch templates, in concrete versions.

    Args:
        template: Its own.
        others: Those of the other types.
    """
    overrides = [
        batch.CfnComputeEnvironment.LaunchTemplateSpecificationOverrideProperty(
            launch_template_id=other.id,
            launch_template_name=other.name,
            version=other.version,
            target_instance_types=[instance.name],
        )
        for instance, other in others
    ]
    return batch.CfnComputeEnvironment.LaunchTemplateSpecificationProperty(
        launch_template_id=template.id,
        launch_template_name=template.name,
        version=template.version,
        overrides=overrides or None,
    )


def _made_for(argument: str, template: TemplateReference, instance: InstanceType) -> list[Problem]:
    return compute.template_type(argument, template.instance_type or instance.name, instance.name)


def _data(template: ec2.ILaunchTemplate | ec2.CfnLaunchTemplate) -> Mapping[str, object]:
    """What is known of a template: all of one that is made in this app, of CDK's first or second level."""
    if isinstance(template, ec2.LaunchTemplate):
        return _data(cast("ec2.CfnLaunchTemplate", template.node.find_child("Resource")))
    if not isinstance(template, ec2.CfnLaunchTemplate):
        return {}
    found = cdk.Stack.of(template).resolve(template.launch_template_data)
    return found if isinstance(found, Mapping) else {}


def _is_template(value: object) -> bool:
    return isinstance(value, ec2.CfnLaunchTemplate) or hasattr(value, "version_number")
