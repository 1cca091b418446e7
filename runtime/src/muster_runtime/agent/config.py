"""One frozen configuration, resolved flag > variable > default. Pure."""

from __future__ import annotations

from typing import Callable, Mapping, NamedTuple, TypeVar

from muster_core.contract import (
    CONTRACT_VERSION,
    ENV_ACCELERATORS,
    ENV_CONTRACT,
    ENV_FLUSH_TIMEOUT,
    ENV_JOB_SECRET,
    ENV_LOCAL,
    ENV_PEER_TIMEOUT,
    ENV_RENDEZVOUS_PORT,
    ENV_RENDEZVOUS_TIMEOUT,
    ENV_STOP_TIMEOUT,
    RENDEZVOUS_PORT,
    RESERVED_PREFIXES,
    RUNTIME_VARIABLES,
)
from muster_runtime.agent.errors import ConfigError
from muster_runtime.agent.identity import is_ipv4

_OWN_PREFIX = RESERVED_PREFIXES[-1]
_STOP_MARGIN = 5.0  # what the agent keeps of the host's stop timeout to reap, report and leave
_HIGHEST_PORT = 65535
_LONGEST = 10 * 365 * 86400.0  # seconds; keeps deadlines within what every selector takes

_T = TypeVar("_T")


class Timeouts(NamedTuple):
    """Every time limit of the agent, in seconds."""

    rendezvous: float = 1800.0
    """From this node's start until every node must have joined."""
    peer: float = 15.0
    """Without a word of a peer until it counts as lost."""
    stop: float = 30.0
    """Between the host's SIGTERM and its SIGKILL."""
    flush: float = 600.0
    """That the main node, once it is done, waits for the other nodes."""

    @property
    def grace(self) -> float:
        """Between SIGTERM and SIGKILL for the training processes."""
        return max(0.0, self.stop - _STOP_MARGIN)

    @property
    def beat(self) -> float:
        """Between two heartbeats."""
        return min(3.0, self.peer / 5)


class Local(NamedTuple):
    """The local cloud's permission: a node's own address and the ports that it may listen on."""

    address: str
    ports: tuple[int, int] | None
    """Lowest and highest, None where the node has the address for itself."""


class Config(NamedTuple):
    """What this node was told, resolved."""

    timeouts: Timeouts = Timeouts()
    rendezvous_port: int = RENDEZVOUS_PORT
    accelerators: int = 0
    secret: str | None = None
    local: Local | None = None

    def describe(self) -> str:
        """Give one line for the log, without the secret."""
        times = ", ".join(f"{name} {value:g} s" for name, value in self.timeouts._asdict().items())
        secret = "of the job" if self.secret else "none"
        local = f", local {self.local.address}" if self.local else ""
        return f"port {self.rendezvous_port}, accelerators {self.accelerators}, timeouts ({times}), secret {secret}{local}"


_SECONDS = {
    "rendezvous": ENV_RENDEZVOUS_TIMEOUT,
    "peer": ENV_PEER_TIMEOUT,
    "stop": ENV_STOP_TIMEOUT,
    "flush": ENV_FLUSH_TIMEOUT,
}


def resolve(environ: Mapping[str, str], flags: Mapping[str, str | None]) -> Config:
    """Resolve flag > variable > default.

    Args:
        environ: the node's environment.
        flags: the time limits given as flags, by the name of the field of :class:`Timeouts`.

    Raises:
        ConfigError: a value is malformed, or the definition speaks another contract; tells of all.
    """
    reader = _Reader(environ)
    reader.read(ENV_CONTRACT, _contract, CONTRACT_VERSION)
    times = {
        name: reader.read(variable, _seconds, getattr(Timeouts(), name), flags.get(name), f"--{name}-timeout")
        for name, variable in _SECONDS.items()
    }
    config = Config(
        timeouts=Timeouts(**times),
        rendezvous_port=reader.read(ENV_RENDEZVOUS_PORT, port, RENDEZVOUS_PORT),
        accelerators=reader.read(ENV_ACCELERATORS, _count, 0),
        secret=environ.get(ENV_JOB_SECRET) or None,
        local=reader.read(ENV_LOCAL, _local, None),
    )
    if reader.problems:
        raise ConfigError(*reader.problems)
    return config


class _Reader:
    """Reads values and gathers what is wrong with them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[str] = []

    def read(
        self,
        variable: str,
        parse: Callable[[str], _T],
        default: _T,
        flag: str | None = None,
        flag_name: str = "",
    ) -> _T:
        name, text = (flag_name, flag) if flag is not None else (variable, self._environ.get(variable))
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as error:
            self.problems.append(f"{name} {error}, got {text!r}")
            return default


def _contract(text: str) -> int:
    if text != str(CONTRACT_VERSION):
        raise ValueError(
            f"must be {CONTRACT_VERSION}, the contract that this runtime speaks; "
            "deploy the definition and its image by the same muster-cdk"
        )
    return CONTRACT_VERSION


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= _LONGEST:
        raise ValueError("must be a number of seconds above 0")
    return value


def port(text: str) -> int:
    """Read a TCP port.

    Raises:
        ValueError: the text is no number from 1 to 65535.
    """
    if text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= _HIGHEST_PORT:
        return int(text[:6])
    raise ValueError(f"must be a port from 1 to {_HIGHEST_PORT}")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text[:9])
    raise ValueError("must be a whole number of at least 0")


def _local(text: str) -> Local:
    address, slash, ports = text.partition("/")
    low, _, high = ports.partition("-")
    if not is_ipv4(address):
        raise ValueError("must be an ipv4 address, or address/low-high")
    if not slash:
        return Local(address, None)
    try:
        lowest, highest = port(low), port(high)
    except ValueError:
        raise ValueError("must end with two ports, as in address/low-high") from None
    if highest - lowest < 1:
        raise ValueError("must give at least two ports")
    return Local(address, (lowest, highest))


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Give one warning for each variable that looks like Muster's and is none."""
    return [
        f"{name} is no variable of muster's runtime{_nearest(name)}"
        for name in sorted(environ)
        if name.startswith(_OWN_PREFIX) and name not in RUNTIME_VARIABLES
    ]


def _nearest(name: str) -> str:
    import difflib  # noqa: PLC0415  rare, and every node pays for imports

    near = difflib.get_close_matches(name, RUNTIME_VARIABLES, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""
