"""AWS CDK constructs for multi-node GPU training on AWS Batch."""

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
    "TrainingNetwork",
    "TrainingQueue",
    "TrainingRepository",
]
