"""A signal at any moment takes everything down, once and whole."""

import os
import signal

import pytest

from muster_cli.interrupts import Interrupted, Interrupts

pytestmark = pytest.mark.unit


def _send(number: int) -> None:
    os.kill(os.getpid(), number)


def test_without_a_signal_the_work_is_done_and_taken_down() -> None:
    down: list[str] = []
    assert Interrupts().run(lambda: 7, lambda: down.append("down")) == 7
    assert down == ["down"]


def test_a_failure_is_taken_down_too() -> None:
    down: list[str] = []

    def work() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        Interrupts().run(work, lambda: down.append("down"))
    assert down == ["down"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_ends_the_work_with_its_own_code(number: int) -> None:
    down: list[str] = []
    with pytest.raises(Interrupted) as caught:
        Interrupts().run(lambda: _send(number), lambda: down.append("down"))
    assert caught.value.exit_code == 128 + number
    assert down == ["down"]


def test_signals_while_taking_down_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    down: list[str] = []

    def take_down() -> None:
        _send(signal.SIGINT)
        _send(signal.SIGTERM)
        down.append("down")

    with pytest.raises(Interrupted) as caught:
        Interrupts().run(lambda: _send(signal.SIGINT), take_down)
    assert caught.value.exit_code == 130
    assert down == ["down"]
    assert capsys.readouterr().err.count("still taking everything down") == 2


def test_a_signal_after_the_work_changes_nothing() -> None:
    assert Interrupts().run(lambda: 7, lambda: _send(signal.SIGINT)) == 7


def test_what_is_being_started_is_known_before_the_signal_counts() -> None:
    interrupts, started = Interrupts(), []

    def work() -> None:
        with interrupts.held():
            with interrupts.held():
                _send(signal.SIGTERM)
                started.append("program")
            started.append("noted")
        started.append("never")

    with pytest.raises(Interrupted) as caught:
        interrupts.run(work, lambda: None)
    assert caught.value.exit_code == 143
    assert started == ["program", "noted"]


def test_the_handlers_of_before_come_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    Interrupts().run(lambda: None, lambda: None)
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
