"""The command ``muster``: its commands are loaded when they are asked for."""

from __future__ import annotations

import importlib
from typing import Any

import click

from muster_cli import __version__, aws
from muster_cli.broken_output import leave_if_broken
from muster_cli.entry import EXIT_INTERRUPTED
from muster_cli.errors import MusterError
from muster_cli.invocation import command
from muster_cli.options import examples
from muster_core.contract import EXIT_SOFTWARE

COMMANDS = {
    "cancel": "muster_cli.cancel:cancel",
    "demo": "muster_cli.demo:demo",
    "list": "muster_cli.list_jobs:list_jobs",
    "local": "muster_cli.local_command:local",
    "logs": "muster_cli.logs:logs",
    "status": "muster_cli.status:status",
    "submit": "muster_cli.submit:submit",
}
"""Commands by name: module and attribute."""


class Commands(click.Group):
    """Loads a command's module when it is asked for; turns errors into sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(importlib.import_module(module), attribute)
        return found

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  click's own signature
    ) -> click.Context:
        """Read the arguments, and print the help where it is asked for."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
        except OSError as error:
            leave_if_broken(error)
            raise

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  click's own signature
        """Run a command; what it raises comes out as a sentence with an exit code."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            ctx.exit(EXIT_INTERRUPTED)
        except Exception as error:
            leave_if_broken(error)
            if ctx.params.get("traceback"):
                raise
            raise _as_sentence(error) from error


def _as_sentence(error: Exception) -> MusterError:
    if aws.is_aws_error(error):
        return aws.sentence(error)
    return MusterError(
        f"a fault in muster: {type(error).__name__}: {error}; `{command('--traceback', '...')}` shows where",
        EXIT_SOFTWARE,
    )


@click.group(
    cls=Commands,
    epilog=examples("muster demo  # needs no account"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="muster", message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, hidden=True, help="Show where a fault in muster is.")
def main(traceback: bool) -> None:
    """Run multi-node GPU training on AWS Batch."""
    del traceback


if __name__ == "__main__":
    main(prog_name="muster")
