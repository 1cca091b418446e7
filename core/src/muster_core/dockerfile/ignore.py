"""The rules of a ``.dockerignore`` file, as Docker reads them.

They look like Git's and are not: a pattern without a slash matches at the top alone, the last
pattern that matches decides, and an exception inside an ignored folder works. (Builders before
BuildKit do not find an exception with a wildcard, such as ``!**/*.py``, inside an ignored folder.)
"""

from __future__ import annotations

import posixpath
import re
from typing import List, Match, NamedTuple, Pattern, Tuple

from muster_core.dockerfile.model import DockerfileError


class _Rule(NamedTuple):
    pattern: Pattern[str]
    exception: bool


class IgnoreRules:
    """Which paths of a folder a build does not see."""

    def __init__(self, rules: Tuple[_Rule, ...]) -> None:
        self._rules = rules
        self._exceptions = any(rule.exception for rule in rules)

    @classmethod
    def parse(cls, text: str) -> IgnoreRules:
        """Read an ignore file; an empty text ignores nothing.

        Raises:
            DockerfileError: A pattern that Docker would refuse, by its line.
        """
        rules: List[_Rule] = []
        for number, line in enumerate(text.lstrip("\ufeff").split("\n"), 1):
            stripped = line.strip()
            if not line.startswith("#") and stripped:
                rules.append(_rule(stripped, number))
        return cls(tuple(rules))

    def ignores(self, path: str) -> bool:
        """Whether a build does not see the path: relative to the folder, with forward slashes."""
        ignored = False
        parts = path.split("/")
        heads = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        for rule in self._rules:
            if rule.exception == ignored and any(rule.pattern.match(head) for head in heads):
                ignored = not rule.exception
        return ignored

    def prunes(self, folder: str) -> bool:
        """Whether nothing below the folder can be seen, so that nobody needs to look."""
        return not self._exceptions and self.ignores(folder)


def _rule(line: str, number: int) -> _Rule:
    exception = line.startswith("!")
    written = line[1:].strip() if exception else line
    if not written:
        raise DockerfileError(number, "'!' without a pattern excepts nothing; write !<pattern>")
    pattern = posixpath.normpath(written).lstrip("/") or "/"
    try:
        return _Rule(re.compile(_expression(pattern), re.DOTALL), exception)
    except re.error as error:
        raise DockerfileError(number, f"the pattern {written!r} is not understood: {error}") from error


def _expression(pattern: str) -> str:
    result = ""
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*" and pattern[position : position + 1] == "*":
            position += 1 + (pattern[position + 1 : position + 2] == "/")
            result += ".*" if position >= len(pattern) else "(?:.*/)?"
        elif char == "\\":
            result += re.escape(pattern[position : position + 1] or char)
            position += 1
        elif char == "[":
            end = pattern.find("]", position + 1)
            result += _character_class(pattern[position:end] if end > 0 else "")
            position = end + 1
        else:
            result += {"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char)
    return result + r"\Z"


def _character_class(inside: str) -> str:
    """Such as ``a-z`` or ``^0-9``; every other character stands for itself."""
    if not inside:
        raise re.error("a [ is not closed")
    negated = inside.startswith("^")
    body = re.sub(r"(.)-(.)|(.)", _range, inside[negated:], flags=re.DOTALL)
    return f"[{'^' if negated else ''}{body}]"


def _range(match: Match[str]) -> str:
    low, high, single = match.groups()
    return re.escape(single) if single else f"{re.escape(low)}-{re.escape(high)}"
