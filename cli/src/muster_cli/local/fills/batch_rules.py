"""What Batch refuses in a job definition (pure).

Sources: AWS Batch API reference (RegisterJobDefinition, NodeProperties, NodeRangeProperty,
ContainerProperties, RetryStrategy, JobTimeout, LinuxParameters) and user guide (multi-node
parallel jobs, service quotas). The service's exact words are public for few of these; the others
are in its manner and name the property and the value.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_DEFINITION_BYTES = 24 * 1024
MAX_NODES = 1000
MAX_RANGES = 5
MAX_ATTEMPTS = 10
MAX_RULES = 5
MIN_TIMEOUT = 60
MIN_MEMORY = 4
_RANGE = re.compile(r"(\d*):(\d*)|(\d+)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_TEXT_PATTERN = re.compile(r"[A-Za-z0-9.:\s]*\*?")
_CODE_PATTERN = re.compile(r"[0-9]*\*?")
_RESOURCES = ("VCPU", "MEMORY", "GPU")
_PERMISSIONS = ("READ", "WRITE", "MKNOD")
_RESERVED = "AWS_BATCH"
_KINDS = ("container", "ecsProperties", "eksProperties")

Definition = dict[str, Any]


def problems(definition: Definition) -> list[str]:
    """Return what Batch would refuse, first things first.

    Args:
        definition: Arguments of RegisterJobDefinition.

    Returns:
        Sentences in the service's manner; none where it would register.
    """
    checks: list[Callable[[Definition], Iterator[str]]] = [_name, _type, _size, _retry, _timeout]
    if definition.get("type") == "multinode" and definition.get("nodeProperties"):
        checks.append(_nodes)
    elif definition.get("type") == "container" and definition.get("containerProperties"):
        checks.append(lambda d: _container(d["containerProperties"], "containerProperties"))
    return [problem for check in checks for problem in check(definition)]


def _name(definition: Definition) -> Iterator[str]:
    name = definition.get("jobDefinitionName") or ""
    if not _NAME.fullmatch(name):
        yield (
            f"jobDefinitionName must match ^[a-zA-Z0-9][a-zA-Z0-9_-]{{0,127}}$ and be at most 128 characters, "
            f"got {name!r}"
        )


def _type(definition: Definition) -> Iterator[str]:
    kind = definition.get("type")
    if kind not in {"container", "multinode"}:
        yield f"type must be one of container, multinode, got {kind!r}"
    has_nodes = bool(definition.get("nodeProperties"))
    has_other = [
        key for key in ("containerProperties", "ecsProperties", "eksProperties") if definition.get(key)
    ]
    if kind == "multinode" and not has_nodes:
        yield "nodeProperties must be specified for multinode job definitions."
    if kind == "multinode" and has_other:
        yield f"{has_other[0]} must not be specified for multinode job definitions."
    if kind == "container" and has_nodes:
        yield "nodeProperties must not be specified for container job definitions."
    if kind == "container" and not has_other:
        yield "containerProperties, ecsProperties or eksProperties must be specified."
    refused = {"FARGATE", "MANAGED_INSTANCES"} & set(definition.get("platformCapabilities") or [])
    if kind == "multinode" and refused:
        yield f"Multi-node parallel jobs are not supported on platform {min(refused)}."


def _size(definition: Definition) -> Iterator[str]:
    size = len(json.dumps(definition, separators=(",", ":")).encode())
    if size > MAX_DEFINITION_BYTES:
        yield f"Job definition size must be less than {MAX_DEFINITION_BYTES // 1024} KiB, got {size} bytes"


def _retry(definition: Definition) -> Iterator[str]:
    yield from retry_problems(definition.get("retryStrategy") or {})


def retry_problems(strategy: dict[str, Any]) -> Iterator[str]:
    """Give what is wrong with a ``retryStrategy``, of a definition or of a submission."""
    attempts, rules = strategy.get("attempts"), strategy.get("evaluateOnExit") or []
    if attempts is not None and not 1 <= attempts <= MAX_ATTEMPTS:
        yield f"retryStrategy.attempts must be between 1 and {MAX_ATTEMPTS}, got {attempts}"
    if rules and attempts is None:
        yield "retryStrategy.attempts must be specified when evaluateOnExit is specified."
    if len(rules) > MAX_RULES:
        yield f"evaluateOnExit must have at most {MAX_RULES} entries, got {len(rules)}"
    for index, rule in enumerate(rules):
        yield from _rule(rule, f"evaluateOnExit[{index}]")


def _rule(rule: dict[str, Any], path: str) -> Iterator[str]:
    if str(rule.get("action", "")).upper() not in {"RETRY", "EXIT"}:
        yield f"{path}.action must be RETRY or EXIT, got {rule.get('action')!r}"
    given = {key: rule[key] for key in ("onStatusReason", "onReason", "onExitCode") if key in rule}
    if not given:
        yield f"{path} must have at least one of onStatusReason, onReason, onExitCode."
    for key, pattern in given.items():
        allowed = _CODE_PATTERN if key == "onExitCode" else _TEXT_PATTERN
        if len(pattern) > 512 or not allowed.fullmatch(pattern):  # noqa: PLR2004  the service's limit
            yield f"{path}.{key} is not a valid pattern, got {pattern!r}"


def _timeout(definition: Definition) -> Iterator[str]:
    seconds = (definition.get("timeout") or {}).get("attemptDurationSeconds")
    if seconds is not None and seconds < MIN_TIMEOUT:
        yield f"timeout.attemptDurationSeconds must be at least {MIN_TIMEOUT}, got {seconds}"


# --- nodes --------------------------------------------------------------------------------------


def _nodes(definition: Definition) -> Iterator[str]:
    nodes = definition["nodeProperties"]
    missing = [key for key in ("numNodes", "mainNode", "nodeRangeProperties") if nodes.get(key) is None]
    if missing:
        yield f"nodeProperties.{missing[0]} must be specified."
        return
    count, main, ranges = nodes["numNodes"], nodes["mainNode"], nodes["nodeRangeProperties"]
    if not 1 <= count <= MAX_NODES:
        yield f"nodeProperties.numNodes must be between 1 and {MAX_NODES}, got {count}"
    if not 0 <= main < count:
        yield f"nodeProperties.mainNode must be less than numNodes ({count}) and at least 0, got {main}"
    if not 1 <= len(ranges) <= MAX_RANGES:
        yield (
            f"nodeProperties.nodeRangeProperties must have between 1 and {MAX_RANGES} node groups, "
            f"got {len(ranges)}"
        )
    yield from range_problems([str(each.get("targetNodes")) for each in ranges], count)
    yield from _range_contents(ranges)


def range_problems(targets: list[str], num_nodes: int) -> list[str]:
    """Return what is wrong with the ranges of a multi-node definition.

    Args:
        targets: ``targetNodes`` of every range.
        num_nodes: Nodes of the job.

    Returns:
        Sentences; none where the ranges cover every node and at most nest.
    """
    malformed = [t for t in targets if not _RANGE.fullmatch(t)]
    if malformed:
        return [f"targetNodes is not a valid node range, got {t!r}; use n:m, n:, :m or :" for t in malformed]
    bounds = {target: _bounds(target, num_nodes) for target in targets}
    found = [
        f"targetNodes {t} is out of range: the nodes of this job are 0 to {num_nodes - 1}"
        for t, (low, high) in bounds.items()
        if low > high or high >= num_nodes
    ]
    if len(bounds) < len(targets):
        found.append(f"Node ranges must not be repeated, got {', '.join(targets)}")
    return found or [*_overlaps(bounds), *_uncovered(bounds, num_nodes)]


def _bounds(target: str, num_nodes: int) -> tuple[int, int]:
    low, separator, high = target.partition(":")
    first = int(low or 0)
    return first, (int(high) if high else num_nodes - 1) if separator else first


def _overlaps(bounds: dict[str, tuple[int, int]]) -> Iterator[str]:
    """Ranges may lie within each other; that they cross is documented nowhere, so it is refused."""
    for first, second in pairwise(sorted(bounds, key=lambda t: (bounds[t][0], -bounds[t][1]))):
        if bounds[second][0] <= bounds[first][1] < bounds[second][1]:
            yield f"Node ranges {first} and {second} overlap; a range may only lie within another."


def _uncovered(bounds: dict[str, tuple[int, int]], num_nodes: int) -> Iterator[str]:
    missing = [n for n in range(num_nodes) if not any(low <= n <= high for low, high in bounds.values())]
    if missing:
        yield f"Node ranges must cover all nodes: node {missing[0]} of 0 to {num_nodes - 1} is in no node range."


def _range_contents(ranges: list[dict[str, Any]]) -> Iterator[str]:
    types = set()
    for index, each in enumerate(ranges):
        path = f"nodeRangeProperties[{index}]"
        kinds = [kind for kind in _KINDS if each.get(kind)]
        if len(kinds) != 1:
            yield f"{path} must have exactly one of {', '.join(_KINDS)}, got {len(kinds)}"
        elif kinds == ["container"]:
            types.add(each["container"].get("instanceType"))
            yield from _container(each["container"], f"{path}.container")
            if each["container"].get("networkConfiguration"):
                yield f"{path}.container.networkConfiguration is not applicable to multi-node parallel jobs."
        if len(each.get("instanceTypes") or []) > 1:
            yield f"{path}.instanceTypes must have exactly one element."
        types |= set(each.get("instanceTypes") or [])
    if len(types) > 1:
        yield f"All node groups must use the same instance type, got {', '.join(sorted(map(str, types)))}"


# --- container ----------------------------------------------------------------------------------


def _container(container: dict[str, Any], path: str) -> Iterator[str]:
    if not container.get("image"):
        yield f"{path}.image must be specified."
    elif len(container["image"]) > 255:  # noqa: PLR2004  the service's limit
        yield f"{path}.image must be at most 255 characters"
    if "" in container.get("command", []):
        yield f"{path}.command must not have an empty element."
    yield from _requirements(container, path)
    yield from _environment(container, path)
    yield from _linux(container, path)


def _requirements(container: dict[str, Any], path: str) -> Iterator[str]:
    values = {"VCPU": container.get("vcpus"), "MEMORY": container.get("memory")}
    for each in container.get("resourceRequirements") or []:
        if each["type"] not in _RESOURCES:
            yield f"{path}.resourceRequirements type must be one of {', '.join(_RESOURCES)}, got {each['type']!r}"
            return
        values[each["type"]] = each["value"]
    for kind, least in (("VCPU", 1), ("MEMORY", MIN_MEMORY), ("GPU", 1)):
        value = values.get(kind)
        if value is None:
            if kind != "GPU":
                yield f"{path} must specify {kind} at least once."
        elif not str(value).isdigit() or int(value) < least:
            yield f"{path}.resourceRequirements {kind} must be an integer of at least {least}, got {value!r}"


def _environment(container: dict[str, Any], path: str) -> Iterator[str]:
    for key in ("environment", "secrets"):
        for each in container.get(key) or []:
            if str(each.get("name", "")).startswith(_RESERVED):
                yield f"{path}.{key} name must not begin with {_RESERVED}, got {each['name']!r}"
    if container.get("secrets") and not container.get("executionRoleArn"):
        yield f"{path}.executionRoleArn must be specified when secrets are specified."


def _linux(container: dict[str, Any], path: str) -> Iterator[str]:
    linux = container.get("linuxParameters") or {}
    for device in linux.get("devices") or []:
        if not device.get("hostPath"):
            yield f"{path}.linuxParameters.devices hostPath must be specified."
        for permission in device.get("permissions") or []:
            if permission not in _PERMISSIONS:
                allowed = ", ".join(_PERMISSIONS)
                yield f"{path}.linuxParameters.devices permissions must be of {allowed}, got {permission!r}"
    for limit in container.get("ulimits") or []:
        if not {"name", "softLimit", "hardLimit"} <= limit.keys():
            yield f"{path}.ulimits must have name, softLimit and hardLimit."
