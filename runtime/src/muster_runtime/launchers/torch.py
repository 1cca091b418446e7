"""PyTorch: one process per accelerator, with torchrun's environment and without torchrun."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING, Mapping

from muster_core.contract import ENV_JOB_SECRET, MASTER_PORT
from muster_runtime.agent.errors import LaunchError, NetworkError
from muster_runtime.agent.supervisor import Program

if TYPE_CHECKING:
    from muster_runtime.agent.network import Network
    from muster_runtime.agent.rendezvous.roster import Roster
    from muster_runtime.launchers.base import Job

_PORT = "master_port"
_NEIGHBOURS = 100  # ports above the default that are tried when it is taken
_THREADS = "OMP_NUM_THREADS"  # set by the local cloud itself, whose nodes share one machine
_NOT_PASSED_ON = (
    ENV_JOB_SECRET,  # the runtime's alone
    "TORCHELASTIC_USE_AGENT_STORE",  # would make rank 0 wait for a store that torchrun keeps
    "TORCHELASTIC_ERROR_FILE",
)


class TorchLauncher:
    """See :class:`muster_runtime.launchers.base.Launcher`.

    Args:
        job: options ``nproc_per_node``, ``master_port``, ``module``, ``no_python``.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._module = bool(job.options.get("module"))
        self._no_python = bool(job.options.get("no_python"))

    @property
    def slots(self) -> int:
        """Processes on this node: as asked for, else one per accelerator, else one."""
        asked = self._job.options.get("nproc_per_node")
        return asked if isinstance(asked, int) else max(1, self._job.config.accelerators)

    def check(self) -> None:
        """Find out whether the program is there.

        Raises:
            LaunchError: it is not, or it is missing altogether.
        """
        if self._module and self._no_python:
            raise LaunchError("--module and --no-python exclude each other")
        program = self._job.program[0]
        if self._no_python:
            import shutil  # noqa: PLC0415  it loads every compression library

            if shutil.which(program, path=self._job.environ.get("PATH")) is None:
                raise LaunchError(f"program {program!r} is not in the image's PATH, or is not executable")
        elif not self._module and not os.path.exists(program):  # noqa: PTH110  pathlib costs start-up time
            raise LaunchError(f"program {program!r} does not exist in {os.getcwd()}")  # noqa: PTH109

    def share(self, network: Network) -> Mapping[str, int]:
        """Choose MASTER_PORT: as asked for, else a port of the local cloud's, else the default or one near it.

        Raises:
            NetworkError: the port that was asked for is taken, or all near the default are.
        """
        asked = self._job.options.get(_PORT)
        candidates = range(asked, asked + 1) if isinstance(asked, int) else self._candidates()
        for port in candidates:
            if port != self._job.config.rendezvous_port and _is_free(network.address, port):
                return {_PORT: port}
        raise NetworkError(
            f"port {candidates[0]} of {network.address} is taken; end what holds it or choose another by --master-port"
        )

    def _candidates(self) -> range:
        local = self._job.config.local
        if local is not None and local.ports is not None:
            return range(local.ports[0], local.ports[1] + 1)
        return range(MASTER_PORT, MASTER_PORT + _NEIGHBOURS)

    def programs(self, roster: Roster, position: int, network: Network) -> list[Program]:
        """Give one process for each slot.

        Raises:
            LaunchError: a variable of torchrun's is set already, to something else.
        """
        programs = []
        defaults = _defaults(network, self.slots)
        self._tell_kept(defaults)
        problems: list[str] = []
        for local_rank in range(self.slots):
            own = _torchrun_environment(roster, position, local_rank, self._job.id)
            problems += _contradictions(self._job.environ, own)
            environ = {**defaults, **self._inherited(), **own}
            programs.append(Program(int(own["RANK"]), self._argv(), environ))
        if problems:
            raise LaunchError(*problems)
        return programs

    def _inherited(self) -> dict[str, str]:
        return {name: value for name, value in self._job.environ.items() if name not in _NOT_PASSED_ON}

    def _tell_kept(self, defaults: Mapping[str, str]) -> None:
        for name, value in defaults.items():
            own = self._job.environ.get(name, value)
            if own != value and not (self._job.config.local and name == _THREADS):
                self._job.log(f"{name} stays {own!r} as the environment sets it; muster would set {value!r}")

    def _argv(self) -> list[str]:
        if self._no_python:
            return list(self._job.program)
        return [sys.executable or "python3", *(["-m"] if self._module else []), *self._job.program]


make = TorchLauncher
"""What :func:`muster_runtime.launchers.load` gives."""


def _torchrun_environment(roster: Roster, position: int, local_rank: int, job_id: str) -> dict[str, str]:
    rank = roster.first_rank(position) + local_rank
    values = {
        "RANK": rank,
        "LOCAL_RANK": local_rank,
        "GROUP_RANK": position,
        "ROLE_RANK": rank,
        "WORLD_SIZE": roster.world_size,
        "LOCAL_WORLD_SIZE": roster.nodes[position].slots,
        "GROUP_WORLD_SIZE": len(roster.nodes),
        "ROLE_WORLD_SIZE": roster.world_size,
        "ROLE_NAME": "default",
        "MASTER_ADDR": roster.main.address,
        "MASTER_PORT": roster.shared[_PORT],
        "TORCHELASTIC_RUN_ID": job_id,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
    }
    return {name: str(value) for name, value in values.items()}


def _defaults(network: Network, slots: int) -> dict[str, str]:
    return {
        "GLOO_SOCKET_IFNAME": network.interface,
        "NCCL_SOCKET_IFNAME": f"={network.interface}",  # exactly this one: a bare name is a prefix to NCCL
        _THREADS: str(max(1, _cpus() // slots)),
        "PYTHONUNBUFFERED": "1",
    }


def _cpus() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _contradictions(environ: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    return [
        f"{name} is set to {environ[name]!r} in the job's environment, this process needs {value!r}; "
        "remove it from the image or the definition"
        for name, value in own.items()
        if environ.get(name, value) != value
    ]


def _is_free(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
