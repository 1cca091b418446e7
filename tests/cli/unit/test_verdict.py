"""The verdict: found in the main node's log, and told."""

import json
from typing import Any

import pytest

from muster_cli import verdict
from muster_cli.log_merge import Line
from muster_core.contract import VERDICT_MARKER, Verdict

pytestmark = pytest.mark.unit


def make(**more: Any) -> Verdict:
    whole: Verdict = {
        "contract": 1,
        "job": "j",
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


def test_the_last_verdict_of_the_main_node_is_found() -> None:
    lines = [_line(make(code=75)), Line(1, 0, "noise"), _line(make(code=7)), _line(make(code=9), node=1)]
    found = verdict.find(lines, main_node=0)
    assert found is not None
    assert found["code"] == 7


@pytest.mark.parametrize(
    "text",
    [
        "epoch 1",
        f" {VERDICT_MARKER}{{}}",
        VERDICT_MARKER,
        f'{VERDICT_MARKER}{{"contract": 1, "jo',
        f"{VERDICT_MARKER}[]",
        f"{VERDICT_MARKER}{{}}",
    ],
)
def test_what_is_no_whole_verdict_is_none(text: str) -> None:
    assert verdict.parse(text) is None
    assert verdict.find([Line(1, 0, text)], main_node=0) is None


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
