"""Where instances come from: what each kind writes into the template, refuses and warns of."""

import datetime as dt

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from infra_synth import IMAGE, ZONE, problems_of, stack, template_of, warnings_of

from muster_cdk import (
    Capacity,
    EfaLaunchTemplate,
    EfaSecurityGroup,
    GpuCluster,
    GpuComputeEnvironment,
    Launcher,
    MultiNodeTrainingJob,
)
from muster_cdk.capacity import environment_id
from muster_cdk.capacity_times import warn_of_remainder, warn_of_times
from muster_core.instances import lookup

ID = "cr-0123456789abcdef0"
ARN = "arn:aws:resource-groups:us-east-1:123456789012:group/blocks"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, id="Cluster", **more):
    options = {"instance_type": "p5.48xlarge", "max_nodes": 4, "availability_zone": ZONE, **more}
    return GpuCluster(scope, id, **options)


def block(**more):
    return Capacity.block(ID, **{"zone": ZONE, "size": 4, **more})


def data(template):
    return template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]


def test_on_demand_says_nothing_and_has_a_placement_group(scope):
    given = cluster(scope, capacity=Capacity.on_demand())
    template = template_of(scope)
    assert not {"InstanceMarketOptions", "CapacityReservationSpecification"} & set(data(template))
    assert "PlacementGroup" in template.resources
    assert given.capacity == Capacity.on_demand()


def test_a_block_is_market_target_and_zone_and_has_no_placement_group(scope):
    given = cluster(scope, availability_zone=None, capacity=block())
    template = template_of(scope)
    assert data(template)["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert data(template)["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationId": ID}
    }
    assert "PlacementGroup" not in template.resources
    assert template.of("AWS::EC2::PlacementGroup") == {}
    assert given.placement_group is None
    # The network is made in the block's zone.
    zones = {each["Properties"]["AvailabilityZone"] for each in template.of("AWS::EC2::Subnet").values()}
    assert zones == {ZONE}
    assert warnings_of(scope) == []


@pytest.mark.parametrize(
    ("capacity", "target"),
    [
        (Capacity.reservation(ID), {"CapacityReservationId": ID}),
        (Capacity.reservation(resource_group_arn=ARN), {"CapacityReservationResourceGroupArn": ARN}),
    ],
)
def test_a_reservation_is_a_target_and_has_no_other_placement_group(scope, capacity, target):
    cluster(scope, capacity=capacity)
    template = template_of(scope)
    assert data(template)["CapacityReservationSpecification"] == {"CapacityReservationTarget": target}
    assert "InstanceMarketOptions" not in data(template)
    assert "PlacementGroup" not in template.resources


def test_a_reservation_in_a_placement_group_has_that_one(scope):
    group = ec2.PlacementGroup.from_placement_group_name(scope, "Group", "reserved")
    given = cluster(scope, capacity=Capacity.reservation(ID, placement_group=group), placement_group=group)
    assert template_of(scope).resources["PlacementGroup"] == "reserved"
    assert given.placement_group is group
    assert warnings_of(scope) == []


def test_a_placement_group_beside_a_reservation_that_names_none_is_a_warning(scope):
    group = ec2.PlacementGroup.from_placement_group_name(scope, "Group", "other")
    cluster(scope, capacity=Capacity.reservation(ID), placement_group=group)
    assert warnings_of(scope) == [
        (
            "placement_group is set beside a reservation that names none; a reservation that was not made in this group "
            "gives it no instance; pass the group to Capacity.reservation where it was, else leave it out "
            "[ack: muster-cdk:reservationGroup]"
        )
    ]
    assert template_of(scope).resources["PlacementGroup"] == "other"


@pytest.mark.parametrize(
    ("more", "sentences"),
    [
        (
            {"capacity": block(size=3)},
            [
                (
                    "max_nodes is more than the Capacity Block has, got 4; the block has 3 instances, and a larger job would "
                    "never start; lower max_nodes"
                )
            ],
        ),
        (
            {"capacity": block(zone="us-east-1a")},
            [
                (
                    "the nodes' subnet is in another zone than the Capacity Block, got 'us-east-1b' and 'us-east-1a'; no "
                    "instance would start; name the block's zone by availability_zone, or give a subnet there"
                )
            ],
        ),
        (
            {"capacity": block(), "instance_type": "g6.8xlarge"},
            [
                (
                    "instance_type is not sold in Capacity Blocks, got 'g6.8xlarge'; use Capacity.on_demand() or "
                    "Capacity.reservation(...), or another type such as 'p5.48xlarge'"
                )
            ],
        ),
        (
            {"capacity": block(), "capacity_limit": "1h"},
            [
                (
                    "capacity_limit is set beside a Capacity Block, got 3600 s; a job that waits for the block to begin would "
                    "be cancelled; leave capacity_limit out"
                )
            ],
        ),
        (
            {"capacity": block(start="2027-01-01T00:00:00Z", end="2027-01-01T00:10:00Z")},
            [
                (
                    "end of the Capacity Block must be more than 30 minutes after its start, got 600 s between them; EC2 ends "
                    "the instances so long before the end; correct both"
                )
            ],
        ),
        (
            {"capacity": Capacity.reservation()},
            [
                "capacity wants the id of a reservation or the ARN of a resource group, got neither; give one of the two"
            ],
        ),
    ],
)
def test_what_is_wrong_is_said_once(scope, more, sentences):
    cluster(scope, **more)
    assert problems_of(scope) == [f"[Test/Cluster] {each}" for each in sentences]


def test_a_placement_group_beside_a_block_is_refused_and_left_out(scope):
    group = ec2.PlacementGroup(scope, "Group")
    given = cluster(scope, capacity=block(), placement_group=group)
    (found,) = problems_of(scope)
    assert found.startswith("[Test/Cluster] placement_group cannot stand beside a Capacity Block, got both; ")
    assert given.placement_group is None


def test_another_placement_group_than_the_reservation_s_is_refused(scope):
    group, other = (ec2.PlacementGroup(scope, name) for name in ("Group", "Other"))
    cluster(scope, capacity=Capacity.reservation(ID, placement_group=group), placement_group=other)
    (found,) = problems_of(scope)
    assert found.startswith(
        "[Test/Cluster] placement_group is another one than the reservation's, got both; "
    )


def test_a_block_in_a_given_subnet_of_another_zone_is_seen(scope):
    vpc = ec2.Vpc(scope, "Vpc", availability_zones=["us-east-1a"])
    cluster(scope, vpc=vpc, subnet=vpc.private_subnets[0], availability_zone=None, capacity=block())
    assert any("is in another zone than" in each for each in problems_of(scope))


def test_a_type_that_is_sold_in_blocks_only_takes_one(scope):
    group = EfaSecurityGroup(scope, "Efa", vpc=ec2.Vpc(scope, "Vpc", availability_zones=[ZONE]))
    vpc = scope.node.find_child("Vpc")
    facts = lookup("p6e-gb200.36xlarge")
    template = EfaLaunchTemplate(scope, "Template", instance=facts, security_group=group, capacity=block())
    GpuComputeEnvironment(
        scope,
        "Environment",
        instance_type=facts,
        max_nodes=4,
        subnet=vpc.private_subnets[0],
        launch_template=template,
        image_id="ami-0123456789abcdef0",
    )
    assert problems_of(scope) == []
    assert "PlacementGroup" not in template_of(scope).resources


def test_a_job_is_held_against_the_block(scope):
    given = cluster(scope, capacity=block(start="2027-01-01T00:00:00Z", end="2027-01-02T00:00:00Z"))
    launcher = Launcher.torch("train.py")
    MultiNodeTrainingJob(
        scope, "Train", cluster=given, nodes=2, image=IMAGE, launcher=launcher, timeout="24h"
    )
    assert problems_of(scope) == [
        (
            "[Test/Train] timeout is longer than the Capacity Block lasts, got 86400 s; a job has 84600 s from its start, as "
            "EC2 ends the instances from 30 minutes before its end; lower timeout"
        )
    ]


def test_hosts_know_when_their_block_ends(scope):
    cluster(scope, capacity=block(end=dt.datetime(2030, 1, 1, tzinfo=dt.timezone.utc)))
    ending = int(dt.datetime(2029, 12, 31, 23, 30, tzinfo=dt.timezone.utc).timestamp())
    assert f"'HOST_END': '{ending}'" in data(template_of(scope))["UserData"]["Fn::Base64"]


def logical_id(tmp_path, name, **more):
    scope = stack(tmp_path / name)
    cluster(scope, **more)
    (found,) = template_of(scope).of("AWS::Batch::ComputeEnvironment")
    return found


def test_the_environment_s_logical_id_changes_with_the_kind_and_the_block(tmp_path, scope):
    group = ec2.PlacementGroup(scope, "Group")
    kinds = [
        (Capacity.on_demand(), None),
        (Capacity.reservation(ID), None),
        (Capacity.reservation(ID, placement_group=group), None),
        (block(), None),
        (Capacity.block("cr-0123456789abcdef1", zone=ZONE, size=4), None),
    ]
    assert len({environment_id(*each) for each in kinds}) == len(kinds)
    assert environment_id(Capacity.reservation(ID), group) == environment_id(
        Capacity.reservation("cr-0123456789abcdef9", placement_group=group), None
    )
    assert logical_id(tmp_path, "a") == "ClusterComputeEnvironment2EC7120A"
    # Replaced at each update, or updated in place: Batch refuses to go from one to the other.
    assert logical_id(tmp_path, "d", allocation_strategy="BEST_FIT").startswith(
        "ClusterComputeEnvironmentreplaced"
    )
    assert logical_id(tmp_path, "e", allocation_strategy="BEST_FIT_PROGRESSIVE_ORDERED") == logical_id(
        tmp_path, "f"
    )
    assert logical_id(tmp_path, "b", capacity=block()).startswith("ClusterComputeEnvironmentblock")
    assert logical_id(tmp_path, "c", capacity=Capacity.reservation(ID)).startswith(
        "ClusterComputeEnvironmentreservation"
    )


NOW = dt.datetime(2027, 1, 1, tzinfo=dt.timezone.utc)


@pytest.mark.parametrize(
    ("more", "limits", "warning"),
    [
        ({}, [3600], None),
        ({"start": "2027-01-01T00:30:00Z"}, [3600], None),
        ({"start": "2026-12-31T00:00:00Z", "end": "2027-01-02T00:00:00Z"}, [3600], None),
        ({"start": "2027-01-03T00:00:00Z"}, [], None),
        (
            {"start": "2027-01-03T00:00:00+00:00"},
            [86400, 3600],
            (
                f"the Capacity Block {ID} starts at 2027-01-03 00:00:00+00:00, and the queue may cancel a job that has "
                "waited 3600 s at its head; submit after the start, or set misconfiguration_limit=None "
                "[ack: muster-cdk:blockWait]"
            ),
        ),
        (
            {"end": "2027-01-01T00:29:00Z"},
            [3600],
            (
                f"the Capacity Block {ID} has ended or is about to, by its end 2027-01-01 00:29:00+00:00; no job starts in "
                "it; name the next block, or use Capacity.on_demand() [ack: muster-cdk:blockEnded]"
            ),
        ),
    ],
)
def test_the_clock_only_warns(scope, more, limits, warning):
    warn_of_times(scope, block(**more), limits, NOW)
    assert warnings_of(scope) == ([] if warning is None else [warning])


@pytest.mark.parametrize(
    ("more", "warns"),
    [
        ({}, False),
        ({"end": "2027-01-02T00:30:00Z"}, False),
        ({"end": "2027-01-02T00:29:00Z"}, True),
        ({"start": "2026-12-30T00:00:00Z", "end": "2027-01-02T00:29:00Z"}, True),
        (
            {"start": "2027-01-01T01:00:00Z", "end": "2027-01-02T00:29:00Z"},
            False,
        ),  # an error of the job already
        ({"end": "2026-12-31T00:00:00Z"}, False),  # the queue says that it has ended
    ],
)
def test_a_timeout_beyond_what_is_left_of_a_block_is_a_warning(scope, more, warns):
    warn_of_remainder(scope, block(**more), cdk.Duration.hours(24), NOW)
    said = (
        f"timeout is longer than what is left of the Capacity Block {ID}, which ends at 2027-01-02 00:29:00+00:00; a job "
        "that is submitted now has 86340 s until EC2 ends its hosts; lower timeout, or save checkpoints "
        "[ack: muster-cdk:blockRemainder]"
    )
    assert warnings_of(scope) == ([said] if warns else [])


def test_a_queue_warns_of_a_block_that_starts_later_than_it_waits(scope):
    start = dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=2)
    cluster(scope, capacity=block(start=start))
    (warning,) = warnings_of(scope)
    assert warning.endswith("[ack: muster-cdk:blockWait]")
    cluster(scope, "Patient", capacity=block(start=start), misconfiguration_limit=None)
    assert len(warnings_of(scope)) == 1


@pytest.mark.parametrize(
    ("more", "error", "sentence"),
    [
        (
            {"start": "tomorrow"},
            ValueError,
            "start is no time, got 'tomorrow'; allowed is ISO 8601 such as '2027-01-31T11:30:00Z'; correct it",
        ),
        (
            {"end": dt.datetime(2027, 1, 1)},  # noqa: DTZ001  that is what is wrong
            ValueError,
            "end has no time zone, got '2027-01-01T00:00:00'; write it as UTC with a Z",
        ),
        (
            {"end": 5},
            TypeError,
            "end must be a datetime or a str such as '2027-01-31T11:30:00Z', got int 5; change it",
        ),
        ({"size": "4"}, TypeError, "size must be an int, got str '4'; change it"),
        ({"zone": None}, TypeError, "zone must be a str, got NoneType None; change it"),
    ],
)
def test_what_cannot_be_taken(more, error, sentence):
    with pytest.raises(error) as caught:
        block(**more)
    assert str(caught.value) == sentence
