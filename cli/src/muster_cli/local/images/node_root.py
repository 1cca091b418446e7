"""A node's file system: an image laid out in a folder, seen from the host."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from muster_core.contract import RUNTIME_COMMAND, RUNTIME_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

_RUNTIME_MODULE = ("-m", "muster_runtime")
_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?\Z")
# An absolute path within a text: not the tail of a relative one, nor of a URL.
_PATH = re.compile(r"(?<![\w./~-])/(?!/)[\w.+@%/-]*")


def default_path() -> str:
    """The PATH of an image that says nothing: this environment's programs, then the server's own PATH."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@dataclass(frozen=True)
class NodeRoot:
    """What a node runs in.

    A process of the local cloud sees the host's file system, not the image's: absolute paths of the
    image are replaced by those in ``root`` in the command and in ENV, where they exist there, or
    where their folder does and the host has no such file. A program that has such a path inside
    itself meets the host's.

    Attributes:
        root: The folder that stands for ``/``.
        workdir: WORKDIR, a path of the image.
        variables: ENV, paths as the image has them.
        user: USER as written, None for root.
        entrypoint: ENTRYPOINT as a list; its shell form has the shell in front.
        cmd: CMD likewise.
        stop_signal: STOPSIGNAL, None for SIGTERM.
        notes: Lines that were passed over because the environment already has what they install.
        stands_in: Whether the folder stands for a foreign image, whose runtime is this environment's.
    """

    root: Path
    workdir: str = "/"
    variables: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    stop_signal: str | None = None
    notes: tuple[str, ...] = ()
    stands_in: bool = False

    @property
    def cwd(self) -> Path:
        """The folder to run in."""
        return self.path(self.workdir)

    @property
    def environment(self) -> dict[str, str]:
        """ENV for a process on the host; it always has a PATH, which finds this environment's Python."""
        values = {name: self.mapped(value) for name, value in self.variables.items()}
        return values | {"PATH": self._search_path(self.variables.get("PATH", default_path()))}

    def path(self, path: str) -> Path:
        """Where an absolute path of the image lies on the host."""
        return self.root / posixpath.normpath(path).lstrip("/")

    def mapped(self, text: str) -> str:
        """A text with the image's absolute paths replaced by those on the host."""
        return _PATH.sub(lambda match: self._mapped_path(match.group()), text)

    def argv(self, command: list[str]) -> list[str]:
        """What to run for a job's command: ENTRYPOINT in front, CMD where there is no command.

        Args:
            command: The job definition's or the submission's command, maybe empty.

        Returns:
            Program and arguments, empty where neither image nor job says anything.
        """
        words = list(command) or list(self.cmd)
        return [*self._words(list(self.entrypoint)), *self._words(words)]

    def _search_path(self, path: str) -> str:
        """PATH with the image's folders in front of the host's of the same name, which may be needed."""
        folders = [(str(self.path(folder)), folder) for folder in path.split(os.pathsep) if folder]
        return os.pathsep.join(
            one for inside, folder in folders for one in (inside, folder) if Path(one).is_dir()
        )

    def _words(self, words: list[str]) -> list[str]:
        if not words:
            return []
        first = sys.executable if self._is_python(words[0]) else self.mapped(words[0])
        rest = words[1:]
        if self.stands_in and tuple(words[:2]) == RUNTIME_COMMAND and not self.path(RUNTIME_PATH).exists():
            return [first, *_RUNTIME_MODULE, *(self.mapped(word) for word in rest[1:])]
        return [first, *(self.mapped(word) for word in rest)]

    def _is_python(self, word: str) -> bool:
        """An interpreter that the image's base would bring: this environment's stands for it."""
        return bool(_PYTHON.match(word)) and not (word.startswith("/") and self.path(word).exists())

    def _mapped_path(self, path: str) -> str:
        inside = self.path(path)
        parent = posixpath.dirname(posixpath.normpath(path))
        made_later = parent != "/" and self.path(parent).is_dir() and not os.path.lexists(path)
        exists = os.path.lexists(inside) or made_later
        return f"{inside}{'/' if path.endswith('/') else ''}" if exists and path != "/" else path
