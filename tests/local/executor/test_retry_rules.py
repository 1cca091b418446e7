"""evaluateOnExit, as a table and against an independent model."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster_cli.local.executor.retry import Outcome, action, attempts, matches, runs_again

CATCH_ALL = {"onReason": "*", "action": "exit"}
MUSTER = [
    {"onStatusReason": "Host EC2*", "action": "RETRY"},
    {"onStatusReason": "Task failed to start*", "action": "RETRY"},
    {"onStatusReason": "Timeout waiting for network interface provisioning*", "action": "RETRY"},
    {"onExitCode": "75", "action": "RETRY"},
    {"onReason": "*", "action": "EXIT"},
]


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("75", "75", True),
        ("75", "7", False),
        ("7", "75", False),
        ("7*", "75", True),
        ("*", "", True),
        ("*", "anything", True),
        ("Host EC2*", "Host EC2 (instance i-1) terminated.", True),
        ("Host EC2*", "host ec2", False),
        ("", "", True),
        ("", "x", False),
    ],
)
def test_patterns(pattern, value, expected):
    assert matches(pattern, value) is expected


@pytest.mark.parametrize(
    ("rules", "outcome", "expected"),
    [
        ([], Outcome(1), "retry"),
        ([CATCH_ALL], Outcome(1), "exit"),
        ([CATCH_ALL], Outcome(None, "CannotPullContainerError: no"), "exit"),
        ([{"onExitCode": "1", "action": "RETRY"}, CATCH_ALL], Outcome(1), "retry"),
        ([CATCH_ALL, {"onExitCode": "1", "action": "RETRY"}], Outcome(1), "exit"),
        ([{"onExitCode": "2", "action": "EXIT"}], Outcome(1), "retry"),
        ([{"onExitCode": "*", "action": "EXIT"}], Outcome(None), "retry"),
        ([{"onExitCode": "1*", "action": "EXIT"}], Outcome(137), "exit"),
        (
            [{"onExitCode": "1", "onStatusReason": "Host*", "action": "EXIT"}],
            Outcome(1, "", "Essential"),
            "retry",
        ),
        (
            [{"onExitCode": "1", "onStatusReason": "Ess*", "action": "EXIT"}],
            Outcome(1, "", "Essential"),
            "exit",
        ),
        ([{"onExitCode": "1", "onReason": "OOM*", "action": "exit"}], Outcome(1, "OOM killed"), "exit"),
        ([{"action": "EXIT"}], Outcome(1), "retry"),
        (MUSTER, Outcome(75), "retry"),
        (MUSTER, Outcome(7), "exit"),
        (MUSTER, Outcome(None, "", "Host EC2 (instance i-1) terminated."), "retry"),
        (MUSTER, Outcome(None, "CannotPullContainerError: x", "Task failed to start"), "retry"),
    ],
)
def test_rules(rules, outcome, expected):
    assert action({"attempts": 3, "evaluateOnExit": rules}, outcome) == expected


@pytest.mark.parametrize(
    ("strategy", "attempt", "code", "expected"),
    [
        ({}, 1, 1, False),
        ({"attempts": 1}, 1, 1, False),
        ({"attempts": 2}, 1, 1, True),
        ({"attempts": 2}, 2, 1, False),
        ({"attempts": 2}, 1, 0, False),
        ({"attempts": 2, "evaluateOnExit": [{"onExitCode": "0", "action": "RETRY"}]}, 1, 0, False),
        ({"attempts": 2, "evaluateOnExit": [CATCH_ALL]}, 1, 1, False),
        ({"attempts": None}, 1, 1, False),
    ],
)
def test_attempts(strategy, attempt, code, expected):
    assert runs_again(strategy, attempt, Outcome(code)) is expected


def test_one_attempt_is_the_default():
    assert attempts({}) == 1


_TEXT = st.text("1b.: ", max_size=3)
_RULE = st.fixed_dictionaries(
    {"action": st.sampled_from(["RETRY", "EXIT", "retry", "exit"])},
    optional={
        "onExitCode": st.from_regex(r"[17]{0,2}\*?", fullmatch=True),
        "onReason": st.builds(str.__add__, _TEXT, st.sampled_from(["", "*"])),
        "onStatusReason": st.builds(str.__add__, _TEXT, st.sampled_from(["", "*"])),
    },
)


def _model(rules, code, reason, status):
    """Another way to say it: prefixes, and a rule per line."""
    for rule in rules:
        verdicts = []
        for name, value in (("onExitCode", code), ("onReason", reason), ("onStatusReason", status)):
            if name in rule:
                head, star, _ = rule[name].partition("*")
                text = None if value is None else str(value)
                verdicts.append(text is not None and (text[: len(head)] == head if star else text == head))
        if verdicts and min(verdicts):
            return rule["action"].lower()
    return "retry"


@settings(
    max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(st.lists(_RULE, max_size=5), st.one_of(st.none(), st.sampled_from([1, 7, 17, 71])), _TEXT, _TEXT)
def test_rules_against_a_model(rules, code, reason, status):
    expected = _model(rules, code, reason, status)
    assert action({"attempts": 2, "evaluateOnExit": rules}, Outcome(code, reason, status)) == expected
