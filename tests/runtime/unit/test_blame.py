"""The first failure wins, symptoms never do."""

import pytest

from muster_core.contract import Failure
from muster_runtime.agent.blame import Blame, is_symptom


def failure(node, code, *lines, rank=0):
    return Failure(node=node, rank=rank, host="h", code=code, reason="r", lines=list(lines))


def test_the_first_reported_wins():
    blame = Blame()
    blame.add(failure(1, 7, "ValueError: x"))
    blame.add(failure(0, 3, "ValueError: y"))
    assert blame.first == failure(1, 7, "ValueError: x")
    assert not blame.waits


def test_a_symptom_waits_and_the_cause_wins():
    blame = Blame()
    blame.add(failure(0, 1, "RuntimeError: [..] Connection closed by peer [10.0.0.2]:1"))
    assert blame.first is None
    assert blame.waits
    blame.add(failure(1, 7, "ValueError: x"))
    blame.settle()
    assert blame.first == failure(1, 7, "ValueError: x")


def test_the_first_symptom_wins_where_no_cause_comes():
    blame = Blame()
    blame.add(failure(0, 1, "Broken pipe"))
    blame.add(failure(2, 4, "Connection reset by peer"))
    blame.settle()
    assert blame.first == failure(0, 1, "Broken pipe")


def test_nothing_settles_to_nothing():
    blame = Blame()
    blame.settle()
    assert blame.first is None
    assert not blame.waits


@pytest.mark.parametrize(
    ("candidate", "answer"),
    [
        (
            failure(
                0, 1, "NCCL WARN ... ncclRemoteError: remote process exited or there was a network error"
            ),
            True,
        ),
        (failure(0, 1, "ConnectionResetError: [Errno 104]"), True),
        (failure(0, 75, "the connection was closed by peer: Connection reset by peer", rank=None), False),
        (failure(0, 1, "Connection reset by peer", *["later line"] * 20), False),
        (failure(0, 137), False),
    ],
)
def test_symptoms(candidate, answer):
    assert is_symptom(candidate) is answer
