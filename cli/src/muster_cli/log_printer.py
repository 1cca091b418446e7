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

    from muster_cli.log_merge import Line
    from muster_core.contract import Verdict

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_red")
"""Colours of the nodes' prefixes, in turn; click drops them where no terminal is."""


class LogPrinter:
    """Prints lines on standard output, or on standard error.

    Args:
        main_node: Index of the main node, whose verdict is told and not shown raw.
        as_json: One JSON object a line, the verdict's line included. Default: False.
        err: Print on standard error. Default: False.
    """

    def __init__(self, main_node: int, *, as_json: bool = False, err: bool = False) -> None:
        self._main_node = main_node
        self._as_json = as_json
        self._err = err
        self.verdict: Verdict | None = None
        self.count = 0
        """Lines that were printed."""

    def print(self, lines: Iterable[Line]) -> None:
        """Print lines, in the order that they come in."""
        for line in lines:
            self.count += 1
            found = verdict.parse(line.text) if line.node == self._main_node else None
            self.verdict = found or self.verdict
            if self._as_json:
                click.echo(json.dumps({"time": line.time_ms, "node": line.node, "message": line.text}))
            elif not found:
                click.echo(f"{_prefix(line.node)} {line.text}", err=self._err)

    def print_verdict(self) -> None:
        """Tell the verdict, where there is one and lines are for people."""
        if self.verdict and not self._as_json:
            say_verdict(self.verdict, err=self._err)


def _prefix(node: int) -> str:
    text = f"[{node}]"
    return text if "NO_COLOR" in os.environ else click.style(text, fg=COLOURS[node % len(COLOURS)])
