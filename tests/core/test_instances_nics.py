"""The layout of network interfaces, by hand for the types that matter and by rule for all."""

from __future__ import annotations

import pytest

from muster_core.instances import Nic, ips_per_node, lookup, names, nics

WITHOUT_A_SLOT = ("hpc6id.32xlarge",)
POSSIBLE = [name for name in names() if name not in WITHOUT_A_SLOT]


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("g5.xlarge", "efa-only", [Nic(0, 0, "interface")]),
        ("g6.8xlarge", "efa-only", [Nic(0, 0, "efa")]),
        ("g6.8xlarge", "efa", [Nic(0, 0, "efa")]),
        ("p4d.24xlarge", "efa-only", [Nic(0, 0, "efa"), *(Nic(card, 1, "efa-only") for card in range(1, 4))]),
        ("p4d.24xlarge", "efa", [Nic(0, 0, "efa"), *(Nic(card, 1, "efa") for card in range(1, 4))]),
        ("p5.48xlarge", "efa-only", [Nic(0, 0, "efa"), *(Nic(card, 1, "efa-only") for card in range(1, 32))]),
        (
            "p6-b200.48xlarge",
            "efa-only",
            [Nic(0, 0, "efa"), *(Nic(card, 1, "efa-only") for card in range(1, 8))],
        ),
        (
            "trn1.32xlarge",
            "efa-only",
            [Nic(0, 0, "efa"), *(Nic(card, 1, "efa-only") for card in range(1, 8))],
        ),
        (
            "p6-b300.48xlarge",
            "efa-only",
            [Nic(0, 0, "interface"), *(Nic(card, 0, "efa-only") for card in range(1, 17))],
        ),
        (
            "p6e-gb200.36xlarge",
            "efa-only",
            [Nic(0, 0, "interface"), *(Nic(card, 0, "efa-only") for card in range(1, 16, 2))],
        ),
        # Two cards take EFA, and one interface with it is all that the type may have.
        ("i7ie.48xlarge", "efa-only", [Nic(0, 0, "efa")]),
    ],
)
def test_layout(name: str, kind: str, expected: list[Nic]) -> None:
    assert list(nics(lookup(name), kind)) == expected


@pytest.mark.parametrize(
    ("name", "kind", "addresses"),
    [
        ("g5.xlarge", "efa-only", 2),
        ("p5.48xlarge", "efa-only", 2),
        ("p5.48xlarge", "efa", 33),
        ("p4d.24xlarge", "efa", 5),
        ("p6-b300.48xlarge", "efa-only", 2),
    ],
)
def test_addresses_of_a_node(name: str, kind: str, addresses: int) -> None:
    assert ips_per_node(nics(lookup(name), kind)) == addresses


@pytest.mark.parametrize("name", POSSIBLE)
def test_every_layout_is_one_that_ec2_takes(name: str) -> None:
    instance = lookup(name)
    layout = nics(instance)
    limits = {card.index: card.max_interfaces for card in instance.network_cards}
    takes_efa = {card.index for card in instance.network_cards if card.efa}
    slots = [(nic.network_card_index, nic.device_index) for nic in layout]

    assert slots[0] == (0, 0)
    assert layout[0].interface_type in {"interface", "efa"}
    assert len(set(slots)) == len(slots)
    assert all(device < limits[card] for card, device in slots)
    assert sum(card == 0 for card, _ in slots) + 1 <= limits[0]
    with_efa = [nic.network_card_index for nic in layout if nic.interface_type != "interface"]
    assert len(with_efa) == instance.max_efa
    assert len(set(with_efa)) == len(with_efa)
    assert set(with_efa) <= takes_efa


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="interface_type is unknown, got 'ena'; allowed: 'efa-only', 'efa'"):
        nics(lookup("p5.48xlarge"), "ena")


@pytest.mark.parametrize("name", ["p6-b300.48xlarge", "p6e-gb200.36xlarge"])
def test_efa_everywhere_is_refused_where_card_0_takes_none(name: str) -> None:
    with pytest.raises(ValueError, match="interface_type is impossible on") as caught:
        nics(lookup(name), "efa")
    assert str(caught.value) == (
        f"interface_type is impossible on {name}, got 'efa'; its card 0 takes no EFA and EC2 then refuses "
        "interfaces with an address on the other cards; use 'efa-only'"
    )


@pytest.mark.parametrize("name", WITHOUT_A_SLOT)
def test_a_type_without_a_slot_for_the_job_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="instance_type cannot run multi-node jobs") as caught:
        nics(lookup(name))
    assert str(caught.value) == (
        f"instance_type cannot run multi-node jobs, got {name!r}; its network card 0 holds 1 interface and the "
        "primary one takes it, the job's container needs another; use another type"
    )
