"""The container of a node as plain data, in the spelling of Batch's API. No CDK here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from muster_core.contract import CONTRACT_VERSION, ENV_ACCELERATORS, ENV_CONTRACT, ENV_STOP_TIMEOUT
from muster_core.instances import InstanceType, neuron_device_paths, usable_memory
from muster_core.rules.host import DEFAULT_STOP_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Data = dict[str, Any]
"""An object of Batch's API."""

UNLIMITED = -1
STACK_BYTES = 64 * 1024 * 1024
OPEN_FILES = 1024 * 1024

_EFA_PERMISSIONS = ("READ", "WRITE", "MKNOD")
_NEURON_PERMISSIONS = ("READ", "WRITE")


@dataclass(frozen=True, kw_only=True)
class ContainerSpec:
    """What one node's container is made of.

    Attributes:
        instance: The instance type, which the container takes whole.
        image: URI of the image.
        command: The command.
        environment: The user's variables.
        secrets: Variables from secrets: name -> ARN.
        efa_devices: Paths of the EFA devices.
        memory_mib: Memory in MiB. Default: what is usable on the type.
        shared_memory_mib: Size of ``/dev/shm`` in MiB. Default: half of the memory.
        job_role_arn: Role of the training code.
        execution_role_arn: Role of the ECS agent.
        log_options: Options of the awslogs driver.
        stop_timeout_seconds: Time between SIGTERM and SIGKILL on the host. Default: the hosts' own default.
        mount_points: Folders of the host that the container sees at the same path. Default: none.
    """

    instance: InstanceType
    image: str
    command: Sequence[str]
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    efa_devices: Sequence[str]
    memory_mib: int | None = None
    shared_memory_mib: int | None = None
    job_role_arn: str
    execution_role_arn: str
    log_options: Mapping[str, str] = field(default_factory=dict)
    stop_timeout_seconds: int = DEFAULT_STOP_SECONDS
    mount_points: Sequence[str] = ()

    @property
    def memory(self) -> int:
        """Memory in MiB: a hard limit, and what the host must have registered."""
        return usable_memory(self.instance) if self.memory_mib is None else self.memory_mib

    @property
    def shared_memory(self) -> int:
        """Size of ``/dev/shm`` in MiB. It is part of the memory; half of it is Linux's own default."""
        return self.memory // 2 if self.shared_memory_mib is None else self.shared_memory_mib


def container(spec: ContainerSpec) -> Data:
    """The container of a node range, as ``ContainerProperties``."""
    return {
        "image": spec.image,
        "command": list(spec.command),
        # The same for every range of a multi-node job; without it Batch may choose among types.
        "instanceType": spec.instance.name,
        "resourceRequirements": resources(spec),
        "environment": [{"name": name, "value": value} for name, value in environment(spec).items()],
        "secrets": [{"name": name, "valueFrom": source} for name, source in spec.secrets.items()],
        "jobRoleArn": spec.job_role_arn,
        "executionRoleArn": spec.execution_role_arn,
        "linuxParameters": {
            "devices": devices(spec),
            "sharedMemorySize": spec.shared_memory,
            # Forwards SIGTERM and reaps what training processes leave behind.
            "initProcessEnabled": True,
        },
        "ulimits": ulimits(),
        "logConfiguration": {"logDriver": "awslogs", "options": dict(spec.log_options)},
        **mounts(spec),
    }


def resources(spec: ContainerSpec) -> list[Data]:
    """All vCPUs, the memory in MiB and all GPUs of the instance; Neuron devices are no resource."""
    amounts = {"VCPU": spec.instance.vcpus, "MEMORY": spec.memory, "GPU": spec.instance.gpus}
    return [{"type": kind, "value": str(amount)} for kind, amount in amounts.items() if amount]


def environment(spec: ContainerSpec) -> dict[str, str]:
    """The user's variables, and what the runtime must know of the job."""
    accelerators = spec.instance.gpus or spec.instance.neuron_devices
    return {
        **spec.environment,
        ENV_CONTRACT: str(CONTRACT_VERSION),
        ENV_ACCELERATORS: str(accelerators),
        ENV_STOP_TIMEOUT: str(spec.stop_timeout_seconds),
    }


def mounts(spec: ContainerSpec) -> Data:
    """The host's file systems as volumes, each at the path that it has on the host; nothing without any."""
    if not spec.mount_points:
        return {}
    names = _volume_names(spec.mount_points)
    return {
        "volumes": [{"name": name, "host": {"sourcePath": path}} for path, name in names.items()],
        "mountPoints": [{"sourceVolume": name, "containerPath": path} for path, name in names.items()],
    }


def _volume_names(paths: Sequence[str]) -> dict[str, str]:
    """Path -> name, of letters, digits and hyphens; underscores after a name that another path has already."""
    names: dict[str, str] = {}
    for path in paths:
        name = path.strip("/").replace("/", "-").replace(".", "-")
        while name in names.values():
            name += "_"
        names[path] = name
    return names


def devices(spec: ContainerSpec) -> list[Data]:
    """The EFA and Neuron devices of the host.

    Path in the container and permissions are the documented defaults, yet they are spelled out:
    Batch's EFA page asks for both.
    """
    efa = [_device(path, _EFA_PERMISSIONS) for path in spec.efa_devices]
    return efa + [_device(path, _NEURON_PERMISSIONS) for path in neuron_device_paths(spec.instance)]


def ulimits() -> list[Data]:
    """Locked memory without limit, as EFA registers memory with the card; stack and files for MPI and loaders."""
    limits = {"memlock": UNLIMITED, "stack": STACK_BYTES, "nofile": OPEN_FILES}
    return [{"name": name, "softLimit": limit, "hardLimit": limit} for name, limit in limits.items()]


def _device(path: str, permissions: Sequence[str]) -> Data:
    return {"hostPath": path, "containerPath": path, "permissions": list(permissions)}
