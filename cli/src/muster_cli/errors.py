"""The error that the command line tells its user as a sentence."""

from __future__ import annotations

from typing import IO, Any

import click

EXIT_REFUSED = 1
"""A command was refused or could not do its work."""


class MusterError(click.ClickException):
    """Something that a person can mend: one sentence, and an exit code.

    Args:
        message: Lower case, no final period: what is wrong, what was given, what to change.
        exit_code: The process's exit code. Default: 1.
    """

    def __init__(self, message: str, exit_code: int = EXIT_REFUSED) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click declares the default on the class

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence, by default on standard error."""
        click.echo(f"muster: {self.format_message()}", file=file, err=file is None)
