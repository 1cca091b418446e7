"""Look-up: by name, lazily, quickly, and with a hint where the name is wrong."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from muster_core.instances import UnknownInstanceTypeError, lookup, names, sources
from muster_core.instances.catalogue import DATA
from muster_core.instances.facts import ARCHITECTURES, KINDS, problems_of

ALL = [lookup(name) for name in names()]


def test_the_file_is_small() -> None:
    assert DATA.stat().st_size <= 150_000


def test_names_are_sorted_and_many() -> None:
    assert list(names()) == sorted(names())
    assert len(names()) >= 340


def test_the_first_look_up_of_a_process_takes_at_most_5_ms() -> None:
    code = (
        "import time; from muster_core.instances import lookup; start = time.perf_counter(); "
        "lookup('p5.48xlarge'); print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-I", "-c", code]
    times = [
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(5)
    ]
    assert min(times) <= 0.005


def test_importing_reads_no_data() -> None:
    code = "from muster_core.instances import catalogue; print(catalogue._document.cache_info().currsize)"
    command = [sys.executable, "-I", "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "p5.48xlrage",
            (
                "instance_type is not in the catalogue, got 'p5.48xlrage'; it holds every type with EFA or an "
                "accelerator, the nearest are p5.48xlarge, p5e.48xlarge, p5.4xlarge; correct the name, or give the type's "
                "facts by InstanceType.custom"
            ),
        ),
        (
            "P4D.24XLARGE ",
            (
                "instance_type is not in the catalogue, got 'P4D.24XLARGE '; it holds every type with EFA or an "
                "accelerator, the nearest are p4d.24xlarge, p4de.24xlarge, p3dn.24xlarge; correct the name, or give the type's "
                "facts by InstanceType.custom"
            ),
        ),
        (
            "",
            (
                "instance_type is not in the catalogue, got ''; it holds every type with EFA or an "
                "accelerator, the nearest are x8i.metal-96xl, x8i.metal-48xl, x8i.96xlarge; correct the name, or give the type's "
                "facts by InstanceType.custom"
            ),
        ),
    ],
)
def test_an_unknown_name_gets_the_three_nearest(name: str, message: str) -> None:
    with pytest.raises(UnknownInstanceTypeError) as caught:
        lookup(name)
    assert str(caught.value) == message
    assert caught.value.name == name
    assert len(caught.value.nearest) == 3


def test_a_name_that_is_no_string_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"instance_type must be a string such as 'p5.48xlarge', got \['p5.48xlarge'\]"
    ):
        lookup(["p5.48xlarge"])  # type: ignore[arg-type]


def test_a_type_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        lookup("p5.48xlarge").vcpus = 1  # type: ignore[misc]


def test_every_row_tells_its_source_and_date() -> None:
    assert all(instance.sources and set(instance.sources) <= set(sources()) for instance in ALL)
    assert all(source.name and len(source.date) == len("2026-01-01") for source in sources())


def test_every_type_has_efa_or_an_accelerator() -> None:
    assert [each.name for each in ALL if not each.max_efa and each.accelerator is None] == []


def test_every_row_holds_together() -> None:
    for each in ALL:
        assert list(problems_of(each)) == [], each.name
        assert each.architecture in ARCHITECTURES, each.name
        assert 1 <= each.cores <= each.vcpus <= 2 * each.cores, each.name
        assert each.memory_mib >= 4096, each.name
        assert each.network, each.name
        assert each.on_demand or each.spot or each.capacity_block, each.name
        assert [card.index for card in each.network_cards] == list(range(len(each.network_cards))), each.name
        assert all(card.max_interfaces >= 1 for card in each.network_cards), each.name
        assert each.max_efa <= sum(card.efa for card in each.network_cards), each.name
        assert len(each.uverbs) == each.max_efa, each.name
        assert each.nvme is None or (each.nvme.count >= 1 and each.nvme.size_gb >= 50), each.name


def test_every_accelerator_holds_together() -> None:
    for each in ALL:
        if each.accelerator is None:
            continue
        assert each.accelerator.kind in KINDS, each.name
        assert each.accelerator.memory_mib >= 1024, each.name
        assert (each.accelerator.count == 0) == (each.family in {"g6f", "gr6f"}), each.name
        assert (each.accelerator.cores > 0) == (each.accelerator.kind == "neuron"), each.name
        assert each.gpus == 0 or each.neuron_devices == 0, each.name
