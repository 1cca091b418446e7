"""What Batch does after a failed attempt: ``retryStrategy`` as a pure function.

Source: AWS Batch API reference, ``RetryStrategy`` and ``EvaluateOnExit``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

RETRY = "retry"
EXIT = "exit"


class Outcome(NamedTuple):
    """How an attempt ended: the main node's end."""

    exit_code: int | None
    """None where there is no exit code: the container never ran."""
    reason: str = ""
    """The container's ``reason``."""
    status_reason: str = ""
    """The attempt's ``statusReason``."""


def matches(pattern: str, value: str) -> bool:
    """Tell whether a value matches a pattern: equal to it, or begins with what stands before its ``*``."""
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


def _rule_applies(rule: Mapping[str, Any], outcome: Outcome) -> bool:
    """All conditions of a rule must hold; a rule without conditions never applies."""
    values = {
        "onExitCode": None if outcome.exit_code is None else str(outcome.exit_code),
        "onReason": outcome.reason,
        "onStatusReason": outcome.status_reason,
    }
    conditions = [(str(rule[name]), value) for name, value in values.items() if rule.get(name) is not None]
    return bool(conditions) and all(
        value is not None and matches(pattern, value) for pattern, value in conditions
    )


def action(strategy: Mapping[str, Any], outcome: Outcome) -> str:
    """Return what the rules say of a failed attempt.

    Args:
        strategy: ``retryStrategy`` of the job: ``attempts`` and ``evaluateOnExit``.
        outcome: The end of the attempt.

    Returns:
        :data:`RETRY` or :data:`EXIT`: of the first rule that applies; without one, a retry.
    """
    for rule in strategy.get("evaluateOnExit") or ():
        if _rule_applies(rule, outcome):
            return EXIT if str(rule.get("action", RETRY)).lower() == EXIT else RETRY
    return RETRY


def attempts(strategy: Mapping[str, Any]) -> int:
    """Return the number of attempts that a strategy allows. Default: 1."""
    return int(strategy.get("attempts") or 1)


def runs_again(strategy: Mapping[str, Any], attempt: int, outcome: Outcome) -> bool:
    """Tell whether another attempt follows.

    Args:
        strategy: ``retryStrategy`` of the job.
        attempt: The attempt that has ended, from 1.
        outcome: Its end; exit code 0 is a success and never retried.
    """
    if outcome.exit_code == 0 or attempt >= attempts(strategy):
        return False
    return action(strategy, outcome) == RETRY
