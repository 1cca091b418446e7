"""Cost-allocation tags: on what costs, and never on the environment, which they would replace."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from infra_synth import IMAGE, ZONE, context, template_of

from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob

ENVIRONMENT = "AWS::Batch::ComputeEnvironment"


def tagged(folder, **tags):
    app = cdk.App(context=context(), outdir=str(folder))
    scope = cdk.Stack(app, "Test")
    for key, value in tags.items():
        cdk.Tags.of(app).add(key, value)
    cluster = GpuCluster(
        scope,
        "Cluster",
        instance_type="g6.8xlarge",
        max_nodes=2,
        availability_zone=ZONE,
        artifact_bucket=True,
    )
    MultiNodeTrainingJob(
        scope, "Train", cluster=cluster, nodes=2, image=IMAGE, launcher=Launcher.torch("train.py")
    )
    return template_of(app)


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    return [
        tagged(tmp_path_factory.mktemp("cdk"), **tags)
        for tags in ({}, {"team": "vision"}, {"team": "speech", "stage": "test"})
    ]


def tags_of(properties):
    tags = properties.get("Tags", [])
    return tags if isinstance(tags, dict) else {each["Key"]: each["Value"] for each in tags}


def test_a_changed_tag_leaves_the_environment_as_it_is(templates):
    first, *others = (each.of(ENVIRONMENT) for each in templates)
    assert others == [first, first]
    (environment,) = first.values()
    assert "Tags" not in environment["Properties"]
    assert "Tags" not in environment["Properties"]["ComputeResources"]


def test_a_changed_tag_leaves_every_logical_id_as_it_is(templates):
    assert {tuple(each["Resources"]) for each in templates} == {tuple(templates[0]["Resources"])}


@pytest.mark.parametrize(
    "kind",
    [
        "AWS::EC2::VPC",
        "AWS::EC2::NatGateway",
        "AWS::ECR::Repository",
        "AWS::S3::Bucket",
        "AWS::Logs::LogGroup",
    ],
)
def test_what_costs_has_the_apps_tags(templates, kind):
    for each in templates[2].of(kind).values():
        assert {"team": "speech", "stage": "test"}.items() <= tags_of(each["Properties"]).items()


def test_hosts_and_their_volumes_have_them_by_the_launch_template(templates):
    data = templates[2].one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    for each in data["TagSpecifications"]:
        tags = {tag["Key"]: tag["Value"] for tag in each["Tags"]}
        assert {"team": "speech", "stage": "test", "muster:cluster": "Test/Cluster"}.items() <= tags.items()
    assert {each["ResourceType"] for each in data["TagSpecifications"]} == {"instance", "volume"}


def test_a_tag_of_an_own_part_alone_stays_there(tmp_path):
    app = cdk.App(context=context(), outdir=str(tmp_path))
    scope = cdk.Stack(app, "Test")
    vpc = ec2.Vpc(scope, "Vpc", availability_zones=[ZONE], nat_gateways=1)
    cdk.Tags.of(vpc).add("team", "network")
    GpuCluster(scope, "Cluster", instance_type="g6.8xlarge", max_nodes=2, vpc=vpc)
    data = template_of(app).one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    assert {tag["Key"] for each in data["TagSpecifications"] for tag in each["Tags"]} == {
        "Name",
        "muster:cluster",
    }
