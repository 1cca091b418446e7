"""Parts without a GpuCluster say what a cluster would say; beside each mistake stands the nearest right one, in silence."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from infra_synth import ZONE, problems_of, stack, warnings_of

from muster_cdk import (
    Capacity,
    EfaLaunchTemplate,
    EfaSecurityGroup,
    GpuComputeEnvironment,
    NetworkEndpoints,
    TrainingNetwork,
    TrainingQueue,
)
from muster_core.instances import lookup


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def vpc(scope, kind=ec2.SubnetType.PRIVATE_WITH_EGRESS, **more):
    public = ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC)
    nodes = ec2.SubnetConfiguration(name="Nodes", subnet_type=kind)
    return ec2.Vpc(scope, "Vpc", availability_zones=[ZONE], subnet_configuration=[public, nodes], **more)


def template(scope, network, name="p5.48xlarge", group=None, **more):
    group = group or EfaSecurityGroup(scope, f"Group-{name}", vpc=network)
    return EfaLaunchTemplate(scope, f"T-{name}", instance=lookup(name), security_group=group, **more)


def environment(scope, network, subnet, **more):
    options = {"instance_type": "p5.48xlarge", "max_nodes": 4, "subnet": subnet, **more}
    if "launch_template" not in options:
        options["launch_template"] = template(scope, network)
    return GpuComputeEnvironment(scope, "Alone", **options)


def test_a_root_volume_below_the_image(scope):
    made = vpc(scope)
    template(scope, made, root_volume_gib=8)
    template(scope, made, "p4d.24xlarge", root_volume_gib=30)
    template(scope, made, "p4de.24xlarge", root_volume_gib=cdk.Token.as_number({"Ref": "Gib"}))
    assert problems_of(scope) == [
        (
            "[Test/T-p5.48xlarge] root_volume_gib must be a whole number of GiB and at least 30, got 8192 MiB; the machine "
            "image alone takes 30 GiB, and training images come on top; give more"
        )
    ]


@pytest.mark.parametrize("kind", [ec2.SecurityGroup, EfaSecurityGroup])
def test_a_group_that_does_not_admit_itself(scope, kind):
    made = vpc(scope)
    template(scope, made, group=kind(scope, "Own", vpc=made))
    found = [each for each in warnings_of(scope) if "muster-cdk:efaSecurityGroup" in each]
    assert len(found) == (kind is ec2.SecurityGroup)
    assert all(
        each.startswith("security_group has no rule for all traffic from and to itself, got 'Test/Own'")
        for each in found
    )


def test_a_default_group_that_nobody_opens(scope):
    made = vpc(scope)
    environment(scope, made, made.private_subnets[0])
    assert warnings_of(scope) == [
        (
            "the default security group of the vpc has no rules, got 'Test/Vpc', and the containers of multi-node jobs are in "
            "it; they would reach neither each other nor the internet; make the vpc by TrainingNetwork or with "
            "restrict_default_security_group=False, or give the group tcp from itself and tcp out "
            "[ack: muster-cdk:shutDefaultGroup]"
        )
    ]


def test_default_groups_that_are_open(scope):
    made = vpc(scope, restrict_default_security_group=False)
    environment(scope, made, made.private_subnets[0])
    network = TrainingNetwork(scope, "Network", availability_zone=ZONE)
    group = EfaSecurityGroup(scope, "Second", vpc=network.vpc)
    GpuComputeEnvironment(
        scope,
        "Second-Alone",
        instance_type="g6.8xlarge",
        max_nodes=2,
        subnet=network.subnet,
        launch_template=template(scope, network.vpc, "g6.8xlarge", group),
    )
    assert warnings_of(scope) == []
    assert problems_of(scope) == []


@pytest.mark.parametrize("reached", [False, True])
def test_a_subnet_without_a_way_out(scope, reached):
    made = vpc(scope, ec2.SubnetType.PRIVATE_ISOLATED, restrict_default_security_group=False)
    subnet = made.isolated_subnets[0]
    if reached:
        NetworkEndpoints(scope, "Endpoints", vpc=made, subnet=subnet)
    environment(scope, made, subnet)
    found = warnings_of(scope)
    assert len(found) == (not reached)
    assert all(
        "got 'Test/Vpc/NodesSubnet1', and no endpoints are known; without a way to ECS" in each
        for each in found
    )


@pytest.mark.parametrize("kind", ["public", "private"])
def test_a_subnet_of_an_imported_vpc(scope, kind):
    theirs = ec2.Vpc.from_vpc_attributes(
        scope,
        "Theirs",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=[ZONE],
        public_subnet_ids=["subnet-0aaaaaaaaaaaaaaa1"],
        public_subnet_route_table_ids=["rtb-0aaaaaaaaaaaaaaa1"],
        private_subnet_ids=["subnet-0aaaaaaaaaaaaaaa2"],
        private_subnet_route_table_ids=["rtb-0aaaaaaaaaaaaaaa2"],
    )
    environment(scope, theirs, {"public": theirs.public_subnets, "private": theirs.private_subnets}[kind][0])
    assert problems_of(scope) == (
        [
            (
                "[Test/Alone] subnet is public, got 'Test/Theirs/PublicSubnet1'; the container of a multi-node job has no "
                "public address and would have no way out; give a private subnet with NAT"
            )
        ]
        if kind == "public"
        else []
    )


@pytest.mark.parametrize("own", [True, False])
def test_a_launch_template_of_the_users_for_another_type(scope, own):
    made = vpc(scope, restrict_default_security_group=False)
    other = (
        ec2.CfnLaunchTemplate(scope, "Own", launch_template_data={})
        if own
        else template(scope, made, "p4d.24xlarge")
    )
    environment(scope, made, made.private_subnets[0], other_types={"p4d.24xlarge": other})
    found = warnings_of(scope)
    assert len(found) == own
    assert all(
        each.startswith("other_types['p4d.24xlarge'] is one of yours, and its network cards are not judged; ")
        for each in found
    )


L1 = ec2.CfnLaunchTemplate


def interface(card, device=1, **more):
    given = {"groups": ["sg-0123456789abcdef0"], "interface_type": "efa-only", **more}
    return L1.NetworkInterfaceProperty(network_card_index=card, device_index=device, **given)


def first(scope, **more):
    """A launch template of CDK's first level."""
    return L1(scope, "Own", launch_template_data=L1.LaunchTemplateDataProperty(**more))


def spot(scope):
    return ec2.LaunchTemplate(scope, "Own", spot_options=ec2.LaunchTemplateSpotOptions())


@pytest.mark.parametrize(
    ("wrong", "sentence", "right"),
    [
        (
            spot,
            (
                "has another market than on demand, got 'spot'; multi-node jobs do not run on Spot; take the market options "
                "out of it"
            ),
            lambda scope: ec2.LaunchTemplate(scope, "Own", require_imdsv2=True),
        ),
        (
            lambda scope: first(
                scope, instance_market_options=L1.InstanceMarketOptionsProperty(market_type="capacity-block")
            ),
            (
                "has another market than on demand, got 'capacity-block'; the environment would put a placement group beside "
                "the Capacity Block, and not know its end; use an EfaLaunchTemplate with Capacity.block(...)"
            ),
            lambda scope: first(scope, image_id="ami-0123456789abcdef0"),
        ),
        (
            lambda scope: first(scope, network_interfaces=[interface(1), interface(1)]),
            (
                "has two network interfaces in one slot, got network card 1 and device 1 twice; EC2 starts no such instance; "
                "give each its own"
            ),
            lambda scope: first(scope, network_interfaces=[interface(1), interface(2)]),
        ),
        (
            lambda scope: first(scope, network_interfaces=[interface(1, groups=None)]),
            (
                "has a network interface without a security group, got none at networkInterfaces[0]; it would be in the vpc's "
                "default group, which EFA's traffic does not pass; give each interface the hosts' group"
            ),
            lambda scope: first(scope, network_interfaces=[interface(1)]),
        ),
        (
            lambda scope: first(
                scope,
                network_interfaces=[
                    interface(0, 0, interface_type=None, associate_public_ip_address=True),
                    interface(1),
                ],
            ),
            (
                "has a public address beside several network interfaces, got one at networkInterfaces[0]; EC2 refuses it; say "
                "associatePublicIpAddress=False"
            ),
            lambda scope: first(
                scope,
                network_interfaces=[
                    interface(0, 0, interface_type=None, associate_public_ip_address=False),
                    interface(1),
                ],
            ),
        ),
        (
            lambda scope: first(scope, network_interfaces=[interface(1, interface_type="efa_only")]),
            (
                "has a network interface of no known type, got 'efa_only' at networkInterfaces[0]; allowed: interface, efa, "
                "efa-only; change it"
            ),
            lambda scope: first(scope, network_interfaces=[interface(1, interface_type="efa-only")]),
        ),
    ],
)
@pytest.mark.parametrize("correct", [False, True])
def test_what_is_seen_of_a_launch_template_of_the_users(scope, wrong, sentence, right, correct):
    network = TrainingNetwork(scope, "Network", availability_zone=ZONE)
    given = (right if correct else wrong)(scope)
    environment(scope, network.vpc, network.subnet, launch_template=given)
    assert problems_of(scope) == ([] if correct else [f"[Test/Alone] launch_template {sentence}"])


ELSEWHERE = (
    "[Test/Alone] other_types['p4d.24xlarge'] takes its instances from elsewhere than the environment's own launch "
    "template, got {!r} beside {!r}; an environment has one placement group for all, or none; give both the same kind of "
    "capacity, or make another environment"
)
RESERVATION = "cr-0123456789abcdef0"


def block(**more):
    return Capacity.block("cr-0123456789abcdef1", **{"zone": ZONE, "size": 4, **more})


@pytest.mark.parametrize(
    ("first_one", "other", "problems"),
    [
        (None, block(), [ELSEWHERE.format("block", "on-demand")]),
        (Capacity.reservation(RESERVATION), None, [ELSEWHERE.format("on-demand", "reservation")]),
        (None, None, []),
        (Capacity.reservation(RESERVATION), Capacity.reservation("cr-0123456789abcdef1"), []),
        (Capacity.block(RESERVATION, zone=ZONE, size=4), block(), []),
        (
            Capacity.block(RESERVATION, zone=ZONE, size=4),
            block(size=1),
            [
                (
                    "[Test/Alone] max_nodes is more than the Capacity Block has, got 4; the block has 1 instances, and a larger "
                    "job would never start; lower max_nodes"
                )
            ],
        ),
        (
            Capacity.block(RESERVATION, zone=ZONE, size=4),
            block(zone="us-east-1c"),
            [
                (
                    "[Test/Alone] the nodes' subnet is in another zone than the Capacity Block, got 'us-east-1b' and "
                    "'us-east-1c'; no instance would start; name the block's zone by availability_zone, or give a subnet there"
                )
            ],
        ),
    ],
)
def test_the_capacity_of_another_type(scope, first_one, other, problems):
    network = TrainingNetwork(scope, "Network", availability_zone=ZONE)
    own = template(scope, network.vpc, capacity=first_one)
    second = template(scope, network.vpc, "p4d.24xlarge", capacity=other)
    environment(scope, network.vpc, network.subnet, launch_template=own, other_types={"p4d.24xlarge": second})
    assert problems_of(scope) == problems


def test_a_queue_s_limits_are_held_against_every_block(scope):
    network = TrainingNetwork(scope, "Network", availability_zone=ZONE)
    capacities = {
        "p5.48xlarge": Capacity.block(RESERVATION, zone=ZONE, size=4),
        "p4d.24xlarge": block(end="2020-01-01T11:30:00Z"),
    }
    own, other = (
        template(scope, network.vpc, name, capacity=capacity) for name, capacity in capacities.items()
    )
    made = environment(
        scope, network.vpc, network.subnet, launch_template=own, other_types={"p4d.24xlarge": other}
    )
    TrainingQueue(scope, "Queue", compute_environment=made)
    assert made.capacities == list(capacities.values())
    assert made.max_vcpus == 4 * 192  # max_nodes of the larger type
    assert [each.split(" has ended")[0] for each in warnings_of(scope)] == [
        "the Capacity Block cr-0123456789abcdef1"
    ]
