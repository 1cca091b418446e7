"""Networks without a way to the internet: the endpoints, and whom their group admits."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from infra_synth import ZONE, context, problems_of, stack, template_of, warnings_of

from muster_cdk import GpuCluster, NetworkEndpoints, TrainingNetwork

NODE_SERVICES = ["ecr.api", "ecr.dkr", "ecs", "ecs-agent", "ecs-telemetry", "logs", "secretsmanager"]
INTERFACE, GATEWAY = "Interface", "Gateway"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def isolated(scope, **more):
    return TrainingNetwork(scope, "Network", availability_zone=ZONE, isolated=True, **more)


def cluster(scope, id="Cluster", **more):
    return GpuCluster(scope, id, instance_type="p5.48xlarge", max_nodes=4, **more)


def imported(scope, zones=(ZONE,)):
    return ec2.Vpc.from_vpc_attributes(
        scope,
        "Imported",
        vpc_id="vpc-1",
        availability_zones=list(zones),
        isolated_subnet_ids=[f"subnet-{zone[-1]}" for zone in zones],
        isolated_subnet_route_table_ids=[f"rtb-{zone[-1]}" for zone in zones],
    )


def services(template, kind):
    """The endpoints' services by the end of their names, whatever the region's spelling."""
    found = []
    for each in template.of("AWS::EC2::VPCEndpoint").values():
        name = each["Properties"]["ServiceName"]
        text = name if isinstance(name, str) else "".join(str(part) for part in name["Fn::Join"][1])
        if each["Properties"]["VpcEndpointType"] == kind:
            found.append(text.rpartition(".s3" if text.endswith(".s3") else "}.")[2] or "s3")
    return sorted(found)


def admitted(template):
    """Sources of the endpoints' group, by their last name."""
    (group,) = [
        name
        for name, each in template.of("AWS::EC2::SecurityGroup").items()
        if each["Properties"]["GroupDescription"].startswith("Endpoints")
    ]
    return [
        each["Properties"]
        for each in template.of("AWS::EC2::SecurityGroupIngress").values()
        if each["Properties"]["GroupId"] == {"Fn::GetAtt": [group, "GroupId"]}
    ]


def test_an_isolated_network_has_all_endpoints_and_no_way_out(scope):
    made = isolated(scope)
    template = template_of(scope)
    assert services(template, INTERFACE) == NODE_SERVICES
    assert services(template, GATEWAY) == ["s3"]
    for kind in ("NatGateway", "InternetGateway", "EIP", "Route"):
        assert template.of(f"AWS::EC2::{kind}") == {}
    (subnet,) = template.of("AWS::EC2::Subnet").values()
    assert (subnet["Properties"]["CidrBlock"], subnet["Properties"]["AvailabilityZone"]) == (
        "10.0.0.0/17",
        ZONE,
    )
    assert made.endpoints.services == (
        *("ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr", "logs", "secretsmanager"),
        "s3",
    )
    for each in template.of("AWS::EC2::VPCEndpoint").values():
        private = each["Properties"]["VpcEndpointType"] == INTERFACE
        assert each["Properties"].get("PrivateDnsEnabled", False) is private
        assert ("SubnetIds" in each["Properties"], "RouteTableIds" in each["Properties"]) == (
            private,
            not private,
        )


def test_ecs_exec_and_more_services_are_opt_in(scope):
    isolated(scope, ecs_exec=True, endpoints=["sts", "dynamodb", "logs"])
    template = template_of(scope)
    assert services(template, INTERFACE) == sorted([*NODE_SERVICES, "ssm", "ssmmessages", "sts"])
    assert len(services(template, GATEWAY)) == 2


def test_beside_nat_an_endpoint_for_s3_is_opt_in(scope):
    made = TrainingNetwork(scope, "Network", availability_zone=ZONE, endpoints=["s3"])
    cluster(scope, vpc=made.vpc)
    template = template_of(scope)
    assert (services(template, INTERFACE), services(template, GATEWAY)) == ([], ["s3"])
    assert len(template.of("AWS::EC2::NatGateway")) == 1


def test_by_default_there_are_none(scope):
    assert TrainingNetwork(scope, "Network", availability_zone=ZONE).endpoints is None
    assert template_of(scope).of("AWS::EC2::VPCEndpoint") == {}


def test_the_endpoints_admit_the_default_group_and_each_clusters(scope):
    network = isolated(scope)
    first, second = (cluster(scope, name, vpc=network.vpc) for name in ("One", "Two"))
    assert first.subnet.subnet_id == network.subnet.subnet_id
    template = template_of(scope)
    rules = admitted(template)
    assert {(rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) for rule in rules} == {("tcp", 443, 443)}
    wanted = [
        network.vpc.vpc_default_security_group,
        *(each.security_group.security_group_id for each in (first, second)),
    ]
    assert [rule["SourceSecurityGroupId"] for rule in rules] == [scope.resolve(each) for each in wanted]
    assert warnings_of(scope) == []
    assert problems_of(scope) == []


def test_the_endpoints_group_admits_nobody_else_and_lets_nothing_out(scope):
    isolated(scope)
    template = template_of(scope)
    (group,) = template.of("AWS::EC2::SecurityGroup").values()
    assert "SecurityGroupIngress" not in group["Properties"]
    (rule,) = group["Properties"]["SecurityGroupEgress"]
    assert rule["CidrIp"] == "255.255.255.255/32"  # CDK's "nobody"


def test_hosts_go_before_their_endpoints(scope):
    cluster(scope, vpc=isolated(scope).vpc)
    template = template_of(scope)
    (environment,) = template.of("AWS::Batch::ComputeEnvironment").values()
    assert set(template.of("AWS::EC2::VPCEndpoint")) <= set(environment["DependsOn"])


def test_a_cluster_in_another_stack_owns_its_rule(tmp_path):
    app = cdk.App(context=context(), outdir=str(tmp_path))
    network = isolated(cdk.Stack(app, "Networks"))
    clusters = cdk.Stack(app, "Test")
    cluster(clusters, vpc=network.vpc)
    rules = [
        each["Properties"]
        for each in template_of(app, "Test").of("AWS::EC2::SecurityGroupIngress").values()
        if each["Properties"].get("FromPort") == 443
    ]
    assert len(rules) == 1
    assert len(admitted(template_of(app, "Networks"))) == 1


def test_an_imported_isolated_subnet_gets_endpoints_beside_it(scope):
    vpc = imported(scope)
    NetworkEndpoints(scope, "Endpoints", vpc=vpc, subnet=vpc.isolated_subnets[0])
    own = ec2.SecurityGroup.from_security_group_id(scope, "Own", "sg-own")
    cluster(scope, vpc=vpc, default_security_group="sg-default", security_group=own)
    template = template_of(scope)
    assert template.resources["Subnets"] == ["subnet-b"]
    assert services(template, INTERFACE) == NODE_SERVICES
    assert [rule["SourceSecurityGroupId"] for rule in admitted(template)] == ["sg-own", "sg-default"]
    assert warnings_of(scope) == []


def test_an_isolated_subnet_without_known_endpoints_is_taken_with_a_warning(scope):
    cluster(scope, vpc=imported(scope), default_security_group="sg-default")
    assert warnings_of(scope) == [
        (
            "subnet has no route to the internet, got 'Test/Imported/IsolatedSubnet1', and no endpoints are known; without a "
            "way to ECS, ECR, CloudWatch Logs, Secrets Manager and S3 the hosts never register and each job stays "
            "RUNNABLE; make NetworkEndpoints in it before the cluster, or acknowledge this where they are made elsewhere "
            "[ack: muster-cdk:isolatedSubnet]"
        )
    ]
    assert problems_of(scope) == []


def without_nat(scope, **more):
    kinds = {"Public": ec2.SubnetType.PUBLIC, "Nodes": ec2.SubnetType.PRIVATE_WITH_EGRESS}
    configuration = [ec2.SubnetConfiguration(name=name, subnet_type=kind) for name, kind in kinds.items()]
    return ec2.Vpc(
        scope,
        "Vpc",
        nat_gateways=0,
        availability_zones=[ZONE],
        subnet_configuration=configuration,
        **more,
    )


def test_a_private_subnet_without_a_route_is_isolated(scope):
    cluster(scope, vpc=without_nat(scope))
    (warning,) = warnings_of(scope)
    assert warning.startswith(
        "subnet has no route to the internet, got 'Test/Vpc/NodesSubnet1', and no endpoints "
    )
    assert warning.endswith("[ack: muster-cdk:isolatedSubnet]")


def test_a_private_subnet_with_a_route_of_its_own_is_not(scope):
    vpc = without_nat(scope)
    gateway = ec2.RouterType.TRANSIT_GATEWAY
    vpc.private_subnets[0].add_route("Out", router_type=gateway, router_id="tgw-1")
    cluster(scope, vpc=vpc)
    assert warnings_of(scope) == []


def test_endpoints_that_lack_what_a_node_calls_are_a_warning(scope):
    vpc = without_nat(scope)
    NetworkEndpoints(
        scope, "Endpoints", vpc=vpc, subnet=vpc.private_subnets[0], services=["s3", "ecs", "sts"]
    )
    cluster(scope, vpc=vpc)
    assert warnings_of(scope) == [
        (
            "subnet has no route to the internet, and its endpoints lack services that each node calls, got "
            "'Test/Endpoints' without ecs-agent, ecs-telemetry, ecr.api, ecr.dkr, logs, secretsmanager; the hosts never "
            "register or their jobs never start; add the services, or acknowledge this where their endpoints are made "
            "elsewhere [ack: muster-cdk:missingEndpoints]"
        )
    ]
    assert problems_of(scope) == []


def test_endpoints_with_private_names_need_a_vpc_with_names(scope):
    vpc = without_nat(scope, enable_dns_hostnames=False)
    NetworkEndpoints(scope, "Endpoints", vpc=vpc, subnet=vpc.private_subnets[0])
    assert problems_of(scope) == [
        (
            "[Test/Endpoints] vpc has enable_dns_hostnames off, got 'Test/Vpc'; the private names of interface endpoints "
            "need it; turn it on"
        )
    ]


def test_a_gateway_needs_no_names(scope):
    vpc = without_nat(scope, enable_dns_hostnames=False)
    NetworkEndpoints(scope, "Endpoints", vpc=vpc, subnet=vpc.private_subnets[0], services=["s3"])
    assert problems_of(scope) == []


def test_isolated_subnets_in_several_zones_want_a_choice(scope):
    vpc = imported(scope, zones=("us-east-1a", "us-east-1b"))
    cluster(scope, vpc=vpc, default_security_group="sg-default")
    (problem,) = problems_of(scope)
    assert problem.startswith("[Test/Cluster] vpc has private subnets in several zones, got ")


def test_a_vpc_has_one_set_of_endpoints(scope):
    network = isolated(scope)
    with pytest.raises(ValueError, match=r"^vpc has endpoints") as caught:
        NetworkEndpoints(scope, "More", vpc=network.vpc, subnet=network.subnet, services=["sts"])
    assert str(caught.value) == (
        "vpc has endpoints already, got 'Test/Network/Vpc' twice; a service has one endpoint with a private name in a "
        "vpc; put all services into one NetworkEndpoints"
    )


@pytest.mark.parametrize("name", ["", "ECR", "com/s3", ".s3", "com.amazonaws.us-east-1.sts"])
def test_what_is_no_service(scope, name):
    with pytest.raises(ValueError, match=r"^endpoints\[1\] is no service") as caught:
        isolated(scope, endpoints=["sts", name])
    assert str(caught.value) == (
        f"endpoints[1] is no service, got {name!r}; allowed is the short name that follows the region in the endpoint's "
        "name, such as 'sts' or 'ecr.api'; correct it"
    )


def test_services_are_a_list(scope):
    with pytest.raises(TypeError, match=r"^endpoints must be a list of str, got str 'sts'; change it$"):
        isolated(scope, endpoints="sts")


def test_an_own_group_for_the_flow_log(scope):
    group = logs.LogGroup.from_log_group_name(scope, "Group", "network")
    TrainingNetwork(scope, "Network", availability_zone=ZONE, flow_log_group=group)
    template = template_of(scope)
    assert template.one("AWS::EC2::FlowLog")["LogGroupName"] == "network"
    assert template.of("AWS::Logs::LogGroup") == {}
