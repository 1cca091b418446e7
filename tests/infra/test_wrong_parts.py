"""Mistakes in what a cluster and a job are given, each with its sentence, and the nearest right one beside it."""

import math

import pytest
from infra_synth import IMAGE, ZONE, problems_of, stack, warnings_of

from muster_cdk import Capacity, FairShare, GpuCluster, Launcher, MultiNodeTrainingJob
from muster_core.instances import lookup, names
from muster_core.rules.network import MAX_DEVICES

BLOCK = "cr-0123456789abcdef0"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, **more):
    options = {"instance_type": "p5.48xlarge", "max_nodes": 4, "availability_zone": ZONE, **more}
    return GpuCluster(scope, "Cluster", **options)


def job(scope, environment, instance_type="p5.48xlarge"):
    MultiNodeTrainingJob(
        scope,
        "Train",
        cluster=cluster(scope, instance_type=instance_type),
        nodes=2,
        image=IMAGE,
        launcher=Launcher.torch("train.py"),
        environment=environment,
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "block"}, "'block' with reservation_id None, zone None and size None"),
        (
            {"kind": "block", "reservation_id": BLOCK, "zone": ZONE},
            f"'block' with reservation_id '{BLOCK}', zone '{ZONE}' and size None",
        ),
        ({"kind": "spot"}, "'spot' with reservation_id None, zone None and size None"),
    ],
)
def test_a_capacity_that_no_method_makes(given, said):
    with pytest.raises(ValueError, match="capacity") as caught:
        Capacity(**given)
    assert str(caught.value) == (
        f"capacity is none that a method of Capacity makes, got kind {said}; use Capacity.on_demand(), .reservation(...) "
        "or .block(...)"
    )
    right = Capacity.block(BLOCK, zone=ZONE, size=4)
    assert Capacity("block", reservation_id=BLOCK, zone=ZONE, size=4) == right


def test_a_reservation_s_group_that_is_none():
    with pytest.raises(TypeError) as caught:
        Capacity.reservation(BLOCK, placement_group="pg")
    assert str(caught.value) == "placement_group must be an ec2.PlacementGroup, got str 'pg'; change it"


def test_a_device_that_no_host_has(scope):
    cluster(scope, efa_devices=["/dev/infiniband/uverbs0", "/dev/infiniband/uverbs100"])
    assert problems_of(scope) == [
        (
            "[Test/Cluster] efa_devices has a device that no host has, got '/dev/infiniband/uverbs100'; hosts number their "
            "devices from 0 and have fewer than 64; correct it"
        )
    ]


def test_every_type_s_devices_are_ones_that_hosts_have():
    assert max(max(lookup(name).uverbs, default=0) for name in names()) < MAX_DEVICES


@pytest.mark.parametrize(
    "environment",
    [
        {"FI_PROVIDER": "tcp"},
        {"FI_PROVIDER": "^efa"},
        {"NCCL_NET": "Socket"},
        {"NCCL_NET_PLUGIN": "none", "NCCL_NET": "IB"},
    ],
)
def test_variables_that_keep_traffic_from_efa(scope, environment):
    job(scope, {**environment, "NCCL_DEBUG": "INFO"})
    assert warnings_of(scope) == [
        (
            f"environment keeps the traffic from EFA, got {environment!r}; the nodes would speak TCP, a fraction of what the "
            "network cards of p5.48xlarge can; remove it [ack: muster-cdk:slowNetwork]"
        )
    ]


@pytest.mark.parametrize(
    "environment",
    [
        {"FI_PROVIDER": "efa"},
        {"FI_PROVIDER": "^tcp"},
        {"FI_PROVIDER": ""},
        {"NCCL_NET": "AWS Libfabric", "NCCL_NET_PLUGIN": "ofi"},
        {"NCCL_SOCKET_IFNAME": "^docker0,lo"},
    ],
)
def test_variables_that_leave_traffic_to_efa(scope, environment):
    job(scope, environment)
    assert warnings_of(scope) == []


def test_a_type_without_efa_speaks_tcp(scope):
    job(scope, {"FI_PROVIDER": "tcp"}, "g5.4xlarge")
    assert warnings_of(scope) == []


@pytest.mark.parametrize("weight", [math.nan, math.inf])
def test_a_weight_that_is_not_finite(scope, weight):
    with pytest.raises(ValueError, match="weights") as caught:
        cluster(scope, fair_share=FairShare(weights={"a": weight, "b": 0.5}))
    assert str(caught.value) == (
        f"weights['a'] must be from 0.0001 to 999.9999, got {weight!r}; a lower weight gets more; change it"
    )
