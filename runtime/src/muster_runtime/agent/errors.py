"""The errors of the agent: each leaf knows its exit code."""

from __future__ import annotations

from typing import Sequence

from muster_core.contract import EXIT_CONFIG, EXIT_SOFTWARE, EXIT_TEMPFAIL


class MusterError(Exception):
    """A fault with a sentence for the user and an exit code for Batch."""

    exit_code = EXIT_SOFTWARE


class ConfigError(MusterError):
    """What was asked for cannot work, and no retry would help.

    Args:
        problems: one sentence for each problem; all of them are told at once.
    """

    exit_code = EXIT_CONFIG

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems: Sequence[str] = problems


class IdentityError(ConfigError):
    """AWS Batch's variables are missing or contradict one another."""


class LaunchError(ConfigError):
    """The program cannot be started."""


class NetworkError(MusterError):
    """This node has no address or interface that reaches the main node."""

    exit_code = EXIT_TEMPFAIL


class RendezvousError(MusterError):
    """The nodes did not come together."""

    exit_code = EXIT_TEMPFAIL


class ProtocolError(RendezvousError):
    """A peer sent what the protocol does not allow."""


class RefusedError(ProtocolError):
    """A peer is to be turned away with a reason that it is told.

    Args:
        cause: one of protocol's ``CAUSE_*``.
        reason: one sentence.
    """

    def __init__(self, cause: str, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause
