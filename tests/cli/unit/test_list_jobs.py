"""The list of a queue's jobs."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from cli_fakes import FakeAws, FakeBatch
from click.testing import CliRunner, Result

from muster_cli import list_jobs, main
from muster_core.contract import OUTPUT_JOB_DEFINITION, OUTPUT_JOB_QUEUE

pytestmark = pytest.mark.unit

OUTPUTS = [
    {"OutputValue": value, "Description": f"{kind} {path}"}
    for path, queue in (("Train", "arn:q/gpus"), ("Eval", "arn:q/gpus"), ("Small", "arn:q/small"))
    for kind, value in ((OUTPUT_JOB_DEFINITION, path), (OUTPUT_JOB_QUEUE, queue))
]
NOW = 1_700_000_000


def _summary(job_id: str, status: str, seconds_ago: int, nodes: int | None = 2) -> dict[str, Any]:
    shape = {} if nodes is None else {"nodeProperties": {"numNodes": nodes}}
    created = (NOW - seconds_ago) * 1000
    return {"jobId": job_id, "jobName": "digits", "status": status, "createdAt": created, **shape}


LISTED = {
    "arn:q/gpus": [
        _summary("d", "RUNNING", 59),
        _summary("c", "FAILED", 60, 16),
        _summary("a", "SUCCEEDED", 172_800),
    ],
    "arn:q/small": [_summary("b", "RUNNABLE", 7_300, None)],
    "empty": [],
}


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    aws = FakeAws(FakeBatch(listed=LISTED), outputs=OUTPUTS)
    monkeypatch.setattr(list_jobs, "Aws", lambda *_arguments: aws)
    monkeypatch.setattr(time, "time", lambda: NOW)
    return CliRunner().invoke(main.main, ["list", *arguments])


def test_the_newest_jobs_of_a_stacks_queues_come_first_with_a_hint_that_there_are_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = _run(monkeypatch)
    assert [line.split() for line in result.stdout.splitlines() if "─" not in line] == [
        ["job", "name", "nodes", "state", "age"],
        ["d", "digits", "2", "RUNNING", "59s"],
        ["c", "digits", "16", "FAILED", "1m"],
        ["b", "digits", "1", "RUNNABLE", "2h"],
    ]
    assert result.stderr == "there are older jobs; --all lists them\n"


def test_all_jobs_of_one_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, "--queue", "arn:q/gpus", "--all", "--output", "json")
    assert [job["job_id"] for job in json.loads(result.stdout)] == ["d", "c", "a"]
    assert json.loads(result.stdout)[1] == {
        "job_id": "c",
        "name": "digits",
        "node_count": 16,
        "status": "FAILED",
        "created_ms": (NOW - 60) * 1000,
    }
    assert result.stderr == ""


def test_a_queue_without_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _run(monkeypatch, "--queue", "empty")
    assert (shown.stdout, shown.stderr) == ("", "there are no jobs\n")
    assert json.loads(_run(monkeypatch, "--queue", "empty", "--output", "json").stdout) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0.9, "0s"), (61.5, "1m"), (3_599, "59m"), (86_399, "23h"), (86_400 * 6, "6d")],
)
def test_an_age_has_its_largest_unit(seconds: float, text: str) -> None:
    assert list_jobs.age(seconds) == text
