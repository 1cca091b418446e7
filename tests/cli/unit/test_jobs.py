"""Looking jobs up, and waiting for their end."""

from typing import Any

import pytest
from cli_fakes import JOB_ID, FakeBatch, child, parent

from muster_cli.clock import Backoff, Deadline
from muster_cli.errors import MusterError
from muster_cli.jobs import Jobs

pytestmark = pytest.mark.unit


def _jobs(*turns: list[dict[str, Any]]) -> Jobs:
    return Jobs(FakeBatch(list(turns)))  # type: ignore[arg-type]


def _quick() -> Backoff:
    return Backoff(first=0.0001, ceiling=0.0001)


def test_an_unknown_job_is_a_sentence() -> None:
    with pytest.raises(MusterError, match=f"job '{JOB_ID}' is not known to Batch here; check the id"):
        _jobs([]).get(f"{JOB_ID}#2")


def test_nodes_come_in_the_order_of_their_index_also_those_that_are_not_there() -> None:
    jobs = _jobs([parent(nodes=3), child(2), child(0)])
    nodes = jobs.nodes(jobs.get(JOB_ID))
    assert [(node.index, node.status, node.main) for node in nodes] == [
        (0, "RUNNING", True),
        (1, None, False),
        (2, "RUNNING", False),
    ]


def test_a_thousand_nodes_are_asked_for_a_hundred_at_a_time() -> None:
    batch = FakeBatch([[parent(nodes=1000), *(child(index) for index in range(1000))]])
    jobs = Jobs(batch)  # type: ignore[arg-type]
    asked: list[int] = []
    describe = batch.describe_jobs
    batch.describe_jobs = lambda **request: asked.append(len(request["jobs"])) or describe(**request)  # type: ignore[method-assign]
    nodes = jobs.nodes(jobs.get(JOB_ID))
    assert [node.status for node in nodes] == ["RUNNING"] * 1000
    assert asked == [1, *[100] * 10]


STATES = ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING")


@pytest.mark.parametrize("end", ["SUCCEEDED", "FAILED"])
def test_the_waiter_goes_through_every_state_to_each_end(end: str) -> None:
    seen: list[str] = []
    jobs = _jobs(*([parent(state)] for state in (*STATES, "RUNNING", end)))
    job = jobs.wait(JOB_ID, backoff=_quick(), on_change=lambda job: seen.append(job.status))
    assert job.status == end
    assert seen == [*STATES, end]


def test_the_waiter_tells_a_reason_that_changes() -> None:
    seen: list[str] = []
    reasons = ("", "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT")
    turns = [[parent("RUNNABLE", statusReason=reason)] for reason in reasons]
    _jobs(*turns, [parent("FAILED")]).wait(
        JOB_ID, backoff=_quick(), on_change=lambda job: seen.append(job.reason)
    )
    assert seen == ["", "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", ""]


@pytest.mark.parametrize("state", STATES)
def test_the_waiters_deadline_is_69_and_names_state_and_reason(state: str) -> None:
    jobs = _jobs([parent(state, statusReason="no capacity")])
    with pytest.raises(MusterError) as caught:
        jobs.wait(JOB_ID, deadline=Deadline(0), backoff=_quick())
    assert caught.value.exit_code == 69
    assert f"job {JOB_ID} is still {state} (no capacity)" in caught.value.message


def test_a_job_that_has_ended_is_no_matter_for_a_deadline() -> None:
    assert _jobs([parent("FAILED")]).wait(JOB_ID, deadline=Deadline(0)).status == "FAILED"


def test_pauses_grow_to_their_ceiling_and_begin_again() -> None:
    backoff = Backoff(first=1.0, ceiling=3.0)
    pauses = [backoff.next_pause() for _ in range(5)]
    for pause, full in zip(pauses, (1.0, 1.5, 2.25, 3.0, 3.0), strict=True):
        assert 0.8 * full <= pause <= full
    backoff.reset()
    assert backoff.next_pause() <= 1.0


def test_a_deadline_without_seconds_never_passes() -> None:
    assert not Deadline(None).passed
    assert Deadline(0).passed
    assert not Deadline(3600).passed
