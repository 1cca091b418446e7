"""Parts of different networks beside each other, and parts of which nobody knows enough."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_fsx as fsx
from infra_synth import ZONE, context, problems_of, stack, template_of, warnings_of

from muster_cdk import EfaSecurityGroup, GpuCluster, HostOptions, SharedFileSystem, TrainingNetwork


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, id="Cluster", **more):
    return GpuCluster(scope, id, instance_type="p5.48xlarge", max_nodes=2, **more)


def network(scope, id):
    return TrainingNetwork(scope, id, availability_zone=ZONE, flow_logs=False)


def imported(scope, name="Imported", number="1", **more):
    return ec2.Vpc.from_vpc_attributes(
        scope,
        name,
        vpc_id=f"vpc-{number}",
        availability_zones=[ZONE],
        private_subnet_ids=[f"subnet-{number}"],
        private_subnet_route_table_ids=[f"rtb-{number}"],
        **more,
    )


# --- the default group -------------------------------------------------------------------------


@pytest.mark.parametrize("vpc", [network, imported])
def test_a_group_that_the_app_makes_is_no_default_group(scope, vpc):
    given = getattr(vpc(scope, "Network"), "vpc", None) or scope.node.find_child("Network")
    group = ec2.SecurityGroup(scope, "Group", vpc=given)
    cluster(scope, vpc=given, default_security_group=group)
    assert problems_of(scope) == [
        (
            "[Test/Cluster] default_security_group is made in this app, got 'Test/Group'; a job's containers are in the "
            "group that came with the vpc; leave it out for a vpc of this app, and give the id of the group named "
            "'default' for an imported one"
        )
    ]


def test_a_vpc_of_the_app_has_another_default_group_than_the_one_named(scope):
    cluster(scope, vpc=network(scope, "Network").vpc, default_security_group="sg-1")
    assert problems_of(scope) == [
        (
            "[Test/Cluster] default_security_group is not the vpc's, got 'sg-1'; the vpc is made in this app and its "
            "default group is known; leave default_security_group out"
        )
    ]


def test_the_name_of_a_default_group_is_no_id(scope):
    cluster(scope, vpc=imported(scope), default_security_group="default")
    assert problems_of(scope) == [
        (
            "[Test/Cluster] default_security_group is no id of a group, got 'default'; an id is such as "
            "'sg-0123456789abcdef0'; give the id of the vpc's group named 'default'"
        )
    ]


# --- two networks ------------------------------------------------------------------------------


def test_parts_of_another_network_of_the_app_are_refused(scope):
    first, second = network(scope, "A"), network(scope, "B")
    group = EfaSecurityGroup(scope, "Group", vpc=second.vpc)
    cluster(scope, vpc=first.vpc, subnet=second.subnet, security_group=group)
    assert problems_of(scope) == [
        (
            "[Test/Cluster] subnet is in another vpc than the cluster, got 'Test/B/Vpc/NodesSubnet1' of 'Test/B/Vpc' beside "
            "'Test/A/Vpc'; EC2 starts no instance across two; give vpc and subnet of the same"
        ),
        (
            "[Test/Cluster] security_group is in another vpc than the cluster, got 'Test/Group' of 'Test/B/Vpc' beside "
            "'Test/A/Vpc'; EC2 starts no instance across two; give vpc and security_group of the same"
        ),
    ]


def test_parts_of_another_imported_network_are_refused(scope):
    first, second = imported(scope, "A", "1"), imported(scope, "B", "2")
    group = EfaSecurityGroup(scope, "Group", vpc=second)
    cluster(
        scope,
        vpc=first,
        subnet=second.private_subnets[0],
        security_group=group,
        default_security_group="sg-default",
    )
    found = problems_of(scope)
    assert [each.split(", got ")[1].split(";")[0] for each in found] == [
        "'Test/B/PrivateSubnet1' of 'vpc-2' beside 'vpc-1'",
        "'Test/Group' of 'vpc-2' beside 'vpc-1'",
    ]


def test_parts_of_the_same_network_are_fine_whoever_made_them(scope):
    own = network(scope, "A").vpc
    again = ec2.Vpc.from_vpc_attributes(
        scope, "Again", vpc_id=own.vpc_id, availability_zones=[ZONE], private_subnet_ids=["subnet-1"]
    )
    extra = ec2.PrivateSubnet(
        scope, "Extra", vpc_id=own.vpc_id, availability_zone=ZONE, cidr_block="10.0.200.0/24"
    )
    group = EfaSecurityGroup(scope, "Group", vpc=again)
    cluster(scope, "One", vpc=own, subnet=again.private_subnets[0], security_group=group)
    cluster(scope, "Two", vpc=own, subnet=extra, security_group=group)
    assert problems_of(scope) == []


# --- what is not known -------------------------------------------------------------------------


@pytest.mark.parametrize("zone", [None, ZONE])
def test_a_subnet_that_is_imported_by_its_id_alone_is_taken(scope, zone):
    subnet = ec2.Subnet.from_subnet_id(scope, "Subnet", "subnet-x")
    cluster(
        scope,
        vpc=imported(scope),
        subnet=subnet,
        availability_zone=zone,
        default_security_group="sg-default",
    )
    assert template_of(scope).resources["Subnets"] == ["subnet-x"]
    assert warnings_of(scope) == []
    assert problems_of(scope) == []


def test_a_zone_chooses_no_subnet_whose_zone_is_known_at_deployment_only(scope):
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2)
    with pytest.raises(ValueError, match=r"^availability_zone cannot choose") as caught:
        cluster(scope, vpc=vpc, availability_zone=ZONE)
    assert str(caught.value) == (
        "availability_zone cannot choose a subnet, got 'us-east-1b'; the zones of the vpc's 2 private subnets are known at "
        "deployment only; pass subnet, or set the zones of the vpc or the region of its stack"
    )
    cluster(scope, "Right", vpc=vpc, subnet=vpc.private_subnets[1], availability_zone=ZONE)
    assert problems_of(scope) == []


def test_no_private_subnet_in_zones_that_are_known_at_deployment_only(scope):
    public = ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC)
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2, subnet_configuration=[public])
    with pytest.raises(ValueError, match=r"^vpc has no private subnet") as caught:
        cluster(scope, vpc=vpc, availability_zone=ZONE)
    assert str(caught.value) == (
        "vpc has no private subnet in 'us-east-1b', got 2 public and 0 isolated in zones known at deployment only; the "
        "container of a multi-node job has no public address and needs a way out by NAT; add a private subnet, or name "
        "one by subnet"
    )


# --- two stacks --------------------------------------------------------------------------------


def test_a_file_system_of_the_networks_stack_is_mounted_by_a_cluster_of_another(tmp_path):
    app = cdk.App(context=context(), outdir=str(tmp_path))
    base, clusters = cdk.Stack(app, "Base"), cdk.Stack(app, "Test")
    made = network(base, "Network")
    home = efs.FileSystem(base, "Home", vpc=made.vpc)
    data = fsx.LustreFileSystem(
        base,
        "Data",
        vpc=made.vpc,
        vpc_subnet=made.subnet,
        storage_capacity_gib=1200,
        lustre_configuration={"deployment_type": fsx.LustreDeploymentType.SCRATCH_2},
    )
    shared = [SharedFileSystem.efs(home), SharedFileSystem.lustre(file_system=data)]
    of = cluster(clusters, vpc=made.vpc, hosts=HostOptions(file_systems=shared))
    of.connections.allow_to(home, ec2.Port.tcp(2050))
    inward = template_of(app).of("AWS::EC2::SecurityGroupIngress").values()
    ports = [each["Properties"].get("FromPort") for each in inward]
    assert {988, 2049, 2050} <= set(ports)
    kept = template_of(app, "Base").of("AWS::EC2::SecurityGroupIngress").values()
    assert {each["Properties"].get("FromPort") for each in kept} & {2049, 2050} == set()
