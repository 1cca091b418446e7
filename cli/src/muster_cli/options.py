"""Options that several commands have, and how they say what they found."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

TEXT, JSON = "text", "json"

Command = TypeVar("Command", bound="Callable[..., Any]")

PLAIN_WIDTH = 200
"""Columns of a table that no terminal shows: nothing is cut off in a pipe."""


class Assignment(click.ParamType[tuple[str, str]]):
    """``NAME=VALUE``; the value may be empty and may hold further equals signs.

    Args:
        name: What is shown for it in the help.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split the text at the first equals sign."""
        left, equals, right = str(value).partition("=")
        if not equals or not left:
            self.fail(f"must be {self.name}, got {value!r}", param, ctx)
        if not _is_text(str(value)):
            self.fail(f"must be text in UTF-8, got {value!r}", param, ctx)
        return left, right


class Seconds(click.FloatRange):
    """Seconds, at least 0 and not without end."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401  as click has it
        """Read a number."""
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"must be a finite number of seconds, got {value!r}", param, ctx)
        return seconds


def _is_text(value: str) -> bool:
    """Whether the shell gave text: bytes that are none come as surrogates, which nothing takes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def aws_options(command: Command) -> Command:
    """Add ``--region`` and ``--profile``."""
    command = click.option("--profile", metavar="NAME", help="Profile of the AWS configuration.")(command)
    return click.option("--region", metavar="NAME", help="AWS region. Default: AWS's own settings.")(command)


def output_option(command: Command) -> Command:
    """Add ``--output text|json``, given to the command as ``output``."""
    return click.option(
        "--output",
        type=click.Choice([TEXT, JSON]),
        default=TEXT,
        show_default=True,
        help="For people, or for programs (standard output holds nothing but JSON).",
    )(command)


def examples(*lines: str) -> str:
    """Return a command's epilog: examples, a line each, that click does not wrap."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def print_json(value: object) -> None:
    """Print a value as JSON on standard output."""
    click.echo(json.dumps(value, indent=2, default=str))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output: with a terminal's width there, uncut in a pipe."""
    from rich.console import Console  # noqa: PLC0415  40 ms

    terminal = Console()
    if terminal.is_terminal:
        terminal.print(_table(columns, rows))
        return
    pipe = Console(width=PLAIN_WIDTH, color_system=None)
    with pipe.capture() as captured:
        pipe.print(_table(columns, rows))
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    from rich import box  # noqa: PLC0415  40 ms
    from rich.table import Table  # noqa: PLC0415  40 ms
    from rich.text import Text  # noqa: PLC0415  40 ms

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
