"""The text of a Dockerfile as stages and instructions.

Written after the Dockerfile reference of docs.docker.com and BuildKit's behaviour: what that
builder accepts is accepted, except a file that ends in an open continuation, which is an error
here, since nothing could be appended to it.
"""

from __future__ import annotations

import json
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from muster_core.dockerfile.lines import LogicalLine, logical_lines
from muster_core.dockerfile.model import Dockerfile, DockerfileError, Instruction, Stage
from muster_core.dockerfile.words import split_words

_STAGE_NAME = re.compile(r"[a-z][a-z0-9_.-]*\Z")
_MAY_BE_EMPTY = ("CMD", "ENTRYPOINT")
_WHOLE_TEXT = (
    "RUN",
    "CMD",
    "ENTRYPOINT",
    "ONBUILD",
    "HEALTHCHECK",
    "MAINTAINER",
    "STOPSIGNAL",
    "USER",
    "WORKDIR",
)
_JSON_FORM = ("RUN", "CMD", "ENTRYPOINT", "SHELL", "COPY", "ADD", "VOLUME")
_FLAGS = ("FROM", "COPY", "ADD", "RUN", "HEALTHCHECK")
_WORDS = ("FROM", "COPY", "ADD", "VOLUME", "EXPOSE", "SHELL")
_PAIRS = ("ENV", "LABEL", "ARG")
INSTRUCTIONS = frozenset((*_WHOLE_TEXT, *_WORDS, *_PAIRS))
"""Every instruction of a Dockerfile."""


class _Body(NamedTuple):
    """What an instruction says, as far as its text alone tells."""

    args: Tuple[str, ...] = ()
    pairs: Tuple[Tuple[str, Optional[str]], ...] = ()
    exec_form: bool = False


def parse(text: str) -> Dockerfile:
    """Read a Dockerfile.

    Args:
        text: The whole file.

    Returns:
        Its stages, of which there is at least one.

    Raises:
        DockerfileError: Naming the line, where a build would refuse the file, or where it ends in
            the middle of an instruction.
    """
    directives, lines = logical_lines(text)
    escape = directives.get("escape", "\\")
    arguments: List[Instruction] = []
    stages: List[Tuple[Instruction, List[Instruction]]] = []
    for line in lines:
        instruction = _instruction(line, escape)
        if instruction.name == "FROM":
            stages.append((instruction, []))
        elif stages:
            stages[-1][1].append(instruction)
        elif instruction.name == "ARG":
            arguments.append(instruction)
        else:
            raise DockerfileError(line.line, f"{instruction.name} stands before the first FROM; only ARG may")
    if not stages:
        raise DockerfileError(1, "there is no FROM, so the file makes no image; begin it with FROM <image>")
    made = tuple(_stage(index, start, body) for index, (start, body) in enumerate(stages))
    return Dockerfile(escape, directives.get("syntax"), tuple(arguments), made)


def _stage(index: int, start: Instruction, body: List[Instruction]) -> Stage:
    words = start.args
    if len(words) not in {1, 3} or (len(words) == 3 and words[1].lower() != "as"):  # noqa: PLR2004  FROM a AS b
        raise DockerfileError(start.line, f"FROM takes <image> or <image> AS <name>, got {start.text!r}")
    name = words[2].lower() if len(words) == 3 else None  # noqa: PLR2004
    if name is not None and not _STAGE_NAME.match(name):
        raise DockerfileError(
            start.line,
            f"the name of a stage is a letter, then letters, digits or any of _ . -, got {words[2]!r}",
        )
    return Stage(index, words[0], start.line, name, start.flag("platform"), tuple(body))


def _instruction(line: LogicalLine, escape: str) -> Instruction:
    name, _, rest = _partition(line.text)
    name = name.upper()
    if name not in INSTRUCTIONS:
        raise DockerfileError(line.line, f"{name[:40]!r} is no instruction of a Dockerfile")
    flags, rest = _flags(rest, escape, line.line) if name in _FLAGS else ((), rest)
    if not rest and name not in _MAY_BE_EMPTY:
        raise DockerfileError(line.line, f"{name} needs at least one argument")
    body = _body(name, rest, escape, line.line)
    return Instruction(
        name=name,
        line=line.line,
        last_line=line.last_line,
        text=rest,
        flags=flags,
        args=body.args,
        pairs=body.pairs,
        exec_form=body.exec_form,
        heredocs=line.heredocs,
    )


def _partition(text: str) -> Tuple[str, str, str]:
    """The first word, white space, and the rest without white space around it."""
    parts = text.strip().split(None, 1)
    return parts[0] if parts else "", " ", parts[1].strip() if len(parts) > 1 else ""


def _flags(rest: str, escape: str, line: int) -> Tuple[Tuple[Tuple[str, str], ...], str]:
    flags: List[Tuple[str, str]] = []
    while rest.startswith("--"):
        word = split_words(rest, escape)[0]
        rest = rest[len(word) :].lstrip()
        if word == "--":
            break
        name, _, value = word[2:].partition("=")
        if not name:
            raise DockerfileError(line, f"{word!r} is no flag")
        flags.append((name.lower(), _unquoted(value)))
    return tuple(flags), rest


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _body(name: str, rest: str, escape: str, line: int) -> _Body:
    listed = _json_list(rest, line) if name in _JSON_FORM else None
    if listed is not None:
        return _Body(args=listed, exec_form=True)
    if name in _PAIRS:
        return _Body(pairs=_PAIR_READERS[name](name, rest, escape, line))
    if name in _WORDS:
        return _Body(args=_words(name, rest, line))
    return _Body(args=(rest,) if rest else ())


def _words(name: str, rest: str, line: int) -> Tuple[str, ...]:
    words = tuple(rest.split())
    if name == "SHELL":
        raise DockerfileError(line, f'SHELL takes a JSON list such as ["/bin/bash", "-c"], got {rest!r}')
    if name in {"COPY", "ADD"} and len(words) < 2:  # noqa: PLR2004  a source and a destination
        raise DockerfileError(line, f"{name} needs a source and a destination, got {rest!r}")
    return words


def _json_list(rest: str, line: int) -> Optional[Tuple[str, ...]]:
    """The strings of a JSON list; None for anything else, which is then the shell form."""
    if not rest.startswith("["):
        return None
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError):
        return None
    if any(not isinstance(item, str) for item in value):
        raise DockerfileError(line, f"a JSON list may hold strings only, got {rest!r}")
    return tuple(value)


def _assignments(name: str, rest: str, escape: str, line: int) -> Tuple[Tuple[str, Optional[str]], ...]:
    """ENV and LABEL: ``A=1 B=2``, or the old ``A everything else``."""
    words = split_words(rest, escape)
    if "=" not in words[0]:
        parts = rest.split(None, 1)
        if len(parts) == 1:
            raise DockerfileError(line, f"{name} takes NAME=value, got {rest!r}")
        return ((parts[0], parts[1]),)
    for word in words:
        if word.partition("=")[0] == "" or "=" not in word:
            raise DockerfileError(line, f"{name} takes NAME=value, got {word!r}; quote a value with spaces")
    return tuple((key, value) for key, _, value in (word.partition("=") for word in words))


def _declarations(name: str, rest: str, escape: str, line: int) -> Tuple[Tuple[str, Optional[str]], ...]:
    """ARG: ``A B=1``."""
    found: List[Tuple[str, Optional[str]]] = []
    for word in split_words(rest, escape):
        key, equals, value = word.partition("=")
        if not key:
            raise DockerfileError(line, f"{name} takes NAME or NAME=default, got {word!r}")
        found.append((key, value if equals else None))
    return tuple(found)


_Reader = Callable[[str, str, str, int], Tuple[Tuple[str, Optional[str]], ...]]
_PAIR_READERS: Dict[str, _Reader] = {"ENV": _assignments, "LABEL": _assignments, "ARG": _declarations}
