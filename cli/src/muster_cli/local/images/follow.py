"""Following a Dockerfile without a container engine: files are laid out, settings are collected.

FROM an image that is no stage means an empty file system: its programs are the environment's.
COPY, ADD of local files, WORKDIR, ENV, ARG, USER, ENTRYPOINT, CMD, SHELL, STOPSIGNAL and VOLUME
are followed; LABEL, EXPOSE, HEALTHCHECK and MAINTAINER change nothing here; RUN is checked by
:mod:`muster_cli.local.images.run_lines`. Anything else fails by its line.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from muster_cli.local.images.copying import Copier, Source
from muster_cli.local.images.errors import CannotFollow
from muster_cli.local.images.stage_settings import FOLLOWED, Settings
from muster_core.dockerfile import (
    DockerfileError,
    IgnoreRules,
    context_files,
    expand,
    ignore_file,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muster_cli.local.images.node_root import NodeRoot
    from muster_core.dockerfile import Instruction, Stage

_PLATFORM = "linux/amd64"


class Follower:
    """Follows one Dockerfile for one node.

    Args:
        folder: The build's folder.
        file: The Dockerfile's path in it.
        build_args: Values of ARG.
        platform: Such as ``linux/arm64``. Default: ``linux/amd64``.

    Raises:
        DockerfileError: No build would accept the Dockerfile or the ignore file.
    """

    def __init__(self, folder: Path, file: str, build_args: Mapping[str, str], platform: str | None) -> None:
        self._dockerfile = parse(_text(folder / file))
        self._build_args = build_args
        ignore = ignore_file(folder, file)
        rules = IgnoreRules.parse(_text(ignore) if ignore else "")
        self._context = Source(folder, frozenset(context_files(folder, rules)), "the image's folder")
        self._arguments = _platform_arguments(platform or _PLATFORM)
        for instruction in self._dockerfile.arguments:
            self._declare(instruction, self._arguments, self._arguments)
        self._scratch = Path()
        self._sources: dict[int, Source] = {}

    def run(self, root: Path, target: str | None, *, stands_in: bool) -> NodeRoot:
        """Lay a stage out.

        Args:
            root: An empty folder.
            target: The stage, None for the last one.
            stands_in: See :class:`NodeRoot`.

        Raises:
            CannotFollow: A line that only a container engine can follow.
            DockerfileError: A line that no build would accept.
        """
        stage = self._dockerfile.last if target is None else self._dockerfile.stage(target)
        if stage is None:
            raise DockerfileError(self._dockerfile.last.line, f"there is no stage {target!r} to build")
        self._scratch = Path(tempfile.mkdtemp(dir=root.parent, prefix=f".{root.name}-stages-"))
        try:
            return self._stage(stage, root).node_root(stands_in=stands_in)
        finally:
            shutil.rmtree(self._scratch)
            self._sources.clear()

    def _stage(self, stage: Stage, root: Path) -> Settings:
        settings = self._start(stage, root)
        for instruction in stage.instructions:
            if instruction.name == "ARG":
                self._declare(instruction, settings.variables, settings.arguments)
            elif instruction.name in {"COPY", "ADD"}:
                self._copy(instruction, settings)
            else:
                FOLLOWED[instruction.name](instruction, settings)
        return settings

    def _start(self, stage: Stage, root: Path) -> Settings:
        escape = self._dockerfile.escape
        base = expand(stage.base, self._arguments, line=stage.line, escape=escape)
        if not base:
            raise DockerfileError(stage.line, f"FROM {stage.base} names no image; give the ARG a default")
        earlier = None if base.isdigit() else self._dockerfile.stage(base, before=stage.index)
        if earlier is None:
            return Settings(root, stage, escape)
        return self._stage(earlier, root).inherited_by(stage)

    def _declare(self, instruction: Instruction, known: Mapping[str, str], declared: dict[str, str]) -> None:
        """ARG: a value of the build, else its default, else what stands before the first FROM."""
        for name, default in instruction.pairs:
            if name in self._build_args:
                declared[name] = self._build_args[name]
            elif default is not None:
                escape = self._dockerfile.escape
                declared[name] = expand(default, known, line=instruction.line, escape=escape)
            elif name in self._arguments:
                declared[name] = self._arguments[name]

    def _copy(self, instruction: Instruction, settings: Settings) -> None:
        words = [settings.expand(word, instruction) for word in instruction.args]
        documents = {
            one.name: settings.expand(one.text, instruction, quotes=False) if one.expand else one.text
            for one in instruction.heredocs
        }
        source = self._source(instruction, settings)
        Copier(instruction, source, settings.root, settings.workdir).copy(words, documents)

    def _source(self, instruction: Instruction, settings: Settings) -> Source:
        written = instruction.flag("from")
        if written is None:
            return self._context
        name = settings.expand(written, instruction)
        stage = self._dockerfile.stage(name, before=settings.stage.index)
        if stage is None:
            raise CannotFollow(
                instruction,
                f"{name!r} is no stage of this file, and other images are not here; COPY from the folder",
            )
        if stage.index not in self._sources:
            folder = self._scratch / str(stage.index)
            folder.mkdir()
            settings.notes += self._stage(stage, folder).notes
            paths = frozenset(context_files(folder, IgnoreRules.parse("")))
            self._sources[stage.index] = Source(folder, paths, f"the stage {name!r}", complete=False)
        return self._sources[stage.index]


def _platform_arguments(platform: str) -> dict[str, str]:
    """The ARG that a build sets by itself."""
    system, _, rest = platform.partition("/")
    architecture, _, variant = rest.partition("/")
    values = {"PLATFORM": platform, "OS": system, "ARCH": architecture, "VARIANT": variant}
    return {f"{side}{name}": value for side in ("TARGET", "BUILD") for name, value in values.items()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DockerfileError(1, f"{path.name} cannot be read: {error}") from error
