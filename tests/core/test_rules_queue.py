"""Rules about a queue, as tables: what is given -> the exact sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_core.rules import Problem, queue

TOKEN_NUMBER = -1.8881545897087827e289
TOKEN_TEXT = "${Token[TOKEN.42]}"


@pytest.mark.parametrize("value", [None, 0, 1, 1000, 5.0, TOKEN_NUMBER])
def test_priorities(value: float | None) -> None:
    assert queue.priority(value) == []


@pytest.mark.parametrize("value", [-1, 1001, 0.5])
def test_priorities_that_batch_refuses(value: float) -> None:
    assert queue.priority(value) == [
        Problem("queue.priority", f"priority must be a whole number from 0 to 1000, got {value!r}; change it")
    ]


def test_up_to_three_environments_each_once() -> None:
    assert queue.environments(["a", "b", "c"]) == []
    assert queue.environments(["a", "b", "a"]) == [
        Problem(
            "queue.environments",
            "more_environments names an environment again, got 'a'; a queue has each once; remove it",
        )
    ]
    assert queue.environments(["a", "b", "c", "d"]) == [
        Problem(
            "queue.environments",
            "more_environments makes too many environments of one queue, got 4; AWS Batch takes 3; make another queue",
        )
    ]


@pytest.mark.parametrize("kind", [queue.SPOT, queue.FARGATE, queue.UNMANAGED])
def test_environments_where_no_multi_node_job_starts(kind: str) -> None:
    assert queue.environment_kind(None) == []
    assert queue.environment_kind(kind) == [
        Problem(
            "queue.environment_kind",
            f"compute_environment is {kind}, and no multi-node job ever starts there; use a GpuComputeEnvironment, or "
            "another managed one of instances on demand",
        )
    ]


def test_one_architecture_behind_a_queue() -> None:
    assert queue.architectures({}) == []
    assert queue.architectures({"p5.48xlarge": "x86_64", "p4d.24xlarge": "x86_64"}) == []
    assert queue.architectures({"p5.48xlarge": "x86_64", "g5g.16xlarge": "arm64"}) == [
        Problem(
            "queue.architecture",
            "more_environments has hosts of another architecture, got 'g5g.16xlarge' with arm64 beside 'p5.48xlarge' with "
            "x86_64; AWS Batch refuses both in one queue; make another queue",
        )
    ]


@pytest.mark.parametrize("seconds", [None, 3600, 86400, TOKEN_NUMBER])
def test_limits(seconds: float | None) -> None:
    assert queue.misconfiguration_limit(seconds) == queue.unsupported_limit(seconds) == []


@pytest.mark.parametrize("seconds", [3599, 600, 86401])
def test_limits_that_are_none(seconds: int) -> None:
    for name in ("misconfiguration_limit", "unsupported_limit"):
        assert getattr(queue, name)(seconds) == [
            Problem(
                f"queue.{name}",
                f"{name} must be a whole number from 3600 to 86400 s, got {seconds} s; the reason may be given while a host "
                "still boots; change it",
            )
        ]


@pytest.mark.parametrize("seconds", [None, 600, 86400, TOKEN_NUMBER])
def test_limits_of_a_wait_for_capacity(seconds: float | None) -> None:
    assert queue.capacity_limit(seconds) == []


@pytest.mark.parametrize(("seconds", "said"), [(599, "599"), (86401, "86401"), (600.5, "600.5")])
def test_limits_of_a_wait_for_capacity_that_are_none(seconds: float, said: str) -> None:
    assert queue.capacity_limit(seconds) == [
        Problem(
            "queue.capacity_limit",
            f"capacity_limit must be a whole number from 600 to 86400 s, got {said} s; a wait for capacity is "
            "legitimate; change it, or leave it out",
        )
    ]


def test_nobody_is_cancelled_before_a_capacity_block_begins() -> None:
    assert queue.capacity_limit(None, block=True) == []
    assert queue.capacity_limit(7200, block=True) == [
        Problem(
            "queue.capacity_limit_block",
            "capacity_limit is set beside a Capacity Block, got 7200 s; a job that waits for the block to begin would be "
            "cancelled; leave capacity_limit out",
        )
    ]


def test_fair_shares() -> None:
    assert queue.fair_share({}, None, None) == []
    assert queue.fair_share({"a": 0.0001, "b*": 999.9999, TOKEN_TEXT: TOKEN_NUMBER}, 604800, 99) == []
    assert queue.fair_share({}, 0, 0) == []


@pytest.mark.parametrize(
    ("weights", "decay", "reservation", "rule", "message"),
    [
        (
            {"a": 0},
            None,
            None,
            "queue.share_weight",
            "weights['a'] must be from 0.0001 to 999.9999, got 0; a lower weight gets more; change it",
        ),
        (
            {"team-a": 1},
            None,
            None,
            "queue.share_name",
            (
                "weights has no share identifier, got 'team-a'; allowed are 1 to 255 letters and digits, and an asterisk "
                "after them for all that begin so; rename it"
            ),
        ),
        (
            {"team*": 1, "teamA": 1},
            None,
            None,
            "queue.share_overlap",
            (
                "weights has a share identifier that another covers, got 'teamA' beside 'team*'; AWS Batch takes one "
                "weight for each; remove one of the two"
            ),
        ),
        (
            {},
            604801,
            None,
            "queue.share_decay",
            "decay must be a whole number from 0 to 604800 s, got 604801 s; change it",
        ),
        (
            {},
            None,
            100,
            "queue.share_reservation",
            "reservation must be a whole number from 0 to 99, got 100; change it",
        ),
    ],
)
def test_fair_shares_that_batch_refuses(
    weights: dict[str, float], decay: int | None, reservation: int | None, rule: str, message: str
) -> None:
    assert queue.fair_share(weights, decay, reservation) == [Problem(rule, message)]


@pytest.mark.parametrize(
    ("value", "fair_share"), [(None, False), ("teamA", True), (TOKEN_TEXT, True), (TOKEN_TEXT, False)]
)
def test_submissions_that_say_their_share(value: str | None, *, fair_share: bool) -> None:
    assert queue.share_identifier(value, fair_share=fair_share) == []


@pytest.mark.parametrize(
    ("value", "fair_share", "message"),
    [
        (
            None,
            True,
            "--share is not set, and the queue has a fair share; AWS Batch refuses a job without; set it",
        ),
        (
            "teamA",
            False,
            "--share is set, got 'teamA', and the queue is first in, first out; AWS Batch refuses it; remove it",
        ),
        ("team-a", True, "--share must have 1 to 255 letters and digits, got 'team-a'; change it"),
        ("team*", True, "--share must have 1 to 255 letters and digits, got 'team*'; change it"),
    ],
)
def test_submissions_that_do_not(value: str | None, fair_share: bool, message: str) -> None:
    assert queue.share_identifier(value, fair_share=fair_share, argument="--share") == [
        Problem("queue.share_identifier", message)
    ]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats() | st.integers())
def test_no_number_breaks_a_rule(number: float) -> None:
    right = number == int(number) if abs(number) < 1e9 else False
    assert (queue.priority(number) == []) == (right and 0 <= number <= 1000)
    assert (queue.capacity_limit(number) == []) == (right and 600 <= number <= 86400)
    assert (queue.fair_share({"a": number}, None, None) == []) == (0.0001 <= number <= 999.9999)
