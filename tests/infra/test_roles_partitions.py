"""The same stack in each partition: no name that is right in one and wrong in another."""

import re

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from infra_synth import REPOSITORY, context, template_of

from muster_cdk import (
    GpuCluster,
    Launcher,
    MultiNodeTrainingJob,
    SubmitterRole,
    TrainingImage,
    TrainingNetwork,
)

REGIONS = {
    None: None,
    "us-east-1": "aws",
    "eu-west-1": "aws",
    "cn-north-1": "aws-cn",
    "cn-northwest-1": "aws-cn",
    "us-gov-west-1": "aws-us-gov",
    "us-gov-east-1": "aws-us-gov",
}
"""Region of the stack, None for one that goes into any -> the partition that its ARNs may name."""
PRINCIPALS = {"ec2", "ecs-tasks", "lambda", "vpc-flow-logs"}
"""Service principals: IAM knows them by these names in every partition."""
DIGITS = REPOSITORY / "examples" / "digits"


def synthesize(tmp_path, region):
    app = cdk.App(context=context(), outdir=str(tmp_path))
    environment = cdk.Environment(account="123456789012", region=region) if region else None
    scope = cdk.Stack(app, "Test", env=environment)
    network = TrainingNetwork(
        scope,
        "Network",
        availability_zone=f"{region or 'us-east-1'}a",
        isolated=True,
        ecs_exec=True,
        endpoints=["sts"],
    )
    cluster = GpuCluster(
        scope,
        "Cluster",
        instance_type="g6.8xlarge",
        max_nodes=2,
        vpc=network.vpc,
        inline_instance_policy=True,
        artifact_bucket=True,
    )
    job = MultiNodeTrainingJob(
        scope,
        "Train",
        cluster=cluster,
        nodes=2,
        image=TrainingImage.from_directory(DIGITS),
        launcher=Launcher.torch("train.py"),
    )
    cluster.artifact_bucket.grant_read_write(job)
    GpuCluster(  # a role with AWS's managed policy, and a network with NAT
        scope,
        "Other",
        instance_type="p5.48xlarge",
        max_nodes=2,
        availability_zone=f"{region or 'us-east-1'}a",
    )
    SubmitterRole(scope, "Submitter", assumed_by=iam.AccountRootPrincipal(), jobs=[job])
    return template_of(app)


def texts(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(("region", "partition"), REGIONS.items())
def test_no_literal_of_another_partition(tmp_path, region, partition):
    found = list(texts(synthesize(tmp_path, region)))
    literals = {match for text in found for match in re.findall(r"arn:(aws[\w-]*):", text)}
    assert literals <= {partition}
    hosts = {text for text in found if "amazonaws.com" in text}
    assert hosts == {f"{name}.amazonaws.com" for name in PRINCIPALS}


@pytest.mark.parametrize(
    ("region", "prefix"),
    [("us-east-1", "com.amazonaws"), ("cn-north-1", "cn.com.amazonaws"), ("us-gov-west-1", "com.amazonaws")],
)
def test_endpoints_have_their_regions_names(tmp_path, region, prefix):
    names = {
        each["Properties"]["ServiceName"]
        for each in synthesize(tmp_path, region).of("AWS::EC2::VPCEndpoint").values()
        if isinstance(each["Properties"]["ServiceName"], str)
    }
    assert f"{prefix}.{region}.ecr.api" in names
    assert f"com.amazonaws.{region}.ecs-agent" in names
