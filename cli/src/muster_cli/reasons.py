"""Why a job or its nodes ended: each reason once, with the nodes that have it; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from muster_cli.job_view import Job, Node

SEPARATOR = ": "
"""Between the parts of a reason: of the task, and of its container."""
CONTAINER_ENDED = "Essential container in task exited"
"""Batch's reason for every container that ended by itself: it says nothing that its exit code does not."""


def telling(reason: str) -> str:
    """Return a reason without the part that says nothing."""
    return reason.removeprefix(CONTAINER_ENDED).removeprefix(SEPARATOR)


def of_nodes(nodes: Iterable[Node]) -> list[tuple[str, str]]:
    """Return each reason with the nodes that have it, such as ``nodes 0-2, 5``."""
    found: dict[str, list[int]] = {}
    for node in nodes:
        if node.reason:
            found.setdefault(node.reason, []).append(node.index)
    return [(reason, _named(indexes)) for reason, indexes in found.items()]


def of_job(job: Job, nodes: Sequence[Node]) -> list[str]:
    """Return everything that is said of a job's end, its own reason first.

    Args:
        job: The job.
        nodes: Its nodes: they say more than the job where one did not start.

    Returns:
        A text each; what a node says again, and what says nothing beside something better, is left out.
    """
    grouped = of_nodes(nodes) if job.multi_node else []
    own = [] if any(reason.startswith(job.reason) for reason, _ in grouped) else [(job.reason, "")]
    found = [(reason, where) for reason, where in (*own, *grouped) if reason]
    better = [(reason, where) for reason, where in found if telling(reason)]
    return [f"{reason} ({where})" if where else reason for reason, where in better or found]


def compact(indexes: Iterable[int]) -> str:
    """Return indexes as ranges, such as ``0-2, 5``."""
    ranges: list[list[int]] = []
    for index in sorted(indexes):
        if ranges and index == ranges[-1][-1] + 1:
            ranges[-1][1:] = [index]
        else:
            ranges.append([index])
    return ", ".join("-".join(str(end) for end in each) for each in ranges)


def _named(indexes: Sequence[int]) -> str:
    return f"node{'' if len(indexes) == 1 else 's'} {compact(indexes)}"
