"""Node ranges of a multi-node definition, and the node properties of one submission (pure).

Source: AWS Batch API reference, ``NodeRangeProperty.targetNodes`` and ``NodeOverrides``.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TARGET = re.compile(r"(\d*):(\d*)|(\d+)")


class NodeRange(NamedTuple):
    """``targetNodes``, read."""

    first: int
    last: int | None
    """None where the range is open."""

    def covers(self, node: int) -> bool:
        """Tell whether a node lies in the range."""
        return self.first <= node and (self.last is None or node <= self.last)

    def width(self, num_nodes: int) -> int:
        """Return how many nodes the range spans in a job of that many nodes."""
        return (num_nodes - 1 if self.last is None else self.last) - self.first


def parse(target: str) -> NodeRange:
    """Read ``targetNodes``: ``a:b``, ``:b``, ``a:``, ``:`` or a bare ``a``.

    Args:
        target: The text.

    Raises:
        ValueError: It is none of these.
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        raise ValueError(
            f"targetNodes must be like 0:, 0:3 or :3, got {target!r}; write the first and the last node index"
        )
    if match[3] is not None:
        return NodeRange(int(match[3]), int(match[3]))
    return NodeRange(int(match[1] or 0), int(match[2]) if match[2] else None)


def range_of_node(targets: Sequence[str], node: int, num_nodes: int) -> int:
    """Return the position of the range that a node belongs to: of those that cover it, the narrowest.

    Args:
        targets: ``targetNodes`` of every range.
        node: Index of the node.
        num_nodes: Nodes of the job, for the width of open ranges.

    Raises:
        ValueError: No range covers the node.
    """
    ranges = [parse(target) for target in targets]
    covering = [place for place, item in enumerate(ranges) if item.covers(node)]
    if not covering:
        raise ValueError(
            f"targetNodes must cover every node, node {node} of {num_nodes} is in none of {', '.join(targets)}; "
            f"add a range such as {node}:"
        )
    return min(covering, key=lambda place: ranges[place].width(num_nodes))


def merge_named(base: Sequence[Mapping[str, Any]], over: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """Merge two lists of objects by a key; the second list wins and may add.

    Args:
        base: The definition's list, such as ``environment``.
        over: The submission's list.
        key: ``name`` or ``type``.
    """
    merged = {item[key]: dict(item) for item in base}
    merged.update({item[key]: dict(item) for item in over})
    return list(merged.values())


def override_container(container: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Apply ``containerOverrides`` to a container.

    ``vcpus`` and ``memory`` are deprecated: they do not touch what ``resourceRequirements`` states.

    Args:
        container: Of the definition; it is left as it is.
        overrides: Of the submission.
    """
    result = copy.deepcopy(dict(container))
    for name in ("command", "instanceType"):
        if overrides.get(name):
            result[name] = overrides[name]
    for name, key in (("environment", "name"), ("resourceRequirements", "type")):
        if overrides.get(name):
            result[name] = merge_named(result.get(name) or (), overrides[name], key)
    stated = {item["type"] for item in result.get("resourceRequirements") or ()}
    for name, kind in (("vcpus", "VCPU"), ("memory", "MEMORY")):
        if overrides.get(name) and kind not in stated:
            result[name] = overrides[name]
    return result


def effective(properties: Mapping[str, Any], overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the node properties that a submission runs with.

    Args:
        properties: ``nodeProperties`` of the definition; left as they are.
        overrides: ``nodeOverrides`` of the submission, held to be right (see ``submission``).
    """
    result = copy.deepcopy(dict(properties))
    overrides = overrides or {}
    if overrides.get("numNodes"):
        result["numNodes"] = overrides["numNodes"]
    by_target = {item["targetNodes"]: item for item in overrides.get("nodePropertyOverrides") or ()}
    for node_range in result["nodeRangeProperties"]:
        override = by_target.get(node_range["targetNodes"], {})
        if override.get("containerOverrides"):
            node_range["container"] = override_container(
                node_range["container"], override["containerOverrides"]
            )
        if override.get("instanceTypes"):
            node_range["instanceTypes"] = override["instanceTypes"]
    return result


def container_of(properties: Mapping[str, Any], node: int) -> dict[str, Any]:
    """Return the container that a node runs.

    Args:
        properties: Effective node properties.
        node: Index of the node.

    Raises:
        ValueError: No range covers the node.
    """
    ranges = properties["nodeRangeProperties"]
    place = range_of_node([item["targetNodes"] for item in ranges], node, properties["numNodes"])
    container: dict[str, Any] = ranges[place]["container"]
    return container


def instance_types(properties: Mapping[str, Any]) -> list[str]:
    """Return the instance types that the ranges ask for, each once; none where Batch may choose."""
    found: dict[str, None] = {}
    for node_range in properties["nodeRangeProperties"]:
        found.update(dict.fromkeys(node_range.get("instanceTypes") or ()))
        single = (node_range.get("container") or {}).get("instanceType")
        if single:
            found[single] = None
    return list(found)
