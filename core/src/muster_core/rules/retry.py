"""How attempts end: timeout, number of attempts, and the rules that tell a retry from an end.

Source: ``RetryStrategy``, ``EvaluateOnExit`` and ``JobTimeout`` of the Batch API.
"""

from __future__ import annotations

import re
from typing import List, Mapping, Optional, Sequence

from muster_core.rules.problem import Number, Problem, Rules, is_token_text, is_whole, known

MIN_TIMEOUT = 60
"""Least timeout of an attempt in seconds."""
MAX_TIMEOUT = 2**31 - 1
"""Most seconds: the field is an ``Integer`` of 32 bits."""
MAX_ATTEMPTS = 10
MAX_RULES = 5
PATTERN_LIMIT = 512
CONDITIONS = ("onStatusReason", "onReason", "onExitCode")
ACTIONS = ("RETRY", "EXIT")

_TEXT = re.compile(r"[A-Za-z0-9.:\s]*\*?")
_CODE = re.compile(r"[0-9]*\*?")

RULES: Rules = {
    "retry.timeout": f"the timeout of an attempt is from {MIN_TIMEOUT} to {MAX_TIMEOUT} s",
    "retry.attempts": f"a job has between 1 and {MAX_ATTEMPTS} attempts",
    "retry.count": f"a job has at most {MAX_RULES} retry rules",
    "retry.condition": "a retry rule has a condition and an action that AWS Batch knows",
    "retry.pattern": "a pattern of a retry rule has the characters that AWS Batch takes",
}


def timeout(seconds: Optional[Number]) -> List[Problem]:
    """The timeout of an attempt in seconds is at least 60 and fits the API's field; None is no timeout."""
    number = known(seconds)
    if number is None or MIN_TIMEOUT <= number <= MAX_TIMEOUT:
        return []
    if number > MAX_TIMEOUT:
        text = f"timeout must be at most {MAX_TIMEOUT} s, got {seconds!r} s; AWS Batch takes no longer one; give less"
        return [Problem("retry.timeout", text)]
    return [
        Problem(
            "retry.timeout",
            f"timeout must be at least {MIN_TIMEOUT} s, got {seconds!r} s; give a longer timeout",
        )
    ]


def attempts(value: Optional[Number]) -> List[Problem]:
    """The number of attempts is from 1 to 10."""
    number = known(value)
    if number is None or (is_whole(number) and 1 <= number <= MAX_ATTEMPTS):
        return []
    return [
        Problem(
            "retry.attempts",
            f"retry_attempts must be a whole number from 1 to {MAX_ATTEMPTS}, got {value!r}; 1 means that nothing is tried again",
        )
    ]


def rules(evaluate_on_exit: Sequence[Mapping[str, str]]) -> List[Problem]:
    """Retry rules, each in Batch's form: ``{"onExitCode": "75", "action": "RETRY"}``."""
    found = []
    if len(evaluate_on_exit) > MAX_RULES:
        found.append(Problem("retry.count", _too_many(len(evaluate_on_exit))))
    for index, rule in enumerate(evaluate_on_exit):
        found += _rule(f"retry rule {index + 1}", rule)
    return found


def _rule(where: str, rule: Mapping[str, str]) -> List[Problem]:
    conditions = [key for key in rule if key != "action"]
    found = [
        Problem("retry.condition", _condition(where, key)) for key in conditions if key not in CONDITIONS
    ]
    if not conditions:
        found.append(Problem("retry.condition", _no_condition(where)))
    if str(rule.get("action", "")).upper() not in ACTIONS:
        found.append(Problem("retry.condition", _action(where, rule.get("action"))))
    return found + [
        problem for key in conditions if key in CONDITIONS for problem in _pattern(where, key, rule[key])
    ]


def _pattern(where: str, key: str, pattern: str) -> List[Problem]:
    shape, allowed = (
        (_CODE, "digits") if key == "onExitCode" else (_TEXT, "letters, digits, '.', ':' and spaces")
    )
    if is_token_text(pattern) or (shape.fullmatch(pattern) and 1 <= len(pattern) <= PATTERN_LIMIT):
        return []
    return [
        Problem(
            "retry.pattern",
            f"{where} has a pattern that AWS Batch refuses, {key} got {pattern!r}; allowed are 1 to {PATTERN_LIMIT} "
            f"{allowed}, and '*' at the end only; change the pattern",
        )
    ]


def _too_many(count: int) -> str:
    return f"retry rules are too many, got {count}; AWS Batch takes {MAX_RULES}; remove {count - MAX_RULES}"


def _condition(where: str, key: str) -> str:
    return f"{where} has an unknown condition, got {key!r}; allowed: {', '.join(CONDITIONS)}; change the condition"


def _no_condition(where: str) -> str:
    return f"{where} has no condition; give one of {', '.join(CONDITIONS)}"


def _action(where: str, action: object) -> str:
    return f"{where} has an unknown action, got {action!r}; allowed: {', '.join(ACTIONS)}; change the action"
