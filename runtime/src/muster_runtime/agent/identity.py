"""Who am I: AWS Batch's variables -> :class:`Node`. Pure."""

from __future__ import annotations

import socket
from typing import Mapping, NamedTuple

from muster_core.contract import (
    BATCH_ID_SEPARATOR,
    BATCH_JOB_ATTEMPT,
    BATCH_JOB_ID,
    BATCH_MAIN_NODE_ADDRESS,
    BATCH_MAIN_NODE_INDEX,
    BATCH_NODE_INDEX,
    BATCH_NUM_NODES,
)
from muster_runtime.agent.errors import IdentityError

MOST_NODES = 10_000
"""Nodes above which the number is taken for a mistake. AWS Batch's limit is 1,000, raised on request."""

_ALWAYS = (BATCH_JOB_ID, BATCH_JOB_ATTEMPT, BATCH_NODE_INDEX, BATCH_MAIN_NODE_INDEX, BATCH_NUM_NODES)
_DIGITS = 10  # that are read of a number: more are far beyond every limit
_SMALLEST = {BATCH_JOB_ATTEMPT: 1, BATCH_NODE_INDEX: 0, BATCH_MAIN_NODE_INDEX: 0, BATCH_NUM_NODES: 1}


class Node(NamedTuple):
    """This node, as AWS Batch tells of it."""

    job: str
    """Job id without a node's suffix."""
    attempt: int
    """From 1."""
    node_index: int
    main_index: int
    nodes: int
    """Number of nodes."""
    main_address: str | None
    """IPv4 address of the main node; None on the main node itself."""

    @property
    def is_main(self) -> bool:
        """Whether this is the main node."""
        return self.node_index == self.main_index


def node_order(count: int, main_index: int) -> list[int]:
    """Give the nodes' indexes by group rank: the main node first, the others in index order."""
    return [main_index, *(index for index in range(count) if index != main_index)]


def identify(environ: Mapping[str, str]) -> Node:
    """Read who this node is.

    Args:
        environ: the node's environment.

    Raises:
        IdentityError: variables are missing, malformed or contradictory; tells of all of them.
    """
    if not any(name in environ for name in _ALWAYS):
        raise IdentityError(
            f"none of aws batch's variables is set ({', '.join(_ALWAYS)}): this is not a node of a "
            "multi-node parallel job; submit the job, or try it with muster local"
        )
    problems = [_missing(name) for name in _ALWAYS if not environ.get(name)]
    numbers = _numbers(environ, problems)
    job, suffix = _split(environ.get(BATCH_JOB_ID, ""))
    problems += _contradictions(numbers, suffix)
    address = _main_address(environ, numbers, problems)
    if problems:
        raise IdentityError(*problems)
    return Node(
        job=job,
        attempt=numbers[BATCH_JOB_ATTEMPT],
        node_index=numbers[BATCH_NODE_INDEX],
        main_index=numbers[BATCH_MAIN_NODE_INDEX],
        nodes=numbers[BATCH_NUM_NODES],
        main_address=address,
    )


def _missing(name: str) -> str:
    if name == BATCH_NODE_INDEX:
        return f"{name} is missing: the job is not a multi-node parallel job"
    return f"{name} is missing: aws batch sets it on every node"


def _numbers(environ: Mapping[str, str], problems: list[str]) -> dict[str, int]:
    numbers = {}
    for name, smallest in _SMALLEST.items():
        text = environ.get(name)
        if not text:
            continue
        number = int(text[:_DIGITS]) if text.isascii() and text.isdigit() else -1
        if number < smallest:
            problems.append(f"{name} must be a whole number of at least {smallest}, got {text!r}")
        elif name == BATCH_NUM_NODES and number > MOST_NODES:
            problems.append(
                f"{name} must be at most {MOST_NODES} (aws batch allows 1000 nodes, and more on request), "
                f"got {text!r}"
            )
        else:
            numbers[name] = number
    return numbers


def _split(job_id: str) -> tuple[str, str]:
    job, _, suffix = job_id.partition(BATCH_ID_SEPARATOR)
    return job, suffix


def _contradictions(numbers: Mapping[str, int], suffix: str) -> list[str]:
    problems = []
    count = numbers.get(BATCH_NUM_NODES)
    for name in (BATCH_NODE_INDEX, BATCH_MAIN_NODE_INDEX):
        index = numbers.get(name)
        if count is not None and index is not None and index >= count:
            problems.append(f"{name} must be below {BATCH_NUM_NODES}, which is {count}, got {index}")
    index = numbers.get(BATCH_NODE_INDEX)
    if suffix and index is not None and suffix != str(index):
        problems.append(f"{BATCH_JOB_ID} ends with #{suffix} but {BATCH_NODE_INDEX} is {index}")
    return problems


def _main_address(environ: Mapping[str, str], numbers: Mapping[str, int], problems: list[str]) -> str | None:
    index, main = numbers.get(BATCH_NODE_INDEX), numbers.get(BATCH_MAIN_NODE_INDEX)
    if index is None or main is None or index == main:
        return None  # aws batch sets none on the main node; if it ever does, it tells nothing new
    address = environ.get(BATCH_MAIN_NODE_ADDRESS, "")
    if not address:
        problems.append(
            f"{BATCH_MAIN_NODE_ADDRESS} is missing: aws batch sets it on every node but the main one"
        )
    elif not is_ipv4(address):
        problems.append(
            f"{BATCH_MAIN_NODE_ADDRESS} must be an ipv4 address, got {address!r}; "
            "networks with ipv6 alone are not supported"
        )
    return address


def is_ipv4(text: str) -> bool:
    """Whether the text is an IPv4 address in its one usual form."""
    try:
        return socket.inet_ntoa(socket.inet_aton(text)) == text
    except (OSError, ValueError):
        return False
