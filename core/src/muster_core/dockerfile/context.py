"""The files of a folder that a build sees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Collection, Iterator, Optional

if TYPE_CHECKING:
    from pathlib import Path

    from muster_core.dockerfile.ignore import IgnoreRules

IGNORE_FILE = ".dockerignore"
"""The ignore file of a folder; ``<Dockerfile>.dockerignore`` beside a Dockerfile comes first."""


def ignore_file(folder: Path, dockerfile: str) -> Optional[Path]:
    """The ignore file that counts for a Dockerfile, None where there is none.

    Args:
        folder: The folder of the build.
        dockerfile: The Dockerfile's path in it.
    """
    candidates = (folder / f"{dockerfile}{IGNORE_FILE}", folder / IGNORE_FILE)
    return next((path for path in candidates if path.is_file()), None)


def context_files(folder: Path, rules: IgnoreRules, *, without: Collection[str] = ()) -> Iterator[str]:
    """Paths of all that a build sees: files, links and folders, sorted, with forward slashes.

    Links are not followed. A folder that is ignored itself is listed only by what an exception
    lets through below it.

    Args:
        folder: The folder of the build.
        rules: What to ignore.
        without: Names of files and folders to pass over at any depth. Default: none.
    """
    yield from _below(folder, "", rules, without)


def _below(folder: Path, prefix: str, rules: IgnoreRules, without: Collection[str]) -> Iterator[str]:
    with os.scandir(folder / prefix) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = prefix + entry.name
        if entry.name in without:
            continue
        ignored = rules.ignores(path)
        if not ignored:
            yield path
        if entry.is_dir(follow_symlinks=False) and not rules.prunes(path):
            yield from _below(folder, f"{path}/", rules, without)
