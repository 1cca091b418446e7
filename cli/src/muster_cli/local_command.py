"""``muster local``: the local cloud, up and down."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster_cli.errors import MusterError
from muster_cli.invocation import command
from muster_cli.options import JSON, Assignment, examples, output_option, print_json
from muster_core.contract import EXIT_CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from muster_cli.local.state import StateFolder

EXPORTED = ("AWS_", "CDK_", "JSII_NODE", "MUSTER_LOCAL_STATE", "NODE_NO_WARNINGS", "NO_PROXY", "no_proxy")
"""What `muster local env` exports of a guarded environment: not home and temporary folder."""
NOT_EXPORTED = ("CDK_DEFAULT_ACCOUNT", "CDK_DEFAULT_REGION")
"""The CDK CLI sets these itself, from the endpoint."""

EXTRA = ("moto", "flask", "muster_runtime")
"""What the extra brings that the local cloud cannot do without."""
INSTALL = "run: pip install 'muster-cli[local]', or in a checkout of Muster: pip install ./core ./runtime './cli[local]'"

state_option = click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Folder that holds everything it leaves on disk. Default: .muster/local below this folder.",
)


def need_extra() -> None:
    """Refuse to begin without what the local cloud needs.

    Raises:
        MusterError: The extra ``local`` is not installed.
    """
    missing = [name for name in EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise _extra_is_missing(missing)


def _extra_is_missing(names: Iterable[str | None]) -> MusterError:
    listed = ", ".join(str(name) for name in names)
    return MusterError(f"the local cloud is not installed ({listed} missing); {INSTALL}", EXIT_CONFIG)


@contextlib.contextmanager
def sentences() -> Iterator[None]:
    """Turn the local cloud's own errors, and its absence, into sentences."""
    from muster_cli.local.errors import LocalCloudError  # noqa: PLC0415  only these commands need it

    try:
        yield
    except LocalCloudError as error:
        raise MusterError(str(error)) from error
    except ModuleNotFoundError as error:
        raise _extra_is_missing([error.name]) from error


@click.group(epilog=examples('muster local up && eval "$(muster local env)"', "muster local down"))
def local() -> None:
    """Run a local cloud: an AWS endpoint on this machine that really runs multi-node jobs."""


@local.command()
@state_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Default: a free one.")
@click.option(
    "--image-map",
    "image_map",
    type=Assignment("URI=FOLDER"),
    multiple=True,
    help="A folder that stands for an image which is not built here.",
)
@output_option
def up(state: Path | None, port: int, image_map: tuple[tuple[str, str], ...], output: str) -> None:
    """Start the local cloud and wait until it answers."""
    need_extra()
    with sentences():
        from muster_cli.local import lifecycle  # noqa: PLC0415  see above
        from muster_cli.local.state import StateFolder  # noqa: PLC0415

        folders = {uri: Path(folder).absolute() for uri, folder in image_map}
        cloud = lifecycle.up(StateFolder(state), port=port, image_map=folders)
    if output == JSON:
        print_json(asdict(cloud))
        return
    click.echo(f"the local cloud answers at {cloud.endpoint} (process {cloud.pid})")
    click.echo(f'next: eval "$({command("local", "env", *_state_arguments(state))})"')


@local.command()
@state_option
def down(state: Path | None) -> None:
    """End the local cloud with all its jobs. Says so where there is none."""
    with sentences():
        from muster_cli.local import lifecycle  # noqa: PLC0415
        from muster_cli.local.state import StateFolder  # noqa: PLC0415

        folder = StateFolder(state)
        was_up = folder.server_alive()
        lifecycle.down(folder)
    click.echo("the local cloud is down" if was_up else _not_up(folder))


@local.command()
@state_option
@output_option
def status(state: Path | None, output: str) -> None:
    """Say whether the local cloud is up. Exit code: 0 when it is, 1 when it is not."""
    with sentences():
        from muster_cli.local import lifecycle  # noqa: PLC0415
        from muster_cli.local.state import StateFolder  # noqa: PLC0415

        folder = StateFolder(state)
        cloud = lifecycle.status(folder)
    if output == JSON:
        print_json(asdict(cloud) if cloud else None)
    elif cloud:
        click.echo(f"the local cloud answers at {cloud.endpoint} (process {cloud.pid})")
    else:
        click.echo(f"{_not_up(folder)}, {_start(state)}")
    raise SystemExit(0 if cloud else 1)


@local.command()
@state_option
def env(state: Path | None) -> None:
    """Print the exports that turn AWS's tools to the local cloud: eval "$(muster local env)"."""
    with sentences():
        from muster_cli.local import lifecycle  # noqa: PLC0415
        from muster_cli.local.guard import guarded_environment  # noqa: PLC0415
        from muster_cli.local.state import StateFolder  # noqa: PLC0415

        folder = StateFolder(state)
        cloud = lifecycle.status(folder)
        if cloud is None:
            raise MusterError(f"{_not_up(folder)}, {_start(state)}")
        for line in exports(guarded_environment(cloud.endpoint, folder), os.environ):
            click.echo(line)


def _not_up(folder: StateFolder) -> str:
    return f"no local cloud is up in {folder.root}; name another folder with --state"


def _start(state: Path | None) -> str:
    return f"or start one: {command('local', 'up', *_state_arguments(state))}"


def _state_arguments(state: Path | None) -> tuple[str, ...]:
    return () if state is None else ("--state", shlex.quote(str(state)))


def exports(guarded: Mapping[str, str], caller: Mapping[str, str]) -> list[str]:
    """Return the shell's lines that turn AWS's tools to the local cloud; pure.

    Args:
        guarded: The environment of a child of the local cloud.
        caller: The caller's environment: what could lead to a real account is unset.
    """
    dropped = sorted(name for name in caller if name.startswith(EXPORTED) and name not in guarded)
    names = sorted(name for name in guarded if name.startswith(EXPORTED) and name not in NOT_EXPORTED)
    return [
        *(f"unset {name}" for name in dropped),
        *(f"export {name}={shlex.quote(guarded[name])}" for name in (*names, "PATH")),
    ]
