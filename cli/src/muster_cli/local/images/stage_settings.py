"""What the instructions of a stage say, beyond its files: ENV, WORKDIR, USER, ENTRYPOINT, CMD and so on."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from muster_cli.local.images.errors import CannotFollow
from muster_cli.local.images.node_root import NodeRoot, default_path
from muster_cli.local.images.run_lines import follow_run
from muster_core.dockerfile import expand

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from muster_core.dockerfile import Instruction, Stage

_SHELL = ("/bin/sh", "-c")


@dataclass
class Settings:
    """What a stage has said so far.

    Attributes:
        root: The folder that stands for ``/``.
        stage: The stage.
        escape: The file's escape character.
        arguments: ARG by name.
        environment: ENV by name.
        workdir: WORKDIR, an absolute path of the image.
        user: USER, None where it never stood.
        shell: SHELL.
        entrypoint: ENTRYPOINT as a list.
        cmd: CMD as a list.
        cmd_of_stage: Whether this stage itself said CMD.
        stop_signal: STOPSIGNAL, None where it never stood.
        onbuild: The first ONBUILD.
        notes: RUN lines that the environment already meets.
    """

    root: Path
    stage: Stage
    escape: str
    arguments: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": default_path()})
    workdir: str = "/"
    user: str | None = None
    shell: tuple[str, ...] = _SHELL
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    cmd_of_stage: bool = False
    stop_signal: str | None = None
    onbuild: Instruction | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """What words of the Dockerfile may name: ENV hides an ARG of the same name."""
        return self.arguments | self.environment

    def expand(self, text: str, instruction: Instruction, *, quotes: bool = True) -> str:
        """A word of an instruction with its variables replaced."""
        return expand(text, self.variables, line=instruction.line, escape=self.escape, quotes=quotes)

    def make_folder(self, path: str) -> None:
        """Make a folder of the image, absolute or relative to WORKDIR."""
        inside = posixpath.normpath(posixpath.join(self.workdir, path)).lstrip("/")
        (self.root / inside).mkdir(parents=True, exist_ok=True)

    def inherited_by(self, stage: Stage) -> Settings:
        """What a stage FROM this one begins with.

        Raises:
            CannotFollow: An ONBUILD of this stage would run in that one.
        """
        if self.onbuild is not None:
            raise CannotFollow(
                self.onbuild, f"it would run in the stage of line {stage.line}; write it there"
            )
        return replace(self, stage=stage, arguments={}, cmd_of_stage=False)

    def node_root(self, *, stands_in: bool) -> NodeRoot:
        """What a node of this stage runs in."""
        self.make_folder("/")
        self.make_folder(self.workdir)
        return NodeRoot(
            root=self.root,
            workdir=self.workdir,
            variables=self.environment,
            user=self.user,
            entrypoint=self.entrypoint,
            cmd=self.cmd,
            stop_signal=self.stop_signal,
            notes=tuple(self.notes),
            stands_in=stands_in,
        )


def _env(instruction: Instruction, settings: Settings) -> None:
    values = {
        settings.expand(name, instruction): settings.expand(value or "", instruction)
        for name, value in instruction.pairs
    }
    settings.environment = settings.environment | values


def _workdir(instruction: Instruction, settings: Settings) -> None:
    path = settings.expand(instruction.text, instruction)
    settings.workdir = posixpath.normpath(posixpath.join(settings.workdir, path))
    settings.make_folder(settings.workdir)


def _user(instruction: Instruction, settings: Settings) -> None:
    settings.user = settings.expand(instruction.text, instruction)


def _volume(instruction: Instruction, settings: Settings) -> None:
    for word in instruction.args:
        settings.make_folder(settings.expand(word, instruction))


def _shell(instruction: Instruction, settings: Settings) -> None:
    settings.shell = instruction.args


def _stop_signal(instruction: Instruction, settings: Settings) -> None:
    settings.stop_signal = settings.expand(instruction.text, instruction)


def _entrypoint(instruction: Instruction, settings: Settings) -> None:
    settings.entrypoint = _program(instruction, settings)
    if not settings.cmd_of_stage:
        settings.cmd = ()  # an inherited CMD was meant for the inherited ENTRYPOINT


def _cmd(instruction: Instruction, settings: Settings) -> None:
    settings.cmd = _program(instruction, settings)
    settings.cmd_of_stage = True


def _program(instruction: Instruction, settings: Settings) -> tuple[str, ...]:
    """ENTRYPOINT or CMD: the shell form has the shell in front."""
    listed = instruction.exec_form or not instruction.args
    return instruction.args if listed else (*settings.shell, *instruction.args)


def _onbuild(instruction: Instruction, settings: Settings) -> None:
    settings.onbuild = settings.onbuild or instruction


def _run(instruction: Instruction, settings: Settings) -> None:
    settings.notes += follow_run(instruction, settings.variables, settings.root, settings.workdir)


def _nothing(instruction: Instruction, settings: Settings) -> None:
    """Nothing follows from it for a process of the local cloud."""


FOLLOWED: dict[str, Callable[[Instruction, Settings], None]] = {
    "CMD": _cmd,
    "ENTRYPOINT": _entrypoint,
    "ENV": _env,
    "EXPOSE": _nothing,
    "HEALTHCHECK": _nothing,
    "LABEL": _nothing,
    "MAINTAINER": _nothing,
    "ONBUILD": _onbuild,
    "RUN": _run,
    "SHELL": _shell,
    "STOPSIGNAL": _stop_signal,
    "USER": _user,
    "VOLUME": _volume,
    "WORKDIR": _workdir,
}
"""How each instruction is followed that needs nothing but the stage itself."""
