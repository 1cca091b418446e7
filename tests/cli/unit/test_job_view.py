"""What DescribeJobs says, read: parents, children, both container schemas, attempts."""

from __future__ import annotations

from typing import Any

import pytest
from cli_fakes import GROUP, JOB_ID, child, parent

from muster_cli.job_view import DEFAULT_LOG_GROUP, exit_code, job_of, node_of, plain_id

pytestmark = pytest.mark.unit


def _node(detail: dict[str, Any] | None, index: int = 1) -> Any:
    return node_of(job_of(parent()), index, detail)


def test_a_parent_has_nodes_and_no_container() -> None:
    job = job_of(parent(nodes=16))
    assert (job.node_count, job.main_node, job.multi_node, job.exit_code, job.attempts) == (
        16,
        0,
        True,
        None,
        (),
    )
    assert job.node_id(7) == f"{JOB_ID}#7"


def test_a_plain_container_job_is_its_own_only_node() -> None:
    detail = child(0, "FAILED", 3) | {"jobId": JOB_ID}
    job = job_of(detail)
    assert (job.node_count, job.multi_node, job.node_id(0), job.exit_code) == (1, False, JOB_ID, 3)


def test_a_child_with_a_container() -> None:
    node = _node(child(1, "FAILED", 7, statusReason="Essential container in task exited"))
    assert (node.exit_code, node.address, node.log_group) == (7, "10.0.0.5", GROUP)
    assert node.streams == ("train/default/1",)
    assert node.reason == "Essential container in task exited"
    assert not node.main
    assert node.terminal


def test_a_child_with_task_properties() -> None:
    containers = [
        {
            "name": "train",
            "exitCode": 9,
            "logStreamName": "train/main/1",
            "reason": "OutOfMemoryError: Container killed due to memory usage",
            "networkInterfaces": [{"privateIpv4Address": "10.0.0.9"}],
        },
        {"name": "exporter", "exitCode": 0, "logStreamName": "train/exporter/1"},
    ]
    group = {"logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": "own"}}}
    node = _node(
        {
            "jobId": f"{JOB_ID}#1",
            "status": "FAILED",
            "statusReason": "Essential container in task exited",
            "ecsProperties": {"taskProperties": [{"containers": [containers[1] | group, containers[0]]}]},
            "attempts": [{"statusReason": "x", "taskProperties": [{"containers": containers}]}],
        }
    )
    assert (node.exit_code, node.address, node.log_group) == (9, "10.0.0.9", "own")
    assert node.streams == ("train/main/1", "train/exporter/1")
    assert node.reason == (
        "Essential container in task exited: OutOfMemoryError: Container killed due to memory usage"
    )


def test_a_child_that_never_started() -> None:
    node = _node(None)
    assert (node.status, node.exit_code, node.streams, node.address, node.log_group) == (
        None,
        None,
        (),
        "",
        DEFAULT_LOG_GROUP,
    )
    assert not node.terminal


def test_streams_of_all_attempts_the_oldest_first_and_the_last_attempts_code() -> None:
    attempts = [
        {"container": {"exitCode": 75, "logStreamName": "train/default/first"}, "statusReason": "again"},
        {"container": {"exitCode": 0, "logStreamName": "train/default/1"}},
    ]
    node = _node(child(1, "SUCCEEDED", 0, attempts=attempts))
    assert node.streams == ("train/default/first", "train/default/1")
    assert node.exit_code == 0


def test_a_running_second_attempt_has_no_exit_code_yet() -> None:
    attempts = [{"container": {"exitCode": 75, "logStreamName": "first"}}]
    assert _node(child(1, "RUNNING", attempts=attempts)).exit_code is None


@pytest.mark.parametrize(
    ("status", "job_code", "main_code", "expected"),
    [
        ("SUCCEEDED", None, None, 0),
        ("SUCCEEDED", 0, 0, 0),
        ("FAILED", 7, 7, 7),
        ("FAILED", None, 7, 7),
        ("FAILED", None, None, 69),
        ("FAILED", 0, 0, 69),
        ("FAILED", None, 0, 69),
        ("FAILED", 137, None, 137),
    ],
)
def test_the_exit_code_that_stands_for_a_job(
    status: str, job_code: int | None, main_code: int | None, expected: int
) -> None:
    attempts = [{"container": {} if job_code is None else {"exitCode": job_code}}]
    job = job_of(parent(status, attempts=attempts))
    main = node_of(job, 0, child(0, status, main_code))
    assert exit_code(job, main) == expected


def test_without_a_main_node_a_failed_job_without_a_code_is_69() -> None:
    assert exit_code(job_of(parent("FAILED")), None) == 69


@pytest.mark.parametrize(("job_id", "expected"), [("a#3", "a"), ("a", "a"), ("a#3#4", "a")])
def test_a_nodes_suffix_is_no_part_of_the_id(job_id: str, expected: str) -> None:
    assert plain_id(job_id) == expected
