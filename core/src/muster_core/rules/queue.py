"""Whether a queue can be made, and lets nothing wait that can never start.

Source: ``CreateJobQueue``, ``JobStateTimeLimitAction``, ``FairsharePolicy`` and ``ShareAttributes``
of the Batch API.
"""

from __future__ import annotations

import re
from typing import List, Mapping, Optional, Sequence

from muster_core.rules.problem import Number, Problem, Rules, is_token_text, is_whole, known

MAX_PRIORITY = 1000
MAX_ENVIRONMENTS = 3
MIN_LIMIT, MAX_LIMIT = 600, 86400
"""Seconds that a job at the head of a queue may be RUNNABLE before an action."""
MIN_MISCONFIGURED = 3600
"""An hour: AWS Batch may give the resource reason while a host still boots."""
MIN_WEIGHT, MAX_WEIGHT = 0.0001, 999.9999
MAX_DECAY = 604800
MAX_RESERVATION = 99
SPOT, FARGATE, UNMANAGED = "Spot", "Fargate", "unmanaged"

_SHARE = re.compile(r"[A-Za-z0-9]{1,255}")
_SHARES = re.compile(r"[A-Za-z0-9]{1,255}\*?")

RULES: Rules = {
    "queue.priority": f"a queue's priority is a whole number from 0 to {MAX_PRIORITY}",
    "queue.environments": f"a queue has from 1 to {MAX_ENVIRONMENTS} environments, each once",
    "queue.environment_kind": "multi-node jobs run in managed environments of instances on demand",
    "queue.architecture": "the environments of a queue have hosts of one architecture",
    "queue.misconfiguration_limit": (
        f"a job that can never start is given from {MIN_MISCONFIGURED} to {MAX_LIMIT} s"
    ),
    "queue.capacity_limit": f"a job that waits for capacity is given from {MIN_LIMIT} to {MAX_LIMIT} s",
    "queue.capacity_limit_block": "no job is cancelled while it waits for a Capacity Block to begin",
    "queue.unsupported_limit": (
        f"a job whose hosts EC2 cannot start so is given from {MIN_MISCONFIGURED} to {MAX_LIMIT} s"
    ),
    "queue.share_weight": f"a weight of a fair share is from {MIN_WEIGHT} to {MAX_WEIGHT}",
    "queue.share_name": "a share identifier has letters and digits, in a weight with an asterisk after them if need be",
    "queue.share_overlap": "a share identifier has one weight",
    "queue.share_decay": f"the decay of a fair share is from 0 to {MAX_DECAY} s",
    "queue.share_reservation": f"the reservation of a fair share is from 0 to {MAX_RESERVATION} per cent",
    "queue.share_identifier": "a job names its share where the queue has a fair share, and only there",
}


def priority(value: Optional[Number]) -> List[Problem]:
    """The queue's priority is a whole number from 0 to 1000."""
    return _within("queue.priority", "priority", value, 0, MAX_PRIORITY, "change it")


def environments(names: Sequence[str]) -> List[Problem]:
    """The environments behind a queue: from one to three, none of them twice.

    Args:
        names: What each is known by.
    """
    if len(names) > MAX_ENVIRONMENTS:
        return [Problem("queue.environments", _too_many(len(names)))]
    twice = sorted({name for name in names if names.count(name) > 1})
    return [Problem("queue.environments", _environment_twice(name)) for name in twice]


def environment_kind(kind: Optional[str]) -> List[Problem]:
    """A multi-node job runs on instances on demand of a managed environment.

    Args:
        kind: What the environment is: ``Spot``, ``Fargate`` or ``unmanaged``; None for a right one, or
            where that is not known.
    """
    if kind is None:
        return []
    return [
        Problem(
            "queue.environment_kind",
            f"compute_environment is {kind}, and no multi-node job ever starts there; "
            "use a GpuComputeEnvironment, or another managed one of instances on demand",
        )
    ]


def architectures(of: Mapping[str, str]) -> List[Problem]:
    """The hosts of all environments of a queue are of one architecture.

    Args:
        of: Instance type -> architecture, in the order of the environments.
    """
    others = [name for name, each in of.items() if each != next(iter(of.values()))]
    return [Problem("queue.architecture", _other_architecture(name, of)) for name in others]


def misconfiguration_limit(seconds: Optional[Number]) -> List[Problem]:
    """How long a job that can never start may wait; None for ever."""
    return _limit("queue.misconfiguration_limit", "misconfiguration_limit", seconds)


def unsupported_limit(seconds: Optional[Number]) -> List[Problem]:
    """How long a job may wait whose hosts EC2 cannot start as configured; None for ever."""
    return _limit("queue.unsupported_limit", "unsupported_limit", seconds)


def capacity_limit(seconds: Optional[Number], *, block: bool = False) -> List[Problem]:
    """How long a job may wait for capacity; None for ever.

    Args:
        seconds: The limit.
        block: Whether the environment's capacity is a Capacity Block. Default: False.
    """
    if seconds is not None and block:
        return [Problem("queue.capacity_limit_block", _limit_with_block(seconds))]
    remedy = "a wait for capacity is legitimate; change it, or leave it out"
    return _within("queue.capacity_limit", "capacity_limit", seconds, MIN_LIMIT, MAX_LIMIT, remedy, " s")


def fair_share(
    weights: Mapping[str, Number], decay_seconds: Optional[Number], reservation: Optional[Number]
) -> List[Problem]:
    """A fair-share policy.

    Args:
        weights: Share identifier, or the beginning of some with an asterisk -> weight.
        decay_seconds: Time over which use is remembered; None for Batch's default.
        reservation: Per cent that is kept for shares that are not in use; None for none.
    """
    found = [problem for name, weight in weights.items() for problem in _share(name, weight)]
    found += [Problem("queue.share_overlap", _overlap(*pair)) for pair in _overlaps(list(weights))]
    found += _within("queue.share_decay", "decay", decay_seconds, 0, MAX_DECAY, "change it", " s")
    return found + _within(
        "queue.share_reservation", "reservation", reservation, 0, MAX_RESERVATION, "change it"
    )


def share_identifier(
    value: Optional[str], *, fair_share: bool, argument: str = "share_identifier"
) -> List[Problem]:
    """What a submission says of its share: a queue with a fair share needs it, a first-in-first-out one refuses it.

    Args:
        value: The share identifier; None for none.
        fair_share: Whether the queue has a fair-share policy.
        argument: What the person wrote it in. Default: ``share_identifier``.
    """
    if is_token_text(value) or (value is None and not fair_share):
        return []
    if value is None:
        said = (
            f"{argument} is not set, and the queue has a fair share; AWS Batch refuses a job without; set it"
        )
    elif not fair_share:
        said = f"{argument} is set, got {value!r}, and the queue is first in, first out; AWS Batch refuses it; remove it"
    elif _SHARE.fullmatch(value):
        return []
    else:
        said = f"{argument} must have 1 to 255 letters and digits, got {value!r}; change it"
    return [Problem("queue.share_identifier", said)]


def _limit(rule: str, argument: str, seconds: Optional[Number]) -> List[Problem]:
    remedy = "the reason may be given while a host still boots; change it"
    return _within(rule, argument, seconds, MIN_MISCONFIGURED, MAX_LIMIT, remedy, " s")


def _within(  # noqa: PLR0917  a sentence's parts in its order
    rule: str, argument: str, value: Optional[Number], low: int, high: int, remedy: str, unit: str = ""
) -> List[Problem]:
    number = known(value)
    if number is None or (is_whole(number) and low <= number <= high):
        return []
    given = int(number) if is_whole(number) else number
    return [
        Problem(
            rule,
            f"{argument} must be a whole number from {low} to {high}{unit}, got {given!r}{unit}; {remedy}",
        )
    ]


def _share(name: str, weight: Number) -> List[Problem]:
    found = []
    if not is_token_text(name) and not _SHARES.fullmatch(name):
        found.append(Problem("queue.share_name", _no_share(name)))
    number = known(weight)
    if number is not None and not MIN_WEIGHT <= number <= MAX_WEIGHT:
        found.append(Problem("queue.share_weight", _no_weight(name, weight)))
    return found


def _overlaps(names: List[str]) -> List[List[str]]:
    """Pairs of a beginning and what it covers already."""
    return [
        [first, second]
        for first in names
        for second in names
        if first != second and first.endswith("*") and second.startswith(first[:-1])
    ]


def _too_many(count: int) -> str:
    return (
        f"more_environments makes too many environments of one queue, got {count}; AWS Batch takes {MAX_ENVIRONMENTS}; "
        "make another queue"
    )


def _environment_twice(name: str) -> str:
    return f"more_environments names an environment again, got {name!r}; a queue has each once; remove it"


def _other_architecture(name: str, of: Mapping[str, str]) -> str:
    first = next(iter(of))
    return (
        f"more_environments has hosts of another architecture, got {name!r} with {of[name]} beside {first!r} with "
        f"{of[first]}; AWS Batch refuses both in one queue; make another queue"
    )


def _limit_with_block(seconds: Number) -> str:
    return (
        f"capacity_limit is set beside a Capacity Block, got {seconds!r} s; a job that waits for the block to begin would "
        "be cancelled; leave capacity_limit out"
    )


def _no_share(name: str) -> str:
    return (
        f"weights has no share identifier, got {name!r}; allowed are 1 to 255 letters and digits, and an asterisk after "
        "them for all that begin so; rename it"
    )


def _no_weight(name: str, weight: Number) -> str:
    return f"weights[{name!r}] must be from {MIN_WEIGHT} to {MAX_WEIGHT}, got {weight!r}; a lower weight gets more; change it"


def _overlap(first: str, second: str) -> str:
    return (
        f"weights has a share identifier that another covers, got {second!r} beside {first!r}; AWS Batch takes one weight "
        "for each; remove one of the two"
    )
