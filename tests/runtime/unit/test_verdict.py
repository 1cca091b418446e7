"""One line, never above the limit."""

import json

from hypothesis import given
from hypothesis import strategies as st

from muster_core.contract import VERDICT_LIMIT, VERDICT_MARKER, Failure, NodeRow, Verdict
from muster_runtime.agent.verdict import cut, last_that_fit, verdict_line


def row(index, code=0, host="h"):
    return NodeRow(index=index, address="10.0.0.1", host=host, code=code)


def verdict(failure=None, nodes=(), job="job"):
    return Verdict(
        contract=1,
        job=job,
        attempt=1,
        outcome="failed",
        code=7,
        first_failure=failure,
        phases={"identity": 0.001},
        nodes=list(nodes),
        launcher="torch",
        world_size=2,
        simulated=False,
    )


def failure(*lines, reason="rank 1 exited", host="h"):
    return Failure(node=1, rank=1, host=host, code=7, reason=reason, lines=list(lines))


def read(line):
    text = line.decode("ascii")
    assert text.startswith(VERDICT_MARKER)
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return json.loads(text[len(VERDICT_MARKER) :])


def test_a_small_verdict_is_whole():
    given_verdict = verdict(failure("Traceback", "ValueError: x"), [row(0), row(1, 7)])
    assert read(verdict_line(given_verdict)) == given_verdict


def test_the_last_lines_stay_and_the_first_go():
    lines = [f"line {number} {'x' * 100}" for number in range(100)]
    record = read(verdict_line(verdict(failure(*lines), [row(0)])))
    kept = record["first_failure"]["lines"]
    assert 20 < len(kept) < 100
    assert kept == lines[-len(kept) :]


def test_nodes_that_failed_stay_and_those_that_ended_well_go():
    nodes = [row(index, 137 if index == 999 else 0) for index in range(1000)]
    record = read(verdict_line(verdict(failure("x"), nodes)))
    indexes = [node["index"] for node in record["nodes"]]
    assert indexes[-1] == 999
    assert indexes == sorted(indexes)
    assert 20 < len(indexes) < 1000


def test_the_given_verdict_is_left_as_it_was():
    given_verdict = verdict(failure("x" * 10000, host="h" * 1000), [row(0)])
    before = json.dumps(given_verdict)
    verdict_line(given_verdict)
    assert json.dumps(given_verdict) == before


@given(
    st.lists(st.text(max_size=3000), max_size=30),
    st.text(max_size=20000),
    st.text(max_size=3000),
    st.lists(
        st.builds(row, st.integers(0, 999), st.sampled_from([None, 0, 1]), st.text(max_size=500)),
        max_size=100,
    ),
)
def test_any_text_fits(lines, reason, name, nodes):
    line = verdict_line(verdict(failure(*lines, reason=reason, host=name), nodes, job=name))
    assert len(line) <= VERDICT_LIMIT
    assert read(line)["code"] == 7
    assert len(line.decode().splitlines()) == 1


@given(st.text(max_size=400), st.integers(0, 200))
def test_cut_keeps_a_prefix_within_the_size(text, size):
    short = cut(text, size)
    assert text.startswith(short)
    assert len(json.dumps(short)) - 2 <= size
    if len(json.dumps(text)) - 2 <= size:
        assert short == text


def test_last_that_fit_cuts_long_lines():
    assert last_that_fit(["a" * 10_000], 1000) == ["a" * 600]
    assert last_that_fit(["a", "b", "c"], 8) == ["b", "c"]
