"""Facts checked by hand against what AWS publishes."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from muster_core.instances import (
    Accelerator,
    BatchImage,
    Nvme,
    efa_devices,
    lookup,
    names,
    neuron_device_paths,
    usable_memory,
    usable_of,
)


class Row(NamedTuple):
    name: str
    vcpus: int
    cores: int
    gib: int
    accelerator: Accelerator | None
    cards: int
    efa: int
    nvme: Nvme | None


ROWS = [
    Row("g5.xlarge", 4, 2, 16, Accelerator("nvidia", "A10G", 1, 22888), 1, 0, Nvme(1, 250)),
    Row("g5.8xlarge", 32, 16, 128, Accelerator("nvidia", "A10G", 1, 22888), 1, 1, Nvme(1, 900)),
    Row("g6.8xlarge", 32, 16, 128, Accelerator("nvidia", "L4", 1, 22888), 1, 1, Nvme(2, 450)),
    Row("g6e.48xlarge", 192, 96, 1536, Accelerator("nvidia", "L40S", 8, 45776), 4, 4, Nvme(4, 1900)),
    Row("p4d.24xlarge", 96, 48, 1152, Accelerator("nvidia", "A100", 8, 40960), 4, 4, Nvme(8, 1000)),
    Row("p5.48xlarge", 192, 96, 2048, Accelerator("nvidia", "H100", 8, 81920), 32, 32, Nvme(8, 3800)),
    Row("p5en.48xlarge", 192, 96, 2048, Accelerator("nvidia", "H200", 8, 144384), 16, 16, Nvme(8, 3800)),
    Row("p6-b200.48xlarge", 192, 96, 2048, Accelerator("nvidia", "B200", 8, 183359), 8, 8, Nvme(8, 3800)),
    Row("p6-b300.48xlarge", 192, 96, 4096, Accelerator("nvidia", "B300", 8, 275040), 17, 16, Nvme(8, 3800)),
    Row("p6e-gb200.36xlarge", 144, 144, 960, Accelerator("nvidia", "GB200", 4, 189440), 17, 8, Nvme(3, 7500)),
    Row("trn1.32xlarge", 128, 64, 512, Accelerator("neuron", "Trainium", 16, 32768, 2), 8, 8, Nvme(4, 1900)),
    Row(
        "trn2.48xlarge",
        192,
        96,
        2048,
        Accelerator("neuron", "Trainium2", 16, 98304, 8),
        16,
        16,
        Nvme(4, 1900),
    ),
    Row(
        "trn2u.48xlarge",
        192,
        96,
        2048,
        Accelerator("neuron", "Trainium2", 16, 98304, 8),
        16,
        16,
        Nvme(4, 1900),
    ),
    Row("inf2.48xlarge", 192, 96, 768, Accelerator("neuron", "Inferentia2", 12, 32768, 2), 1, 0, None),
    Row("dl1.24xlarge", 96, 48, 768, Accelerator("gaudi", "Gaudi HL-205", 8, 32768), 4, 4, Nvme(4, 1000)),
    Row("dl2q.24xlarge", 96, 48, 768, Accelerator("qualcomm", "Qualcomm AI100", 8, 16000), 1, 1, None),
    Row("hpc7a.96xlarge", 192, 192, 768, None, 2, 2, None),
    Row("g4dn.12xlarge", 48, 24, 192, Accelerator("nvidia", "T4", 4, 16384), 1, 1, Nvme(1, 900)),
    Row("g4dn.metal", 96, 48, 384, Accelerator("nvidia", "T4", 8, 16384), 1, 1, Nvme(2, 900)),
    Row("g5.48xlarge", 192, 96, 768, Accelerator("nvidia", "A10G", 8, 22888), 1, 1, Nvme(2, 3800)),
    Row("g6e.24xlarge", 96, 48, 768, Accelerator("nvidia", "L40S", 4, 45776), 2, 2, Nvme(2, 1900)),
    Row("g7.48xlarge", 192, 192, 768, Accelerator("nvidia", "RTX PRO 4500", 8, 32768), 2, 2, Nvme(2, 3800)),
    Row(
        "g7e.48xlarge",
        192,
        96,
        2048,
        Accelerator("nvidia", "RTX PRO Server 6000", 8, 98304),
        4,
        4,
        Nvme(4, 3800),
    ),
    Row("p3dn.24xlarge", 96, 48, 768, Accelerator("nvidia", "V100", 8, 32768), 1, 1, Nvme(2, 900)),
    Row("p4de.24xlarge", 96, 48, 1152, Accelerator("nvidia", "A100", 8, 81920), 4, 4, Nvme(8, 1000)),
    Row("p5.4xlarge", 16, 8, 256, Accelerator("nvidia", "H100", 1, 81920), 1, 1, Nvme(1, 3800)),
    Row("p5e.48xlarge", 192, 96, 2048, Accelerator("nvidia", "H200", 8, 144384), 32, 32, Nvme(8, 3800)),
    Row(
        "trn1n.32xlarge", 128, 64, 512, Accelerator("neuron", "Trainium", 16, 32768, 2), 16, 16, Nvme(4, 1900)
    ),
    Row("trn2.3xlarge", 12, 6, 128, Accelerator("neuron", "Trainium2", 1, 98304, 8), 1, 1, Nvme(1, 470)),
    Row("inf1.24xlarge", 96, 48, 192, Accelerator("neuron", "Inferentia", 16, 8192, 4), 1, 1, None),
    Row("c5n.18xlarge", 72, 36, 192, None, 1, 1, None),
    Row("hpc6id.32xlarge", 64, 64, 1024, None, 2, 2, Nvme(4, 3800)),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_published_facts(row: Row) -> None:
    instance = lookup(row.name)
    assert (instance.vcpus, instance.cores, instance.memory_mib) == (row.vcpus, row.cores, row.gib * 1024)
    assert instance.accelerator == row.accelerator
    assert (len(instance.network_cards), instance.max_efa) == (row.cards, row.efa)
    assert instance.nvme == row.nvme


SLOTS = {
    "g6.8xlarge": [8],
    "g6e.48xlarge": [10] * 4,
    "p4d.24xlarge": [15] * 4,
    "p5.48xlarge": [2] * 32,
    "p5.4xlarge": [4],
    "p5en.48xlarge": [4] * 16,
    "p6-b200.48xlarge": [4] * 8,
    "p6-b300.48xlarge": [4] * 17,
    "trn1.32xlarge": [5] * 8,
    "trn2.48xlarge": [2] * 16,
    "hpc6id.32xlarge": [1, 1],
}


@pytest.mark.parametrize("name", SLOTS)
def test_how_many_interfaces_each_card_holds(name: str) -> None:
    cards = lookup(name).network_cards
    assert [card.max_interfaces for card in cards] == SLOTS[name]
    assert [card.index for card in cards if not card.efa] == ([0] if name == "p6-b300.48xlarge" else [])


def test_gpus_and_neuron_devices() -> None:
    found = {
        name: (lookup(name).gpus, lookup(name).neuron_devices) for name in ("p5.48xlarge", "trn1.32xlarge")
    }
    assert found == {"p5.48xlarge": (8, 0), "trn1.32xlarge": (0, 16)}
    others = ("dl1.24xlarge", "dl2q.24xlarge", "f2.48xlarge", "vt1.24xlarge", "hpc7a.96xlarge", "g6f.xlarge")
    assert {(lookup(name).gpus, lookup(name).neuron_devices) for name in others} == {(0, 0)}


def test_how_a_type_is_sold() -> None:
    def sold(name: str) -> tuple[bool, bool, bool]:
        instance = lookup(name)
        return instance.on_demand, instance.spot, instance.capacity_block

    assert sold("p5.48xlarge") == (True, True, True)
    assert sold("g6.8xlarge") == (True, True, False)
    assert sold("trn2u.48xlarge") == (True, False, True)
    assert sold("hpc7a.96xlarge") == (True, False, False)
    assert sold("p6e-gb200.36xlarge") == (False, False, True)


def test_architecture_and_family() -> None:
    assert (lookup("p6-b200.48xlarge").architecture, lookup("p6-b200.48xlarge").family) == (
        "x86_64",
        "p6-b200",
    )
    assert (lookup("g5g.metal").architecture, lookup("g5g.metal").family) == ("arm64", "g5g")


NVIDIA_IMAGE = BatchImage("ECS_AL2023_NVIDIA")
NEURON_IMAGE = BatchImage(
    "ECS_AL2023", "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id"
)
PLAIN_IMAGE = BatchImage("ECS_AL2023")


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("g6.8xlarge", NVIDIA_IMAGE),
        ("g5.8xlarge", NVIDIA_IMAGE),
        ("g5.xlarge", NVIDIA_IMAGE),
        ("p4d.24xlarge", NVIDIA_IMAGE),
        ("p5.48xlarge", NVIDIA_IMAGE),
        ("p6-b200.48xlarge", NVIDIA_IMAGE),
        ("p6-b300.48xlarge", NVIDIA_IMAGE),
        ("p3dn.24xlarge", None),
        ("g5g.16xlarge", None),
        ("p6e-gb200.36xlarge", None),
        ("g6f.4xlarge", None),
        ("trn1.32xlarge", NEURON_IMAGE),
        ("trn2.48xlarge", NEURON_IMAGE),
        ("inf2.48xlarge", NEURON_IMAGE),
        ("dl1.24xlarge", None),
        ("dl2q.24xlarge", None),
        ("f2.48xlarge", None),
        ("vt1.24xlarge", None),
        ("hpc7a.96xlarge", PLAIN_IMAGE),
        ("hpc7g.16xlarge", PLAIN_IMAGE),
    ],
)
def test_the_image_that_batch_has(name: str, image: BatchImage | None) -> None:
    assert lookup(name).batch_image == image


@pytest.mark.parametrize(
    ("advertised", "registered"),
    [
        pytest.param(524288, 507821, id="trn1.32xlarge"),
        pytest.param(32768, 31672, id="r5d.xlarge"),
        pytest.param(8192, 7985, id="m4.large"),
    ],
)
def test_usable_memory_is_below_what_was_measured(advertised: int, registered: int) -> None:
    assert advertised * 0.94 < usable_of(advertised) <= advertised * 0.95 < registered


def test_usable_memory_of_a_type() -> None:
    assert usable_memory(lookup("p5.48xlarge")) == 1992294
    assert usable_memory(lookup("g6.8xlarge")) == 124518
    assert all(usable_memory(lookup(name)) <= 0.95 * lookup(name).memory_mib for name in names())


def test_efa_devices() -> None:
    assert efa_devices(lookup("g6.8xlarge")) == ("/dev/infiniband/uverbs0",)
    assert efa_devices(lookup("g5.xlarge")) == ()
    assert efa_devices(lookup("p5.48xlarge")) == tuple(
        f"/dev/infiniband/uverbs{number}" for number in range(32)
    )
    assert len(efa_devices(lookup("p6-b300.48xlarge"))) == 16


def test_neuron_devices() -> None:
    assert neuron_device_paths(lookup("trn1.32xlarge")) == tuple(
        f"/dev/neuron{number}" for number in range(16)
    )
    assert neuron_device_paths(lookup("p5.48xlarge")) == ()
