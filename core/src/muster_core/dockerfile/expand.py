"""Variables in the words of an instruction, replaced as a build replaces them."""

from __future__ import annotations

from typing import Callable, Mapping, Optional

from muster_core.dockerfile.model import DockerfileError

_DEEPEST = 20


def expand(
    text: str, variables: Mapping[str, str], *, line: int, escape: str = "\\", quotes: bool = True
) -> str:
    """Replace ``$NAME``, ``${NAME}`` and ``${NAME:-word}`` (also ``-``, ``:+``, ``+``, ``:?``, ``?``).

    Args:
        text: A word, or a heredoc.
        variables: Values by name; a name that is missing counts as unset, which is empty.
        line: The instruction's line, for errors.
        escape: The escape character: it takes the next character as it is.
        quotes: Whether quotes are taken off, and single ones hold back replacement. Default: True;
            heredocs keep theirs.

    Raises:
        DockerfileError: An open quote or brace, a form that is none of these, a required variable
            that is unset.
    """
    return _Expander(variables, line, escape).run(text, quotes=quotes, depth=0)


class _Expander:
    def __init__(self, variables: Mapping[str, str], line: int, escape: str) -> None:
        self._variables = variables
        self._line = line
        self._escape = escape

    def run(self, text: str, *, quotes: bool, depth: int) -> str:
        if depth > _DEEPEST:
            raise DockerfileError(self._line, f"variables are nested deeper than {_DEEPEST} levels")
        result = ""
        position = 0
        double = False
        while position < len(text):
            char = text[position]
            if char == "'" and quotes and not double:
                piece, position = self._single(text, position)
            elif char == '"' and quotes:
                piece, position, double = "", position + 1, not double
            elif char == self._escape:
                piece, position = self._escaped(text, position, double=double or not quotes)
            elif char == "$":
                piece, position = self._variable(text, position, depth)
            else:
                piece, position = char, position + 1
            result += piece
        if double:
            raise DockerfileError(self._line, f'a double quote (") is open in {text!r}')
        return result

    def _single(self, text: str, position: int) -> tuple[str, int]:
        end = text.find("'", position + 1)
        if end < 0:
            raise DockerfileError(self._line, f"a single quote (') is open in {text!r}")
        return text[position + 1 : end], end + 1

    def _escaped(self, text: str, position: int, *, double: bool) -> tuple[str, int]:
        """Outside quotes any character may be escaped, inside double ones three of them."""
        following = text[position + 1 : position + 2]
        keeps = double and following not in {'"', "$", self._escape}
        return (text[position : position + 2] if keeps else following), position + 2

    def _variable(self, text: str, position: int, depth: int) -> tuple[str, int]:
        if text[position + 1 : position + 2] == "{":
            end = self._closing(text, position + 2)
            return self._braced(text[position + 2 : end], depth), end + 1
        end = position + 1
        while end < len(text) and _in_name(text[end], first=end == position + 1):
            end += 1
        name = text[position + 1 : end]
        return (self._variables.get(name, "") if name else "$"), end

    def _closing(self, text: str, position: int) -> int:
        open_braces = 1
        while position < len(text):
            if text[position] == self._escape:
                position += 2
                continue
            open_braces += {"{": 1, "}": -1}.get(text[position], 0)
            if not open_braces:
                return position
            position += 1
        raise DockerfileError(self._line, f"a brace is open in {text!r}")

    def _braced(self, inside: str, depth: int) -> str:
        end = 0
        while end < len(inside) and _in_name(inside[end], first=end == 0):
            end += 1
        name, rest = inside[:end], inside[end:]
        colon = rest.startswith(":")
        operator = rest[colon : colon + 1]
        form = _FORMS.get(operator)
        if not name or (rest and form is None):
            raise DockerfileError(
                self._line,
                f"'${{{inside}}}' is not understood; ${{NAME}}, and ${{NAME:-word}} with -, + or ? are",
            )
        value = self._variables.get(name)
        value = None if colon and value == "" else value
        if form is None:
            return value or ""
        word = self.run(rest[colon + 1 :], quotes=True, depth=depth + 1)
        result = form(value, word)
        if result is None:
            raise DockerfileError(self._line, f"{name} must be set: {word or 'it has no value'}")
        return result


def _in_name(char: str, *, first: bool) -> bool:
    return char.isascii() and (char == "_" or char.isalpha() or (not first and char.isdigit()))


_FORMS: dict[str, Callable[[Optional[str], str], Optional[str]]] = {
    "-": lambda value, word: word if value is None else value,
    "+": lambda value, word: "" if value is None else word,
    "?": lambda value, _: value,
}
