"""Job definitions, compute environments and queues, by CloudFormation and by the API."""

import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from local_deploy import client, delete, deploy, deploy_well, one, reasons
from moto.batch import models as batch_models
from moto.batch.models import batch_backends

from muster_cli.local.fills import patching
from muster_cli.local.settings import ACCOUNT, REGION

pytestmark = pytest.mark.usefixtures("account")

REQUIREMENTS = [{"Type": "VCPU", "Value": "32"}, {"Type": "MEMORY", "Value": "120000"}]
OPTIONS = {"awslogs-group": "g", "Mode": "non-blocking"}
CONTAINER = {
    "Image": "repo:1",
    "Command": ["python3", "train.py"],
    "InstanceType": "g6.8xlarge",
    "ResourceRequirements": REQUIREMENTS,
    "LogConfiguration": {"LogDriver": "awslogs", "Options": OPTIONS},
}


def nodes(count=2, **more):
    return {
        "NumNodes": count,
        "MainNode": 0,
        "NodeRangeProperties": [{"TargetNodes": "0:", "Container": {**CONTAINER, **more}}],
    }


def definition(timeout=3600, **more):
    properties = {
        "Type": "multinode",
        "NodeProperties": nodes(),
        "Timeout": {"AttemptDurationSeconds": timeout},
        "Parameters": {"Epochs": "1"},
        "PropagateTags": True,
        "RetryStrategy": {"Attempts": 2, "EvaluateOnExit": [{"OnReason": "*", "Action": "EXIT"}]},
        **more,
    }
    return one("AWS::Batch::JobDefinition", ("JobDefinitionArn",), **properties)


def definitions(**more):
    return client("batch").describe_job_definitions(**more)["jobDefinitions"]


# --- job definitions ----------------------------------------------------------------------------


def test_a_multinode_definition_is_registered_with_all_it_says():
    out = deploy_well(definition())
    (found,) = definitions()
    assert out["Id"] == out["JobDefinitionArn"] == found["jobDefinitionArn"]
    assert (found["type"], found["revision"], found["status"]) == ("multinode", 1, "ACTIVE")
    assert found["timeout"] == {"attemptDurationSeconds": 3600}
    assert found["parameters"] == {"Epochs": "1"}
    assert found["propagateTags"] is True
    assert found["platformCapabilities"] == ["EC2"]
    assert found["retryStrategy"] == {"attempts": 2, "evaluateOnExit": [{"onReason": "*", "action": "exit"}]}
    (node_range,) = found["nodeProperties"]["nodeRangeProperties"]
    assert node_range["targetNodes"] == "0:"
    container = node_range["container"]
    assert container["command"] == ["python3", "train.py"]
    assert container["logConfiguration"]["options"] == OPTIONS
    assert container["environment"] == container["secrets"] == []


def test_stock_moto_cannot_register_a_multinode_definition():
    with (
        patching.unfilled(),
        pytest.raises(ResponseParserError, match="containerProperties or eksProperties"),
    ):
        deploy(definition())


def test_stock_moto_does_not_show_the_nodes():
    with patching.unfilled():
        client("batch").register_job_definition(
            jobDefinitionName="d",
            type="multinode",
            nodeProperties={"numNodes": 2, "mainNode": 9, "nodeRangeProperties": [{"targetNodes": "5:7"}]},
        )  # and it takes a main node and a range that are not there
        assert "nodeProperties" not in definitions()[0]


def test_a_changed_definition_is_the_next_revision_and_the_old_one_is_deregistered():
    first = deploy_well(definition())
    second = deploy_well(definition(7200))
    assert second["Id"] == first["Id"].removesuffix(":1") + ":2"
    assert [(d["revision"], d["status"]) for d in definitions()] == [(1, "INACTIVE"), (2, "ACTIVE")]
    delete()
    assert {d["status"] for d in definitions()} == {"INACTIVE"}


def test_stock_moto_cannot_update_a_definition():
    container = {"Image": "i", "ResourceRequirements": REQUIREMENTS}
    retry = {"Attempts": 1}
    first, second = (
        one(
            "AWS::Batch::JobDefinition",
            Type="container",
            ContainerProperties={**container, "Image": image},
            RetryStrategy=retry,
        )
        for image in ("one", "two")
    )
    with patching.unfilled():
        deploy(first)
        assert deploy(second)["StackStatus"] == "UPDATE_COMPLETE"
        assert [d["containerProperties"]["image"] for d in definitions()] == ["one"]


def test_the_old_revision_may_be_kept():
    keep = {"ResourceRetentionPolicy": {"SkipDeregisterOnUpdate": True}}
    deploy_well(definition(**keep))
    deploy_well(definition(7200, **keep))
    assert [d["status"] for d in definitions()] == ["ACTIVE", "ACTIVE"]


def test_a_name_that_changes_is_another_definition():
    deploy_well(definition(JobDefinitionName="a"))
    deploy_well(definition(JobDefinitionName="b"))
    assert {(d["jobDefinitionName"], d["status"]) for d in definitions()} == {
        ("a", "INACTIVE"),
        ("b", "ACTIVE"),
    }


def test_a_refused_definition_fails_the_stack_in_batchs_manner():
    assert deploy(definition(30))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert reasons() == [
        (
            "It CREATE_FAILED: Error executing request, Exception : "
            "timeout.attemptDurationSeconds must be at least 60, got 30"
        )
    ]


def test_an_unknown_property_fails_the_stack():
    assert deploy(definition(NodeProperties=nodes(Gpus=1)))["StackStatus"] == "ROLLBACK_COMPLETE"
    path = "#/NodeProperties/NodeRangeProperties/0/Container"
    assert reasons() == [f"It CREATE_FAILED: {path}: extraneous key [Gpus] is not permitted"]


def api_definition(**more):
    container = {
        "image": "i",
        "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "8"}],
    }
    return {"jobDefinitionName": "d", "type": "container", "containerProperties": container, **more}


def test_the_api_registers_too_and_takes_nothing_from_the_revision_before():
    batch = client("batch")
    batch.register_job_definition(**api_definition(parameters={"a": "b"}, tags={"team": "vision"}))
    batch.register_job_definition(**api_definition(schedulingPriority=5))
    first, second = definitions()
    assert first["parameters"] == {"a": "b"}
    assert first["tags"] == {"team": "vision"}
    assert (second["revision"], second["parameters"], second["schedulingPriority"]) == (2, {}, 5)


def test_a_name_means_the_latest_active_revision():
    batch, backend = client("batch"), batch_backends[ACCOUNT][REGION]
    for _ in range(3):
        batch.register_job_definition(**api_definition())
    batch.deregister_job_definition(jobDefinition="d:3")
    assert backend.get_job_definition("d").revision == 2
    batch.register_job_definition(**api_definition())
    assert backend.get_job_definition("d").revision == 4
    with patching.unfilled():
        batch.deregister_job_definition(jobDefinition="d:4")
        assert backend.get_job_definition("d").revision == 4


def test_the_api_refuses_in_batchs_manner():
    with pytest.raises(ClientError, match="type must be one of container, multinode") as caught:
        client("batch").register_job_definition(**{**api_definition(), "type": "array"})
    assert caught.value.response["Error"]["Code"] == "ClientException"


# --- compute environments and queues ------------------------------------------------------------


def cluster(
    *, order=("Env",), state="ENABLED", priority=1, limits=None, environment=None, template=None, **resources
):
    """A network, a launch template with a NIC, an environment, and a queue."""
    nic = {"DeviceIndex": 0, "InterfaceType": "efa", "Groups": [{"Ref": "Group"}]}
    data = {"NetworkInterfaces": [nic], **(template or {})}
    compute = {
        "Type": "EC2",
        "MinvCpus": 0,
        "MaxvCpus": 64,
        "InstanceTypes": ["g6.8xlarge"],
        "Subnets": [{"Ref": "Subnet"}],
        "InstanceRole": {"Fn::GetAtt": ["Profile", "Arn"]},
        "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}, "Version": version()},
        **resources,
    }
    made = {
        "Type": "MANAGED",
        "State": state,
        "ReplaceComputeEnvironment": False,
        "ComputeResources": {key: value for key, value in compute.items() if value is not None},
        **(environment or {}),
    }
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
    queue = {
        "Priority": priority,
        "ComputeEnvironmentOrder": [
            {"Order": i + 1, "ComputeEnvironment": {"Ref": e}} for i, e in enumerate(order)
        ],
        **({"JobStateTimeLimitActions": limits} if limits else {}),
    }
    resources_by_id = {
        "Vpc": ("AWS::EC2::VPC", {"CidrBlock": "10.0.0.0/16"}),
        "Subnet": ("AWS::EC2::Subnet", {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0/24"}),
        "Group": ("AWS::EC2::SecurityGroup", {"GroupDescription": "nodes", "VpcId": {"Ref": "Vpc"}}),
        "Role": ("AWS::IAM::Role", {"AssumeRolePolicyDocument": trust}),
        "Profile": ("AWS::IAM::InstanceProfile", {"Roles": [{"Ref": "Role"}]}),
        "Template": ("AWS::EC2::LaunchTemplate", {"LaunchTemplateData": data}),
        "Env": ("AWS::Batch::ComputeEnvironment", made),
        "Queue": ("AWS::Batch::JobQueue", queue),
    }
    return {
        "Resources": {name: {"Type": t, "Properties": p} for name, (t, p) in resources_by_id.items()},
        "Outputs": {
            "Env": {"Value": {"Fn::GetAtt": ["Env", "ComputeEnvironmentArn"]}},
            "Queue": {"Value": {"Fn::GetAtt": ["Queue", "JobQueueArn"]}},
        },
    }


def version():
    return {"Fn::GetAtt": ["Template", "LatestVersionNumber"]}


def environments():
    return client("batch").describe_compute_environments()["computeEnvironments"]


def queues():
    return client("batch").describe_job_queues()["jobQueues"]


def test_an_environment_without_service_role_or_groups_has_batchs_own_role():
    out = deploy_well(cluster())
    (found,) = environments()
    assert found["computeEnvironmentArn"] == out["Env"]
    assert found["serviceRole"].endswith(":role/aws-service-role/batch.amazonaws.com/AWSServiceRoleForBatch")
    resources = found["computeResources"]
    assert (resources["maxvCpus"], resources["minvCpus"]) == (64, 0)
    assert resources["instanceTypes"] == ["g6.8xlarge"]
    assert resources["securityGroupIds"] == []
    assert resources["launchTemplate"]["version"] == "1"
    (queue,) = queues()
    assert queue["jobQueueArn"] == out["Queue"]
    assert queue["computeEnvironmentOrder"] == [{"order": 1, "computeEnvironment": out["Env"]}]


def test_stock_moto_dies_without_a_service_role():
    with patching.unfilled(), pytest.raises(KeyError):
        client("cloudformation").create_stack(StackName="Stock", TemplateBody=body(cluster()))


def body(template):
    import json

    return json.dumps(template)


def test_stock_moto_has_no_arns_for_getatt():
    with patching.unfilled():
        stock = batch_models.ComputeEnvironment, batch_models.JobQueue, batch_models.JobDefinition
        assert not any("get_cfn_attribute" in model.__dict__ for model in stock)


def test_an_unmanaged_environment_has_its_arn():
    role = client("iam").create_role(RoleName="batch", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    unmanaged = one(
        "AWS::Batch::ComputeEnvironment", ("ComputeEnvironmentArn",), Type="UNMANAGED", ServiceRole=role
    )
    out = deploy_well(unmanaged)
    assert out["ComputeEnvironmentArn"] == out["Id"]


def test_an_environment_is_changed_in_place_and_follows_its_launch_template():
    before = deploy_well(cluster())
    after = deploy_well(cluster(MaxvCpus=128, PlacementGroup="pg", template={"InstanceType": "g6.8xlarge"}))
    assert after == before
    (found,) = environments()
    resources = found["computeResources"]
    assert (resources["maxvCpus"], resources["placementGroup"]) == (128, "pg")
    assert resources["launchTemplate"]["version"] == "2"


def test_an_unchanged_launch_template_keeps_its_version():
    deploy_well(cluster())
    deploy_well(cluster(priority=2))
    assert environments()[0]["computeResources"]["launchTemplate"]["version"] == "1"


def test_what_the_template_drops_is_dropped():
    deploy_well(cluster(PlacementGroup="pg"))
    deploy_well(cluster())
    assert "placementGroup" not in environments()[0]["computeResources"]


def test_an_environment_that_may_be_replaced_is_replaced():
    replaceable = {"ReplaceComputeEnvironment": True}
    before = deploy_well(cluster(environment=replaceable))
    after = deploy_well(cluster(environment=replaceable, InstanceTypes=["p5.48xlarge"]))
    assert after["Env"] != before["Env"]
    assert [e["computeEnvironmentArn"] for e in environments()] == [after["Env"]]
    assert queues()[0]["computeEnvironmentOrder"][0]["computeEnvironment"] == after["Env"]
    scaled = deploy_well(cluster(environment=replaceable, InstanceTypes=["p5.48xlarge"], MaxvCpus=400))
    assert scaled == after


def test_a_queue_is_changed_in_place():
    limit = {
        "Action": "CANCEL",
        "MaxTimeSeconds": 3600,
        "Reason": "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
        "State": "RUNNABLE",
    }
    before = deploy_well(cluster())
    assert deploy_well(cluster(priority=9, limits=[limit])) == before
    assert queues()[0]["priority"] == 9
    queue = batch_backends[ACCOUNT][REGION].get_job_queue(before["Queue"])
    assert queue.job_state_time_limit_actions == [
        {
            "action": "CANCEL",
            "maxTimeSeconds": 3600,
            "reason": "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
            "state": "RUNNABLE",
        }
    ]


def test_destroying_disables_first_and_leaves_nothing():
    deploy_well(cluster())
    delete()
    assert environments() == queues() == []


def test_stock_moto_cannot_delete_an_environment():
    deploy_well(cluster())
    environment = environments()[0]["computeEnvironmentArn"]
    with patching.unfilled():
        client("batch").delete_compute_environment(computeEnvironment=environment)  # although it is enabled
        assert environments() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"SecurityGroupIds": [{"Ref": "Group"}]},
            "securityGroupIds can't be given beside a launch template with network interfaces.",
        ),
        ({"LaunchTemplate": {"Version": "1"}}, "Launch Template Id or Name is required."),
        ({"LaunchTemplate": None}, "securityGroupIds is required."),
        ({"LaunchTemplate": {"LaunchTemplateName": "nobody"}}, "launch template"),
        ({"InstanceTypes": ["g6.nonsense"]}, "Instance type g6.nonsense does not exist"),
        ({"Subnets": ["subnet-1"]}, "subnet subnet-1 does not exist"),
        ({"InstanceRole": "nobody"}, "could not find instanceRole nobody"),
    ],
)
def test_a_refused_environment_fails_the_stack(change, message):
    assert deploy(cluster(**change))["StackStatus"] == "ROLLBACK_COMPLETE"
    (reason,) = reasons()
    assert reason.startswith("Env CREATE_FAILED: ")
    assert message in reason


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"MaxTimeSeconds": 599}, "maxTimeSeconds must be between 600 and 86400"),
        ({"State": "RUNNING"}, "state of a jobStateTimeLimitAction must be RUNNABLE"),
        ({"Reason": "BORED"}, "reason of a jobStateTimeLimitAction must be one of"),
    ],
)
def test_a_refused_time_limit_fails_the_stack(limit, message):
    right = {
        "Action": "CANCEL",
        "MaxTimeSeconds": 600,
        "State": "RUNNABLE",
        "Reason": "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
    }
    assert deploy(cluster(limits=[{**right, **limit}]))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert message in reasons()[0]


def test_the_api_refuses_to_delete_what_works_or_is_used():
    deploy_well(cluster())
    batch = client("batch")
    environment, queue = environments()[0]["computeEnvironmentArn"], queues()[0]["jobQueueArn"]
    with pytest.raises(ClientError, match="Cannot delete, resource must be disabled"):
        batch.delete_compute_environment(computeEnvironment=environment)
    batch.update_compute_environment(computeEnvironment=environment, state="DISABLED")
    with pytest.raises(ClientError, match="Cannot delete, found existing JobQueue relationship"):
        batch.delete_compute_environment(computeEnvironment=environment)
    with pytest.raises(ClientError, match="Cannot delete, resource must be disabled"):
        batch.delete_job_queue(jobQueue=queue)
    batch.update_job_queue(jobQueue=queue, state="DISABLED")
    batch.delete_job_queue(jobQueue=queue)
    batch.delete_compute_environment(computeEnvironment=environment)
    assert environments() == queues() == []
    batch.delete_job_queue(jobQueue="gone")
    batch.delete_compute_environment(computeEnvironment="gone")


def test_the_api_changes_compute_resources_where_stock_moto_forgets_them():
    deploy_well(cluster())
    name = environments()[0]["computeEnvironmentName"]
    batch = client("batch")
    with patching.unfilled():
        batch.update_compute_environment(computeEnvironment=name, computeResources={"maxvCpus": 96})
        assert environments()[0]["computeResources"]["maxvCpus"] == 64
    batch.update_compute_environment(computeEnvironment=name, computeResources={"maxvCpus": 96})
    assert environments()[0]["computeResources"]["maxvCpus"] == 96
    with pytest.raises(ClientError, match="nobody does not exist"):
        batch.update_compute_environment(computeEnvironment="nobody")
