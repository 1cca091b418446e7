"""Timers, descriptors, signals."""

import os
import signal
import time

from muster_runtime.agent import loop as loops
from muster_runtime.agent.loop import READ, Loop, Signals


def test_timers_fire_in_order_and_can_be_cancelled():
    told = []
    with Loop() as loop:
        loop.call_later(0.02, lambda: told.append("late"))
        loop.call_later(0.0, lambda: told.append("early"))
        loop.call_later(0.01, lambda: told.append("never")).cancel()
        assert loop.run(lambda: "late" in told, 10)
    assert told == ["early", "late"]


def test_repeated_timers_repeat_until_cancelled():
    told = []
    with Loop() as loop:
        timer = loop.call_every(0.001, lambda: told.append(1))
        assert loop.run(lambda: len(told) >= 3, 10)
        timer.cancel()
        count = len(told)
        assert not loop.run(lambda: False, 0.02)
    assert len(told) == count


def test_run_gives_up_in_time():
    with Loop() as loop:
        assert not loop.run(lambda: False, 0.0)
        assert loop.run(lambda: True, 0.0)


def test_a_descriptor_forgotten_in_the_same_round_is_not_called():
    first, second = os.pipe(), os.pipe()
    told = []
    with Loop() as loop:

        def take(own, other):
            told.append(own)
            loop.forget(other)

        loop.watch(first[0], READ, lambda _: take(first[0], second[0]))
        loop.watch(second[0], READ, lambda _: take(second[0], first[0]))
        os.write(first[1], b"x")
        os.write(second[1], b"x")
        assert loop.run(lambda: bool(told), 10)
        loop.forget(told[0])
    assert len(told) == 1
    for fd in (*first, *second):
        os.close(fd)


def test_signals_before_and_after_tell():
    told = []
    with Loop() as loop, Signals(loop, (signal.SIGUSR1, signal.SIGUSR2)) as signals:
        os.kill(os.getpid(), signal.SIGUSR1)
        loop.run(lambda: bool(signals._early), 10)
        signals.tell(told.append)
        os.kill(os.getpid(), signal.SIGUSR2)
        assert loop.run(lambda: len(told) == 2, 10)
    assert told == [signal.SIGUSR1, signal.SIGUSR2]
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_a_pause_of_this_process_is_noticed(monkeypatch):
    with Loop() as loop:
        assert loop.stalled_at < 0
        loop.run(lambda: False, 0.001)
        assert loop.stalled_at < 0
        monkeypatch.setattr(loops, "now", lambda: time.monotonic() + 100)
        loop.run(lambda: False, 0.001)
        assert loop.stalled_at > time.monotonic() + 90
