"""A copy of an image's folder with the runtime in it, for a build that needs nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from muster_cdk.node_file import write_node_file
from muster_core.contract import RUNTIME_PATH
from muster_core.dockerfile import DockerfileError, IgnoreRules, Stage, context_files, ignore_file, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

NODE_FILE = PurePosixPath(RUNTIME_PATH).name
"""The runtime's name in the staged folder."""
RUNTIME_STAGE = "muster-runtime"
"""The stage that is appended where a target is named."""
# Caches, synthesized apps and local clouds: they differ from machine to machine and belong in no image.
_NEVER_STAGED = ("__pycache__", "cdk.out", ".muster")


@dataclass(frozen=True)
class ImageFolder:
    """A folder with a Dockerfile, and what is to be built of it.

    Attributes:
        folder: Absolute path.
        file: The Dockerfile's path in the folder, with forward slashes.
        target: The stage to build, None for the last one.
        keep_entrypoint: Whether the image's ENTRYPOINT stays in front of the job's command.
    """

    folder: Path
    file: str
    target: str | None
    keep_entrypoint: bool

    @property
    def build_target(self) -> str | None:
        """The stage that the staged Dockerfile is built to."""
        return None if self.target is None else RUNTIME_STAGE

    def problems(self) -> list[str]:
        """All that keeps the folder from being staged, each a sentence."""
        if not self.folder.is_dir():
            return [f"path must be a folder, got {str(self.folder)!r}; create it or correct the path"]
        return [*self._node_file_problems(), *self._dockerfile_problems(), *self._ignore_problems()]

    def _node_file_problems(self) -> list[str]:
        if not os.path.lexists(self.folder / NODE_FILE):
            return []
        where = f"path has a file {NODE_FILE!r}, got {str(self.folder)!r}"
        return [f"{where}; the runtime goes into the image under this name; rename yours"]

    def _dockerfile_problems(self) -> list[str]:
        if PurePosixPath(self.file).is_absolute() or ".." in PurePosixPath(self.file).parts:
            return [
                f"file must lie in the folder, got {self.file!r}; give its path relative to {str(self.folder)!r}"
            ]
        path = self.folder / self.file
        if not path.is_file():
            return [f"file must be a Dockerfile in the folder, got {self.file!r}; there is no {str(path)!r}"]
        try:
            self.dockerfile_text()
        except DockerfileError as error:
            return [f"file is no Dockerfile that can be extended, got {str(path)!r}: {error}"]
        except UnicodeDecodeError:
            return [f"file must be text in UTF-8, got {str(path)!r}; convert it"]
        return []

    def _ignore_problems(self) -> list[str]:
        try:
            IgnoreRules.parse(self.ignore_text() or "")
        except (DockerfileError, UnicodeDecodeError) as error:
            return [f"path has an ignore file that cannot be read, got {str(self.folder)!r}: {error}"]
        return []

    def dockerfile_text(self) -> str:
        """The Dockerfile with the runtime appended.

        Raises:
            DockerfileError: Nothing can be appended; the text says which line is in the way.
        """
        text = (self.folder / self.file).read_bytes().decode()
        dockerfile = parse(text)
        lines = [
            "",
            "# Appended by TrainingImage: the runtime, and the job's command without anything in front.",
        ]
        if self.target is not None:
            base = _target(dockerfile.stages, dockerfile.stage(self.target), self.target)
            lines.append(f"FROM {base} AS {RUNTIME_STAGE}")
        lines.append(f"COPY {NODE_FILE} {RUNTIME_PATH}")
        lines += [] if self.keep_entrypoint else ["ENTRYPOINT []"]
        return text.rstrip("\r\n") + "\n" + "\n".join(lines) + "\n"

    def ignore_text(self) -> str | None:
        """The ignore file that lets the runtime through, None where the folder has none."""
        path = ignore_file(self.folder, self.file)
        if path is None:
            return None
        return path.read_bytes().decode().rstrip("\r\n") + f"\n!{NODE_FILE}\n"


def _target(stages: tuple[Stage, ...], stage: Stage | None, name: str) -> str:
    """The name of the target stage, by which a FROM can go on from it."""
    if stage is None:
        known = ", ".join(repr(one.name or str(one.index)) for one in stages)
        raise DockerfileError(stages[-1].line, f"there is no stage {name!r} for target; stages are {known}")
    if stage.name is None:
        raise DockerfileError(
            stage.line, f"the target's stage has no name; write FROM {stage.base} AS <name>"
        )
    for one in stages:
        if one.name == RUNTIME_STAGE:
            raise DockerfileError(
                one.line, f"the name {RUNTIME_STAGE!r} is Muster's own; give the stage another"
            )
    for instruction in stage.instructions:
        if instruction.name == "ONBUILD":
            raise DockerfileError(
                instruction.line,
                "ONBUILD in the target's stage would run when the runtime is added; move it to another stage",
            )
    return stage.name


@contextlib.contextmanager
def staged(image: ImageFolder, outdir: Path, *, keep: bool) -> Iterator[Path]:
    """A folder to build the image from, the same on every machine: content, names and file modes.

    Args:
        image: A folder without problems.
        outdir: The app's output folder: the copy lies in it.
        keep: Whether the copy outlives the block, as it must where CDK copies no assets.

    Yields:
        The copy. Its name follows from its content, so that CDK's caches of hashes stay right.
    """
    outdir.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=outdir, prefix="muster-image-"))
    try:
        stage = scratch / "stage"
        _fill(image, stage, outdir)
        final = outdir / f"muster-image-{_digest(stage)}"
        if not final.exists():
            stage.rename(final)
    finally:
        shutil.rmtree(scratch)
    try:
        yield final
    finally:
        if not keep:
            shutil.rmtree(final, ignore_errors=True)


def _fill(image: ImageFolder, stage: Path, outdir: Path) -> None:
    ignore = image.ignore_text()
    own = [outdir.resolve(), stage.parent.resolve()]
    root = image.folder.resolve()

    def skip(path: str) -> bool:
        name = path.rpartition("/")[2]
        return name in _NEVER_STAGED or name.endswith(".pyc") or root / path in own

    stage.mkdir()
    for path in context_files(image.folder, IgnoreRules.parse(ignore or ""), skip=skip):
        _copy(root, path, stage / path)
    write_node_file(stage / NODE_FILE)
    _write(stage / image.file, image.dockerfile_text())
    if ignore is not None:
        _write(stage / ".dockerignore", ignore)
        _write(stage / f"{image.file}.dockerignore", ignore)


def _copy(root: Path, path: str, target: Path) -> None:
    source = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(_link_text(root, source))
    elif source.is_dir():
        target.mkdir(exist_ok=True)
    elif source.is_file():
        # without its times: CDK's hash cache goes by them, and a copy's are always new
        shutil.copy(source, target)


def _link_text(root: Path, source: Path) -> str:
    """A link as it is, except an absolute one into the folder: relative, it works in the image."""
    text = source.readlink()
    if text.is_absolute() and text.is_relative_to(root):
        return os.path.relpath(text, source.parent)
    return str(text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(text.encode())
    path.chmod(0o644)


def _digest(stage: Path) -> str:
    digest = hashlib.sha256()
    for path in context_files(stage, IgnoreRules.parse("")):
        entry = stage / path
        if entry.is_symlink():
            content = os.fsencode(entry.readlink())
        else:
            content = b"" if entry.is_dir() else entry.read_bytes()
        for field in (os.fsencode(path), f"{entry.lstat().st_mode:o}".encode(), content):
            digest.update(b"%d:" % len(field) + field)
    return digest.hexdigest()[:16]
