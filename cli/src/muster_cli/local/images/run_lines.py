"""RUN without a container engine: accepted only where nothing needs to be run.

A node's processes run in the environment of the local cloud. So ``pip install`` of what this
environment has is already done, and ``mkdir`` can be done in the node's root; anything else
would have changed an image that is not there.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING

from muster_cli.local.images.errors import CannotFollow
from muster_cli.local.images.requirements import Unmet, installed, read_requirements
from muster_core.dockerfile import expand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from muster_core.dockerfile import Instruction

_PUNCTUATION = "();<>|&"
_JOINTS = ("&&", ";")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PIP = re.compile(r"pip(?:3(?:\.\d+)?)?\Z")
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?\Z")
_HARMLESS = (["true"], ["set", "-e"], ["set", "-ex"], ["set", "-eux"], ["set", "-euxo", "pipefail"])
_FILES = ("-r", "--requirement")
_WITH_VALUE = (
    *("-c", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host"),
    *("--timeout", "--retries", "--proxy", "--cert", "--cache-dir", "--root-user-action", "--progress-bar"),
    *(
        "--no-binary",
        "--only-binary",
        "--platform",
        "--python-version",
        "--upgrade-strategy",
        "--src",
        "--log",
    ),
    *("-t", "--target", "--prefix", "--root", "--torch-backend", "--python", "-p"),
)
_WAY_OUT = "the local cloud runs nothing for an image; move it to the base image"


def follow_run(instruction: Instruction, variables: Mapping[str, str], root: Path, workdir: str) -> list[str]:
    """Check a RUN, and do of it what needs no container engine.

    Args:
        instruction: The RUN.
        variables: ARG and ENV at this line.
        root: The node's root.
        workdir: WORKDIR at this line.

    Returns:
        A note for each requirement that the environment already meets.

    Raises:
        CannotFollow: It does something else, or the environment lacks a requirement.
    """
    notes: list[str] = []
    for command in _commands(instruction):
        words = [expand(word, variables, line=instruction.line, quotes=False) for word in command]
        requirements = _requirements(words, root, workdir)
        if requirements is not None:
            notes += _met(instruction, requirements)
        elif words[0] == "mkdir":
            _make_folders(instruction, words[1:], root, workdir)
        elif words not in _HARMLESS:
            raise CannotFollow(instruction, f"{words[0]!r} would have to run; {_WAY_OUT}")
    return notes


def _commands(instruction: Instruction) -> Iterator[list[str]]:
    """The simple commands of a RUN, without assignments in front."""
    if instruction.exec_form:
        yield list(instruction.args)
        return
    documents = [one.text for one in instruction.heredocs]
    texts = "\n".join(documents).splitlines() if documents else [instruction.text]
    for text in texts:
        for command in _split(instruction, text):
            while command and _ASSIGNMENT.match(command[0]):
                del command[0]
            if command:
                yield command


def _split(instruction: Instruction, text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace_split = True
    command: list[str] = []
    try:
        words = list(lexer)
    except ValueError as error:
        raise CannotFollow(instruction, f"it is no shell command: {str(error).lower()}") from error
    for word in words:
        if word in _JOINTS:
            yield command
            command = []
        elif set(word) <= set(_PUNCTUATION):
            raise CannotFollow(instruction, f"{word!r} takes a shell; {_WAY_OUT}")
        else:
            command.append(word)
    yield command


def _requirements(words: list[str], root: Path, workdir: str) -> list[str] | None:
    """What a pip command installs; None for any other command."""
    arguments = _pip_arguments(words)
    if arguments is None or arguments[:1] != ["install"]:
        return [] if arguments == ["cache", "purge"] else None
    found: list[str] = []
    rest = iter(arguments[1:])
    for word in rest:
        if word in _FILES:
            found += _file(next(rest, ""), root, workdir)
        elif word.startswith(tuple(f"{option}=" for option in _FILES)):
            found += _file(word.partition("=")[2], root, workdir)
        elif word in _WITH_VALUE:
            next(rest, None)
        elif word in {"-e", "--editable"}:
            found.append(f"-e {next(rest, '')}")
        elif not word.startswith("-"):
            found.append(word)
    return found


def _file(name: str, root: Path, workdir: str) -> list[str]:
    path = root / posixpath.normpath(posixpath.join(workdir, name)).lstrip("/")
    return read_requirements(path) if path.is_file() else [f"-r {name}"]


def _pip_arguments(words: list[str]) -> list[str] | None:
    program = posixpath.basename(words[0])
    if _PIP.match(program):
        return words[1:]
    if _PYTHON.match(program) and words[1:3] == ["-m", "pip"]:
        return words[3:]
    return words[2:] if words[:2] == ["uv", "pip"] else None


def _met(instruction: Instruction, requirements: list[str]) -> list[str]:
    notes = []
    for requirement in requirements:
        try:
            found = installed(requirement)
        except Unmet as error:
            raise CannotFollow(instruction, str(error)) from error
        if found:
            notes.append(f"line {instruction.line}: {requirement}: the environment has {found}")
    return notes


def _make_folders(instruction: Instruction, words: list[str], root: Path, workdir: str) -> None:
    folders = [word for word in words if not word.startswith("-")]
    if any(word not in {"-p", "--parents", "-v", "-pv"} for word in words if word not in folders):
        raise CannotFollow(instruction, f"mkdir is followed with -p alone; {_WAY_OUT}")
    for folder in folders:
        path = posixpath.normpath(posixpath.join(workdir, folder))
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
