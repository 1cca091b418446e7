"""Networks that are made, given and imported; the default security group in each."""

import pytest
from aws_cdk import aws_ec2 as ec2
from infra_synth import ZONE, problems_of, stack, template_of, warnings_of

from muster_cdk import EfaSecurityGroup, GpuCluster, TrainingNetwork

RESTRICT = "@aws-cdk/aws-ec2:restrictDefaultSecurityGroup"
UNSEEN = (
    "default_security_group is not set, and the containers of multi-node jobs are in the default security group of the "
    "imported vpc; it must admit tcp from itself and let tcp out; pass default_security_group to have these rules "
    "added [ack: muster-cdk:defaultSecurityGroup]"
)


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, id="Cluster", **more):
    return GpuCluster(scope, id, instance_type="p5.48xlarge", max_nodes=4, **more)


def imported(scope, zones=("us-east-1a", "us-east-1b"), **more):
    return ec2.Vpc.from_vpc_attributes(
        scope,
        "Imported",
        vpc_id="vpc-1",
        availability_zones=list(zones),
        private_subnet_ids=[f"subnet-private-{zone[-1]}" for zone in zones],
        public_subnet_ids=[f"subnet-public-{zone[-1]}" for zone in zones],
        **more,
    )


def default_rules(template, group):
    return [
        each["Properties"]
        for kind in ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
        for each in template.of(kind).values()
        if each["Properties"]["GroupId"] == group
    ]


def test_without_a_zone_the_first_one_is_taken_with_a_warning(scope):
    cluster(scope)
    assert warnings_of(scope) == [
        (
            "availability_zone is not set, the first zone of the region is taken; it may not offer the instance type; set "
            "availability_zone to one that does [ack: muster-cdk:firstZone]"
        )
    ]
    zones = [
        each["Properties"]["AvailabilityZone"] for each in template_of(scope).of("AWS::EC2::Subnet").values()
    ]
    assert zones == [{"Fn::Select": [0, {"Fn::GetAZs": ""}]}] * 2


def test_cdk_may_leave_the_default_group_alone_and_ours_are_there_all_the_same(tmp_path):
    scope = stack(tmp_path, {RESTRICT: False})
    made = cluster(scope, availability_zone=ZONE)
    template = template_of(scope)
    assert template.of("Custom::VpcRestrictDefaultSG") == {}
    rules = default_rules(template, scope.resolve(made.vpc.vpc_default_security_group))
    assert [each["IpProtocol"] for each in rules] == ["tcp", "tcp"]


@pytest.mark.parametrize("cidr", ["10.0.0.0/8", "10.0.0.0/28", "10.0.0.1/16", "ten"])
def test_a_cidr_that_is_no_vpcs(scope, cidr):
    with pytest.raises(ValueError, match=r"^cidr is no block") as caught:
        TrainingNetwork(scope, "Network", availability_zone=ZONE, cidr=cidr)
    assert str(caught.value) == (
        f"cidr is no block for a vpc, got {cidr!r}; allowed is an IPv4 block from /16 to /24 such as '10.0.0.0/16'; "
        "correct it"
    )


def test_two_clusters_share_a_network_and_its_default_rules(scope):
    network = TrainingNetwork(scope, "Network", availability_zone=ZONE, cidr="10.1.0.0/20", flow_logs=False)
    first, second = cluster(scope, "One", vpc=network.vpc), cluster(scope, "Two", vpc=network.vpc)
    assert first.subnet.subnet_id == second.subnet.subnet_id == network.subnet.subnet_id
    template = template_of(scope)
    assert len(default_rules(template, scope.resolve(network.vpc.vpc_default_security_group))) == 2
    assert template.of("AWS::EC2::FlowLog") == {}
    assert warnings_of(scope) == []


def test_a_vpc_of_the_same_app_gets_the_rules_too(scope):
    vpc = ec2.Vpc(scope, "Vpc", availability_zones=[ZONE], nat_gateways=1)
    cluster(scope, vpc=vpc)
    assert len(default_rules(template_of(scope), scope.resolve(vpc.vpc_default_security_group))) == 2


def test_an_imported_vpc_is_left_alone_with_a_warning(scope):
    cluster(scope, vpc=imported(scope), availability_zone="us-east-1b")
    template = template_of(scope)
    assert template.resources["Subnets"] == ["subnet-private-b"]
    assert template.of("AWS::EC2::VPC") == {}
    assert warnings_of(scope) == [UNSEEN]
    assert len(template.of("AWS::EC2::SecurityGroupEgress")) == 1  # the EFA group's own


def test_an_imported_vpc_gets_the_rules_on_its_named_default_group(scope):
    vpc = imported(scope, zones=("us-east-1a",))
    cluster(scope, "One", vpc=vpc, default_security_group="sg-default")
    cluster(scope, "Two", vpc=vpc, default_security_group="sg-default")
    template = template_of(scope)
    rules = default_rules(template, "sg-default")
    assert [each["IpProtocol"] for each in rules] == ["tcp", "tcp"]
    assert warnings_of(scope) == []


def test_the_default_group_may_be_a_construct(scope):
    group = ec2.SecurityGroup.from_security_group_id(scope, "Default", "sg-default")
    cluster(scope, vpc=imported(scope, zones=("us-east-1a",)), default_security_group=group)
    assert len(default_rules(template_of(scope), "sg-default")) == 2


def test_private_subnets_in_several_zones_want_a_choice(scope):
    cluster(scope, vpc=imported(scope), default_security_group="sg-default")
    assert problems_of(scope) == [
        (
            "[Test/Cluster] vpc has private subnets in several zones, got ['us-east-1a', 'us-east-1b']; EFA cannot leave "
            "a zone; choose one by availability_zone or subnet"
        )
    ]


def test_the_first_of_several_subnets_is_a_warning_where_nobody_knows_their_zones(scope):
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2)
    made = cluster(scope, vpc=vpc)
    assert made.subnet.node.path == vpc.private_subnets[0].node.path
    assert warnings_of(scope) == [
        (
            "subnet is not set and the zones of the vpc's private subnets are known at deployment only, the first is "
            "taken; its zone may not offer the instance type; pass the subnet whose zone does "
            "[ack: muster-cdk:firstSubnet]"
        )
    ]


def test_a_public_subnet_of_an_own_vpc_is_refused(scope):
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2)
    cluster(scope, vpc=vpc, subnet=vpc.public_subnets[0])
    assert problems_of(scope) == [
        (
            "[Test/Cluster] subnet is public, got 'Test/Vpc/PublicSubnet1'; the container of a multi-node job has no public "
            "address and would have no way out; give a private subnet with NAT"
        )
    ]


def test_a_subnet_that_is_named_is_no_warning(scope):
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2)
    cluster(scope, vpc=vpc, subnet=vpc.private_subnets[1])
    assert problems_of(scope) == []
    assert warnings_of(scope) == []


def test_no_private_subnet_in_the_zone(scope):
    with pytest.raises(ValueError, match=r"^vpc has no private subnet") as caught:
        cluster(scope, vpc=imported(scope), availability_zone="us-east-1c")
    assert str(caught.value) == (
        "vpc has no private subnet in 'us-east-1c', got 2 public and 0 isolated in ['us-east-1a', 'us-east-1b']; the "
        "container of a multi-node job has no public address and needs a way out by NAT; add a private subnet, or "
        "name one by subnet"
    )


def test_no_private_subnet_at_all(scope):
    vpc = ec2.Vpc.from_vpc_attributes(
        scope, "Public", vpc_id="vpc-1", availability_zones=["us-east-1a"], public_subnet_ids=["subnet-1"]
    )
    with pytest.raises(ValueError, match=r"^vpc has no private subnet, got 1 public and 0 isolated in "):
        cluster(scope, vpc=vpc)


def test_a_public_subnet_is_refused(scope):
    vpc = imported(scope)
    cluster(scope, vpc=vpc, subnet=vpc.public_subnets[0], default_security_group="sg-default")
    (found,) = problems_of(scope)
    assert found == (
        "[Test/Cluster] subnet is public, got 'Test/Imported/PublicSubnet1'; the container of a multi-node job has no "
        "public address and would have no way out; give a private subnet with NAT"
    )


def test_a_subnet_in_another_zone_than_named_is_refused(scope):
    vpc = imported(scope)
    cluster(
        scope,
        vpc=vpc,
        subnet=vpc.private_subnets[0],
        availability_zone="us-east-1b",
        default_security_group="sg-default",
    )
    assert problems_of(scope) == [
        (
            "[Test/Cluster] subnet is in another zone than availability_zone, got 'us-east-1a' and 'us-east-1b'; leave "
            "availability_zone out, or name the subnet's"
        )
    ]


def test_a_named_subnet_is_taken_and_its_size_judged(scope):
    vpc = imported(scope)
    subnet = ec2.Subnet.from_subnet_attributes(
        scope, "Subnet", subnet_id="subnet-x", availability_zone="us-east-1a", ipv4_cidr_block="10.0.0.0/28"
    )
    GpuCluster(
        scope,
        "Cluster",
        instance_type="p5.48xlarge",
        max_nodes=6,
        vpc=vpc,
        subnet=subnet,
        default_security_group="sg-default",
    )
    assert problems_of(scope) == [
        (
            "[Test/Cluster] max_nodes needs more addresses than the subnet has, got 6; each node takes 2, together 12, and "
            "10.0.0.0/28 has 11 to give; use a larger subnet or lower max_nodes"
        )
    ]


def test_a_looked_up_vpc_synthesizes_before_and_after_the_lookup(tmp_path):
    scope = stack(tmp_path, env={"account": "123456789012", "region": "us-east-1"})
    vpc = ec2.Vpc.from_lookup(scope, "Vpc", vpc_id="vpc-1")
    made = cluster(scope, vpc=vpc, availability_zone=ZONE)
    assert made.subnet.subnet_id.startswith("p-")  # CDK's dummy, before the lookup


def test_own_parts_are_taken(scope):
    network = TrainingNetwork(scope, "Network", availability_zone=ZONE)
    group = EfaSecurityGroup(scope, "Group", vpc=network.vpc)
    placement = ec2.PlacementGroup.from_placement_group_name(scope, "Placement", "mine")
    cluster(scope, vpc=network.vpc, security_group=group, placement_group=placement, root_volume_size="1TiB")
    template = template_of(scope)
    assert template.of("AWS::EC2::PlacementGroup") == {}
    assert template.resources["PlacementGroup"] == "mine"
    data = template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    assert data["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 1024
    (own,) = template.of("AWS::EC2::SecurityGroup")
    assert data["NetworkInterfaces"][0]["Groups"] == [{"Fn::GetAtt": [own, "GroupId"]}]


def test_the_cluster_is_a_peer_with_both_groups(scope):
    made = cluster(scope, availability_zone=ZONE)
    storage = ec2.SecurityGroup(scope, "Storage", vpc=made.vpc)
    storage.connections.allow_from(made, ec2.Port.tcp(2049))
    template = template_of(scope)
    sources = [
        each["Properties"]["SourceSecurityGroupId"]["Fn::GetAtt"][1]
        for each in template.of("AWS::EC2::SecurityGroupIngress").values()
        if each["Properties"].get("FromPort") == 2049
    ]
    assert sorted(sources) == ["DefaultSecurityGroup", "GroupId"]


def test_a_zone_of_another_region_than_the_stacks_is_refused(tmp_path):
    scope = stack(tmp_path, env={"account": "123456789012", "region": "eu-west-1"})
    cluster(scope, availability_zone=ZONE)
    assert problems_of(scope) == [
        (
            "[Test/Cluster/Network] availability_zone is in another region than the stack, got 'us-east-1b' and "
            "'eu-west-1'; the name of a zone begins with its region; name a zone of the stack's region"
        )
    ]
