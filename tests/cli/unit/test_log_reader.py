"""Logs of a job's nodes: once, and through the end of every node."""

from typing import Any

import pytest
from cli_fakes import JOB_ID, FakeAws, FakeBatch, FakeLogs, child, parent

from muster_cli import log_reader
from muster_cli.clock import Backoff, Deadline
from muster_cli.errors import MusterError
from muster_cli.job_view import Job
from muster_cli.jobs import Jobs
from muster_cli.log_merge import Line
from muster_cli.log_reader import LogReader

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Backoff, "pause", lambda _self: None)


def _reader(logs: FakeLogs, *turns: list[dict[str, Any]], **options: Any) -> tuple[LogReader, Jobs]:
    aws = FakeAws(FakeBatch(list(turns)), logs)
    jobs = Jobs(aws.batch)
    return LogReader(aws, jobs, **options), jobs


def _stream(*times: int, text: str = "line") -> list[tuple[int, str]]:
    return [(time_ms, f"{text} {time_ms}\n") for time_ms in times]


def test_all_pages_of_all_nodes_merged_by_time() -> None:
    logs = FakeLogs({"train/default/0": _stream(1, 3, 5, 7, 9), "train/default/1": _stream(2, 4, 6)})
    reader, jobs = _reader(logs, [parent(), child(0), child(1)])
    lines = reader.read(jobs.get(JOB_ID))
    assert [(line.time_ms, line.node) for line in lines] == [
        (1, 0),
        (2, 1),
        (3, 0),
        (4, 1),
        (5, 0),
        (6, 1),
        (7, 0),
        (9, 0),
    ]
    assert lines[0].text == "line 1"


def test_one_node_alone_asks_for_that_node_alone() -> None:
    logs = FakeLogs({"train/default/0": _stream(1), "train/default/1": _stream(2)})
    reader, jobs = _reader(logs, [parent(), child(0), child(1)], only=1)
    assert reader.read(jobs.get(JOB_ID)) == [Line(2, 1, "line 2")]


def test_a_stream_that_is_not_there_yet_is_silence() -> None:
    reader, jobs = _reader(FakeLogs(), [parent(), child(0)])
    assert reader.read(jobs.get(JOB_ID)) == []


def test_streams_that_appear_late_and_lines_that_come_after_the_jobs_end() -> None:
    logs = FakeLogs({"train/default/0": _stream(1)})
    turns = [
        [parent("RUNNABLE")],
        [parent("RUNNING"), child(0)],
        [parent("RUNNING"), child(0), child(1)],
        [parent("FAILED"), child(0, "FAILED", 7), child(1)],
        [parent("FAILED"), child(0, "FAILED", 7), child(1, "FAILED", 143)],
    ]
    reader, _ = _reader(logs, *turns)
    out: list[Line] = []
    states: list[str] = []

    def on_change(job: Job) -> None:
        states.append(job.status)
        if job.status == "FAILED":
            logs.streams["train/default/1"] = _stream(2, text="late")

    end = reader.follow(JOB_ID, out.extend, on_change=on_change)
    assert end.status == "FAILED"
    assert states == ["RUNNABLE", "RUNNING", "FAILED"]
    assert [(line.node, line.text) for line in out] == [(0, "line 1"), (1, "late 2")]


def test_a_node_that_never_started_holds_nobody_up() -> None:
    logs = FakeLogs({"train/default/0": _stream(1)})
    turns = [[parent("FAILED", nodes=3), child(0, "FAILED", 75), child(1, "RUNNABLE")]]
    reader, _ = _reader(logs, *turns)
    out: list[Line] = []
    reader.follow(JOB_ID, out.extend)
    assert [line.node for line in out] == [0]


def test_a_node_that_does_not_stop_is_waited_for_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reader, "STOP_GRACE", 0.0)
    logs = FakeLogs({"train/default/0": _stream(1)})
    reader, _ = _reader(logs, [parent("FAILED"), child(0, "FAILED", 1), child(1, "RUNNING")])
    assert reader.follow(JOB_ID, lambda _lines: None).status == "FAILED"


def test_where_lines_arrive_late_a_silent_while_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr(log_reader.time, "monotonic", lambda: float(next(now)))
    logs = FakeLogs({"train/default/0": _stream(1)})
    turns = [[parent("SUCCEEDED", nodes=1), child(0, "SUCCEEDED", 0)]]
    reader, jobs = _reader(logs, *turns, settle=3.0)
    calls = 0
    get = jobs.get

    def counted(job_id: str) -> Job:
        nonlocal calls
        calls += 1
        if calls == 2:
            logs.streams["train/default/0"] += _stream(2)
        return get(job_id)

    monkeypatch.setattr(jobs, "get", counted)
    out: list[Line] = []
    reader.follow(JOB_ID, out.extend)
    assert [line.time_ms for line in out] == [1, 2]
    assert calls == 5


def test_the_deadline_ends_the_following() -> None:
    reader, _ = _reader(FakeLogs(), [parent("RUNNABLE")])
    with pytest.raises(MusterError, match="is still RUNNABLE") as caught:
        reader.follow(JOB_ID, lambda _lines: None, deadline=Deadline(0))
    assert caught.value.exit_code == 69


def test_a_retried_jobs_earlier_streams_are_read_too() -> None:
    logs = FakeLogs({"train/default/first": _stream(1), "train/default/0": _stream(2)})
    attempts = [{"container": {"exitCode": 75, "logStreamName": "train/default/first"}}]
    reader, jobs = _reader(logs, [parent(nodes=1), child(0, attempts=attempts)])
    assert [line.time_ms for line in reader.read(jobs.get(JOB_ID))] == [1, 2]


@pytest.mark.parametrize(("local", "settle"), [(True, 0.0), (False, 5.0)])
def test_only_real_logs_arrive_late(monkeypatch: pytest.MonkeyPatch, local: bool, settle: float) -> None:
    monkeypatch.setattr(FakeAws, "local", property(lambda _self: local))
    reader, _ = _reader(FakeLogs())
    assert reader._settle == settle
