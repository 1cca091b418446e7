"""The command ``muster-node``: the only place that prints and exits."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, NoReturn, Sequence

from muster_core.contract import EXIT_CONFIG, LAUNCHERS, TORCH, LauncherContract
from muster_runtime import __version__
from muster_runtime.agent.errors import ConfigError
from muster_runtime.agent.output import open_standard_descriptors
from muster_runtime.agent.record import Request

_TIMEOUTS = {
    "rendezvous": "until every node must have joined; default: 1800",
    "peer": "without a heartbeat until a peer counts as lost; default: 15",
    "stop": "between the host's SIGTERM and its SIGKILL; default: 30",
    "flush": "that the main node waits for the others at the end; default: 600",
}


_STANDARD_OUTPUT = 1  # sys.stdout is None where it was closed


class _Formatter(argparse.HelpFormatter):
    """Of a fixed width: asking for the terminal's loads every compression library, on every node."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


class _Parser(argparse.ArgumentParser):
    """Ends with the contract's exit code, so that no retry follows a misspelt flag."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  argparse's own
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_CONFIG, f"{self.prog}: {message}\n")


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    open_standard_descriptors()
    sys.exit(command(sys.argv[1:]))


def command(argv: Sequence[str]) -> int:
    """Run one command.

    Args:
        argv: the arguments after the command's name.

    Returns:
        The exit code.
    """
    own, program = _split(list(argv))
    arguments = _parser(own).parse_args(own)
    if arguments.command == "env":
        return _env(arguments)
    if not program:
        _parser(own).error("no program was given; put it after --, as in: run -- train.py --epochs 5")
    from muster_runtime.agent.run import run  # noqa: PLC0415  --help and env do without

    return run(_request(arguments, program), _STANDARD_OUTPUT)


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in argv:
        return argv, []
    cut = argv.index("--")
    return argv[:cut], argv[cut + 1 :]


def _request(arguments: argparse.Namespace, program: Sequence[str]) -> Request:
    given = vars(arguments)
    options = {
        _name(option.flag): given[_name(option.flag)] for option in LAUNCHERS[arguments.launcher].options
    }
    return Request(
        launcher=arguments.launcher,
        options={name: value for name, value in options.items() if value is not None},
        timeouts={name: given.get(f"{name}_timeout") for name in _TIMEOUTS},
        program=program,
        environ=dict(os.environ),
    )


def _name(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _parser(argv: Sequence[str]) -> _Parser:
    parser = _Parser(prog="muster-node", description="Muster's runtime on one node of a multi-node job.")
    parser.add_argument("--version", action="version", version=f"muster-node {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{run,env}")
    launcher = _launcher(argv)
    run = commands.add_parser(
        "run",
        help="run a program on every node of the job",
        usage="muster-node run [--launcher NAME] [options] -- PROGRAM [ARGUMENT ...]",
    )
    _add_launcher(run, launcher)
    for name, text in _TIMEOUTS.items():
        run.add_argument(f"--{name}-timeout", metavar="S", help=f"seconds {text}")
    env = commands.add_parser("env", help="print what this node is and what the program would be given")
    _add_launcher(env, launcher)
    env.add_argument("--output", choices=("text", "json"), default="text", help="default: text")
    return parser


def _launcher(argv: Sequence[str]) -> LauncherContract:
    """Find the launcher's name first: the other flags depend on it."""
    finder = _Parser(add_help=False)
    finder.add_argument("--launcher", default=TORCH.name)
    return LAUNCHERS.get(finder.parse_known_args(argv)[0].launcher, TORCH)


def _add_launcher(parser: argparse.ArgumentParser, launcher: LauncherContract) -> None:
    parser.add_argument(
        "--launcher", choices=sorted(LAUNCHERS), default=TORCH.name, help=f"default: {TORCH.name}"
    )
    for option in launcher.options:
        if option.kind == "switch":
            parser.add_argument(option.flag, action="store_true", default=None, help=option.help)
        else:
            parser.add_argument(option.flag, type=_count, metavar="N", help=option.help)


def _count(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return value


def _env(arguments: argparse.Namespace) -> int:
    from muster_runtime.agent.findings import describe, find  # noqa: PLC0415  run does without

    try:
        findings = find(_request(arguments, ("train.py",)))
    except ConfigError as error:
        for problem in error.problems:
            print(f"error: {problem}", file=sys.stderr)
        return EXIT_CONFIG
    print(describe(findings, as_json=arguments.output == "json"))
    return 0
