"""A Dockerfile's lines: directives, comments, continuations and heredocs resolved."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from muster_core.dockerfile.model import DockerfileError, Heredoc
from muster_core.dockerfile.words import split_words

_DIRECTIVE = re.compile(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*\Z")
_DIRECTIVES = ("syntax", "escape", "check")
_HEREDOC = re.compile(r"\d*<<(-?)([^<]+)\Z")
_TAKES_HEREDOC = ("COPY", "ADD", "RUN")
_QUOTES = re.compile(r"[\"']")


class LogicalLine(NamedTuple):
    """One instruction's text, and where it stands."""

    text: str
    line: int
    last_line: int
    heredocs: Tuple[Heredoc, ...]


def logical_lines(text: str) -> Tuple[Dict[str, str], List[LogicalLine]]:
    """The parser directives by name, and one line per instruction.

    Raises:
        DockerfileError: A bad directive, an open continuation at the end, an open heredoc.
    """
    lines = [line.removesuffix("\r") for line in text.lstrip("\ufeff").split("\n")]
    directives = _directives(lines)
    return directives, _Reader(lines, directives.get("escape", "\\")).read()


def _directives(lines: List[str]) -> Dict[str, str]:
    """Directives stand at the top, before any other line, even an empty or a comment line."""
    found: Dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        match = _DIRECTIVE.match(line.strip())
        name = match.group(1).lower() if match else ""
        if not match or name not in _DIRECTIVES:
            break
        if name in found:
            raise DockerfileError(number, f"the directive {name!r} stands twice")
        found[name] = match.group(2)
        if name == "escape" and found[name] not in {"\\", "`"}:
            raise DockerfileError(number, f"escape must be a backslash or a backtick, got {found[name]!r}")
    return found


class _Reader:
    def __init__(self, lines: List[str], escape: str) -> None:
        self._lines = lines
        self._escape = escape
        token = re.escape(escape)
        # An escaped escape character at the end continues nothing.
        self._continues = re.compile(rf"(?:(?<!{token})|\A){token}[ \t]*\Z")
        self._next = 0

    def read(self) -> List[LogicalLine]:
        found: List[LogicalLine] = []
        while self._next < len(self._lines):
            start = self._next
            text = self._joined()
            if text.strip():
                heredocs = self._heredocs(text, start + 1)
                found.append(LogicalLine(text.strip(), start + 1, self._next, heredocs))
        return found

    def _joined(self) -> str:
        """The next instruction's text: comments and empty lines inside it are passed over."""
        first = self._take().lstrip()
        if first.startswith("#"):
            return ""
        text, opened = self._cut(first)
        begin = last = self._next
        while opened and self._next < len(self._lines):
            line = self._take()
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            last = self._next
            line, opened = self._cut(line)
            text += line
        if opened and text.strip():
            raise DockerfileError(
                last,
                f"the file ends in an open continuation ({self._escape}) of the instruction in line {begin}; "
                "remove the character at the end of the line",
            )
        return text

    def _cut(self, line: str) -> Tuple[str, bool]:
        """The line without a continuation character, and whether it had one."""
        match = self._continues.search(line)
        return (line[: match.start()], True) if match else (line, False)

    def _take(self) -> str:
        self._next += 1
        return self._lines[self._next - 1]

    def _heredocs(self, text: str, line: int) -> Tuple[Heredoc, ...]:
        words = text.split(None, 2)
        if words[0].upper() == "ONBUILD":
            words = words[1:]
        if not words or words[0].upper() not in _TAKES_HEREDOC or words[-1].startswith("["):
            return ()
        found = (_opening(word) for word in split_words(text, self._escape))
        return tuple(self._heredoc(opening, line) for opening in found if opening)

    def _heredoc(self, opening: Tuple[str, bool, bool], line: int) -> Heredoc:
        name, expand, chomp = opening
        text = ""
        while self._next < len(self._lines):
            content = self._take()
            content = content.lstrip("\t") if chomp else content
            if content == name:
                return Heredoc(name, text, expand)
            text += content + "\n"
        raise DockerfileError(
            line, f"the heredoc {name!r} is open at the end of the file; end it by a line {name!r}"
        )


def _opening(word: str) -> Optional[Tuple[str, bool, bool]]:
    """Delimiter, whether to replace variables, whether to strip tabs; None for no heredoc."""
    match = _HEREDOC.match(word)
    if not match:
        return None
    name = _QUOTES.sub("", match.group(2))
    return (name, name == match.group(2), bool(match.group(1))) if name else None
