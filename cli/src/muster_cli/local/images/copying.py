"""COPY and ADD: files of the build's folder or of another stage into a node's root."""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shutil
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muster_cli.local.images.errors import CannotFollow
from muster_core.dockerfile import DockerfileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from muster_core.dockerfile import Instruction

_FOLLOWED_FLAGS = ("from", "chmod", "chown", "link")
_HEREDOC = re.compile(r"\d*<<-?")
_REMOTE = re.compile(r"https?://|git://|git@|ssh://|s3://")
_WILDCARD = re.compile(r"[*?\[]")
_OCTAL = re.compile(r"0?[0-7]{3,4}")


@dataclass(frozen=True)
class Source:
    """Where files come from.

    Attributes:
        folder: The folder.
        paths: All that can be copied: paths relative to it, with forward slashes.
        name: What a person calls it.
        complete: Whether nothing is missing. A stage lacks what its base image brings.
    """

    folder: Path
    paths: frozenset[str]
    name: str
    complete: bool = True

    def below(self, path: str) -> Iterator[str]:
        """What lies in a folder, relative to it, parents first."""
        prefix = f"{path}/" if path else ""
        return (one[len(prefix) :] for one in sorted(self.paths) if one.startswith(prefix))

    def is_folder(self, path: str) -> bool:
        """Whether it is a folder, or one of which only a part can be seen."""
        entry = self.folder / path
        return entry.is_dir() and not entry.is_symlink()

    def matches(self, pattern: str) -> list[str]:
        """The paths that a source word names, sorted."""
        clean = posixpath.normpath(f"/{pattern}").lstrip("/")
        if not clean:
            return [""]
        if _WILDCARD.search(clean):
            return sorted(path for path in self.paths if _matches(path, clean))
        seen = clean in self.paths or any(path.startswith(f"{clean}/") for path in self.paths)
        return [clean] if seen else []


def _matches(path: str, pattern: str) -> bool:
    """Component by component, as Go's filepath.Match does: a wildcard never crosses a slash."""
    parts, patterns = path.split("/"), pattern.replace("[^", "[!").split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


class Copier:
    """Follows one COPY or ADD.

    Args:
        instruction: The COPY or ADD.
        source: Where its files come from.
        root: The node's root.
        workdir: WORKDIR at this line.
    """

    def __init__(self, instruction: Instruction, source: Source, root: Path, workdir: str) -> None:
        self._instruction = instruction
        self._source = source
        self._root = root
        self._workdir = workdir
        self._mode = self._chmod()

    def copy(self, words: Sequence[str], documents: Mapping[str, str]) -> None:
        """Copy.

        Args:
            words: Sources and, last, the destination; variables replaced.
            documents: The heredocs among the sources, by name.

        Raises:
            CannotFollow: A flag or a source that takes a container engine or the network.
            DockerfileError: A source that is not there.
        """
        for name, _ in self._instruction.flags:
            if name not in _FOLLOWED_FLAGS:
                raise CannotFollow(self._instruction, f"--{name} is not known here; copy without it")
        sources = [word for word in words[:-1] if not (documents and _HEREDOC.match(word))]
        found = [path for word in sources for path in self._found(word)]
        target = posixpath.normpath(posixpath.join(self._workdir, words[-1]))
        into = (
            words[-1].endswith(("/", "/."))
            or words[-1] == "."
            or len(found) + len(documents) > 1
            or self._at(target).is_dir()
        )
        for path in found:
            self._place(path, target, into=into)
        for name, text in documents.items():
            self._write(text, posixpath.join(target, name) if into else target)

    def _found(self, word: str) -> list[str]:
        if self._instruction.name == "ADD" and _REMOTE.match(word):
            raise CannotFollow(
                self._instruction, f"{word!r} would be downloaded; download it into the folder and COPY it"
            )
        found = self._source.matches(word)
        if found:
            return found
        if not self._source.complete:
            raise CannotFollow(
                self._instruction,
                f"{word!r} is not among the files that were copied to {self._source.name}: "
                "its base image or a RUN would bring it; copy it from the folder",
            )
        hidden = (self._source.folder / word.lstrip("/")).exists()
        raise DockerfileError(
            self._instruction.line,
            f"{self._instruction.name} finds no {word!r} in {self._source.name}"
            + ("; the ignore file hides it" if hidden else ""),
        )

    def _place(self, path: str, target: str, *, into: bool) -> None:
        path = self._resolved(path)
        if self._source.is_folder(path):
            self._folder(target)
            for one in self._source.below(path):
                self._one(posixpath.join(path, one), posixpath.join(target, one))
        elif self._instruction.name == "ADD" and tarfile.is_tarfile(self._source.folder / path):
            self._extract(path, target)
        else:
            self._one(path, posixpath.join(target, posixpath.basename(path)) if into else target)

    def _resolved(self, path: str) -> str:
        """A link that is named itself stands for what it leads to; links inside folders stay links."""
        entry = self._source.folder / path
        if not entry.is_symlink():
            return path
        end = entry.resolve()
        folder = self._source.folder.resolve()
        if not end.is_relative_to(folder) or not end.exists():
            raise DockerfileError(
                self._instruction.line, f"{path!r} is a link that leads nowhere in {self._source.name}"
            )
        return end.relative_to(folder).as_posix()

    def _one(self, path: str, target: str) -> None:
        source, place = self._source.folder / path, self._at(target)
        if self._source.is_folder(path):
            self._folder(target)
            return
        self._folder(posixpath.dirname(target))
        if place.is_symlink() or place.is_file():
            place.unlink()
        self._refuse_folder(target)
        shutil.copy2(source, place, follow_symlinks=False)
        if self._mode is not None and not place.is_symlink():
            place.chmod(self._mode)

    def _folder(self, path: str) -> None:
        try:
            self._at(path).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise DockerfileError(
                self._instruction.line,
                f"{self._instruction.name} needs the folder {path!r}, but that or a folder above it is a file"
                " already; name another destination",
            ) from None

    def _refuse_folder(self, path: str) -> None:
        if self._at(path).is_dir():
            raise DockerfileError(
                self._instruction.line,
                f"{self._instruction.name} cannot write the file {path!r}, as a folder is there already;"
                " name another destination",
            )

    def _write(self, text: str, target: str) -> None:
        self._folder(posixpath.dirname(target))
        self._refuse_folder(target)
        place = self._at(target)
        place.write_text(text, encoding="utf-8")
        place.chmod(0o644 if self._mode is None else self._mode)

    def _extract(self, path: str, target: str) -> None:
        self._folder(target)
        with tarfile.open(self._source.folder / path) as archive:
            archive.extractall(self._at(target), filter="data")

    def _at(self, path: str) -> Path:
        """A path of the image in the root; never outside of it, whatever links were copied."""
        place = self._root / path.lstrip("/")
        folder = place if place == self._root else place.parent
        if not folder.resolve().is_relative_to(self._root.resolve()):
            raise CannotFollow(self._instruction, f"{path!r} lies behind a link that leads out of the image")
        return place

    def _chmod(self) -> int | None:
        mode = self._instruction.flag("chmod")
        if mode is None:
            return None
        if not _OCTAL.fullmatch(mode):
            raise CannotFollow(
                self._instruction, f"--chmod={mode} is not octal; write it as digits such as 755"
            )
        return int(mode, 8)
