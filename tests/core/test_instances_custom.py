"""A type that the catalogue has not: its facts as arguments, checked all at once."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_core.instances import (
    Accelerator,
    InstanceType,
    NetworkCard,
    Nic,
    Nvme,
    efa_devices,
    lookup,
    names,
    nics,
    usable_memory,
)
from muster_core.rules import ClusterRequest, cluster

H300 = Accelerator("nvidia", "H300", 8, 294912)
CARDS = [NetworkCard(index, 2, efa=True) for index in range(4)]


def made(**more: object) -> InstanceType:
    given: dict[str, object] = {
        "name": "p7.48xlarge",
        "vcpus": 256,
        "memory_mib": 4194304,
        "network_cards": CARDS,
        "accelerator": H300,
    }
    return InstanceType.custom(**{**given, **more})  # type: ignore[arg-type]


def test_facts_that_follow_are_not_asked_for() -> None:
    found = made()
    assert (found.architecture, found.cores, found.max_efa, found.uverbs) == ("x86_64", 256, 4, (0, 1, 2, 3))
    assert (found.on_demand, found.spot, found.capacity_block, found.nvme) == (True, False, False, None)
    assert found.sources == ()
    assert (found.family, found.gpus) == ("p7", 8)


def test_everything_else_follows_from_the_facts() -> None:
    found = made(uverbs=[1, 2, 3, 5])
    assert nics(found) == (Nic(0, 0, "efa"), *(Nic(card, 1, "efa-only") for card in (1, 2, 3)))
    assert efa_devices(found) == tuple(f"/dev/infiniband/uverbs{number}" for number in (1, 2, 3, 5))
    assert usable_memory(found) == 3984588
    assert found.batch_image is not None
    assert found.batch_image.image_type == "ECS_AL2023_NVIDIA"
    assert cluster(found, ClusterRequest(16, subnet_cidr="10.0.0.0/24")) == []


def test_every_argument_is_a_fact() -> None:
    found = made(
        architecture="arm64",
        cores=128,
        max_efa=3,
        nvme=Nvme(8, 3800),
        network="6400 Gigabit",
        on_demand=False,
        spot=True,
        capacity_block=True,
    )
    assert dataclasses.asdict(found) == {
        "name": "p7.48xlarge",
        "architecture": "arm64",
        "vcpus": 256,
        "cores": 128,
        "memory_mib": 4194304,
        "accelerator": dataclasses.asdict(H300),
        "network_cards": tuple(dataclasses.asdict(card) for card in CARDS),
        "max_efa": 3,
        "uverbs": (0, 1, 2),
        "nvme": {"count": 8, "size_gb": 3800},
        "network": "6400 Gigabit",
        "on_demand": False,
        "spot": True,
        "capacity_block": True,
        "sources": (),
    }


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"name": "P7"},
            (
                "name is not one of an instance type, got 'P7'; a name is a family, a dot and a size such as "
                "'p5.48xlarge'; correct it"
            ),
        ),
        ({"architecture": "x86"}, "architecture is unknown, got 'x86'; allowed: x86_64, arm64; change it"),
        ({"vcpus": 0}, "vcpus must be a whole number of at least 1, got 0; change it"),
        ({"vcpus": True}, "vcpus must be a whole number of at least 1, got True; change it"),
        ({"cores": 257}, "cores must be a whole number from 1 to the 256 vcpus, got 257; change it"),
        (
            {"memory_mib": 4194304 * 1024},
            (
                "memory_mib is too much for 256 vcpus, got 4294967296; it is in MiB, and types have at most 131072 for each "
                "vcpu; give GiB times 1024"
            ),
        ),
        (
            {"memory_mib": 4096},
            (
                "memory_mib is too little for 256 vcpus, got 4096; it is in MiB, and types have at least 512 for each "
                "vcpu; give GiB times 1024"
            ),
        ),
        (
            {"accelerator": Accelerator("NVIDIA", "H300", 8, 1)},
            (
                "accelerator has an unknown kind, got 'NVIDIA'; allowed: nvidia, neuron, gaudi, qualcomm, fpga, media, "
                "amd; change it"
            ),
        ),
        (
            {"accelerator": Accelerator("nvidia", "H300", -1, 1)},
            "accelerator must have a whole count, 0 for a fraction of a device, got -1; change it",
        ),
        (
            {"accelerator": Accelerator("nvidia", "H300", 8, -1)},
            "accelerator must have memory_mib and cores of at least 0, got -1 and 0; change them",
        ),
        (
            {"network_cards": []},
            "network_cards must be numbered from 0 without a gap, got []; give every card of the type, in order",
        ),
        (
            {"network_cards": [NetworkCard(1, 2, efa=True)]},
            "network_cards must be numbered from 0 without a gap, got [1]; give every card of the type, in order",
        ),
        (
            {"network_cards": [NetworkCard(0, 0, efa=True)]},
            "network card 0 must hold at least 1 interface, got 0; change max_interfaces",
        ),
        (
            {"network_cards": [NetworkCard(0, 2, efa="yes")]},  # type: ignore[arg-type]
            "network card 0 must have True or False for efa, got 'yes'; change it",
        ),
        (
            {"max_efa": 5},
            (
                "max_efa must be from 0 to the number of cards that take EFA, got 5; 4 of network_cards do; change one "
                "of them"
            ),
        ),
        (
            {"max_efa": 1.5},
            (
                "max_efa must be from 0 to the number of cards that take EFA, got 1.5; 4 of network_cards do; change "
                "one of them"
            ),
        ),
        (
            {"uverbs": [0, 1, 1, 2]},
            (
                "uverbs must be a device number for each of the 4 interfaces with EFA, got [0, 1, 1, 2]; leave it out "
                "for 0 to max_efa - 1"
            ),
        ),
        *(
            (
                {"uverbs": wrong},
                (
                    f"uverbs must be a device number for each of the 4 interfaces with EFA, got {wrong}; leave it out "
                    "for 0 to max_efa - 1"
                ),
            )
            for wrong in ([0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, -1], [0, 1, 2, "3"])
        ),
        (
            {"nvme": Nvme(0, 100)},
            (
                "nvme must have at least 1 disk of at least 1 GB, got Nvme(count=0, size_gb=100); leave it out where "
                "there is none"
            ),
        ),
        (
            {"on_demand": False, "spot": True},
            (
                "on_demand and capacity_block are both False; multi-node jobs do not run on Spot; say how the type is "
                "sold"
            ),
        ),
    ],
)
def test_a_fact_that_cannot_be(more: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r"^\w") as caught:
        made(**more)
    assert str(caught.value) == message


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ValueError, match=r"^name is not") as caught:
        made(name="", architecture="", vcpus=-1, network_cards=[], uverbs=[7], on_demand=False)
    assert [line.split(" ")[0] for line in str(caught.value).splitlines()] == [
        *("name", "architecture", "on_demand", "vcpus", "network_cards", "uverbs"),
    ]


def test_wrong_types_are_said_at_once() -> None:
    with pytest.raises(TypeError) as caught:
        made(network_cards=[(0, 2, True)], accelerator="H300", nvme=(8, 3800), uverbs=4)
    assert str(caught.value).splitlines() == [
        "network_cards must be a list of NetworkCard, got list [(0, 2, True)]; change it",
        "accelerator must be an Accelerator, got str 'H300'; change it",
        "nvme must be an Nvme, got tuple (8, 3800); change it",
        "uverbs must be a list of int, got int 4; change it",
    ]
    with pytest.raises(
        TypeError, match=r"^network_cards must be a list of NetworkCard, got int 4; change it$"
    ):
        made(network_cards=4)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(name=st.sampled_from(names()))
def test_every_type_of_the_catalogue_could_have_been_given_by_hand(name: str) -> None:
    facts = lookup(name)
    fields = {field.name: getattr(facts, field.name) for field in dataclasses.fields(facts)}
    fields.pop("sources")
    assert InstanceType.custom(**fields) == dataclasses.replace(facts, sources=())
