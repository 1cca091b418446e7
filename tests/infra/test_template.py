"""The reference template, property by property, against the rules of AWS Batch, EFA and ECS.

Each test names the rule that it holds. The template is that of the reference app, unless it says so.
"""

import email
import json
import re

import pytest

from muster_core.contract import MASTER_PORT, RUNTIME_COMMAND
from muster_core.instances import lookup, nics
from muster_core.rules import host

TYPES = ["g6.8xlarge", "p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge", "trn1.32xlarge"]


@pytest.fixture(scope="module")
def template(reference):
    return reference("g6.8xlarge")


def ref(template, kind):
    (name,) = template.of(kind)
    return {"Ref": name}


def attribute(template, kind, name):
    (logical_id,) = template.of(kind)
    return {"Fn::GetAtt": [logical_id, name]}


# --- network -----------------------------------------------------------------------------------


def subnets(template):
    return {
        next(tag["Value"] for tag in each["Properties"]["Tags"] if tag["Key"] == "aws-cdk:subnet-type"): (
            name,
            each,
        )
        for name, each in template.of("AWS::EC2::Subnet").items()
    }


def test_the_network_has_one_zone_with_a_private_and_a_public_subnet(template):
    assert set(subnets(template)) == {"Private", "Public"}
    zones = {each["Properties"]["AvailabilityZone"] for each in template.of("AWS::EC2::Subnet").values()}
    assert zones == {"us-east-1b"}


def test_nobody_gets_a_public_address(template):
    for each in template.of("AWS::EC2::Subnet").values():
        assert each["Properties"]["MapPublicIpOnLaunch"] is False


def test_the_private_subnet_goes_out_by_nat(template):
    (route,) = [
        each["Properties"]
        for each in template.of("AWS::EC2::Route").values()
        if "NatGatewayId" in each["Properties"]
    ]
    assert route["DestinationCidrBlock"] == "0.0.0.0/0"
    assert route["NatGatewayId"] == ref(template, "AWS::EC2::NatGateway")
    public, _ = subnets(template)["Public"]
    assert template.one("AWS::EC2::NatGateway")["SubnetId"] == {"Ref": public}


def test_the_nodes_subnet_is_half_of_the_vpc(template):
    assert subnets(template)["Private"][1]["Properties"]["CidrBlock"] == "10.0.128.0/17"


def test_rejected_connections_are_logged(template):
    log = template.one("AWS::EC2::FlowLog")
    assert (log["TrafficType"], log["ResourceType"], log["ResourceId"]) == (
        "REJECT",
        "VPC",
        ref(template, "AWS::EC2::VPC"),
    )


# --- security groups ---------------------------------------------------------------------------


def rules_of(template, kind, group):
    return [
        each["Properties"] for each in template.of(kind).values() if each["Properties"]["GroupId"] == group
    ]


def test_efa_group_admits_all_from_itself_and_lets_all_out_to_itself(template):
    group = attribute(template, "AWS::EC2::SecurityGroup", "GroupId")
    (inward,) = rules_of(template, "AWS::EC2::SecurityGroupIngress", group)
    (outward,) = rules_of(template, "AWS::EC2::SecurityGroupEgress", group)
    assert (inward["IpProtocol"], inward["SourceSecurityGroupId"]) == ("-1", group)
    assert (outward["IpProtocol"], outward["DestinationSecurityGroupId"]) == ("-1", group)


def test_efa_group_lets_tcp_out_to_the_internet_and_nothing_in(template):
    group = template.one("AWS::EC2::SecurityGroup")
    assert "SecurityGroupIngress" not in group
    (rule,) = group["SecurityGroupEgress"]
    assert (rule["CidrIp"], rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == (
        "0.0.0.0/0",
        "tcp",
        0,
        65535,
    )


def test_default_group_has_our_tcp_rules_and_never_all_protocols(template):
    # CDK's custom resource gives "all" rules back on delete without tolerating doubles.
    group = attribute(template, "AWS::EC2::VPC", "DefaultSecurityGroup")
    (inward,) = rules_of(template, "AWS::EC2::SecurityGroupIngress", group)
    (outward,) = rules_of(template, "AWS::EC2::SecurityGroupEgress", group)
    tcp = {"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535}
    assert tcp.items() <= inward.items()
    assert tcp.items() <= outward.items()
    assert inward["SourceSecurityGroupId"] == group
    assert outward["CidrIp"] == "0.0.0.0/0"


def test_the_vpcs_own_default_rules_are_taken_away(template):
    restrict = template.one("Custom::VpcRestrictDefaultSG")
    assert restrict["DefaultSecurityGroupId"] == attribute(template, "AWS::EC2::VPC", "DefaultSecurityGroup")


# --- launch template ---------------------------------------------------------------------------


def data(template):
    return template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]


@pytest.mark.parametrize("name", TYPES)
def test_network_cards_are_the_types(reference, name):
    found = [
        (each["NetworkCardIndex"], each["DeviceIndex"], each["InterfaceType"])
        for each in data(reference(name))["NetworkInterfaces"]
    ]
    assert found == [tuple(nic) for nic in nics(lookup(name))]


@pytest.mark.parametrize(
    ("name", "primary", "others"),
    [
        ("g6.8xlarge", (0, 0, "efa"), []),
        ("p4d.24xlarge", (0, 0, "efa"), [(card, 1, "efa-only") for card in range(1, 4)]),
        ("p5.48xlarge", (0, 0, "efa"), [(card, 1, "efa-only") for card in range(1, 32)]),
        ("p6-b300.48xlarge", (0, 0, "interface"), [(card, 0, "efa-only") for card in range(1, 17)]),
        ("trn1.32xlarge", (0, 0, "efa"), [(card, 1, "efa-only") for card in range(1, 8)]),
    ],
)
def test_network_cards_by_hand(reference, name, primary, others):
    found = [
        (each["NetworkCardIndex"], each["DeviceIndex"], each["InterfaceType"])
        for each in data(reference(name))["NetworkInterfaces"]
    ]
    assert found == [primary, *others]


@pytest.mark.parametrize("name", TYPES)
def test_each_card_has_the_group_and_is_deleted_with_the_instance(reference, name):
    template = reference(name)
    group = attribute(template, "AWS::EC2::SecurityGroup", "GroupId")
    for each in data(template)["NetworkInterfaces"]:
        assert each["Groups"] == [group]
        assert each["DeleteOnTermination"] is True
        assert "SubnetId" not in each


@pytest.mark.parametrize("name", TYPES)
def test_only_the_primary_card_speaks_of_a_public_address_and_says_no(reference, name):
    said = [each.get("AssociatePublicIpAddress") for each in data(reference(name))["NetworkInterfaces"]]
    assert said == [False, *[None] * (len(said) - 1)]


def test_no_groups_beside_the_cards(template):
    assert "SecurityGroupIds" not in data(template)
    assert "SecurityGroups" not in data(template)


def test_root_volume_is_large_fast_and_encrypted(template):
    (volume,) = data(template)["BlockDeviceMappings"]
    assert volume == {
        "DeviceName": "/dev/xvda",
        "Ebs": {"VolumeSize": 200, "VolumeType": "gp3", "Encrypted": True, "DeleteOnTermination": True},
    }


def test_metadata_service_wants_a_token(template):
    assert data(template)["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
    }


def user_data(template):
    """Content type and text of each part."""
    message = email.message_from_string(data(template)["UserData"]["Fn::Base64"])
    assert (message.get_content_type(), message["MIME-Version"]) == ("multipart/mixed", "1.0")
    assert not message.defects
    return [(part.get_content_type(), part.get_payload()) for part in message.get_payload()]


def test_user_data_is_mime_multipart_of_programs(template):
    parts = user_data(template)
    assert [kind for kind, _ in parts] == [*["text/cloud-boothook"] * 2, "text/x-shellscript"]
    assert [text.partition("\n")[0] for _, text in parts] == [
        "#!/bin/bash",
        "#!/usr/bin/python3",
        "#!/bin/bash",
    ]


def test_hosts_and_runtime_agree_on_the_stop_timeout(template):
    (_, settings), *_ = user_data(template)
    assert "export HOST_STOP_TIMEOUT=120\n" in settings
    assert {"Name": "MUSTER_STOP_TIMEOUT", "Value": "120"} in template.container["Environment"]


def test_user_data_leaves_batchs_own_settings_alone_and_waits_for_nothing(template):
    for kind, text in user_data(template):
        assert host.part(text) == [], kind
    text = data(template)["UserData"]["Fn::Base64"]
    assert not re.search(r"ECS_CLUSTER|ECS_INSTANCE_ATTRIBUTES", text)
    assert "systemctl" not in text.replace('"systemctl", *command', "")


def test_template_leaves_to_batch_what_is_batchs(template):
    ignored = {
        "InstanceType",
        "IamInstanceProfile",
        "InstanceMarketOptions",
        "DisableApiTermination",
        "ImageId",
    }
    assert not ignored & set(data(template))


def test_instances_and_volumes_are_tagged(template):
    specifications = {each["ResourceType"]: each["Tags"] for each in data(template)["TagSpecifications"]}
    assert set(specifications) == {"instance", "volume"}
    for tags in specifications.values():
        assert {"Key": "muster:cluster", "Value": "Muster/Cluster"} in tags


# --- compute environment -----------------------------------------------------------------------


def test_environment_is_managed_ec2_and_enabled(template):
    environment = template.one("AWS::Batch::ComputeEnvironment")
    assert (environment["Type"], environment["State"]) == ("MANAGED", "ENABLED")
    assert template.resources["Type"] == "EC2"


@pytest.mark.parametrize("name", TYPES)
def test_environment_has_one_type_and_never_optimal(reference, name):
    assert reference(name).resources["InstanceTypes"] == [name]


def test_environment_has_one_subnet_the_private_one(template):
    private, _ = subnets(template)["Private"]
    assert template.resources["Subnets"] == [{"Ref": private}]


def test_environment_has_no_groups_beside_the_templates(template):
    assert "SecurityGroupIds" not in template.resources


def test_environment_follows_the_newest_template_version(template):
    assert template.resources["LaunchTemplate"] == {
        "LaunchTemplateId": ref(template, "AWS::EC2::LaunchTemplate"),
        "Version": attribute(template, "AWS::EC2::LaunchTemplate", "LatestVersionNumber"),
    }


@pytest.mark.parametrize("name", TYPES)
def test_environment_holds_max_nodes_whole_instances(reference, name):
    resources = reference(name).resources
    assert (resources["MinvCpus"], resources["MaxvCpus"]) == (0, 4 * lookup(name).vcpus)
    assert "DesiredvCpus" not in resources


def test_environment_is_updated_in_place(template):
    environment = template.one("AWS::Batch::ComputeEnvironment")
    assert environment["ReplaceComputeEnvironment"] is False
    assert template.resources["AllocationStrategy"] == "BEST_FIT_PROGRESSIVE"
    assert "ServiceRole" not in environment


def test_an_update_waits_for_the_longest_job(template):
    assert template.one("AWS::Batch::ComputeEnvironment")["UpdatePolicy"] == {
        "TerminateJobsOnUpdate": False,
        "JobExecutionTimeoutMinutes": 60,
    }


@pytest.mark.parametrize("name", ["g6.8xlarge", "p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge"])
def test_gpu_image_is_said_explicitly(reference, name):
    assert reference(name).resources["Ec2Configuration"] == [{"ImageType": "ECS_AL2023_NVIDIA"}]


def test_neuron_image_is_named_by_its_parameter(reference):
    parameter = "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id"
    assert reference("trn1.32xlarge").resources["Ec2Configuration"] == [
        {"ImageType": "ECS_AL2023", "ImageIdOverride": f"{{{{resolve:ssm:{parameter}}}}}"}
    ]


def test_instances_sit_close_together(template):
    assert template.one("AWS::EC2::PlacementGroup")["Strategy"] == "cluster"
    assert template.resources["PlacementGroup"] == attribute(
        template, "AWS::EC2::PlacementGroup", "GroupName"
    )


def test_environment_has_no_tags_as_they_would_replace_it(template):
    assert "Tags" not in template.one("AWS::Batch::ComputeEnvironment")
    assert "Tags" not in template.resources


def test_environment_goes_before_its_way_out(template):
    (environment,) = template.of("AWS::Batch::ComputeEnvironment").values()
    routes = [
        name for name, each in template.of("AWS::EC2::Route").items() if "NatGatewayId" in each["Properties"]
    ]
    assert set(routes) <= set(environment["DependsOn"])


# --- queue -------------------------------------------------------------------------------------


def test_queue_has_one_environment(template):
    assert template.one("AWS::Batch::JobQueue")["ComputeEnvironmentOrder"] == [
        {
            "Order": 1,
            "ComputeEnvironment": attribute(
                template, "AWS::Batch::ComputeEnvironment", "ComputeEnvironmentArn"
            ),
        }
    ]


def test_queue_ends_waits_on_misconfiguration_after_an_hour_and_none_on_capacity(template):
    actions = template.one("AWS::Batch::JobQueue")["JobStateTimeLimitActions"]
    assert [each["Reason"] for each in actions] == [
        "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
        "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
    ]
    for each in actions:
        assert (each["State"], each["Action"]) == ("RUNNABLE", "CANCEL")
        assert 3600 <= each["MaxTimeSeconds"] <= 86400


# --- repository --------------------------------------------------------------------------------


def test_repository_scans_keeps_tags_and_expires(template):
    repository = template.one("AWS::ECR::Repository")
    assert repository["ImageScanningConfiguration"] == {"ScanOnPush": True}
    assert repository["ImageTagMutability"] == "IMMUTABLE"
    rules = json.loads(repository["LifecyclePolicy"]["LifecyclePolicyText"])["rules"]
    assert [each["selection"]["tagStatus"] for each in rules] == ["untagged", "any"]
    (resource,) = template.of("AWS::ECR::Repository").values()
    assert resource["DeletionPolicy"] == "Retain"


# --- roles -------------------------------------------------------------------------------------


def role_for(template, description):
    return next(
        (name, each["Properties"])
        for name, each in template.of("AWS::IAM::Role").items()
        if each["Properties"].get("Description") == description
    )


def principal(role):
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    return statement["Principal"]["Service"]


def statements(template, role_name):
    return [
        statement
        for each in template.of("AWS::IAM::Policy").values()
        if {"Ref": role_name} in each["Properties"]["Roles"]
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
    ]


def test_hosts_have_the_managed_policy_in_any_partition(template):
    name, role = role_for(template, "Hosts of a GPU cluster")
    assert principal(role) == "ec2.amazonaws.com"
    policy = ":iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"
    assert role["ManagedPolicyArns"] == [{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, policy]]}]
    assert template.one("AWS::IAM::InstanceProfile")["Roles"] == [{"Ref": name}]
    assert template.resources["InstanceRole"] == attribute(template, "AWS::IAM::InstanceProfile", "Arn")


def test_training_code_may_do_nothing_of_itself(template):
    name, role = role_for(template, "Training code of a job")
    assert principal(role) == "ecs-tasks.amazonaws.com"
    assert "ManagedPolicyArns" not in role
    assert statements(template, name) == []


def test_agent_may_read_the_secret_write_the_log_and_pull_the_image(template):
    name, role = role_for(template, "ECS agent on behalf of a job")
    assert principal(role) == "ecs-tasks.amazonaws.com"
    allowed = {}
    for statement in statements(template, name):
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        allowed.update(dict.fromkeys(actions, json.dumps(statement["Resource"])))
    (secret,) = template.of("AWS::SecretsManager::Secret")
    log = template.container["LogConfiguration"]["Options"]["awslogs-group"]["Ref"]
    assert secret in allowed["secretsmanager:GetSecretValue"]
    assert log in allowed["logs:CreateLogStream"]
    assert log in allowed["logs:PutLogEvents"]
    assert "container-assets" in allowed["ecr:BatchGetImage"]
    assert allowed["ecr:GetAuthorizationToken"] == '"*"'


# --- job definition ----------------------------------------------------------------------------


def definition(template):
    return template.one("AWS::Batch::JobDefinition")


def test_definition_is_multinode_on_ec2_and_has_no_name(template):
    assert definition(template)["Type"] == "multinode"
    assert definition(template)["PlatformCapabilities"] == ["EC2"]
    assert "JobDefinitionName" not in definition(template)
    assert not {"ContainerProperties", "EcsProperties", "EksProperties"} & set(definition(template))


def test_one_open_range_lets_a_submission_set_the_number_of_nodes(template):
    nodes = definition(template)["NodeProperties"]
    assert (nodes["NumNodes"], nodes["MainNode"]) == (2, 0)
    assert [each["TargetNodes"] for each in nodes["NodeRangeProperties"]] == ["0:"]


@pytest.mark.parametrize("name", TYPES)
def test_definition_names_the_environments_type(reference, name):
    assert reference(name).container["InstanceType"] == name


@pytest.mark.parametrize("name", TYPES)
def test_a_node_asks_for_the_whole_instance_and_no_more(reference, name):
    wanted = {each["Type"]: int(each["Value"]) for each in reference(name).container["ResourceRequirements"]}
    facts = lookup(name)
    assert wanted["VCPU"] == facts.vcpus
    assert wanted.get("GPU", 0) == facts.gpus
    assert wanted["MEMORY"] <= 0.95 * facts.memory_mib


@pytest.mark.parametrize("name", TYPES)
def test_a_device_for_each_efa_of_the_launch_template(reference, name):
    template = reference(name)
    cards = [each for each in data(template)["NetworkInterfaces"] if each["InterfaceType"].startswith("efa")]
    devices = [
        each for each in template.container["LinuxParameters"]["Devices"] if "uverbs" in each["HostPath"]
    ]
    assert len(devices) == len(cards)
    for each in devices:
        assert each["ContainerPath"] == each["HostPath"]
        assert each["Permissions"] == ["READ", "WRITE", "MKNOD"]


def test_shared_memory_is_part_of_the_memory(template):
    memory = next(
        int(each["Value"]) for each in template.container["ResourceRequirements"] if each["Type"] == "MEMORY"
    )
    assert 64 < template.container["LinuxParameters"]["SharedMemorySize"] <= memory


def test_locked_memory_has_no_limit(template):
    limits = {each["Name"]: (each["SoftLimit"], each["HardLimit"]) for each in template.container["Ulimits"]}
    assert limits == {"memlock": (-1, -1), "stack": (67108864, 67108864), "nofile": (1048576, 1048576)}


def test_init_process_and_no_privilege(template):
    assert template.container["LinuxParameters"]["InitProcessEnabled"] is True
    assert "Privileged" not in template.container


def test_no_network_settings_as_multinode_is_awsvpc_by_itself(template):
    assert not {"NetworkConfiguration", "FargatePlatformConfiguration", "RuntimePlatform"} & set(
        template.container
    )


def test_log_goes_to_the_jobs_own_group_with_a_retention(template):
    log = template.container["LogConfiguration"]
    assert log["LogDriver"] == "awslogs"
    group = template["Resources"][log["Options"]["awslogs-group"]["Ref"]]
    assert group["Properties"]["RetentionInDays"] == 90
    assert group["DeletionPolicy"] == "Retain"
    assert log["Options"]["awslogs-region"] == {"Ref": "AWS::Region"}
    # Batch then names streams <definition>/default/<task>.
    assert set(log["Options"]) == {"awslogs-group", "awslogs-region"}


def test_timeout_of_the_whole_job(template):
    assert definition(template)["Timeout"] == {"AttemptDurationSeconds": 3600}


def test_retry_rules_end_in_exit(template):
    strategy = definition(template)["RetryStrategy"]
    assert 1 <= strategy["Attempts"] <= 10
    assert strategy["EvaluateOnExit"] == [
        {"OnStatusReason": "Host EC2*", "Action": "RETRY"},
        {"OnStatusReason": "Task failed to start*", "Action": "RETRY"},
        {"OnStatusReason": "Timeout waiting for network interface provisioning*", "Action": "RETRY"},
        {"OnExitCode": "75", "Action": "RETRY"},
        {"OnReason": "*", "Action": "EXIT"},
    ]


def test_command_starts_the_runtime(template):
    assert template.container["Command"] == [*RUNTIME_COMMAND, "run", "--launcher", "torch", "--", "train.py"]


def test_variables_are_the_runtimes(template):
    variables = {each["Name"]: each["Value"] for each in template.container["Environment"]}
    assert variables == {
        "MUSTER_CONTRACT": "1",
        "MUSTER_ACCELERATORS_PER_NODE": "1",
        "MUSTER_STOP_TIMEOUT": "120",
    }
    assert not any(name.startswith("AWS_BATCH") for name in variables)
    assert MASTER_PORT == 29500


def test_rendezvous_secret_is_injected(template):
    assert template.container["Secrets"] == [
        {"Name": "MUSTER_JOB_SECRET", "ValueFrom": ref(template, "AWS::SecretsManager::Secret")}
    ]
    secret = template.one("AWS::SecretsManager::Secret")
    assert secret["GenerateSecretString"] == {"PasswordLength": 64, "ExcludePunctuation": True}


def test_roles_are_on_the_container(template):
    job, _ = role_for(template, "Training code of a job")
    agent, _ = role_for(template, "ECS agent on behalf of a job")
    assert template.container["JobRoleArn"] == {"Fn::GetAtt": [job, "Arn"]}
    assert template.container["ExecutionRoleArn"] == {"Fn::GetAtt": [agent, "Arn"]}


@pytest.mark.parametrize("name", TYPES)
def test_definition_is_far_below_its_limit(reference, name):
    assert len(json.dumps(definition(reference(name)))) < 24 * 1024 / 2


# --- the whole ---------------------------------------------------------------------------------


def test_outputs_say_what_the_command_line_needs(template):
    outputs = {each["Description"]: each["Value"] for each in template["Outputs"].values()}
    name = {"Ref": next(iter(template.of("AWS::Batch::JobDefinition")))}
    assert outputs["muster:job-definition Train"] == {
        "Fn::Select": [0, {"Fn::Split": [":", {"Fn::Select": [1, {"Fn::Split": ["/", name]}]}]}]
    }
    assert outputs["muster:job-queue Train"] == attribute(template, "AWS::Batch::JobQueue", "JobQueueArn")
    assert (
        outputs["muster:log-group Train"]
        == template.container["LogConfiguration"]["Options"]["awslogs-group"]
    )
    images = "".join(map(str, outputs["muster:repository Cluster/Repository"]["Fn::Join"][1]))
    assert ".dkr.ecr." in images
    assert outputs["muster:quotas Cluster"].startswith("ec2/")
    assert len(outputs) == 5


@pytest.mark.parametrize("name", TYPES)
def test_no_partition_and_no_domain_is_written_out(reference, name):
    text = json.dumps(reference(name)["Resources"])
    assert "arn:aws:" not in text
    # A service's principal has this form in every partition; the rest must use AWS::URLSuffix.
    assert not re.findall(r"(?<!ec2)(?<!ecs-tasks)(?<!lambda)(?<!vpc-flow-logs)\.amazonaws\.com", text)


def test_no_physical_names(template):
    named = {
        "AWS::Batch::ComputeEnvironment": "ComputeEnvironmentName",
        "AWS::Batch::JobQueue": "JobQueueName",
        "AWS::Batch::JobDefinition": "JobDefinitionName",
        "AWS::EC2::LaunchTemplate": "LaunchTemplateName",
        "AWS::EC2::PlacementGroup": "GroupName",
        "AWS::EC2::SecurityGroup": "GroupName",
        "AWS::ECR::Repository": "RepositoryName",
        "AWS::IAM::Role": "RoleName",
        "AWS::IAM::InstanceProfile": "InstanceProfileName",
        "AWS::Logs::LogGroup": "LogGroupName",
        "AWS::SecretsManager::Secret": "Name",
    }
    for kind, name in named.items():
        assert template.of(kind), kind
        for each in template.of(kind).values():
            assert name not in each["Properties"], kind


def test_logical_ids_are_api(template):
    # A changed id replaces the resource of everybody who deployed it.
    kept = ("AWS::Batch", "AWS::EC2::LaunchTemplate", "AWS::ECR", "AWS::SecretsManager", "AWS::EC2::VPC")
    assert sorted(name for name, each in template["Resources"].items() if each["Type"].startswith(kept)) == [
        "ClusterComputeEnvironment2EC7120A",
        "ClusterLaunchTemplateD946544B",
        "ClusterNetworkVpcC6C4EC94",
        "ClusterNetworkVpcVPCGW04EF0C0F",
        "ClusterQueue73587731",
        "ClusterRepositoryC89E8BFD",
        "Train781835F2",
        "TrainSecretCB90A885",
    ]
