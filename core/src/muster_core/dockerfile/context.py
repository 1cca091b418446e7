"""The files of a folder that a build sees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, Iterator, Optional

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


def context_files(
    folder: Path, rules: IgnoreRules, *, skip: Callable[[str], bool] = lambda _: False
) -> Iterator[str]:
    """Paths of all that a build sees: files, links and folders, sorted, with forward slashes.

    Links are not followed. A folder that is ignored itself is listed only by what an exception
    lets through below it.

    Args:
        folder: The folder of the build.
        rules: What to ignore.
        skip: Tells of a path whether to pass over it and all below. Default: nothing is skipped.
    """
    yield from _below(folder, "", rules, skip)


def _below(folder: Path, prefix: str, rules: IgnoreRules, skip: Callable[[str], bool]) -> Iterator[str]:
    with os.scandir(folder / prefix) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = prefix + entry.name
        if skip(path):
            continue
        if not rules.ignores(path):
            yield path
        if entry.is_dir(follow_symlinks=False) and not rules.prunes(path):
            yield from _below(folder, f"{path}/", rules, skip)
