"""What is known of an instance type: frozen values, no behaviour beyond what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from muster_core.instances.images import BatchImage, batch_image, own_image_type

NVIDIA = "nvidia"
"""Kind of an accelerator that ECS hands to a container as the resource ``GPU``."""
NEURON = "neuron"
"""Kind of an accelerator that a container gets as ``/dev/neuronN`` devices."""


@dataclass(frozen=True)
class Accelerator:
    """The accelerators of an instance type; all devices of a type are alike.

    Attributes:
        kind: ``nvidia``, ``neuron``, ``gaudi``, ``qualcomm``, ``fpga``, ``media`` or ``amd``.
        name: The vendor's name of the device, such as ``H100``.
        count: Whole devices; 0 where the type holds a fraction of one (g6f, gr6f).
        memory_mib: Memory of one device (of the fraction, where it is one) in MiB.
        cores: Cores of one device where they are programmed one by one (Neuron), else 0.
    """

    kind: str
    name: str
    count: int
    memory_mib: int
    cores: int = 0


@dataclass(frozen=True)
class NetworkCard:
    """One network card of an instance type.

    Attributes:
        index: The card's ``NetworkCardIndex``.
        max_interfaces: Network interfaces that the card can hold.
        efa: Whether the card takes an interface with EFA.
    """

    index: int
    max_interfaces: int
    efa: bool


@dataclass(frozen=True)
class Nvme:
    """The instance store: ``count`` disks of ``size_gb`` GB (10^9 bytes) each."""

    count: int
    size_gb: int


@dataclass(frozen=True)
class Source:
    """Where facts come from: what was read, and on which day (ISO 8601)."""

    name: str
    date: str


@dataclass(frozen=True)
class InstanceType:
    """The facts of one EC2 instance type.

    Attributes:
        name: Such as ``p5.48xlarge``.
        architecture: ``x86_64`` or ``arm64``.
        vcpus: Virtual CPUs.
        cores: Physical cores.
        memory_mib: Advertised memory in MiB; a job gets less, see ``usable_memory``.
        accelerator: The accelerators, None where there are none.
        network_cards: The network cards, in the order of their indexes.
        max_efa: Interfaces with EFA that the instance can have, 0 without EFA.
        uverbs: Numbers of the ``/dev/infiniband/uverbs`` devices when every EFA is attached.
        nvme: The instance store, None where there is none.
        network: Network bandwidth in EC2's words, such as ``3200 Gigabit``.
        on_demand: Whether it is sold on demand.
        spot: Whether it is sold as Spot (multi-node jobs cannot use that).
        capacity_block: Whether it is sold in Capacity Blocks.
        sources: Where the facts come from, the later ones over the earlier.
    """

    name: str
    architecture: str
    vcpus: int
    cores: int
    memory_mib: int
    accelerator: Optional[Accelerator]
    network_cards: Tuple[NetworkCard, ...]
    max_efa: int
    uverbs: Tuple[int, ...]
    nvme: Optional[Nvme]
    network: str
    on_demand: bool
    spot: bool
    capacity_block: bool
    sources: Tuple[Source, ...]

    @property
    def family(self) -> str:
        """The part of the name before the dot, such as ``p6-b200``."""
        return self.name.partition(".")[0]

    @property
    def gpus(self) -> int:
        """Whole NVIDIA GPUs, which is what a job may ask of ECS; 0 for any other accelerator."""
        return self._devices(NVIDIA)

    @property
    def neuron_devices(self) -> int:
        """Neuron devices (Trainium, Inferentia); 0 for any other accelerator."""
        return self._devices(NEURON)

    @property
    def batch_image(self) -> Optional[BatchImage]:
        """The machine image that Batch provides for the type, None where it has none."""
        kind = self.accelerator.kind if self.accelerator else None
        fraction = self.accelerator is not None and self.accelerator.count == 0
        return batch_image(self.family, self.architecture, kind, fraction=fraction)

    @property
    def own_image_type(self) -> str:
        """Batch's type of an image that the user brings for the type."""
        kind = self.accelerator.kind if self.accelerator else None
        return own_image_type(self.family, self.architecture, kind)

    def _devices(self, kind: str) -> int:
        return self.accelerator.count if self.accelerator and self.accelerator.kind == kind else 0
