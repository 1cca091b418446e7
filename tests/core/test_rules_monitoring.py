"""When alarms may speak, as tables, and the quotas that nodes need."""

from __future__ import annotations

import pytest

from muster_core.instances import EFA_ONLY, lookup, names, nics
from muster_core.instances.quotas import interface_quota, on_demand_quota, volume_quota
from muster_core.rules import Problem, monitoring

TOKEN = -1.8881545897087626e289


@pytest.mark.parametrize("seconds", [None, TOKEN, 300, 1800, 86400])
def test_times_that_are_right(seconds: float | None) -> None:
    assert monitoring.idle_after(seconds) == monitoring.runnable_after(seconds) == []


@pytest.mark.parametrize("seconds", [0, 299, 420, 1801, 86700])
def test_idle_times_that_are_not(seconds: float) -> None:
    assert monitoring.idle_after(seconds) == [
        Problem(
            "monitoring.idle_after",
            f"idle_after must be 5 minutes to 24 hours in whole steps of 5 minutes, got {seconds} s; "
            "hosts are counted every 5 minutes; round it, such as '30m'",
        )
    ]


@pytest.mark.parametrize("seconds", [0, 299, 86401])
def test_waiting_times_that_are_not(seconds: float) -> None:
    assert monitoring.runnable_after(seconds) == [
        Problem(
            "monitoring.runnable_after",
            f"runnable_after must be 5 minutes to 24 hours, got {seconds} s; "
            "jobs are looked at every 5 minutes; change it",
        )
    ]


def test_a_job_that_runs_elsewhere() -> None:
    assert monitoring.job("Stack/Train", "Stack/Cluster", "Stack/Cluster") == []
    assert monitoring.job("Stack/Train", "Stack/Other", "Stack/Cluster") == [
        Problem(
            "monitoring.job",
            "jobs has one that runs elsewhere, got 'Stack/Train' on 'Stack/Other'; "
            "allowed are jobs of 'Stack/Cluster'; give it to the monitoring of its own cluster",
        )
    ]


@pytest.mark.parametrize(
    ("name", "nodes", "row"),
    [
        ("p5.48xlarge", 16, ("ec2", "L-417A185B", "Running On-Demand P instances", 3072)),
        ("p6-b200.48xlarge", 2, ("ec2", "L-417A185B", "Running On-Demand P instances", 384)),
        ("g6.8xlarge", 4, ("ec2", "L-DB2E81BA", "Running On-Demand G and VT instances", 128)),
        ("gr6.8xlarge", 1, ("ec2", "L-DB2E81BA", "Running On-Demand G and VT instances", 32)),
        ("trn1.32xlarge", 2, ("ec2", "L-2C3B7624", "Running On-Demand Trn instances", 256)),
        ("inf2.48xlarge", 1, ("ec2", "L-1945791B", "Running On-Demand Inf instances", 192)),
    ],
)
def test_the_vcpus_that_nodes_need(name: str, nodes: int, row: tuple[str, str, str, int]) -> None:
    assert on_demand_quota(lookup(name), nodes) == row


def test_every_type_with_gpus_or_neuron_devices_has_a_quota() -> None:
    for name in names():
        facts = lookup(name)
        if facts.gpus or facts.neuron_devices:
            assert on_demand_quota(facts, 1) is not None, name
    assert on_demand_quota(lookup("c5n.18xlarge"), 1) is None


def test_the_interfaces_of_hosts_and_containers() -> None:
    layout = nics(lookup("p5.48xlarge"), EFA_ONLY)
    assert interface_quota(layout, 4) == ("vpc", "L-DF5E4CA3", "Network interfaces per Region", 132)


@pytest.mark.parametrize(("gib", "nodes", "tib"), [(200, 4, 1), (200, 6, 2), (1024, 3, 3), (30, 1, 1)])
def test_the_storage_of_root_volumes(gib: int, nodes: int, tib: int) -> None:
    name = "Storage for General Purpose SSD (gp3) volumes, in TiB"
    assert volume_quota(gib, nodes) == ("ebs", "L-7A658B76", name, tib)
