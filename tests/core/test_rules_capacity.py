"""Rules about where instances come from, as tables: what is given -> the exact sentence, or none."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_core import rules
from muster_core.instances import lookup, names
from muster_core.rules import ClusterRequest, JobRequest, Problem, capacity
from muster_core.rules.capacity import BLOCK, ENDING_SECONDS, ON_DEMAND, RESERVATION, CapacityRequest

TOKEN_NUMBER = -1.8881545897087827e289
TOKEN_TEXT = "${Token[TOKEN.42]}"
P5 = lookup("p5.48xlarge")
ID = "cr-0123456789abcdef0"
ARN = "arn:aws-cn:resource-groups:cn-north-1:123456789012:group/blocks"
DAY = 86400.0
GOOD = CapacityRequest(
    BLOCK, reservation_id=ID, zone="us-east-1b", size=4, start=1e9, end=1e9 + DAY, other_group=False
)


@pytest.mark.parametrize(
    "request_",
    [
        CapacityRequest(),
        CapacityRequest(ON_DEMAND, other_group=True),
        CapacityRequest(RESERVATION, reservation_id=ID),
        CapacityRequest(RESERVATION, reservation_id="cr-01234567", other_group=True),
        CapacityRequest(RESERVATION, reservation_id=TOKEN_TEXT, own_group=True),
        CapacityRequest(RESERVATION, resource_group_arn=ARN),
        CapacityRequest(RESERVATION, resource_group_arn=TOKEN_TEXT),
        GOOD,
        dataclasses.replace(GOOD, size=TOKEN_NUMBER, zone=TOKEN_TEXT, reservation_id=TOKEN_TEXT),
        dataclasses.replace(GOOD, size=None, zone=None, start=None, end=None),
        dataclasses.replace(GOOD, start=TOKEN_NUMBER),
    ],
)
def test_capacity_that_is_right(request_: CapacityRequest) -> None:
    assert capacity.check(P5, request_, 4, "us-east-1b") == []


@pytest.mark.parametrize(
    ("request_", "rule", "message"),
    [
        (
            CapacityRequest(RESERVATION),
            "capacity.reservation",
            "capacity wants the id of a reservation or the ARN of a resource group, got neither; give one of the two",
        ),
        (
            CapacityRequest(RESERVATION, reservation_id=ID, resource_group_arn=ARN),
            "capacity.reservation",
            (
                f"capacity wants the id of a reservation or the ARN of a resource group, got {ID!r} and {ARN!r}; give one of "
                "the two"
            ),
        ),
        (
            CapacityRequest(RESERVATION, reservation_id="r-1"),
            "capacity.reservation",
            "id is none of a capacity reservation, got 'r-1'; one is such as 'cr-0123456789abcdef0'; correct it",
        ),
        (
            dataclasses.replace(GOOD, reservation_id=ARN),
            "capacity.reservation",
            f"id is none of a capacity reservation, got {ARN!r}; one is such as 'cr-0123456789abcdef0'; correct it",
        ),
        (
            CapacityRequest(RESERVATION, resource_group_arn=ID),
            "capacity.reservation",
            (
                f"resource_group_arn is no ARN of a resource group, got {ID!r}; it has the shape "
                "'arn:<partition>:resource-groups:<region>:<account>:group/<name>'; correct it"
            ),
        ),
        (
            CapacityRequest(RESERVATION, reservation_id=ID, own_group=True, other_group=True),
            "capacity.reservation_group",
            (
                "placement_group is another one than the reservation's, got both; the reservation's instances start in its "
                "own alone; leave placement_group out"
            ),
        ),
        (
            dataclasses.replace(GOOD, other_group=True),
            "capacity.block_group",
            (
                "placement_group cannot stand beside a Capacity Block, got both; the block's instances are close together "
                "already, and no instance would start; leave placement_group out"
            ),
        ),
        (
            dataclasses.replace(GOOD, zone="us-east-1a"),
            "capacity.block_zone",
            (
                "the nodes' subnet is in another zone than the Capacity Block, got 'us-east-1b' and 'us-east-1a'; no "
                "instance would start; name the block's zone by availability_zone, or give a subnet there"
            ),
        ),
        (
            dataclasses.replace(GOOD, size=3),
            "capacity.block_size",
            (
                "max_nodes is more than the Capacity Block has, got 4; the block has 3 instances, and a larger job would "
                "never start; lower max_nodes"
            ),
        ),
        (
            dataclasses.replace(GOOD, size=0),
            "capacity.block_size",
            "size of the Capacity Block must be a whole number of at least 1, got 0; give its instances",
        ),
        (
            dataclasses.replace(GOOD, end=1e9 + 1800),
            "capacity.block_times",
            (
                "end of the Capacity Block must be more than 30 minutes after its start, got 1800 s between them; EC2 ends "
                "the instances so long before the end; correct both"
            ),
        ),
    ],
)
def test_capacity_that_is_wrong(request_: CapacityRequest, rule: str, message: str) -> None:
    assert capacity.check(P5, request_, 4, "us-east-1b") == [Problem(rule, message)]


def test_a_type_that_is_sold_in_blocks_only_needs_one() -> None:
    facts = lookup("p6e-gb200.36xlarge")
    assert [each.rule for each in capacity.check(facts, CapacityRequest(), 4)] == ["capacity.on_demand"]
    assert capacity.check(facts, GOOD, 4) == []


def test_a_type_that_is_not_sold_in_blocks() -> None:
    assert capacity.check(lookup("g6.8xlarge"), GOOD, 4) == [
        Problem(
            "capacity.block_type",
            "instance_type is not sold in Capacity Blocks, got 'g6.8xlarge'; use Capacity.on_demand() or "
            "Capacity.reservation(...), or another type such as 'p5.48xlarge'",
        )
    ]


@pytest.mark.parametrize(
    ("timeout", "usable"),
    [(3600, None), (None, 3600), (3600, 3600), (TOKEN_NUMBER, 1), (3600, TOKEN_NUMBER), (3600, -5)],
)
def test_timeouts_within_a_block(timeout: float | None, usable: float | None) -> None:
    assert capacity.block_timeout(timeout, usable) == []


def test_a_timeout_beyond_the_block_is_in_the_job_s_report() -> None:
    usable = GOOD.usable_seconds
    assert usable == DAY - ENDING_SECONDS
    assert rules.job(P5, JobRequest(nodes=2, timeout_seconds=86400, block_seconds=usable)) == [
        Problem(
            "capacity.block_timeout",
            "timeout is longer than the Capacity Block lasts, got 86400 s; a job has 84600 s from its start, as EC2 ends "
            "the instances from 30 minutes before its end; lower timeout",
        )
    ]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    name=st.sampled_from([name for name in names() if lookup(name).capacity_block]),
    size=st.integers(1, 64),
    less=st.integers(0, 63),
    hours=st.integers(1, 24 * 182),
)
def test_no_right_block_is_refused(name: str, size: int, less: int, hours: int) -> None:
    request = CapacityRequest(
        BLOCK, reservation_id=ID, zone="us-east-1b", size=size, start=0, end=hours * 3600
    )
    nodes = max(1, size - less)
    found = rules.cluster(
        lookup(name), ClusterRequest(nodes, availability_zone="us-east-1b", capacity=request)
    )
    assert [each for each in found if each.rule.startswith("capacity.")] == []
