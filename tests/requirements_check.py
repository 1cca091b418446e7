"""What a test needs of the machine: missing on a laptop it is listed as not run, in CI it fails."""

import os
import shutil
from typing import NoReturn

import pytest


def _missing(what: str) -> NoReturn:
    text = f"not run here: needs {what}"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{text}, which CI must have")
    pytest.skip(text)


def require_root() -> None:
    """Network namespaces, mounts and chroot builds need root."""
    if os.geteuid() != 0:
        _missing("root")


def require_tool(name: str) -> str:
    """Return the path of a program that a Debian package brings."""
    path = shutil.which(name)
    if path is None:
        _missing(f"the program {name}")
    return path
