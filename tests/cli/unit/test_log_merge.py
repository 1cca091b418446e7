"""Lines of several nodes, merged by time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster_cli.log_merge import Line, Merger, merge

pytestmark = pytest.mark.unit

lines = st.lists(st.builds(Line, st.integers(0, 50), st.integers(0, 4), st.text(max_size=3)), max_size=60)


def _of_node(found: list[Line], node: int) -> list[str]:
    return [line.text for line in found if line.node == node]


@given(lines)
def test_nothing_is_lost_and_each_nodes_lines_keep_their_order(given_lines: list[Line]) -> None:
    merged = merge(given_lines)
    assert len(merged) == len(given_lines)
    for node in range(5):
        assert _of_node(merged, node) == _of_node(given_lines, node)


@given(lines)
def test_what_is_there_at_once_comes_out_by_time(given_lines: list[Line]) -> None:
    times = [line.time_ms for line in merge(given_lines)]
    assert times == sorted(times)


@given(st.lists(lines, max_size=6))
def test_in_turns_nothing_is_lost_and_nodes_keep_their_order(turns: list[list[Line]]) -> None:
    merger, out = Merger(), []
    for turn in turns:
        merger.push(turn)
        out += merger.turn()
    out += merger.rest()
    pushed = [line for turn in turns for line in turn]
    assert len(out) == len(pushed)
    for node in range(5):
        assert _of_node(out, node) == _of_node(pushed, node)


@given(lines)
def test_a_line_that_is_read_one_turn_late_still_comes_in_time(given_lines: list[Line]) -> None:
    """Node 1 is read a turn late: the result is that of reading all at once."""
    ordered = sorted(given_lines, key=lambda line: line.time_ms)
    half = len(ordered) // 2
    late = [line for line in ordered[:half] if line.node == 1]
    early = [line for line in ordered[:half] if line.node != 1]
    merger, out = Merger(), []
    for turn in (early, late + ordered[half:], []):
        merger.push(turn)
        out += merger.turn()
    out += merger.rest()
    assert out == merge(ordered)


def test_a_turns_lines_are_held_for_one_turn() -> None:
    merger = Merger()
    merger.push([Line(10, 0, "a")])
    assert merger.turn() == []
    merger.push([Line(5, 1, "b"), Line(20, 1, "c")])
    assert merger.turn() == [Line(5, 1, "b"), Line(10, 0, "a")]
    assert merger.turn() == [Line(20, 1, "c")]
    assert merger.rest() == []


def test_a_million_lines_of_a_thousand_nodes_are_no_matter_of_minutes() -> None:
    """At least 200,000 lines/s on a free machine; the bound here is a tenth of it."""
    import time

    per_node = [
        [Line(time_ms * 7 % 1000 + time_ms, node, "x") for time_ms in range(100)] for node in range(1000)
    ]
    begun = time.monotonic()
    merger = Merger()
    for node_lines in per_node:
        merger.push(node_lines)
    assert len(merger.rest()) == 100_000
    assert time.monotonic() - begun < 5.0
