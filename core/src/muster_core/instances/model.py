"""What is known of an instance type: frozen values, no behaviour beyond what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from muster_core.instances.facts import problems_of
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
        sources: Where the facts come from, the later ones over the earlier; none for a custom type.
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

    @classmethod
    def custom(
        cls,
        name: str,
        *,
        vcpus: int,
        memory_mib: int,
        network_cards: Sequence[NetworkCard],
        accelerator: Optional[Accelerator] = None,
        architecture: str = "x86_64",
        cores: Optional[int] = None,
        max_efa: Optional[int] = None,
        uverbs: Optional[Sequence[int]] = None,
        nvme: Optional[Nvme] = None,
        network: str = "",
        on_demand: bool = True,
        spot: bool = False,
        capacity_block: bool = False,
    ) -> InstanceType:
        """A type that AWS Batch has and the catalogue has not, by its facts.

        ``aws ec2 describe-instance-types`` has them. It goes wherever the name of a type does.

        Args:
            name: Such as ``p5.48xlarge``.
            vcpus: Virtual CPUs.
            memory_mib: Advertised memory in MiB.
            network_cards: Every network card, in the order of their indexes.
            accelerator: The accelerators. Default: none.
            architecture: ``x86_64`` or ``arm64``. Default: ``x86_64``.
            cores: Physical cores. Default: as many as vCPUs.
            max_efa: Interfaces with EFA that the instance can have. Default: one for each card that takes EFA.
            uverbs: Numbers of the ``/dev/infiniband/uverbs`` devices. Default: 0 to ``max_efa`` - 1.
            nvme: The instance store. Default: none.
            network: Network bandwidth in words, for people. Default: empty.
            on_demand: Whether it is sold on demand. Default: True.
            spot: Whether it is sold as Spot. Default: False.
            capacity_block: Whether it is sold in Capacity Blocks. Default: False.

        Returns:
            The facts.

        Raises:
            TypeError: A fact has a type that cannot be taken; the text has all of them, a line each.
            ValueError: Something cannot be; the text has all of it, a line each.
        """
        _check_types(network_cards, accelerator, nvme, uverbs)
        efa = sum(bool(card.efa) for card in network_cards) if max_efa is None else max_efa
        numbers = range(efa if isinstance(efa, int) else 0) if uverbs is None else uverbs
        made = cls(
            name=name,
            architecture=architecture,
            vcpus=vcpus,
            cores=vcpus if cores is None else cores,
            memory_mib=memory_mib,
            accelerator=accelerator,
            network_cards=tuple(network_cards),
            max_efa=efa,
            uverbs=tuple(numbers),
            nvme=nvme,
            network=network,
            on_demand=on_demand,
            spot=spot,
            capacity_block=capacity_block,
            sources=(),
        )
        problems = list(problems_of(made))
        if problems:
            raise ValueError("\n".join(problems))
        return made

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


def _check_types(cards: object, accelerator: object, nvme: object, uverbs: object) -> None:
    listed = cards if isinstance(cards, (list, tuple)) else [cards]
    wrong = [
        f"{argument} must be {allowed}, got {type(value).__name__} {value!r}; change it"
        for argument, allowed, value, right in (
            (
                "network_cards",
                "a list of NetworkCard",
                cards,
                listed is cards and all(isinstance(card, NetworkCard) for card in listed),
            ),
            (
                "accelerator",
                "an Accelerator",
                accelerator,
                isinstance(accelerator, (Accelerator, type(None))),
            ),
            ("nvme", "an Nvme", nvme, isinstance(nvme, (Nvme, type(None)))),
            ("uverbs", "a list of int", uverbs, isinstance(uverbs, (list, tuple, range, type(None)))),
        )
        if not right
    ]
    if wrong:
        raise TypeError("\n".join(wrong))
