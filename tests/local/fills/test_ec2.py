"""The network, security groups and placement groups."""

import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from local_deploy import client, delete, deploy, deploy_well, one, reasons

from muster_cli.local.fills import patching

pytestmark = pytest.mark.usefixtures("account")
LISTS = (
    ("describe_vpcs", "Vpcs"),
    ("describe_subnets", "Subnets"),
    ("describe_route_tables", "RouteTables"),
    ("describe_internet_gateways", "InternetGateways"),
    ("describe_addresses", "Addresses"),
    ("describe_security_groups", "SecurityGroups"),
    ("describe_security_group_rules", "SecurityGroupRules"),
    ("describe_network_interfaces", "NetworkInterfaces"),
    ("describe_network_acls", "NetworkAcls"),
    ("describe_flow_logs", "FlowLogs"),
    ("describe_placement_groups", "PlacementGroups"),
    ("describe_launch_templates", "LaunchTemplates"),
)


def ec2():
    return client("ec2")


def everything():
    found = {name: len(getattr(ec2(), method)()[name]) for method, name in LISTS}
    found["NatGateways"] = sum(g["State"] != "deleted" for g in ec2().describe_nat_gateways()["NatGateways"])
    found["VpcEndpoints"] = sum(
        e["State"] != "deleted" for e in ec2().describe_vpc_endpoints()["VpcEndpoints"]
    )
    return found


def stack(**resources):
    return {"Resources": {name: {"Type": t, "Properties": p} for name, (t, p) in resources.items()}}


def ref(name):
    return {"Ref": name}


def network(*, dns=True, public=True, tag="a", **more):
    vpc = {"VpcId": ref("Vpc")}
    trust = {"Version": "2012-10-17", "Statement": []}
    return stack(
        Vpc=(
            "AWS::EC2::VPC",
            {"CidrBlock": "10.0.0.0/16", "EnableDnsHostnames": dns, "EnableDnsSupport": True},
        ),
        Subnet=(
            "AWS::EC2::Subnet",
            {
                **vpc,
                "CidrBlock": "10.0.0.0/24",
                "MapPublicIpOnLaunch": public,
                "Tags": [{"Key": "x", "Value": tag}],
            },
        ),
        Gateway=("AWS::EC2::InternetGateway", {}),
        Attached=("AWS::EC2::VPCGatewayAttachment", {**vpc, "InternetGatewayId": ref("Gateway")}),
        Table=("AWS::EC2::RouteTable", vpc),
        Associated=(
            "AWS::EC2::SubnetRouteTableAssociation",
            {"RouteTableId": ref("Table"), "SubnetId": ref("Subnet")},
        ),
        Route=(
            "AWS::EC2::Route",
            {"RouteTableId": ref("Table"), "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": ref("Gateway")},
        ),
        Address=("AWS::EC2::EIP", {"Domain": "vpc"}),
        Nat=(
            "AWS::EC2::NatGateway",
            {"SubnetId": ref("Subnet"), "AllocationId": {"Fn::GetAtt": ["Address", "AllocationId"]}},
        ),
        Group=("AWS::EC2::SecurityGroup", {**vpc, "GroupDescription": "nodes"}),
        S3=(
            "AWS::EC2::VPCEndpoint",
            {
                **vpc,
                "ServiceName": "com.amazonaws.us-east-1.s3",
                "RouteTableIds": [ref("Table")],
                "VpcEndpointType": "Gateway",
            },
        ),
        Ecr=(
            "AWS::EC2::VPCEndpoint",
            {
                **vpc,
                "ServiceName": "com.amazonaws.us-east-1.ecr.api",
                "SubnetIds": [ref("Subnet")],
                "SecurityGroupIds": [ref("Group")],
                "VpcEndpointType": "Interface",
            },
        ),
        Logs=("AWS::Logs::LogGroup", {}),
        Role=("AWS::IAM::Role", {"AssumeRolePolicyDocument": trust}),
        Flow=(
            "AWS::EC2::FlowLog",
            {
                "ResourceId": ref("Vpc"),
                "ResourceType": "VPC",
                "TrafficType": "REJECT",
                "LogGroupName": ref("Logs"),
                "DeliverLogsPermissionArn": {"Fn::GetAtt": ["Role", "Arn"]},
            },
        ),
        Placement=("AWS::EC2::PlacementGroup", {"Strategy": "cluster"}),
        Template=("AWS::EC2::LaunchTemplate", {"LaunchTemplateData": {"InstanceType": "g6.8xlarge"}}),
        **more,
    )


def test_a_whole_network_comes_and_goes():
    before = everything()
    deploy_well(network())
    assert everything() != before
    delete()
    assert everything() == before


def test_stock_moto_leaves_a_network_behind():
    parts = network()["Resources"]
    few = {name: parts[name] for name in ("Vpc", "Subnet", "Table", "Associated")}
    with patching.unfilled():
        deploy({"Resources": few})
        with (
            pytest.raises(ClientError, match="has dependencies and cannot be deleted"),
            pytest.warns(UserWarning, match="DependencyViolation"),
        ):
            delete()


def attribute(vpc, name):
    found = ec2().describe_vpc_attribute(VpcId=vpc, Attribute=name)
    return found[name[0].upper() + name[1:]]["Value"]


def test_a_vpc_has_its_dns_names_and_changes_them_in_place():
    template = {**network(), "Outputs": {"Vpc": {"Value": ref("Vpc")}}}
    vpc = deploy_well(template)["Vpc"]
    assert attribute(vpc, "enableDnsHostnames") is True
    assert deploy_well({**network(dns=False), "Outputs": template["Outputs"]})["Vpc"] == vpc
    assert attribute(vpc, "enableDnsHostnames") is False


def test_stock_moto_drops_the_dns_names():
    with patching.unfilled():
        deploy(one("AWS::EC2::VPC", CidrBlock="10.1.0.0/16", EnableDnsHostnames=True))
        (vpc,) = [v["VpcId"] for v in ec2().describe_vpcs()["Vpcs"] if v["CidrBlock"] == "10.1.0.0/16"]
        assert attribute(vpc, "enableDnsHostnames") is False


def subnet():
    (found,) = [s for s in ec2().describe_subnets()["Subnets"] if s["CidrBlock"] == "10.0.0.0/24"]
    return found


def test_a_subnet_is_changed_in_place():
    deploy_well(network())
    first = subnet()
    assert first["MapPublicIpOnLaunch"] is True
    deploy_well(network(public=False, tag="b"))
    second = subnet()
    assert second["SubnetId"] == first["SubnetId"]
    assert second["MapPublicIpOnLaunch"] is False
    tags = {tag["Key"]: tag["Value"] for tag in second["Tags"]}
    assert tags["x"] == "b"
    assert tags["aws:cloudformation:logical-id"] == "Subnet"


@pytest.mark.parametrize("changed", ["Vpc", "Subnet"])
def test_another_address_range_is_another_resource(changed):
    vpc = ("AWS::EC2::VPC", {"CidrBlock": "10.2.0.0/16"})
    subnet = ("AWS::EC2::Subnet", {"VpcId": ref("Vpc"), "CidrBlock": "10.2.1.0/24"})
    deploy_well(stack(Vpc=vpc, Subnet=subnet))
    other = {"Vpc": "10.2.0.0/17", "Subnet": "10.2.2.0/24"}
    template = stack(Vpc=vpc, Subnet=subnet)
    template["Resources"][changed]["Properties"]["CidrBlock"] = other[changed]
    deploy_well(template)
    found = {s["CidrBlock"] for s in ec2().describe_subnets()["Subnets"]} | {
        v["CidrBlock"] for v in ec2().describe_vpcs()["Vpcs"]
    }
    assert other[changed] in found


# --- security groups ----------------------------------------------------------------------------


def group(name, **properties):
    return (
        "AWS::EC2::SecurityGroup",
        {"GroupName": name, "GroupDescription": name, "VpcId": ref("Vpc"), **properties},
    )


VPC = ("AWS::EC2::VPC", {"CidrBlock": "10.3.0.0/16"})
ALL_OUT = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
HTTPS = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0", "Description": "https"}


def rules(name):
    found = ec2().describe_security_groups(Filters=[{"Name": "group-name", "Values": [name]}])[
        "SecurityGroups"
    ][0]
    shown = []
    for direction in ("IpPermissions", "IpPermissionsEgress"):
        for rule in found[direction]:
            peers = [r["CidrIp"] for r in rule["IpRanges"]] + [g["GroupId"] for g in rule["UserIdGroupPairs"]]
            shown += [(direction, rule["IpProtocol"], rule.get("FromPort"), peer) for peer in peers]
    return sorted(shown, key=str), found["GroupId"]


def test_a_group_has_its_own_rules_and_no_other_way_out():
    deploy_well(stack(Vpc=VPC, G=group("g", SecurityGroupIngress=[HTTPS], SecurityGroupEgress=[HTTPS])))
    assert rules("g")[0] == [
        ("IpPermissions", "tcp", 443, "0.0.0.0/0"),
        ("IpPermissionsEgress", "tcp", 443, "0.0.0.0/0"),
    ]


def test_stock_moto_ignores_the_way_out():
    with patching.unfilled():
        deploy(stack(Vpc=VPC, G=group("g", SecurityGroupEgress=[HTTPS])))
        assert rules("g")[0] == [("IpPermissionsEgress", "-1", None, "0.0.0.0/0")]


def test_a_group_without_rules_lets_everything_out():
    deploy_well(stack(Vpc=VPC, G=group("g")))
    assert rules("g")[0] == [("IpPermissionsEgress", "-1", None, "0.0.0.0/0")]


def test_a_groups_rules_change_in_place():
    deploy_well(stack(Vpc=VPC, G=group("g", SecurityGroupEgress=[HTTPS])))
    group_id = rules("g")[1]
    deploy_well(
        stack(Vpc=VPC, G=group("g", SecurityGroupEgress=[ALL_OUT], Tags=[{"Key": "a", "Value": "b"}]))
    )
    assert rules("g") == ([("IpPermissionsEgress", "-1", None, "0.0.0.0/0")], group_id)


def test_a_group_of_another_name_is_another_group():
    deploy_well(stack(Vpc=VPC, G=group("g")))
    deploy_well(stack(Vpc=VPC, G=group("h")))
    names = {g["GroupName"] for g in ec2().describe_security_groups()["SecurityGroups"]}
    assert "h" in names
    assert "g" not in names


def with_rules(**rule):
    own = {"GroupId": ref("G"), "IpProtocol": "-1", **rule}
    return stack(
        Vpc=VPC,
        G=group("g", SecurityGroupEgress=[HTTPS]),
        In=("AWS::EC2::SecurityGroupIngress", {**own, "SourceSecurityGroupId": ref("G")}),
        Out=("AWS::EC2::SecurityGroupEgress", {**own, "DestinationSecurityGroupId": ref("G")}),
    )


def test_rules_of_their_own_are_really_there():
    deploy_well(with_rules())
    shown, group_id = rules("g")
    assert ("IpPermissions", "-1", None, group_id) in shown
    assert ("IpPermissionsEgress", "-1", None, group_id) in shown
    deploy_well(with_rules(IpProtocol="tcp", FromPort=1, ToPort=2))
    shown, group_id = rules("g")
    assert shown == [
        ("IpPermissions", "tcp", 1, group_id),
        ("IpPermissionsEgress", "tcp", 1, group_id),
        ("IpPermissionsEgress", "tcp", 443, "0.0.0.0/0"),
    ]
    delete()


def test_stock_moto_skips_rules_of_their_own():
    template = with_rules(IpProtocol="tcp", FromPort=1, ToPort=2)
    with patching.unfilled():
        with pytest.warns(UserWarning, match="SecurityGroupEgress but it's not supported"):
            deploy(template)
        assert not [rule for rule in rules("g")[0] if rule[:3] == ("IpPermissionsEgress", "tcp", 1)]


def test_a_rule_twice_fails_the_stack():
    template = with_rules()
    template["Resources"]["Again"] = template["Resources"]["In"]
    assert deploy(template)["StackStatus"] == "ROLLBACK_COMPLETE"
    assert "already exists" in reasons()[0]


# --- placement groups ---------------------------------------------------------------------------


def test_a_placement_group_is_really_there():
    out = deploy_well(one("AWS::EC2::PlacementGroup", ("GroupName",), Strategy="partition", PartitionCount=3))
    (found,) = ec2().describe_placement_groups()["PlacementGroups"]
    assert found["GroupName"] == out["Id"] == out["GroupName"]
    assert (found["Strategy"], found["State"], found["PartitionCount"]) == ("partition", "available", 3)
    delete()
    assert ec2().describe_placement_groups()["PlacementGroups"] == []


def test_stock_moto_has_no_placement_groups():
    with patching.unfilled(), pytest.raises(NotImplementedError):
        ec2().describe_placement_groups()
    with patching.unfilled(), pytest.warns(UserWarning, match="PlacementGroup but it's not supported"):
        deploy({"Resources": one("AWS::EC2::PlacementGroup")["Resources"]})


def test_placement_groups_by_the_api():
    specification = [{"ResourceType": "placement-group", "Tags": [{"Key": "a", "Value": "b"}]}]
    made = ec2().create_placement_group(GroupName="g", TagSpecifications=specification)["PlacementGroup"]
    assert made["Strategy"] == "cluster"
    assert made["Tags"] == [{"Key": "a", "Value": "b"}]
    ec2().create_placement_group(GroupName="h", Strategy="spread", SpreadLevel="rack")
    by_id = ec2().describe_placement_groups(GroupIds=[made["GroupId"]])["PlacementGroups"]
    by_name = ec2().describe_placement_groups(GroupNames=["h"])["PlacementGroups"]
    assert [g["GroupName"] for g in by_id + by_name] == ["g", "h"]
    for call, code in (
        (lambda: ec2().create_placement_group(GroupName="g"), "InvalidPlacementGroup.Duplicate"),
        (lambda: ec2().describe_placement_groups(GroupNames=["no"]), "InvalidPlacementGroup.Unknown"),
        (lambda: ec2().delete_placement_group(GroupName="no"), "InvalidPlacementGroup.Unknown"),
    ):
        with pytest.raises(ClientError) as caught:
            call()
        assert caught.value.response["Error"]["Code"] == code
    ec2().delete_placement_group(GroupName="g")
    assert len(ec2().describe_placement_groups()["PlacementGroups"]) == 1


# --- the VPC's custom resource ------------------------------------------------------------------


def restricted(*, vpc="Vpc", group=None):
    return {
        **stack(
            Vpc=VPC,
            Other=("AWS::EC2::VPC", {"CidrBlock": "10.4.0.0/16"}),
            Restrict=(
                "Custom::VpcRestrictDefaultSG",
                {
                    "DefaultSecurityGroupId": group or {"Fn::GetAtt": [vpc, "DefaultSecurityGroup"]},
                    "ServiceToken": "f",
                },
            ),
        ),
        "Outputs": {
            name: {"Value": {"Fn::GetAtt": [name, "DefaultSecurityGroup"]}} for name in ("Vpc", "Other")
        },
    }


def open_rules(group_id):
    found = ec2().describe_security_groups(GroupIds=[group_id])["SecurityGroups"][0]
    return len(found["IpPermissions"]) + len(found["IpPermissionsEgress"])


def test_the_default_group_is_really_restricted_and_given_back():
    out = deploy_well(restricted())
    assert open_rules(out["Vpc"]) == 0
    before = open_rules(out["Other"])
    deploy_well(restricted(vpc="Other"))
    assert open_rules(out["Other"]) == 0
    assert open_rules(out["Vpc"]) >= before > 0


def test_an_unchanged_group_is_left_alone():
    template = restricted()
    deploy_well(template)
    template["Resources"]["Restrict"]["Properties"]["Account"] = "123456789012"
    out = deploy_well(template)
    assert open_rules(out["Vpc"]) == 0
    delete()


def test_a_group_that_is_not_there_fails_the_stack():
    assert deploy(restricted(group="sg-none"))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert reasons() == ["Restrict CREATE_FAILED: The security group 'sg-none' does not exist"]


def test_stock_moto_waits_for_the_function_for_ever():
    with patching.unfilled(), pytest.raises(ResponseParserError, match="Function not found"):
        deploy({"Resources": restricted()["Resources"]})


def test_markers_are_made_of_nothing():
    markers = stack(
        A=("AWS::CDK::Metadata", {"Analytics": "a"}), B=("AWS::CloudFormation::WaitConditionHandle", {})
    )
    deploy_well(markers)
    markers["Resources"]["A"]["Properties"]["Analytics"] = "b"
    deploy_well(markers)
    delete()
