"""How this program is run here: every text that tells a person to run it names it so."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

PROGRAM = "muster"


def command(*arguments: str) -> str:
    """Return a command line of this program that works in the caller's shell and folder.

    Args:
        arguments: Such as ``"local", "up"``; they are shown as they are given.

    Returns:
        ``muster local up`` where that program on PATH is this one, else with its path: relative to
        the current folder where it lies below it, such as ``.venv/bin/muster local up``.
    """
    return " ".join((_program(), *arguments))


def _program() -> str:
    own = _own()
    if own is None:
        return f"{shlex.quote(sys.executable)} -m muster_cli.main"
    found = shutil.which(PROGRAM)
    if found and os.path.samefile(found, own):  # noqa: PTH121  one of them is a string
        return PROGRAM
    return shlex.quote(_shown(own))


def _own() -> Path | None:
    """The console script: the one that runs, else the one beside this Python."""
    scripts = (Path(sys.argv[0]), Path(sys.executable).parent / PROGRAM)
    return next((path.absolute() for path in scripts if path.name == PROGRAM and path.is_file()), None)


def _shown(path: Path) -> str:
    if not path.is_relative_to(Path.cwd()):
        return str(path)
    below = path.relative_to(Path.cwd())
    return str(below) if len(below.parts) > 1 else f"./{below}"
