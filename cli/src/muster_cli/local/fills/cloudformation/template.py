"""What a template says before anything is made: references, order, what is certainly wrong (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SUBSTITUTION = re.compile(r"\$\{([^!}][^}]*)\}")


class TemplateError(ValueError):
    """A template that CloudFormation turns away, in its words."""


def references(value: Any) -> set[str]:  # noqa: ANN401
    """Return the names that a part of a template refers to.

    Args:
        value: Any part of a template.

    Returns:
        Logical ids, parameters and pseudo parameters named by Ref, Fn::GetAtt, Fn::Sub.
    """
    return set(_references(value))


def _references(value: Any) -> Iterator[str]:  # noqa: ANN401
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        yield from _function(value)
        for item in value.values():
            yield from _references(item)


def _function(value: dict[str, Any]) -> Iterator[str]:
    if len(value) != 1:
        return
    (name, argument), *_ = value.items()
    if name == "Ref" and isinstance(argument, str):
        yield argument
    elif name == "Fn::GetAtt":
        yield argument[0] if isinstance(argument, list) else argument.split(".")[0]
    elif name == "Fn::Sub":
        text, own = argument if isinstance(argument, list) else (argument, {})
        names = (match.split(".")[0].strip() for match in _SUBSTITUTION.findall(text))
        yield from (match for match in names if match not in own)


def dependencies(definition: dict[str, Any]) -> set[str]:
    """Return what a resource needs before it: its references and its DependsOn.

    Args:
        definition: A resource of a template.

    Returns:
        Logical ids, and names of parameters.
    """
    explicit = definition.get("DependsOn", [])
    return references(definition.get("Properties", {})) | (
        {explicit} if isinstance(explicit, str) else set(explicit)
    )


def creation_order(template: dict[str, Any]) -> list[str]:
    """Return the logical ids so that each comes after what it needs.

    Args:
        template: A parsed template.

    Returns:
        Every logical id once; those that are free to choose stand as in the template.

    Raises:
        TemplateError: Resources that need each other.
    """
    resources = template.get("Resources", {})
    waiting = {name: dependencies(definition) & resources.keys() for name, definition in resources.items()}
    order: list[str] = []
    while waiting:
        ready = [name for name, needs in waiting.items() if needs <= set(order)]
        if not ready:
            raise TemplateError(f"Circular dependency between resources: [{', '.join(sorted(waiting))}]")
        order += ready
        for name in ready:
            del waiting[name]
    return order


def check(template: dict[str, Any], is_known: Callable[[str], bool]) -> None:
    """Turn a template away that cannot be deployed.

    Args:
        template: A parsed template.
        is_known: Tells whether the local cloud has a resource type.

    Raises:
        TemplateError: No resources, types that are not known, references to nothing, a circle.
    """
    resources = template.get("Resources")
    if not resources:
        raise TemplateError("Template format error: At least one Resources member must be defined.")
    unknown = sorted({r["Type"] for r in resources.values() if not is_known(r["Type"])})
    if unknown:
        raise TemplateError(
            f"Template format error: Unrecognized resource types: [{', '.join(unknown)}] (Muster's local cloud)"
        )
    names = {*resources, *template.get("Parameters", {})}
    _check_references("Resources", [dependencies(r) for r in resources.values()], names)
    _check_references("Outputs", [references(o) for o in (template.get("Outputs") or {}).values()], names)
    creation_order(template)


def _check_references(block: str, found: list[set[str]], names: set[str]) -> None:
    lost = sorted({n for each in found for n in each if n not in names and not n.startswith("AWS::")})
    if lost:
        raise TemplateError(
            f"Template format error: Unresolved resource dependencies [{', '.join(lost)}] "
            f"in the {block} block of the template"
        )
