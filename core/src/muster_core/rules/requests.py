"""All rules of one object at once: what the constructs and the command line ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Sequence

from muster_core.contract import RENDEZVOUS_PORT, TORCH
from muster_core.instances import EFA_ONLY, InstanceType
from muster_core.rules import (
    capacity,
    compute,
    environment,
    host,
    image,
    instance,
    launcher,
    memory,
    monitoring,
    network,
    nodes,
    queue,
    retry,
    roles,
    sizes,
    template,
    trust,
    volume,
    vpc,
)
from muster_core.rules.capacity import CapacityRequest
from muster_core.rules.host import HostRequest

if TYPE_CHECKING:
    from muster_core.rules.problem import Number, Problem


@dataclass(frozen=True)
class ClusterRequest:
    """What a cluster asks for. A token, or None, is not judged.

    Attributes:
        max_nodes: Nodes that the cluster may have.
        interface_type: Kind of the interfaces beside the primary one. Default: ``efa-only``.
        availability_zone: Name of the zone. Default: None.
        subnet_cidr: IPv4 block of the subnet. Default: None.
        max_vcpus: ``maxvCpus`` of the environment. Default: None.
        root_volume_mib: Size of the hosts' root volume in MiB. Default: None.
        allocation_strategy: Batch's allocation strategy. Default: None.
        min_nodes: Hosts that are always up. Default: None.
        acknowledge_idle_cost: Whether their cost was acknowledged. Default: False.
        scale_down_delay_minutes: Time that an idle host is kept, in minutes. Default: None.
        image_id: Id of the hosts' own machine image. Default: None.
        image_parameter: SSM parameter with the id of the hosts' own machine image. Default: None.
        container_insights: Mode of container insights. Default: None.
        efa_devices: Paths of the EFA devices that jobs map. Default: none, which is not judged.
        capacity: Where the instances come from. Default: on demand.
        host: How the hosts start. Default: nothing that could be judged.
        subnet_taken: Addresses of the subnet that others take. Default: 0.
    """

    max_nodes: Number
    interface_type: str = EFA_ONLY
    availability_zone: Optional[str] = None
    subnet_cidr: Optional[str] = None
    max_vcpus: Optional[Number] = None
    root_volume_mib: Optional[Number] = None
    allocation_strategy: Optional[str] = None
    min_nodes: Optional[Number] = None
    acknowledge_idle_cost: bool = False
    scale_down_delay_minutes: Optional[Number] = None
    image_id: Optional[str] = None
    image_parameter: Optional[str] = None
    container_insights: Optional[str] = None
    efa_devices: Sequence[str] = ()
    capacity: CapacityRequest = field(default_factory=CapacityRequest)
    host: HostRequest = field(default_factory=HostRequest)
    subnet_taken: int = 0

    @property
    def own_image(self) -> bool:
        """Whether the user brings a machine image."""
        return self.image_id is not None or self.image_parameter is not None


@dataclass(frozen=True)
class JobRequest:
    """What a job asks for. A token, or None, is not judged.

    Attributes:
        nodes: Nodes of the job.
        max_nodes: Nodes that its cluster may have. Default: None.
        launcher: Name of the launcher. Default: ``torch``.
        launcher_options: Its options by argument. Default: none.
        command: What the launcher starts, with arguments. Default: None.
        environment: Variables by name. Default: none.
        secrets: Names of variables that come from secrets. Default: none.
        image: The image's URI. Default: None.
        memory_mib: Memory in MiB. Default: None.
        shared_memory_mib: Shared memory in MiB. Default: None.
        timeout_seconds: Timeout of an attempt in seconds. Default: None.
        attempts: Number of attempts. Default: None.
        evaluate_on_exit: Retry rules in Batch's form. Default: none.
        rendezvous_port: Port of the coordinator. Default: the contract's.
        block_seconds: What the cluster's Capacity Block lasts for a job. Default: None.
        account_and_region: Those of the job. Default: none, which is not judged.
        cluster_account_and_region: Those of its cluster. Default: none, which is not judged.
    """

    nodes: Number
    max_nodes: Optional[Number] = None
    launcher: str = TORCH.name
    launcher_options: Mapping[str, object] = field(default_factory=dict)
    command: Optional[Sequence[str]] = None
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Sequence[str] = ()
    image: Optional[str] = None
    memory_mib: Optional[Number] = None
    shared_memory_mib: Optional[Number] = None
    timeout_seconds: Optional[Number] = None
    attempts: Optional[Number] = None
    evaluate_on_exit: Sequence[Mapping[str, str]] = ()
    rendezvous_port: int = RENDEZVOUS_PORT
    block_seconds: Optional[Number] = None
    account_and_region: Sequence[str] = ()
    cluster_account_and_region: Sequence[str] = ()


def cluster(facts: InstanceType, request: ClusterRequest) -> List[Problem]:
    """Everything that is certainly wrong with a cluster.

    Args:
        facts: The instance type.
        request: What the cluster asks for.

    Returns:
        The problems, none where the cluster is right.
    """
    return [
        *instance.check(facts, own_image=request.own_image),
        *capacity.check(facts, request.capacity, request.max_nodes, request.availability_zone),
        *network.interfaces(facts, request.interface_type),
        *network.efa_devices(facts, request.efa_devices),
        *nodes.max_nodes(request.max_nodes),
        *capacity.max_vcpus(facts, request.max_nodes, request.max_vcpus),
        *network.subnet_size(
            facts, request.max_nodes, request.subnet_cidr, request.interface_type, request.subnet_taken
        ),
        *network.zone(request.availability_zone),
        *volume.root(request.root_volume_mib),
        *capacity.strategy(request.allocation_strategy),
        *compute.min_nodes(request.min_nodes, request.max_nodes, acknowledged=request.acknowledge_idle_cost),
        *compute.scale_down_delay(request.scale_down_delay_minutes),
        *compute.image(request.image_id, request.image_parameter),
        *compute.container_insights(request.container_insights),
        *host.check(facts, request.host),
    ]


def job(facts: InstanceType, request: JobRequest) -> List[Problem]:
    """Everything that is certainly wrong with a multi-node job.

    Args:
        facts: The instance type of its nodes.
        request: What the job asks for.

    Returns:
        The problems, none where the job is right.
    """
    return [
        *nodes.count(request.nodes, request.max_nodes),
        *nodes.environment(request.account_and_region, request.cluster_account_and_region),
        *image.uri(request.image),
        *launcher.check(request.launcher, request.launcher_options, request.rendezvous_port),
        *launcher.program(request.command),
        *environment.command(request.command or ()),
        *environment.names(request.environment, request.launcher),
        *environment.names(request.secrets, request.launcher, "secrets"),
        *environment.values(request.environment),
        *environment.secrets(request.environment, request.secrets),
        *memory.size(facts, request.memory_mib),
        *memory.shared(request.memory_mib, request.shared_memory_mib),
        *retry.timeout(request.timeout_seconds),
        *capacity.block_timeout(request.timeout_seconds, request.block_seconds),
        *retry.attempts(request.attempts),
        *retry.rules(request.evaluate_on_exit),
    ]


def catalogue() -> Dict[str, str]:
    """Every rule: id -> what it holds, in a sentence."""
    modules = (
        *(instance, nodes, capacity, compute, queue, network, vpc, volume, host),
        *(memory, environment, sizes, retry, image, launcher, monitoring, roles, trust),
        *(template,),
    )
    return {rule: text for module in modules for rule, text in module.RULES.items()}
