"""The nodes' two security groups: the cards' own, and the VPC's default one, in each kind of VPC."""

import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from infra_synth import ZONE, stack, template_of, warnings_of

from muster_cdk import EfaSecurityGroup, GpuCluster, TrainingNetwork

RESTRICT = "@aws-cdk/aws-ec2:restrictDefaultSecurityGroup"
TCP = {"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535}


def own(scope):
    return {"availability_zone": ZONE}


def training(scope):
    return {"vpc": TrainingNetwork(scope, "Network", availability_zone=ZONE, flow_logs=False).vpc}


def plain(scope):
    return {"vpc": ec2.Vpc(scope, "Vpc", availability_zones=[ZONE], nat_gateways=1)}


def plain_with_its_group(scope):
    vpc = ec2.Vpc(scope, "Vpc", availability_zones=[ZONE], nat_gateways=1)
    return {"vpc": vpc, "default_security_group": vpc.vpc_default_security_group}


def imported(scope):
    vpc = ec2.Vpc.from_vpc_attributes(
        scope,
        "Imported",
        vpc_id="vpc-1",
        availability_zones=[ZONE],
        private_subnet_ids=["subnet-1"],
        private_subnet_route_table_ids=["rtb-1"],
    )
    return {"vpc": vpc}


def imported_with_its_group(scope):
    return {**imported(scope), "default_security_group": "sg-default"}


def cluster(scope, id="Cluster", **more):
    return GpuCluster(scope, id, instance_type="p5.48xlarge", max_nodes=2, **more)


def default_rules(scope, made, template):
    """Our rules on the default group of the cluster's VPC."""
    groups = ["sg-default"]
    if isinstance(made.vpc, ec2.Vpc):
        groups.append(scope.resolve(made.vpc.vpc_default_security_group))
    return [
        each["Properties"]
        for kind in ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
        for each in template.of(kind).values()
        if each["Properties"]["GroupId"] in groups
    ]


@pytest.mark.parametrize("restrict", [True, False])
@pytest.mark.parametrize("vpc", [own, training, plain, plain_with_its_group, imported_with_its_group])
def test_the_default_group_gets_its_two_rules_once(tmp_path, vpc, restrict):
    scope = stack(tmp_path, {RESTRICT: restrict})
    arguments = vpc(scope)
    made = cluster(scope, **arguments)
    if "vpc" in arguments:
        cluster(scope, "Second", **arguments)
    template = template_of(scope)
    inward, outward = default_rules(scope, made, template)
    assert TCP.items() <= inward.items()
    assert TCP.items() <= outward.items()
    assert inward["SourceSecurityGroupId"] == inward["GroupId"] == outward["GroupId"]
    assert outward["CidrIp"] == "0.0.0.0/0"
    theirs = len(template.of("Custom::VpcRestrictDefaultSG"))
    assert theirs == (restrict and "imported" not in vpc.__name__)
    assert warnings_of(scope) == []


def test_an_imported_groups_id_may_be_known_at_deployment_only(tmp_path):
    scope = stack(tmp_path)
    arguments = {**imported(scope), "default_security_group": cdk.Fn.import_value("default-group")}
    cluster(scope, **arguments)
    cluster(scope, "Second", **arguments)
    template = template_of(scope)
    groups = [
        each["Properties"]["GroupId"]
        for kind in ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
        for each in template.of(kind).values()
    ]
    assert groups.count({"Fn::ImportValue": "default-group"}) == 2


@pytest.mark.parametrize("restrict", [True, False])
def test_an_imported_vpcs_default_group_is_nobodys_until_it_is_named(tmp_path, restrict):
    scope = stack(tmp_path, {RESTRICT: restrict})
    made = cluster(scope, **imported(scope))
    assert default_rules(scope, made, template_of(scope)) == []
    (warning,) = warnings_of(scope)
    assert warning.endswith("[ack: muster-cdk:defaultSecurityGroup]")


# CDK's own words, when a group allows all outbound and somebody adds a narrower rule.
DROPPED = "Ignoring Egress rule"


@pytest.mark.parametrize("vpc", [own, plain, imported_with_its_group])
def test_no_rule_of_ours_is_dropped(tmp_path, vpc):
    scope = stack(tmp_path)
    arguments = vpc(scope)
    made = cluster(scope, **arguments)
    EfaSecurityGroup(scope, "Group", vpc=made.vpc)
    assert [text for text in warnings_of(scope) if DROPPED.lower() in text.lower()] == []
    assert warnings_of(scope) == []


def test_the_warning_that_we_look_for_exists(tmp_path):
    scope = stack(tmp_path)
    group = ec2.SecurityGroup(scope, "Group", vpc=plain(scope)["vpc"])
    group.add_egress_rule(group, ec2.Port.all_traffic())
    (warning,) = warnings_of(scope)
    assert DROPPED in warning


def test_an_imported_group_of_the_cards_is_taken_as_it_is(tmp_path):
    scope = stack(tmp_path)
    group = ec2.SecurityGroup.from_security_group_id(scope, "Given", "sg-efa")
    made = cluster(scope, availability_zone=ZONE, security_group=group)
    template = template_of(scope)
    cards = template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]["NetworkInterfaces"]
    assert {json.dumps(each["Groups"]) for each in cards} == {'["sg-efa"]'}
    assert template.of("AWS::EC2::SecurityGroup") == {}
    assert '"GroupId": "sg-efa"' not in json.dumps(template)
    assert made.security_group is group
    assert warnings_of(scope) == []


def test_a_group_of_the_app_that_admits_not_itself_is_a_warning(tmp_path):
    scope = stack(tmp_path)
    vpc = plain(scope)["vpc"]
    cluster(scope, vpc=vpc, security_group=ec2.SecurityGroup(scope, "Open", vpc=vpc))
    assert warnings_of(scope) == [
        (
            "security_group has no rule for all traffic from and to itself, got 'Test/Open'; EFA needs both, and to "
            "0.0.0.0/0 does not count; use EfaSecurityGroup, or give the group both rules, and tcp to 0.0.0.0/0 beside them, "
            "before the cluster, with allow_all_outbound=False [ack: muster-cdk:efaSecurityGroup]"
        )
    ]


def closed(scope, vpc):
    group = ec2.SecurityGroup(scope, "Group", vpc=vpc, allow_all_outbound=False)
    group.add_ingress_rule(group, ec2.Port.all_traffic())
    group.add_egress_rule(group, ec2.Port.all_traffic())
    return group


@pytest.mark.parametrize(
    ("peer", "port"),
    [
        (ec2.Peer.any_ipv4(), ec2.Port.tcp_range(0, 65535)),
        (ec2.Peer.any_ipv4(), ec2.Port.tcp(443)),
        (ec2.Peer.ipv4("10.0.0.0/8"), ec2.Port.all_tcp()),
        (ec2.Peer.security_group_id("sg-endpoints"), ec2.Port.tcp(443)),
    ],
)
def test_a_group_of_the_app_with_both_rules_and_a_way_out_is_fine(tmp_path, peer, port):
    scope = stack(tmp_path)
    vpc = plain(scope)["vpc"]
    group = closed(scope, vpc)
    group.add_egress_rule(peer, port)
    cluster(scope, vpc=vpc, security_group=group)
    assert warnings_of(scope) == []


@pytest.mark.parametrize(
    ("peer", "port"),
    [
        (ec2.Peer.any_ipv4(), None),
        (ec2.Peer.any_ipv4(), ec2.Port.udp(443)),
        (ec2.Peer.any_ipv4(), ec2.Port.tcp(22)),
        (ec2.Peer.any_ipv6(), ec2.Port.tcp(443)),
    ],
)
def test_a_group_of_the_app_without_a_way_out_is_a_warning(tmp_path, peer, port):
    scope = stack(tmp_path)
    vpc = plain(scope)["vpc"]
    group = closed(scope, vpc)
    if port is not None:
        group.add_egress_rule(peer, port)
    cluster(scope, vpc=vpc, security_group=group)
    assert warnings_of(scope) == [
        (
            "security_group has no rule out but to itself, got 'Test/Group'; the hosts reach ECS, registries and logs "
            "through it, and without them never register; use EfaSecurityGroup, or give the group a rule for tcp to "
            "0.0.0.0/0, or to the endpoints' group, before the cluster [ack: muster-cdk:efaSecurityGroupWayOut]"
        )
    ]


@pytest.mark.parametrize("direction", ["ingress", "egress"])
def test_one_of_the_two_rules_is_not_enough(tmp_path, direction):
    scope = stack(tmp_path)
    vpc = plain(scope)["vpc"]
    group = ec2.SecurityGroup(scope, "Group", vpc=vpc, allow_all_outbound=False)
    getattr(group, f"add_{direction}_rule")(group, ec2.Port.all_traffic())
    group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443))
    cluster(scope, vpc=vpc, security_group=group)
    (warning,) = warnings_of(scope)
    assert "[ack: muster-cdk:efaSecurityGroup]" in warning
