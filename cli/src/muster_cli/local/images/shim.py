"""``muster-local-docker``: stands in for docker while the CDK publishes image assets.

It knows what the CDK CLI calls (login, inspect, build, tag, push, images) and builds nothing: a
build is noted with a copy of its folder, and the executor lays it out when a node starts.
"""

from __future__ import annotations

import argparse
import fnmatch
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from muster_cli.local.errors import LocalCloudError
from muster_cli.local.images.errors import CannotFollow
from muster_cli.local.images.registry import LocalImage, full_name, note_build, note_tag, tags
from muster_cli.local.state import StateFolder
from muster_core.dockerfile import DockerfileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PREFIX = "muster-local-docker"
_VALUES = ("--network", "--output", "--cache-from", "--cache-to", "--build-context", "--secret", "--ssh")
"""Flags of a build that matter to steps which are not run here."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise LocalCloudError(
            f"{message}; it stands in for docker while the CDK publishes assets, and knows no more"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what docker would have been asked to.

    Args:
        arguments: The command line. Default: the process's own.

    Returns:
        0, or 1 with a sentence on standard error.
    """
    try:
        parsed = _parser().parse_args(arguments)
        command: Callable[[StateFolder, argparse.Namespace], None] = parsed.command
        command(StateFolder(), parsed)
    except LocalCloudError as error:
        print(f"{_PREFIX}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=_PREFIX, allow_abbrev=False, description=__doc__)
    parser.add_argument("--config", help="ignored: no registry is asked for anything")
    commands = parser.add_subparsers(required=True, metavar="command")
    login = commands.add_parser("login", allow_abbrev=False)
    login.add_argument("--username")
    login.add_argument("--password-stdin", action="store_true")
    login.add_argument("server")
    login.set_defaults(command=_login)
    inspect = commands.add_parser("inspect", allow_abbrev=False)
    inspect.add_argument("tag")
    inspect.set_defaults(command=_inspect)
    tag = commands.add_parser("tag", allow_abbrev=False)
    tag.add_argument("source")
    tag.add_argument("tag")
    tag.set_defaults(command=_tag)
    push = commands.add_parser("push", allow_abbrev=False)
    push.add_argument("tag")
    push.set_defaults(command=_inspect)
    images = commands.add_parser("images", allow_abbrev=False)
    images.add_argument("--format")
    images.add_argument("--filter", default="reference=*")
    images.set_defaults(command=_images)
    _add_build(commands.add_parser("build", allow_abbrev=False))
    return parser


def _add_build(build: argparse.ArgumentParser) -> None:
    build.add_argument("--tag", "-t", required=True)
    build.add_argument("--file", "-f", default="Dockerfile")
    build.add_argument("--build-arg", action="append", default=[])
    build.add_argument("--target")
    build.add_argument("--platform")
    build.add_argument("--no-cache", action="store_true")
    for flag in _VALUES:
        build.add_argument(flag, action="append")
    build.add_argument("folder")
    build.set_defaults(command=_build)


def _login(_: StateFolder, parsed: argparse.Namespace) -> None:
    if parsed.password_stdin:
        sys.stdin.read()


def _inspect(state: StateFolder, parsed: argparse.Namespace) -> None:
    if full_name(parsed.tag) not in tags(state):
        raise LocalCloudError(f"there is no image {parsed.tag!r}")


def _tag(state: StateFolder, parsed: argparse.Namespace) -> None:
    note_tag(state, parsed.source, parsed.tag)


def _images(state: StateFolder, parsed: argparse.Namespace) -> None:
    pattern = parsed.filter.removeprefix("reference=")
    for tag in tags(state):
        if fnmatch.fnmatchcase(tag, pattern):
            print(tag)


def _build(state: StateFolder, parsed: argparse.Namespace) -> None:
    folder = Path(parsed.folder).absolute()
    if not folder.is_dir():
        raise LocalCloudError(f"the folder to build must be a folder, got {parsed.folder!r}")
    arguments = dict(argument.partition("=")[::2] for argument in parsed.build_arg)
    image = LocalImage(parsed.tag, folder, parsed.file, arguments, parsed.target, parsed.platform)
    try:
        _try(image)
    except CannotFollow as error:
        # The stack may hold images that no job uses: whoever uses this one gets the same sentence.
        print(
            f"{_PREFIX}: a job that uses this image will fail: {folder / parsed.file}, {error}",
            file=sys.stderr,
        )
    except DockerfileError as error:
        raise LocalCloudError(f"{folder / parsed.file}, {error}") from error
    note_build(state, parsed.tag, image)


def _try(image: LocalImage) -> None:
    """Follow the Dockerfile once, so that its author hears of a wrong line while deploying."""
    scratch = Path(tempfile.mkdtemp(prefix="muster-build-"))
    try:
        for note in image.follow(scratch / "root").notes:
            print(f"{_PREFIX}: {note}")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
