"""One thread, one selector: descriptors, timers and signals."""

from __future__ import annotations

import contextlib
import heapq
import os
import selectors
import signal
import time
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE

now: Callable[[], float] = time.monotonic
"""The agent's only clock: deadlines never follow the wall clock."""

_STALL = 1.0  # seconds late after which this process itself was not running


class Timer:
    """A callback at a time; :meth:`cancel` it when it is no longer wanted."""

    __slots__ = ("call", "interval", "when")

    def __init__(self, when: float, call: Callable[[], None], interval: float | None) -> None:
        self.when = when
        self.call: Callable[[], None] | None = call
        self.interval = interval

    def cancel(self) -> None:
        """Make sure that the callback is not called any more."""
        self.call = None

    def __lt__(self, other: Timer) -> bool:
        return self.when < other.when


class Loop:
    """Calls back when a descriptor is ready or a time has come."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[Timer] = []
        self._woke = now()
        self.stalled_at = -_STALL
        """When this process last found that it had been frozen or starved, on :data:`now`'s clock."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def watch(self, fd: int, events: int, call: Callable[[int], None]) -> None:
        """Call ``call(events)`` whenever the descriptor is ready; replaces an earlier watch of it."""
        if fd in self._selector.get_map():
            self._selector.modify(fd, events, call)
        else:
            self._selector.register(fd, events, call)

    def forget(self, fd: int) -> None:
        """Watch the descriptor no longer; nothing happens if it was not watched."""
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        """Call once, ``delay`` seconds from now."""
        return self._add(Timer(now() + delay, call, None))

    def call_every(self, interval: float, call: Callable[[], None]) -> Timer:
        """Call every ``interval`` seconds, first after one interval."""
        return self._add(Timer(now() + interval, call, interval))

    def _add(self, timer: Timer) -> Timer:
        heapq.heappush(self._timers, timer)
        return timer

    def run(self, until: Callable[[], bool], timeout: float | None = None) -> bool:
        """Serve events until a condition holds.

        Args:
            until: looked at after every round of events.
            timeout: seconds after which to give up. Default: never.

        Returns:
            Whether the condition holds.
        """
        deadline = None if timeout is None else now() + timeout
        while not until():
            if deadline is not None and now() >= deadline:
                return False
            self._round(deadline)
        return True

    def _round(self, deadline: float | None) -> None:
        times = [timer.when for timer in self._timers[:1]] + ([] if deadline is None else [deadline])
        before = now()
        wait = max(0.0, min(times) - before) if times else None
        ready = self._selector.select(wait)
        after = now()
        late = 0.0 if wait is None else after - before - wait
        if max(late, before - self._woke) > _STALL:
            self.stalled_at = after
        self._woke = after
        for key, events in ready:
            current = self._selector.get_map().get(key.fd)  # an earlier callback may have forgotten it
            if current is not None and current.data is key.data:
                key.data(events)
        self._fire()

    def _fire(self) -> None:
        moment = now()
        while self._timers and self._timers[0].when <= moment:
            timer = heapq.heappop(self._timers)
            if timer.call is None:
                continue
            call = timer.call
            if timer.interval is not None:
                timer.when = moment + timer.interval
                self._add(timer)
            call()


class Signals:
    """Records signals; the loop tells of them, so that no work is done in a handler.

    Args:
        loop: where to tell.
        numbers: the signals to take.
    """

    def __init__(self, loop: Loop, numbers: tuple[signal.Signals, ...]) -> None:
        self._loop = loop
        self._numbers = numbers
        self._before: dict[signal.Signals, object] = {}
        self._early: list[int] = []
        self._call: Callable[[int], None] | None = None

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._fd_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in self._numbers:
            self._before[number] = signal.signal(number, _record)
        self._loop.watch(self._reader, READ, self._readable)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.forget(self._reader)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        signal.set_wakeup_fd(self._fd_before)
        os.close(self._reader)
        os.close(self._writer)

    def tell(self, call: Callable[[int], None]) -> None:
        """Call ``call(number)`` for every signal from now on, and for those that came before."""
        self._call = call
        early, self._early = self._early, []
        for number in early:
            call(number)

    def _readable(self, _: int) -> None:
        numbers: list[int] = []
        with contextlib.suppress(BlockingIOError):
            numbers.extend(os.read(self._reader, 4096))
        for number in numbers:
            if self._call is None:
                self._early.append(number)
            else:
                self._call(number)


def _record(number: int, frame: object) -> None:
    """Do nothing: the interpreter itself writes the number to the wake-up descriptor."""
