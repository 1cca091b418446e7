"""The verdict: found in the main node's log, and told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli_fakes import JOB_ID, child, parent

from muster_cli import verdict
from muster_cli.job_view import Job, Node, job_of, node_of
from muster_cli.log_merge import Line
from muster_core.contract import VERDICT_MARKER, Verdict

pytestmark = pytest.mark.unit


def make(**more: Any) -> Verdict:
    whole: Verdict = {
        "contract": 1,
        "job": JOB_ID,
        "attempt": 1,
        "outcome": "succeeded",
        "code": 0,
        "first_failure": None,
        "phases": {"identity": 0.1, "supervise": 3.0},
        "nodes": [
            {"index": index, "address": f"10.0.0.{index}", "host": f"h{index}", "code": 0}
            for index in range(2)
        ],
        "launcher": "torch",
        "world_size": 2,
        "simulated": False,
    }
    return {**whole, **more}  # type: ignore[typeddict-item]


def _line(value: Any, node: int = 0) -> Line:
    return Line(1, node, VERDICT_MARKER + json.dumps(value))


def _ended(status: str = "FAILED", code: int | None = 7, **more: Any) -> tuple[Job, Node]:
    job = job_of(parent(status, **more))
    return job, node_of(job, 0, child(0, status, code))


def _attempts(*codes: int | None) -> list[dict[str, Any]]:
    return [{"container": {} if code is None else {"exitCode": code}} for code in codes]


def test_the_last_verdict_of_the_main_node_is_found() -> None:
    lines = [
        _line(make(code=7, outcome="failed", world_size=1)),
        Line(1, 0, "noise"),
        _line(make(code=7, outcome="failed", world_size=2)),
        _line(make(code=7, outcome="failed", world_size=3), node=1),
    ]
    found = verdict.find(lines, *_ended())
    assert found is not None
    assert found["world_size"] == 2


def test_a_verdict_that_batch_does_not_bear_out_hides_no_other() -> None:
    lines = [_line(make(code=7, outcome="failed")), _line(make()), _line(make(job="x"))]
    found = verdict.find(lines, *_ended())
    assert found is not None
    assert found["code"] == 7
    assert verdict.find(lines, *_ended(code=137)) is None


def test_the_verdict_of_an_attempt_before_the_last_is_not_the_jobs() -> None:
    first = make(code=75, outcome="failed")
    job, main = _ended(code=137, attempts=_attempts(75, 137))
    assert verdict.agrees(first, job, main)
    assert not verdict.is_last(first, job)
    assert verdict.find([_line(first)], job, main) is None


@pytest.mark.parametrize(
    ("more", "end", "borne_out"),
    [
        ({}, _ended("SUCCEEDED", 0), True),
        ({}, _ended("SUCCEEDED", None), True),
        ({}, _ended("FAILED", 0), False),
        ({}, _ended("FAILED", 137), False),
        ({}, _ended("FAILED", None), False),
        ({}, _ended("RUNNING", None), False),
        ({"job": "x"}, _ended("SUCCEEDED", 0), False),
        ({"job": f"{JOB_ID}#0"}, _ended("SUCCEEDED", 0), False),
        ({"code": 7}, _ended("FAILED", 7), False),
        ({"outcome": "failed"}, _ended("SUCCEEDED", 0), False),
        ({"outcome": "failed", "code": 7}, _ended("FAILED", 7), True),
        ({"outcome": "failed", "code": 7}, _ended("FAILED", None), True),
        ({"outcome": "failed", "code": 7}, _ended("FAILED", 137), False),
        ({"outcome": "failed", "code": 7}, _ended("FAILED", 0), False),
        ({"outcome": "failed", "code": 7}, _ended("SUCCEEDED", 0), False),
        ({"outcome": "failed", "code": 7}, _ended("FAILED", None, attempts=_attempts(7)), True),
        ({"outcome": "failed", "code": 7}, _ended("FAILED", 7, attempts=_attempts(137)), False),
        ({"outcome": "terminated", "code": 143}, _ended("FAILED", 143), True),
        ({"attempt": 2}, _ended("SUCCEEDED", 0, attempts=_attempts(75, 0)), True),
        ({"attempt": 3}, _ended("SUCCEEDED", 0, attempts=_attempts(75, 0)), False),
        ({}, _ended("SUCCEEDED", 0, attempts=_attempts(75, 0)), False),
        ({"outcome": "failed", "code": 75}, _ended("RUNNING", None, attempts=_attempts(75)), True),
        ({"outcome": "failed", "code": 75}, _ended("RUNNING", None, attempts=_attempts(None)), True),
        ({"outcome": "failed", "code": 7}, _ended("RUNNING", None, attempts=_attempts(75)), False),
        ({"attempt": 2}, _ended("RUNNING", None, attempts=_attempts(75)), False),
    ],
)
def test_batch_bears_a_verdict_out(more: dict[str, Any], end: tuple[Job, Node], borne_out: bool) -> None:
    assert verdict.agrees(make(**more), *end) is borne_out


@pytest.mark.parametrize(
    "text",
    [
        "epoch 1",
        f" {VERDICT_MARKER}{{}}",
        VERDICT_MARKER,
        f'{VERDICT_MARKER}{{"contract": 1, "jo',
        f"{VERDICT_MARKER}[]",
        f"{VERDICT_MARKER}{{}}",
        f"{VERDICT_MARKER}{'[' * 100_000}",
        f"{VERDICT_MARKER}{'9' * 5000}",
        _line(make(nodes=2)).text,
    ],
)
def test_what_is_no_whole_verdict_is_none(text: str) -> None:
    assert verdict.parse(text) is None
    assert verdict.find([Line(1, 0, text)], *_ended("SUCCEEDED", 0)) is None


def test_success_is_one_line() -> None:
    assert verdict.render(make()) == ["verdict: succeeded (2 nodes, 2 ranks, launcher torch)"]


def test_the_local_cloud_and_a_later_attempt_are_told() -> None:
    assert verdict.render(make(simulated=True, attempt=2)) == [
        "verdict: succeeded (2 nodes, 2 ranks, launcher torch in the local cloud, attempt 2)"
    ]


def test_failure_names_the_first_node_rank_and_its_last_lines() -> None:
    failure = {
        "node": 1,
        "rank": 3,
        "host": "ip-10-0-0-5",
        "code": 7,
        "reason": "rank 3 exited with code 7",
        "lines": ["Traceback", "ValueError: bad"],
    }
    assert verdict.render(make(outcome="failed", code=7, first_failure=failure, world_size=1)) == [
        "verdict: failed with exit code 7 (2 nodes, 1 rank, launcher torch)",
        "first failure: rank 3 exited with code 7 (node 1, rank 3, host ip-10-0-0-5, exit code 7)",
        "its last lines:",
        "  | Traceback",
        "  | ValueError: bad",
    ]


def test_a_failure_of_no_single_node() -> None:
    failure = {
        "node": None,
        "rank": None,
        "host": "",
        "code": 75,
        "reason": "nodes [1] of 2 did not come within 600 s",
        "lines": [],
    }
    assert verdict.render(make(outcome="failed", code=75, first_failure=failure))[1:] == [
        "first failure: nodes [1] of 2 did not come within 600 s (exit code 75)"
    ]


def test_half_a_character_is_told_as_a_question_mark() -> None:
    found = verdict.parse(VERDICT_MARKER + json.dumps(make(launcher="\ud800")))
    assert found is not None
    assert verdict.render(found) == ["verdict: succeeded (2 nodes, 2 ranks, launcher ?)"]


def test_an_ended_job_is_told_as_such() -> None:
    failure = {
        "node": 0,
        "rank": None,
        "host": "ip-10-0-0-4",
        "code": 143,
        "reason": "node 0 was asked to end by SIGTERM",
        "lines": [],
    }
    assert verdict.render(make(outcome="terminated", code=143, first_failure=failure)) == [
        "verdict: terminated with exit code 143 (2 nodes, 2 ranks, launcher torch)",
        "stopped: node 0 was asked to end by SIGTERM",
    ]
