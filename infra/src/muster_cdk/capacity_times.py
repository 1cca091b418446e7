"""What the clock says of a Capacity Block: warnings of the queue and of the jobs."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import aws_cdk as cdk

if TYPE_CHECKING:
    from constructs import Construct

    from muster_cdk.capacity import Capacity


def warn_of_times(
    scope: Construct, capacity: Capacity, limits: list[float], now: dt.datetime | None = None
) -> None:
    """Say what the clock says of a block. No errors: a stack must be destroyed after its block, too.

    Args:
        scope: Construct that the warnings are of.
        capacity: Where the instances come from.
        limits: Seconds after which the queue cancels jobs that wait.
        now: The time. Default: - the clock's.
    """
    now = now or dt.datetime.now(dt.timezone.utc)
    ending = capacity.ending
    if ending is not None and ending <= now.timestamp():
        _warn_ended(scope, capacity)
    elif capacity.start is not None:
        wait = (capacity.start - now).total_seconds()
        shorter = [limit for limit in limits if limit < wait]
        if shorter:
            _warn_wait(scope, capacity, min(shorter))


def warn_of_remainder(
    scope: Construct, capacity: Capacity, timeout: cdk.Duration, now: dt.datetime | None = None
) -> None:
    """Say that a job's timeout is longer than what is left of a block that has begun, or whose start is not known.

    Args:
        scope: The job.
        capacity: Where the instances come from.
        timeout: The job's timeout. A token is left alone.
        now: The time. Default: - the clock's.
    """
    now = now or dt.datetime.now(dt.timezone.utc)
    begun = capacity.start is None or capacity.start <= now
    if capacity.ending is None or not begun or timeout.is_unresolved():
        return
    left = capacity.ending - now.timestamp()
    if 0 < left < timeout.to_seconds():
        _warn_remainder(scope, capacity, left)


def _warn_ended(scope: Construct, capacity: Capacity) -> None:
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:blockEnded",
        f"the Capacity Block {capacity.reservation_id} has ended or is about to, by its end {capacity.end}; no job "
        "starts in it; name the next block, or use Capacity.on_demand()",
    )


def _warn_remainder(scope: Construct, capacity: Capacity, left: float) -> None:
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:blockRemainder",
        f"timeout is longer than what is left of the Capacity Block {capacity.reservation_id}, which ends at "
        f"{capacity.end}; a job that is submitted now has {left:.0f} s until EC2 ends its hosts; lower timeout, or save "
        "checkpoints",
    )


def _warn_wait(scope: Construct, capacity: Capacity, limit: float) -> None:
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:blockWait",
        f"the Capacity Block {capacity.reservation_id} starts at {capacity.start}, and the queue may cancel a job that "
        f"has waited {limit:.0f} s at its head; submit after the start, or set misconfiguration_limit=None",
    )
