"""What SubmitJob refuses, in Batch's words where they are known (pure).

The known ones are from the public record: aws-cdk#29415 (``numNodes`` with closed ranges),
aws-parallelcluster#964 (targets that do not match), the quota page (payload). The others follow
the form of ``Container overrides should not be set for ...``, which Batch uses for its other job
types; nobody has published their exact text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from muster_cli.local.executor import ranges
from muster_cli.local.fills.batch_rules import MAX_NODES, MIN_TIMEOUT, retry_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MULTINODE = "multinode"
PAYLOAD_LIMIT = 30 * 1024
"""Bytes of one SubmitJob request."""
RESERVED_BY_BATCH = "AWS_BATCH"
"""A submission may not set a variable whose name begins with this."""
NUM_NODES_TEXT = (
    "NumNodes override can only be applied if the job definition has at least 1 target node"
    " without a range_end i.e (:) or (range_start:)."
)


def problems(definition: Mapping[str, Any], request: Mapping[str, Any]) -> list[str]:
    """Return everything that is wrong with a submission.

    Args:
        definition: ``type``, and ``nodeProperties`` for a multinode one.
        request: The SubmitJob request.
    """
    found = [*_payload(request), *_limits(request)]
    if definition["type"] == MULTINODE:
        return [*found, *_multinode(definition["nodeProperties"], request)]
    return [*found, *_container(request)]


def _payload(request: Mapping[str, Any]) -> Iterator[str]:
    if len(json.dumps(request, separators=(",", ":")).encode()) >= PAYLOAD_LIMIT:
        yield "Job size must be less than 30 KiB"


def _limits(request: Mapping[str, Any]) -> Iterator[str]:
    yield from retry_problems(request.get("retryStrategy") or {})
    seconds = (request.get("timeout") or {}).get("attemptDurationSeconds")
    if seconds is not None and seconds < MIN_TIMEOUT:
        yield f"timeout.attemptDurationSeconds must be at least {MIN_TIMEOUT}, got {seconds}"


def _container(request: Mapping[str, Any]) -> Iterator[str]:
    if request.get("nodeOverrides"):
        yield "Node overrides should not be set for container jobs."
    if request.get("arrayProperties"):
        yield "the local cloud does not run array jobs; leave arrayProperties out"
    yield from _container_overrides(request.get("containerOverrides") or {})


def _multinode(properties: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[str]:
    if request.get("containerOverrides"):
        yield "Container overrides should not be set for multinode jobs."
    if request.get("arrayProperties"):
        yield "Array properties should not be set for multinode jobs."
    for name, said in (("eksPropertiesOverride", "EKS"), ("ecsPropertiesOverride", "ECS")):
        if request.get(name):
            yield f"{said} properties override should not be set for multinode jobs."
    overrides = request.get("nodeOverrides") or {}
    yield from _num_nodes(properties, overrides.get("numNodes"))
    yield from _property_overrides(properties, overrides.get("nodePropertyOverrides") or ())


def _num_nodes(properties: Mapping[str, Any], num_nodes: int | None) -> Iterator[str]:
    if num_nodes is None:
        return
    if not 1 <= num_nodes <= MAX_NODES:
        yield f"NumNodes override must be between 1 and {MAX_NODES}, got {num_nodes}."
        return
    targets = [ranges.parse(item["targetNodes"]) for item in properties["nodeRangeProperties"]]
    opened = [target.first for target in targets if target.last is None]
    if not opened:
        yield NUM_NODES_TEXT
    elif min(opened) >= num_nodes:
        yield f"NumNodes override must be greater than range_start of the open target nodes, got {num_nodes} with {min(opened)}:."
    if properties["mainNode"] >= num_nodes:
        yield f"NumNodes override must be greater than mainNode, got {num_nodes} with mainNode {properties['mainNode']}."


def _property_overrides(properties: Mapping[str, Any], overrides: Any) -> Iterator[str]:  # noqa: ANN401  JSON
    known = {item["targetNodes"] for item in properties["nodeRangeProperties"]}
    strangers = [item["targetNodes"] for item in overrides if item["targetNodes"] not in known]
    if strangers:
        yield f"NodeOverride targets should match job definition. Non matching targets - {', '.join(strangers)}"
    for item in overrides:
        for name in ("ecsPropertiesOverride", "eksPropertiesOverride"):
            if item.get(name):
                yield f"{name} of targets {item['targetNodes']} should not be set for container node groups."
        yield from _container_overrides(item.get("containerOverrides") or {})


def _container_overrides(overrides: Mapping[str, Any]) -> Iterator[str]:
    if "" in (overrides.get("command") or ()):
        yield "command of the container overrides can't contain an empty string."
    for item in overrides.get("environment") or ():
        if item.get("name", "").startswith(RESERVED_BY_BATCH):
            yield f'Environment variables cannot start with "{RESERVED_BY_BATCH}", got {item["name"]}.'
