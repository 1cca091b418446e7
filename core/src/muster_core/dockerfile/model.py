"""What a parsed Dockerfile consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Optional, Tuple


class DockerfileError(ValueError):
    """A Dockerfile or ignore file that cannot be read or followed.

    Attributes:
        line: The line of the file, from 1.
        reason: What is wrong with it, without the line.
    """

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"line {line}: {reason}")


class Heredoc(NamedTuple):
    """A document inside the file, as in ``COPY <<EOF /app/settings``."""

    name: str
    """Its delimiter, which is also the name of the file that it becomes."""
    text: str
    """Its lines, each with its end of line."""
    expand: bool
    """Whether variables in it are replaced: not where the delimiter was quoted."""


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        name: In upper case, such as ``COPY``.
        flags: Such as ``(("from", "build"), ("link", ""))``, in order.
        text: What follows name and flags, continuations joined, variables in place.
        args: The words of ``text``; for the JSON form its strings; for the shell form of RUN, CMD
            and ENTRYPOINT the whole text as one. ENV, LABEL and ARG: see ``pairs``.
        pairs: Of ENV, LABEL and ARG: name and value as written, quotes in place; the value of an ARG
            without a default is None.
        exec_form: Whether it was written as a JSON list.
        heredocs: The documents that follow it.
        line: Its first line, from 1.
        last_line: Its last line, heredocs included.
    """

    name: str
    line: int
    last_line: int
    text: str = ""
    flags: Tuple[Tuple[str, str], ...] = ()
    args: Tuple[str, ...] = ()
    pairs: Tuple[Tuple[str, Optional[str]], ...] = ()
    exec_form: bool = False
    heredocs: Tuple[Heredoc, ...] = ()

    def flag(self, name: str) -> Optional[str]:
        """The value of the last flag of that name, None where it is absent."""
        return dict(self.flags).get(name)


@dataclass(frozen=True)
class Stage:
    """A FROM and what follows it.

    Attributes:
        index: From 0.
        name: In lower case, None for a stage without one.
        base: The image or stage that it starts from, variables in place.
        platform: The value of ``--platform``, variables in place, None where absent.
        instructions: Without the FROM.
        line: The line of the FROM.
    """

    index: int
    base: str
    line: int
    name: Optional[str] = None
    platform: Optional[str] = None
    instructions: Tuple[Instruction, ...] = ()


@dataclass(frozen=True)
class Dockerfile:
    """A whole file: at least one stage.

    Attributes:
        escape: The escape character, a backslash or a backtick.
        syntax: The ``# syntax=`` line's value, None where absent.
        arguments: The ARG instructions before the first FROM.
        stages: In order.
    """

    escape: str
    syntax: Optional[str]
    arguments: Tuple[Instruction, ...]
    stages: Tuple[Stage, ...]

    @property
    def last(self) -> Stage:
        """The stage that a build without a target makes."""
        return self.stages[-1]

    def stage(self, name: str, *, before: Optional[int] = None) -> Optional[Stage]:
        """The stage of that name (case does not matter) or of that index, None where there is none.

        Args:
            name: A name, or an index in digits.
            before: Look only at stages before this index, as FROM and ``COPY --from`` do.
                Default: all.
        """
        stages = self.stages[:before]
        named = [stage for stage in stages if stage.name == name.lower()]
        if named:
            return named[-1]
        return next((stage for stage in stages if str(stage.index) == name), None)
