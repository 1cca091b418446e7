"""Deadlines and the pauses between two looks at something that is being waited for."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
GROWTH = 1.5
JITTER = 0.2


class Deadline:
    """A point of the monotonic clock.

    Args:
        seconds: From now; None for never.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether it lies behind."""
        return self._end is not None and time.monotonic() >= self._end


@dataclass
class Backoff:
    """Pauses that grow by half each time up to a ceiling, with a fifth of jitter."""

    first: float = FIRST_PAUSE
    ceiling: float = LONGEST_PAUSE
    _next: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again with short pauses: something has happened."""
        self._next = self.first

    def next_pause(self) -> float:
        """Return the next pause in seconds."""
        pause = self._next
        self._next = min(self.ceiling, self._next * GROWTH)
        return pause * random.uniform(1 - JITTER, 1)  # noqa: S311  no secret

    def pause(self) -> None:
        """Sleep for the next pause."""
        time.sleep(self.next_pause())
