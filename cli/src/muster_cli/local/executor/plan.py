"""What is to run: a job, without anything of the mock behind it (pure)."""

from __future__ import annotations

import os
import re
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster_cli.local.executor import ranges
from muster_core.contract import ENV_STOP_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE = re.compile(r"Ref::([A-Za-z0-9_-]+)")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ECS_STOP_TIMEOUT = 30.0
"""Seconds between SIGTERM and SIGKILL where nobody says otherwise (``ECS_CONTAINER_STOP_TIMEOUT``)."""
DEFAULT_SHM_MIB = 64
"""Docker's own size of /dev/shm."""


@dataclass(frozen=True)
class JobPlan:
    """A job as it was accepted."""

    job_id: str
    definition_name: str
    queue_name: str
    account: str
    region: str
    properties: Mapping[str, Any]
    """Effective node properties; a container job has one node."""
    multinode: bool = True
    parameters: Mapping[str, str] = field(default_factory=dict)
    retry: Mapping[str, Any] = field(default_factory=dict)
    timeout: int | None = None
    """Seconds of an attempt."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return int(self.properties["numNodes"])

    @property
    def main_node(self) -> int:
        """Index of the main node."""
        return int(self.properties["mainNode"])

    @property
    def stop_timeout(self) -> float:
        """Seconds between SIGTERM and SIGKILL: what the definition tells the runtime of its hosts, else 30."""
        declared = user_environment(self.container(self.main_node)).get(ENV_STOP_TIMEOUT, "")
        return float(declared) if declared.isdecimal() else ECS_STOP_TIMEOUT

    def container(self, node: int) -> dict[str, Any]:
        """Return the container of a node."""
        return ranges.container_of(self.properties, node)


def command(container: Mapping[str, Any], parameters: Mapping[str, str]) -> list[str]:
    """Return a container's command with its ``Ref::name`` placeholders filled in.

    A name that has no parameter stays as it is.
    """
    return [
        _REFERENCE.sub(lambda found: str(parameters.get(found[1], found[0])), part)
        for part in container.get("command") or ()
    ]


def user_environment(container: Mapping[str, Any]) -> dict[str, str]:
    """Return a container's own environment."""
    return {item["name"]: item.get("value") or "" for item in container.get("environment") or ()}


def shared_memory(container: Mapping[str, Any]) -> int:
    """Return the size of /dev/shm in MiB. Default: 64."""
    return int((container.get("linuxParameters") or {}).get("sharedMemorySize") or DEFAULT_SHM_MIB)


def has_init(container: Mapping[str, Any]) -> bool:
    """Tell whether process 1 is an init. Default: the program itself."""
    return bool((container.get("linuxParameters") or {}).get("initProcessEnabled"))


def stop_signal(name: str | None) -> int:
    """Return the number of an image's STOPSIGNAL.

    Args:
        name: Such as ``SIGINT``, ``INT`` or ``2``. Default: SIGTERM.
    """
    if not name:
        return signal.SIGTERM.value
    if name.isdigit():
        return int(name)
    return signal.Signals["SIG" + name.upper().removeprefix("SIG")].value


def thread_share(nodes: int, accelerators: int) -> int:
    """Return the OpenMP threads of one process: its share of this machine, at least one.

    Every process of every node thinks that the machine is its own; threads that wait for one another
    spin, and training on two cores then takes ten times as long.

    Args:
        nodes: Nodes of the job.
        accelerators: GPUs of a node: there will be a process for each.
    """
    return max(1, (os.cpu_count() or 1) // (nodes * max(1, accelerators)))


def base_environment(home: Path, temporary: Path, hostname: str, threads: int) -> dict[str, str]:
    """Return what every node has unless its image or its job says otherwise.

    Args:
        home: HOME, inside the node's folder.
        temporary: TMPDIR, likewise, so that nothing is left in the host's.
        hostname: HOSTNAME; empty where the node shares the host's.
        threads: OMP_NUM_THREADS.
    """
    programs = Path(sys.executable).parent
    variables = {
        "PATH": f"{programs}:{_SYSTEM_PATH}",
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "OMP_NUM_THREADS": str(threads),
    }
    return {**variables, "HOSTNAME": hostname} if hostname else variables


def with_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment whose PATH leads to the environment's interpreter, whatever the image set."""
    programs = str(Path(sys.executable).parent)
    path = environment.get("PATH", _SYSTEM_PATH)
    if programs in path.split(":"):
        return dict(environment)
    return {**environment, "PATH": f"{programs}:{path}"}


def resources(container: Mapping[str, Any]) -> dict[str, int]:
    """Return the VCPU, MEMORY (MiB) and GPU that a container asks for.

    Default: 1 vCPU, the others 0; the deprecated ``vcpus`` and ``memory`` count where nothing else is said.
    """
    stated = {item["type"]: int(float(item["value"])) for item in container.get("resourceRequirements") or ()}
    return {
        "VCPU": int(container.get("vcpus") or 1),
        "MEMORY": int(container.get("memory") or 0),
        "GPU": 0,
        **stated,
    }
