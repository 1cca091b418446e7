"""What a job's environment and command may hold."""

from __future__ import annotations

import re
from typing import Iterable, List, Mapping, Sequence

from muster_core.contract import LAUNCHERS, RESERVED_PREFIXES
from muster_core.rules.problem import Problem, Rules, is_token_text

# $VAR, ${VAR}, $(VAR), $(command) - none of which anybody expands. `$$` and a lone `$` are left alone.
_EXPANSION = re.compile(r"(?<!\$)\$(\{[A-Za-z_][^}]*\}|\([^)]*\)|[A-Za-z_]\w*)")
_NO_NAME = re.compile(r"[=\s\x00-\x1f\x7f\ud800-\udfff]")
# A process is given its texts as bytes that end with a NUL; half of a surrogate pair has no bytes.
_NO_TEXT = re.compile(r"[\x00\ud800-\udfff]")

SHELLS = ("sh", "bash", "dash", "ash", "zsh")
"""Programs that expand variables in the text after ``-c``."""

RULES: Rules = {
    "environment.name": "the name of a variable is not empty and has no equals sign, white space or control character",
    "environment.text": "values and the command have only characters that a process can be given",
    "environment.reserved": "a job sets no variable of AWS Batch or of Muster",
    "environment.launcher": "a job sets no variable that its launcher sets for each process",
    "environment.duplicate": "a variable is set once, by value or from a secret",
    "environment.command_empty": "no element of the command is empty",
    "environment.command_variable": "the command holds no variable that nobody expands",
}


def names(variables: Iterable[str], launcher: str, argument: str = "environment") -> List[Problem]:
    """The names of a job's variables are free to set.

    Args:
        variables: Names of the variables.
        launcher: Name of the launcher, a key of the contract's ``LAUNCHERS``.
        argument: What the person wrote them in. Default: ``environment``.
    """
    found = []
    for name in variables:
        if not is_token_text(name):
            found += _name(name, launcher, argument)
    return found


def values(variables: Mapping[str, str], argument: str = "environment") -> List[Problem]:
    """The values of a job's variables are texts that a process can be given.

    Args:
        variables: The variables.
        argument: What the person wrote them in. Default: ``environment``.
    """
    return [problem for name, value in variables.items() for problem in _text(f"{argument}[{name!r}]", value)]


def secrets(variables: Iterable[str], secret_variables: Iterable[str]) -> List[Problem]:
    """No variable is set both by value and from a secret."""
    return [
        Problem(
            "environment.duplicate",
            f"environment sets a variable that secrets sets too, got {name!r}; one variable has one source; "
            "remove it from one of the two",
        )
        for name in sorted(set(variables) & set(secret_variables))
    ]


def command(arguments: Sequence[str], argument: str = "command") -> List[Problem]:
    """Batch runs the command without a shell: nobody expands ``$VAR`` or ``$(...)`` in it.

    The text that follows a shell's ``-c`` is left alone.
    """
    found = [Problem("environment.command_empty", _empty(argument))] if "" in arguments else []
    found += [problem for text in arguments for problem in _text(argument, text)]
    return found + [
        Problem("environment.command_variable", _unexpanded(argument, text, match.group(0)))
        for index, text in enumerate(arguments)
        for match in _expansions(arguments, index, text)
    ]


def _name(name: str, launcher: str, argument: str) -> List[Problem]:
    if not name or _NO_NAME.search(name):
        return [Problem("environment.name", _malformed(argument, name))]
    prefix = next((each for each in RESERVED_PREFIXES if name.startswith(each)), None)
    if prefix:
        return [Problem("environment.reserved", _reserved(argument, name, prefix))]
    if launcher in LAUNCHERS and name in LAUNCHERS[launcher].owns:
        return [Problem("environment.launcher", _owned(argument, name, launcher))]
    return []


def _text(argument: str, text: str) -> List[Problem]:
    match = _NO_TEXT.search(text)
    return [] if match is None else [Problem("environment.text", _no_text(argument, match.group(0)))]


def _expansions(arguments: Sequence[str], index: int, text: str) -> List[re.Match[str]]:
    if is_token_text(text) or _is_script(arguments[:index]):
        return []
    return list(_EXPANSION.finditer(text))[:1]


def _is_script(before: Sequence[str]) -> bool:
    """Whether a shell and its options, the last with ``c``, stand before: ``bash -e -c``."""
    programs = [argument for argument in before if not argument.startswith("-")]
    last = before[-1] if before else ""
    return bool(programs) and last.startswith("-") and last.endswith("c") and _base(programs[-1]) in SHELLS


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _malformed(argument: str, name: str) -> str:
    return (
        f"{argument} has a name that no variable can have, got {name!r}; a name is not empty and has no '=', white space "
        "or control character; rename it"
    )


def _reserved(argument: str, name: str, prefix: str) -> str:
    owner = "aws batch" if prefix.startswith("AWS") else "muster"
    return f"{argument} has a reserved name, got {name!r}; names that begin with {prefix} are {owner}'s; rename it"


def _owned(argument: str, name: str, launcher: str) -> str:
    return (
        f"{argument} sets a variable that the launcher {launcher} sets for each process, got {name!r}; "
        "its value would be lost; remove it"
    )


def _no_text(argument: str, character: str) -> str:
    return (
        f"{argument} holds a character that no process can be given, got {character!r}; neither NUL nor half of a "
        "surrogate pair can be; remove it"
    )


def _empty(argument: str) -> str:
    return f"{argument} has an empty element, got ''; AWS Batch refuses it; remove the element"


def _unexpanded(argument: str, text: str, variable: str) -> str:
    return (
        f"{argument} holds a variable that nobody expands, got {text!r}; AWS Batch runs the command without a shell, "
        f"so the program would see the literal {variable}; read the variable in the program, or put the text after "
        "'sh', '-c'"
    )
