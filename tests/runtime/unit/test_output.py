"""Whole lines, bounded memory, no blocking."""

import contextlib
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster_runtime.agent.loop import Loop
from muster_runtime.agent.output import LINE_LIMIT, TAIL_LIMIT, Lines, Writer


def collect(prefix=b"", later=lambda _: None):
    written = []
    return written, Lines(written.append, prefix, later)


def test_lines_stay_whole_and_get_their_prefix():
    written, lines = collect(b"[3] ")
    lines.feed(b"one\ntw")
    lines.feed(b"o\n\nrest")
    assert b"".join(written) == b"[3] one\n[3] two\n[3] \n"
    lines.close()
    assert b"".join(written) == b"[3] one\n[3] two\n[3] \n[3] rest\n"


def test_a_line_without_end_is_passed_on_in_pieces():
    written, lines = collect()
    lines.feed(b"x" * (2 * LINE_LIMIT + 5))
    assert [len(piece) for piece in written] == [LINE_LIMIT + 1, LINE_LIMIT + 1]
    lines.close()
    assert written[-1] == b"xxxxx\n"


def test_the_tail_is_bounded_and_readable():
    _, lines = collect()
    for _ in range(100):
        lines.feed(b"y" * 10_000 + b"\n")
    lines.feed("last \u20ac\r50%\r100%\n\n\xff".encode("latin-1", "replace"))
    assert len(lines._tail) <= 2 * TAIL_LIMIT + 10_100
    assert lines.last(3, 4) == ["50%", "100%", "\ufffd"]


def test_a_progress_bar_appears_after_a_while_as_lines_of_its_own():
    calls = []
    written, lines = collect(b"[3] ", calls.append)
    lines.feed(b"begin\n\r10%")
    lines.feed(b"\r20%")
    assert b"".join(written) == b"[3] begin\n"
    (call,) = calls
    call()
    assert written[1:] == [b"[3] \r10%\r20%\n"]
    lines.feed(b"\r30%")
    assert calls == [call, call]
    lines.feed(b"\r40%\n")
    call()
    assert written[2:] == [b"[3] \r30%\r40%\n"]
    lines.feed(b"50%\r")
    assert len(calls) == 3
    lines.close()
    call()
    assert written[3:] == [b"[3] 50%\r\n"]


def test_half_a_line_waits_for_its_end():
    calls = []
    written, lines = collect(later=calls.append)
    lines.feed(b"what a buffer of 4096 bytes has cu")
    assert (calls, written) == ([], [])
    lines.feed(b"t\r\nand a ")
    assert (calls, written) == ([], [b"what a buffer of 4096 bytes has cut\r\n"])


@given(st.lists(st.binary(max_size=50)))
def test_no_byte_is_lost(pieces):
    written, lines = collect()
    for piece in pieces:
        lines.feed(piece)
    lines.close()
    whole = b"".join(pieces)
    assert b"".join(written) == (whole if whole.endswith(b"\n") or not whole else whole + b"\n")


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    yield reader, writer
    for fd in (reader, writer):
        with contextlib.suppress(OSError):
            os.close(fd)


def test_a_slow_reader_is_waited_for_without_blocking(pipe):
    reader, fd = pipe
    drained = []
    with Loop() as loop:
        writer = Writer(loop, fd)
        writer.when_drained(lambda: drained.append(True))
        writer.write(b"z" * (3 << 20))
        assert writer.is_full
        taken = []
        thread = threading.Thread(
            target=lambda: taken.append(sum(iter(lambda: len(os.read(reader, 65536)), 0)))
        )
        thread.start()
        assert loop.run(lambda: bool(drained), 30)
        assert not writer.is_full
        writer.log("two\nlines")
        writer.flush(5)
        os.close(fd)
        thread.join(30)
    assert taken == [(3 << 20) + len(b"muster: two\nmuster: lines\n")]


def test_a_closed_reader_loses_the_output_and_nothing_else(pipe):
    reader, fd = pipe
    os.close(reader)
    with Loop() as loop:
        writer = Writer(loop, fd)
        writer.write(b"lost")
        writer.flush(5)
        assert not writer.is_full


def test_flush_gives_up_in_time(pipe):
    _, fd = pipe
    with Loop() as loop:
        writer = Writer(loop, fd)
        writer.write(b"z" * (1 << 20))
        writer.flush(0.05)


def test_a_file_is_written_at_once(tmp_path):
    with (tmp_path / "log").open("wb") as file, Loop() as loop:
        Writer(loop, file.fileno()).write(b"x" * 100_000)
    assert (tmp_path / "log").stat().st_size == 100_000
