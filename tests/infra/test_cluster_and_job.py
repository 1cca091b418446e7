"""What else the constructs promise: tags, grants, names, own parts, other stacks."""

import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct
from infra_synth import IMAGE, ZONE, stack, template_of

from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, **more):
    return GpuCluster(
        scope, "Cluster", instance_type="g6.8xlarge", max_nodes=4, availability_zone=ZONE, **more
    )


def job(scope, given, **more):
    launcher = Launcher.torch("train.py")
    return MultiNodeTrainingJob(
        scope, "Train", cluster=given, nodes=2, image=IMAGE, launcher=launcher, **more
    )


def test_an_apps_tags_reach_instances_and_volumes_and_never_the_environment(scope):
    job(scope, cluster(scope))
    before = template_of(scope)
    cdk.Tags.of(scope.node.root).add("cost", "research")
    after = template_of(scope)
    assert after.of("AWS::Batch::ComputeEnvironment") == before.of("AWS::Batch::ComputeEnvironment")
    tag = {"Key": "cost", "Value": "research"}
    template = after.one("AWS::EC2::LaunchTemplate")
    for each in template["LaunchTemplateData"]["TagSpecifications"] + template["TagSpecifications"]:
        assert tag in each["Tags"]
    assert after.one("AWS::Batch::JobDefinition")["Tags"] == {"cost": "research"}


def test_a_user_may_submit_this_definition_to_this_queue_and_nothing_else(scope):
    given = job(scope, cluster(scope))
    user = iam.Role(scope, "User", assumed_by=iam.AccountRootPrincipal())
    given.grant_submit(user)
    template = template_of(scope)
    (policy,) = [
        each["Properties"]["PolicyDocument"]["Statement"]
        for name, each in template.of("AWS::IAM::Policy").items()
        if name.startswith("User")
    ]
    (statement,) = policy
    assert statement["Action"] == "batch:SubmitJob"
    texts = sorted((json.dumps(each) for each in statement["Resource"]), key=len)
    assert [text.count(":job-definition/") for text in texts] == [0, 1, 1]
    assert "JobQueueArn" in texts[0]
    assert texts[2].endswith('":*"]]}')
    assert not texts[1].endswith('":*"]]}')


def test_a_grant_to_the_job_is_one_to_the_training_code(scope):
    given = job(scope, cluster(scope))
    s3.Bucket(scope, "Data").grant_read(given)
    template = template_of(scope)
    assert [name for name in template.of("AWS::IAM::Policy") if name.startswith("TrainJobRole")]


def test_own_roles_log_group_and_repository_are_taken(scope):
    role = iam.Role(scope, "Hosts", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    code = iam.Role(scope, "Code", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    group = logs.LogGroup(scope, "Logs")
    repository = ecr.Repository(scope, "Images")
    given = job(
        scope, cluster(scope, instance_role=role, repository=repository), job_role=code, log_group=group
    )
    template = template_of(scope)
    assert template.one("AWS::IAM::InstanceProfile")["Roles"] == [scope.resolve(role.role_name)]
    assert template.container["JobRoleArn"] == scope.resolve(code.role_arn)
    options = template.container["LogConfiguration"]["Options"]
    assert options["awslogs-group"] == scope.resolve(group.log_group_name)
    assert len(template.of("AWS::ECR::Repository")) == 1
    assert given.cluster.repository is repository


def test_everything_can_go_with_the_stack(scope):
    given = cluster(scope, removal_policy=cdk.RemovalPolicy.DESTROY)
    job(scope, given, removal_policy=cdk.RemovalPolicy.DESTROY, log_retention=logs.RetentionDays.ONE_WEEK)
    template = template_of(scope)
    (repository,) = template.of("AWS::ECR::Repository").values()
    assert repository["DeletionPolicy"] == "Delete"
    assert repository["Properties"]["EmptyOnDelete"] is True
    name = template.container["LogConfiguration"]["Options"]["awslogs-group"]["Ref"]
    assert template["Resources"][name]["DeletionPolicy"] == "Delete"
    assert template["Resources"][name]["Properties"]["RetentionInDays"] == 7


def test_every_l1_is_reachable(scope):
    made = cluster(scope)
    given = job(scope, made)
    kinds = {
        made.launch_template: "AWS::EC2::LaunchTemplate",
        made.compute_environment: "AWS::Batch::ComputeEnvironment",
        made.job_queue: "AWS::Batch::JobQueue",
        made.repository: "AWS::ECR::Repository",
        given: "AWS::Batch::JobDefinition",
    }
    for construct, kind in kinds.items():
        assert construct.node.default_child.cfn_resource_type == kind
    made.compute_environment.compute_environment.add_property_override("ComputeResources.MinvCpus", 32)
    assert template_of(scope).resources["MinvCpus"] == 32


def test_the_definition_has_whatever_was_asked_for(scope):
    job(
        scope,
        cluster(scope, allocation_strategy="BEST_FIT"),
        timeout=cdk.Duration.hours(2),
        environment={"DATA": "s3://bucket"},
        memory="64GiB",
        shared_memory=cdk.Size.gibibytes(8),
        retry_attempts=1,
    )
    template = template_of(scope)
    assert template.resources["AllocationStrategy"] == "BEST_FIT"
    # Batch updates no such environment in place.
    assert template.one("AWS::Batch::ComputeEnvironment")["ReplaceComputeEnvironment"] is True
    definition = template.one("AWS::Batch::JobDefinition")
    assert definition["Timeout"] == {"AttemptDurationSeconds": 7200}
    assert definition["RetryStrategy"]["Attempts"] == 1
    assert {"Name": "DATA", "Value": "s3://bucket"} in template.container["Environment"]
    assert {"Type": "MEMORY", "Value": "65536"} in template.container["ResourceRequirements"]
    assert template.container["LinuxParameters"]["SharedMemorySize"] == 8192


def test_job_and_cluster_may_be_in_two_stacks(tmp_path):
    first = stack(tmp_path)
    second = cdk.Stack(first.node.root, "Jobs")
    job(second, cluster(first))
    assembly = first.node.root.synth(force=True)
    template = json.loads((tmp_path / "Jobs.template.json").read_text())
    assert {each["Description"] for each in template["Outputs"].values()} == {
        "muster:job-definition Train",
        "muster:job-queue Train",
        "muster:log-group Train",
    }
    assert len(assembly.stacks) == 2


def test_outputs_name_the_job_by_its_path_within_the_stack(tmp_path):
    app = cdk.App(outdir=str(tmp_path))
    scope = cdk.Stack(cdk.Stage(app, "Prod"), "Test")
    job(Construct(scope, "Team"), cluster(scope))
    app.synth()
    (path,) = tmp_path.glob("assembly-Prod/*.template.json")
    template = json.loads(path.read_text())
    assert "muster:job-definition Team/Train" in {
        each["Description"] for each in template["Outputs"].values()
    }


def test_two_synths_in_two_folders_give_the_same_template(tmp_path):
    templates = []
    for folder in ("a", "b"):
        scope = stack(tmp_path / folder)
        job(scope, cluster(scope))
        templates.append(template_of(scope))
    assert templates[0] == templates[1]
