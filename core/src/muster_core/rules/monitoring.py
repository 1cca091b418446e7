"""Monitoring: when an alarm speaks."""

from __future__ import annotations

from typing import List, Optional

from muster_core.rules.problem import Number, Problem, Rules, known

PERIOD_SECONDS = 300
"""Time between two looks at a cluster."""
MAX_SECONDS = 86400
"""CloudWatch's limit on what an alarm looks back on, with periods below an hour."""

RULES: Rules = {
    "monitoring.idle_after": "idle hosts are told of after 5 minutes to 24 hours, a whole number of 5 minutes",
    "monitoring.runnable_after": "a job that waits is told of after 5 minutes to 24 hours",
    "monitoring.job": "a job that is watched runs on the cluster that is watched",
}


def idle_after(seconds: Optional[Number]) -> List[Problem]:
    """The time after which idle hosts are told of.

    Args:
        seconds: The time; None or a token is not judged.
    """
    value = known(seconds)
    if value is None or (PERIOD_SECONDS <= value <= MAX_SECONDS and value % PERIOD_SECONDS == 0):
        return []
    return [
        Problem(
            "monitoring.idle_after",
            f"idle_after must be 5 minutes to 24 hours in whole steps of 5 minutes, got {value:g} s; "
            "hosts are counted every 5 minutes; round it, such as '30m'",
        )
    ]


def runnable_after(seconds: Optional[Number]) -> List[Problem]:
    """The time after which a waiting job is told of.

    Args:
        seconds: The time; None or a token is not judged.
    """
    value = known(seconds)
    if value is None or PERIOD_SECONDS <= value <= MAX_SECONDS:
        return []
    return [
        Problem(
            "monitoring.runnable_after",
            f"runnable_after must be 5 minutes to 24 hours, got {value:g} s; "
            "jobs are looked at every 5 minutes; change it",
        )
    ]


def job(path: str, theirs: str, watched: str) -> List[Problem]:
    """A job among those that are watched.

    Args:
        path: Construct path of the job.
        theirs: Construct path of its cluster.
        watched: Construct path of the cluster that is watched.
    """
    if theirs == watched:
        return []
    return [
        Problem(
            "monitoring.job",
            f"jobs has one that runs elsewhere, got {path!r} on {theirs!r}; "
            f"allowed are jobs of {watched!r}; give it to the monitoring of its own cluster",
        )
    ]
