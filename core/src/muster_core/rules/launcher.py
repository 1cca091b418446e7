"""Whether a launcher and its options are ones that the runtime knows."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence

from muster_core.contract import LAUNCHERS, RENDEZVOUS_PORT, TORCH, LauncherOption
from muster_core.rules.problem import Problem, Rules, is_token_number

MAX_PORT = 65535
_EXCLUSIVE = {TORCH.name: (("module", "no_python"),)}
"""Switches of a launcher that are not given together."""

RULES: Rules = {
    "launcher.name": "the launcher is one that the runtime knows",
    "launcher.option": "each option of a launcher is one of its own, with a value of its kind",
    "launcher.exclusive": "options of a launcher that exclude each other are not given together",
    "launcher.program": "a launcher has a program to start",
    "launcher.port": f"a port is from 1 to {MAX_PORT} and not the rendezvous's",
}


def check(name: str, options: Mapping[str, object], rendezvous_port: int = RENDEZVOUS_PORT) -> List[Problem]:
    """The launcher is known and so are its options.

    Args:
        name: Name of the launcher, such as ``torch``.
        options: Options by argument, such as ``{"nproc_per_node": 8}``; None means not given.
        rendezvous_port: Port of the coordinator. Default: the contract's.
    """
    if name not in LAUNCHERS:
        return [
            Problem("launcher.name", f"launcher is unknown, got {name!r}; allowed: {', '.join(LAUNCHERS)}")
        ]
    allowed = {argument_of(option): option for option in LAUNCHERS[name].options}
    found = []
    for argument, value in options.items():
        if value is not None and not is_token_number(value):
            found += _option(name, allowed, argument, value, rendezvous_port)
    return found + _exclusive(name, options)


def program(command: Optional[Sequence[str]]) -> List[Problem]:
    """There is a program; None is not judged.

    Args:
        command: The program and its arguments.
    """
    if command is None or command:
        return []
    text = "launcher has no program, got (); every node would end at once; give one, such as Launcher.torch('train.py')"
    return [Problem("launcher.program", text)]


def argument_of(option: LauncherOption) -> str:
    """The construct's argument for a flag: ``nproc_per_node`` for ``--nproc-per-node``."""
    return option.flag.lstrip("-").replace("-", "_")


def _option(
    name: str, allowed: Dict[str, LauncherOption], argument: str, value: object, rendezvous_port: int
) -> List[Problem]:
    if argument not in allowed:
        known = ", ".join(sorted(allowed))
        return [Problem("launcher.option", f"launcher {name} has no option {argument!r}; allowed: {known}")]
    if allowed[argument].kind == "switch":
        return [] if isinstance(value, bool) else [_kind(argument, value, "True or False")]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return [_kind(argument, value, "a whole number of at least 1")]
    return _port(argument, value, rendezvous_port) if argument.endswith("port") else []


def _exclusive(name: str, options: Mapping[str, object]) -> List[Problem]:
    return [
        Problem(
            "launcher.exclusive",
            f"{pair[0]} and {pair[1]} exclude each other, got True for both; leave one of them out",
        )
        for pair in _EXCLUSIVE.get(name, ())
        if all(options.get(each) is True for each in pair)
    ]


def _kind(argument: str, value: object, allowed: str) -> Problem:
    return Problem("launcher.option", f"{argument} must be {allowed}, got {value!r}; change it")


def _port(argument: str, value: int, rendezvous_port: int) -> List[Problem]:
    if value > MAX_PORT:
        return [
            Problem("launcher.port", f"{argument} must be from 1 to {MAX_PORT}, got {value!r}; change it")
        ]
    if value == rendezvous_port:
        text = f"{argument} is the port of muster's rendezvous, got {value!r}; give another port"
        return [Problem("launcher.port", text)]
    return []
