"""The steps of a longer command: one line each, with its seconds."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


class Progress:
    """Prints a line when a step begins and its seconds when it has ended.

    Args:
        total: How many steps there will be.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun = time.monotonic()
        self.rows: list[tuple[str, float]] = []
        """Title and seconds of every step that has ended well, in order."""

    @property
    def seconds(self) -> float:
        """Seconds since the first step."""
        return time.monotonic() - self._begun

    @contextlib.contextmanager
    def step(self, title: str, *, lines: bool = False) -> Iterator[None]:
        """Run a step.

        Args:
            title: What is being done, such as ``deploy the reference app``.
            lines: The step prints lines of its own: its seconds get a line, too. Default: False.
        """
        number, begun = f"[{len(self.rows) + 1}/{self._total}]", time.monotonic()
        click.echo(f"{number} {title} ...", nl=lines)
        try:
            yield
        except BaseException:
            click.echo("" if lines else " stopped")
            raise
        seconds = time.monotonic() - begun
        self.rows.append((title, seconds))
        click.echo(f"{number} {title}: {seconds:.1f} s" if lines else f" {seconds:.1f} s")
