"""AWS CDK constructs for multi-node GPU training on AWS Batch.

A construct is loaded when it is first asked for: an app pays for the parts of CDK that it uses.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster_cdk.artifact import ArtifactBucket
    from muster_cdk.capacity import Capacity
    from muster_cdk.cluster import GpuCluster
    from muster_cdk.compute_environment import GpuComputeEnvironment
    from muster_cdk.endpoints import NetworkEndpoints
    from muster_cdk.host_options import HostOptions
    from muster_cdk.image import TrainingImage
    from muster_cdk.job_queue import FairShare, TrainingQueue
    from muster_cdk.launch_template import EfaLaunchTemplate
    from muster_cdk.launcher import Launcher
    from muster_cdk.monitoring import TrainingMonitoring
    from muster_cdk.network import TrainingNetwork
    from muster_cdk.repository import TrainingRepository
    from muster_cdk.roles import SubmitterRole
    from muster_cdk.security_groups import EfaSecurityGroup
    from muster_cdk.storage import SharedFileSystem
    from muster_cdk.training_job import MultiNodeTrainingJob
    from muster_core.instances import Accelerator, InstanceType, NetworkCard, Nvme

__version__ = "0.1.0"

__all__ = [
    "Accelerator",
    "ArtifactBucket",
    "Capacity",
    "EfaLaunchTemplate",
    "EfaSecurityGroup",
    "FairShare",
    "GpuCluster",
    "GpuComputeEnvironment",
    "HostOptions",
    "InstanceType",
    "Launcher",
    "MultiNodeTrainingJob",
    "NetworkCard",
    "NetworkEndpoints",
    "Nvme",
    "SharedFileSystem",
    "SubmitterRole",
    "TrainingImage",
    "TrainingMonitoring",
    "TrainingNetwork",
    "TrainingQueue",
    "TrainingRepository",
]

_NAMES = {
    "muster_cdk.artifact": ("ArtifactBucket",),
    "muster_cdk.capacity": ("Capacity",),
    "muster_cdk.cluster": ("GpuCluster",),
    "muster_cdk.compute_environment": ("GpuComputeEnvironment",),
    "muster_cdk.endpoints": ("NetworkEndpoints",),
    "muster_cdk.host_options": ("HostOptions",),
    "muster_cdk.image": ("TrainingImage",),
    "muster_cdk.job_queue": ("FairShare", "TrainingQueue"),
    "muster_cdk.launch_template": ("EfaLaunchTemplate",),
    "muster_cdk.launcher": ("Launcher",),
    "muster_cdk.monitoring": ("TrainingMonitoring",),
    "muster_cdk.network": ("TrainingNetwork",),
    "muster_cdk.repository": ("TrainingRepository",),
    "muster_cdk.roles": ("SubmitterRole",),
    "muster_cdk.security_groups": ("EfaSecurityGroup",),
    "muster_cdk.storage": ("SharedFileSystem",),
    "muster_cdk.training_job": ("MultiNodeTrainingJob",),
    "muster_core.instances": ("Accelerator", "InstanceType", "NetworkCard", "Nvme"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

if not TYPE_CHECKING:  # so that a type checker still knows a wrong name

    def __getattr__(name: str) -> object:
        """Load a public name from its module."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(importlib.import_module(_HOMES[name]), name)
        return value

    def __dir__() -> list[str]:
        """The public names, loaded or not."""
        return sorted({*globals(), *__all__})
