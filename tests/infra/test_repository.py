"""The repository for images: what each option writes, and its output."""

import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from infra_synth import ZONE, stack, template_of

from muster_cdk import GpuCluster, TrainingRepository
from muster_core.contract import OUTPUT_REPOSITORY

KIND = "AWS::ECR::Repository"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def lifecycle(template):
    text = template.one(KIND)["LifecyclePolicy"]["LifecyclePolicyText"]
    return {
        rule["selection"]["tagStatus"]: rule["selection"]["countNumber"] for rule in json.loads(text)["rules"]
    }


def test_by_default_it_scans_keeps_tags_expires_and_stays(scope):
    TrainingRepository(scope, "Images")
    template = template_of(scope)
    properties = template.one(KIND)
    assert properties["ImageScanningConfiguration"] == {"ScanOnPush": True}
    assert properties["ImageTagMutability"] == "IMMUTABLE"
    assert lifecycle(template) == {"untagged": 7, "any": 50}
    assert not {"EncryptionConfiguration", "RepositoryName"} & set(properties)
    assert properties["EmptyOnDelete"] is False
    (resource,) = template.of(KIND).values()
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_every_option_reaches_the_template(scope):
    key = kms.Key.from_key_arn(scope, "Key", "arn:aws:kms:us-east-1:123456789012:key/1")
    TrainingRepository(
        scope,
        "Images",
        scan_on_push=False,
        immutable_tags=False,
        images_kept=3,
        untagged_days=1,
        encryption_key=key,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    template = template_of(scope)
    properties = template.one(KIND)
    assert properties["ImageScanningConfiguration"] == {"ScanOnPush": False}
    assert properties["ImageTagMutability"] == "MUTABLE"
    assert lifecycle(template) == {"untagged": 1, "any": 3}
    assert properties["EncryptionConfiguration"] == {"EncryptionType": "KMS", "KmsKey": key.key_arn}
    assert properties["EmptyOnDelete"] is True
    (resource,) = template.of(KIND).values()
    assert resource["DeletionPolicy"] == "Delete"


def test_its_uri_is_an_output_that_names_it(scope):
    made = TrainingRepository(scope, "Images")
    (output,) = template_of(scope)["Outputs"].values()
    assert output["Description"] == f"{OUTPUT_REPOSITORY} Images"
    assert output["Value"] == scope.resolve(made.repository_uri)


@pytest.mark.parametrize("argument", ["images_kept", "untagged_days"])
def test_numbers_are_at_least_one(scope, argument):
    with pytest.raises(ValueError, match=rf"^{argument} must be at least 1, got 0; raise it$"):
        TrainingRepository(scope, "Images", **{argument: 0})
    with pytest.raises(TypeError, match=rf"^{argument} must be an int, got str '7'; change it$"):
        TrainingRepository(scope, "More", **{argument: "7"})


def test_a_cluster_takes_one_and_lets_others_pull_from_it(scope):
    given = ecr.Repository.from_repository_name(scope, "Given", "images")
    reader = iam.User(scope, "Reader")
    made = GpuCluster(
        scope,
        "Cluster",
        instance_type="g6.8xlarge",
        max_nodes=2,
        availability_zone=ZONE,
        repository=given,
    )
    made.grant_pull(reader)
    template = template_of(scope)
    assert template.of(KIND) == {}
    (policy,) = [
        each["Properties"]
        for each in template.of("AWS::IAM::Policy").values()
        if "Users" in each["Properties"]
    ]
    actions = [each["Action"] for each in policy["PolicyDocument"]["Statement"]]
    assert actions == [
        ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
        "ecr:GetAuthorizationToken",
    ]
