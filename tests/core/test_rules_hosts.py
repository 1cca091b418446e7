"""Rules about where the hosts live and what they are made with, as tables: what is given -> the exact sentence."""

from __future__ import annotations

import pytest

from muster_core.instances import lookup
from muster_core.rules import Problem, capacity, network, volume

TOKEN_NUMBER = -1.8881545897087827e289
TOKEN_TEXT = "${Token[TOKEN.42]}"


@pytest.mark.parametrize(
    "zones", [[], ["us-east-1a"], ["us-east-1a", "us-east-1a"], [TOKEN_TEXT, "us-east-1a"]]
)
def test_subnets_that_leave_no_choice_of_zone(zones: list[str]) -> None:
    assert network.one_zone(zones) == []


def test_subnets_in_several_zones() -> None:
    assert network.one_zone(["us-east-1b", "us-east-1a", "us-east-1b"]) == [
        Problem(
            "network.one_zone",
            "vpc has private subnets in several zones, got ['us-east-1a', 'us-east-1b']; EFA cannot leave a zone; "
            "choose one by availability_zone or subnet",
        )
    ]


@pytest.mark.parametrize("public", [[], ["subnet-2"], ["${Token[TOKEN.7]}"]])
@pytest.mark.parametrize("subnet", ["subnet-1", TOKEN_TEXT])
def test_subnets_that_are_private(subnet: str, public: list[str]) -> None:
    assert network.public_subnet(subnet, public) == []


@pytest.mark.parametrize(
    ("subnet", "name", "said"),
    [("subnet-1", None, "subnet-1"), (TOKEN_TEXT, "Stack/Vpc/Public", "Stack/Vpc/Public")],
)
def test_a_public_subnet(subnet: str, name: str | None, said: str) -> None:
    assert network.public_subnet(subnet, ["subnet-0", subnet], name) == [
        Problem(
            "network.public_subnet",
            f"subnet is public, got {said!r}; the container of a multi-node job has no public address and would have no "
            "way out; give a private subnet with NAT",
        )
    ]


@pytest.mark.parametrize(
    ("subnet_zone", "named"),
    [
        ("us-east-1a", "us-east-1a"),
        (None, "us-east-1a"),
        ("us-east-1a", None),
        (TOKEN_TEXT, "us-east-1a"),
        ("us-east-1a", TOKEN_TEXT),
    ],
)
def test_zones_that_agree_or_are_not_known(subnet_zone: str | None, named: str | None) -> None:
    assert network.zone_mismatch(subnet_zone, named) == []


def test_zones_that_do_not_agree() -> None:
    assert network.zone_mismatch("us-east-1a", "us-east-1b") == [
        Problem(
            "network.zone_mismatch",
            "subnet is in another zone than availability_zone, got 'us-east-1a' and 'us-east-1b'; leave "
            "availability_zone out, or name the subnet's",
        )
    ]


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1a", "us-east-1"),
        ("us-west-2-lax-1a", "us-west-2"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-east-1a", "${Token[AWS.Region.4]}"),
        ("${Token[TOKEN.1]}", "us-east-1"),
        ("us-east", "eu-west-1"),  # no name of a zone: another rule's
        (None, "us-east-1"),
        ("us-east-1a", None),
    ],
)
def test_a_zone_of_the_region(zone: str | None, region: str | None) -> None:
    assert network.zone_region(zone, region) == []


@pytest.mark.parametrize("region", ["eu-west-1", "us-east-2"])
def test_a_zone_of_another_region(region: str) -> None:
    assert network.zone_region("us-east-1a", region) == [
        Problem(
            "network.zone_region",
            f"availability_zone is in another region than the stack, got 'us-east-1a' and {region!r}; the name of a zone "
            "begins with its region; name a zone of the stack's region",
        )
    ]


@pytest.mark.parametrize("mebibytes", [30 * 1024, 200 * 1024, 65536 * 1024, TOKEN_NUMBER, None])
def test_root_volumes_that_hold_the_image(mebibytes: float | None) -> None:
    assert volume.root(mebibytes) == []


@pytest.mark.parametrize("mebibytes", [0, -1024, 20 * 1024, 30 * 1024 - 1, 30 * 1024 + 1, 204801])
def test_root_volumes_that_do_not(mebibytes: int) -> None:
    assert volume.root(mebibytes) == [
        Problem(
            "volume.root",
            f"root_volume_size must be a whole number of GiB and at least 30, got {mebibytes} MiB; the machine image alone "
            "takes 30 GiB, and training images come on top; give more",
        )
    ]


def test_a_root_volume_that_ebs_does_not_make() -> None:
    assert volume.root(65537 * 1024) == [
        Problem(
            "volume.root",
            "root_volume_size must be at most 65536 GiB, got 67109888 MiB; EBS makes no larger volume; give less",
        )
    ]


@pytest.mark.parametrize("value", [*capacity.STRATEGIES, TOKEN_TEXT, None])
def test_strategies_for_instances_on_demand(value: str | None) -> None:
    assert capacity.strategy(value) == []


@pytest.mark.parametrize(
    "value", ["SPOT_CAPACITY_OPTIMIZED", "SPOT_PRICE_CAPACITY_OPTIMIZED", "best_fit", ""]
)
def test_other_strategies(value: str) -> None:
    assert capacity.strategy(value) == [
        Problem(
            "capacity.strategy",
            f"allocation_strategy is none for instances on demand, got {value!r}; allowed: BEST_FIT, "
            "BEST_FIT_PROGRESSIVE, BEST_FIT_PROGRESSIVE_ORDERED; multi-node jobs do not run on Spot; change it",
        )
    ]


P4D = lookup("p4d.24xlarge")
DEVICES = [f"/dev/infiniband/uverbs{number}" for number in range(8)]


@pytest.mark.parametrize(
    "paths", [[], DEVICES[:1], DEVICES[4:8], [TOKEN_TEXT, "/dev/x"], ["#{Token[TOKEN.7]}"]]
)
def test_efa_devices_that_can_be(paths: list[str]) -> None:
    assert network.efa_devices(P4D, paths) == []


@pytest.mark.parametrize(
    ("paths", "messages"),
    [
        (
            ["/dev/infiniband/uverbs", "uverbs0"],
            [
                (
                    f"efa_devices has what is no EFA device, got {path!r}; a path is such as '/dev/infiniband/uverbs0'; "
                    "correct it"
                )
                for path in ("/dev/infiniband/uverbs", "uverbs0")
            ],
        ),
        (
            [DEVICES[0], DEVICES[1], DEVICES[0]],
            ["efa_devices has a device twice, got '/dev/infiniband/uverbs0'; remove one"],
        ),
        (
            ["/dev/infiniband/uverbs63", "/dev/infiniband/uverbs64", "/dev/infiniband/uverbs100"],
            [
                (
                    f"efa_devices has a device that no host has, got '/dev/infiniband/uverbs{number}'; hosts number their "
                    "devices from 0 and have fewer than 64; correct it"
                )
                for number in (64, 100)
            ],
        ),
        (
            DEVICES[:6],
            [
                (
                    "efa_devices has more devices than the type has interfaces with EFA, got 6; p4d.24xlarge has 4; a "
                    "container does not start with a device that is not there; remove 2"
                )
            ],
        ),
    ],
)
def test_efa_devices_that_cannot_be(paths: list[str], messages: list[str]) -> None:
    assert network.efa_devices(P4D, paths) == [
        Problem("network.efa_devices", message) for message in messages
    ]
