"""Prints lines of nodes, each behind its node's index; remembers the verdict."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from muster_cli import verdict
from muster_cli.outcome import say_verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muster_cli.job_view import Job, Node
    from muster_cli.log_merge import Line
    from muster_core.contract import Verdict

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_red")
"""Colours of the nodes' prefixes, in turn; click drops them where no terminal is."""


class LogPrinter:
    """Prints lines on standard output, or on standard error.

    A line that looks like the main node's verdict is held until :meth:`close` knows how Batch says
    that the job ended: then it is told, or shown like any other line.

    Args:
        job: The job, as far as it is known.
        as_json: One JSON object a line, the verdict's line included. Default: False.
        err: Print on standard error. Default: False.
    """

    def __init__(self, job: Job, *, as_json: bool = False, err: bool = False) -> None:
        self._job = job
        self._as_json = as_json
        self._err = err
        self._held: list[tuple[Line, Verdict]] = []
        self.verdict: Verdict | None = None
        """Known after :meth:`close`."""
        self.count = 0
        """Lines that came."""

    def print(self, lines: Iterable[Line]) -> None:
        """Print lines, in the order that they come in."""
        for line in lines:
            self.count += 1
            found = self._candidate(line)
            if found:
                self._held.append((line, found))
            if self._as_json:
                click.echo(json.dumps({"time": line.time_ms, "node": line.node, "message": line.text}))
            if not found:
                self._show(line)

    def close(self, job: Job, main: Node) -> None:
        """Judge what was held: nothing more will come.

        Args:
            job: As Batch tells of it after the last line.
            main: Its main node, the same.
        """
        for line, found in self._held:
            if not verdict.agrees(found, job, main):
                self._show(line)
            elif verdict.is_last(found, job):
                self.verdict = found
        self._held.clear()

    def _candidate(self, line: Line) -> Verdict | None:
        found = verdict.parse(line.text) if line.node == self._job.main_node else None
        return found if found and found["job"] == self._job.job_id else None

    def _show(self, line: Line) -> None:
        if not self._as_json:
            click.echo(f"{_prefix(line.node)} {line.text}", err=self._err)

    def print_verdict(self) -> None:
        """Tell the verdict, where there is one and lines are for people."""
        if self.verdict and not self._as_json:
            say_verdict(self.verdict, err=self._err)


def _prefix(node: int) -> str:
    text = f"[{node}]"
    return text if "NO_COLOR" in os.environ else click.style(text, fg=COLOURS[node % len(COLOURS)])
