"""Reasons of nodes, each once."""

from __future__ import annotations

import pytest
from cli_fakes import child, parent

from muster_cli.job_view import job_of, node_of
from muster_cli.reasons import CONTAINER_ENDED, compact, of_job, of_nodes, telling

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("indexes", "text"),
    [([], ""), ([3], "3"), ([0, 1], "0-1"), ([2, 0, 1, 5, 7, 8], "0-2, 5, 7-8")],
)
def test_indexes_are_ranges(indexes: list[int], text: str) -> None:
    assert compact(indexes) == text


def test_a_thousand_nodes_with_one_reason_are_one_line() -> None:
    job = job_of(parent("FAILED", nodes=1000))
    nodes = [node_of(job, i, child(i, "FAILED", statusReason="Host EC2 terminated")) for i in range(1000)]
    assert of_nodes(nodes) == [("Host EC2 terminated", "nodes 0-999")]


@pytest.mark.parametrize(
    ("reason", "text"),
    [(CONTAINER_ENDED, ""), (f"{CONTAINER_ENDED}: OutOfMemoryError", "OutOfMemoryError"), ("x", "x")],
)
def test_what_says_nothing_is_left_out(reason: str, text: str) -> None:
    assert telling(reason) == text


@pytest.mark.parametrize(
    ("own", "nodes", "told"),
    [
        ("", ["", ""], []),
        ("no capacity", ["", ""], ["no capacity"]),
        (CONTAINER_ENDED, [CONTAINER_ENDED, ""], [f"{CONTAINER_ENDED} (node 0)"]),
        (CONTAINER_ENDED, ["Host EC2 terminated", CONTAINER_ENDED], ["Host EC2 terminated (node 0)"]),
        ("too slow", ["", "killed"], ["too slow", "killed (node 1)"]),
    ],
)
def test_a_jobs_reasons(own: str, nodes: list[str], told: list[str]) -> None:
    job = job_of(parent("FAILED", statusReason=own))
    found = [node_of(job, i, child(i, "FAILED", statusReason=text)) for i, text in enumerate(nodes)]
    assert of_job(job, found) == told


def test_a_plain_container_job_says_its_reason_without_a_node() -> None:
    job = job_of(child(0, "FAILED", 3, statusReason="killed"))
    assert of_job(job, [node_of(job, 0, child(0, "FAILED", 3, statusReason="killed"))]) == ["killed"]
