"""Ctrl-C, SIGTERM and a closed terminal: whatever was started is taken down again, once and whole."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, TypeVar

import click

from muster_core.contract import SIGNAL_BASE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

Result = TypeVar("Result")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asks for the end; no ``except Exception`` stops it.

    Args:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = SIGNAL_BASE + number


class Interrupts:
    """Raises :class:`Interrupted` at the first signal, and never again.

    Signals that come while something is being started are kept until it is known; those that
    come while it is being taken down change nothing.
    """

    def __init__(self) -> None:
        self._waiting: int | None = None
        self._raised = False
        self._held = 0

    def run(self, work: Callable[[], Result], take_down: Callable[[], None]) -> Result:
        """Do the work, and take down what it started: at its end, its failure, or a signal.

        Args:
            work: May be interrupted between any two instructions.
            take_down: Runs once, to its end.
        """
        with self._installed():
            try:
                try:
                    return work()
                finally:
                    self._raised = True  # a signal that comes before this line still leads to take_down
            finally:
                take_down()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep signals until the block's end: what it starts must be known before it can be ended."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._waiting is not None and not self._held:
            self._raise(self._waiting)

    @contextlib.contextmanager
    def _installed(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._raised:
            click.echo("\nstill taking everything down", err=True)
        elif self._held:
            self._waiting = number
        else:
            self._raise(number)

    def _raise(self, number: int) -> None:
        self._raised = True
        raise Interrupted(number)
