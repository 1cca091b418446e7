"""The bucket for code, checkpoints and outputs."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from infra_synth import IMAGE, ZONE, stack, template_of

from muster_cdk import ArtifactBucket, GpuCluster, Launcher, MultiNodeTrainingJob
from muster_core.contract import OUTPUT_ARTIFACT_BUCKET

KIND = "AWS::S3::Bucket"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, **more):
    return GpuCluster(
        scope, "Cluster", instance_type="g6.8xlarge", max_nodes=2, availability_zone=ZONE, **more
    )


def rules(template):
    return {rule["Id"]: rule for rule in template.one(KIND)["LifecycleConfiguration"]["Rules"]}


def test_it_is_private_encrypted_and_stays(scope):
    ArtifactBucket(scope, "Artifacts")
    template = template_of(scope)
    properties = template.one(KIND)
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(properties["PublicAccessBlockConfiguration"]) == 4
    assert properties["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    (encryption,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption == {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    assert not {"BucketName", "VersioningConfiguration", "LoggingConfiguration"} & set(properties)
    (resource,) = template.of(KIND).values()
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_it_speaks_tls_only(scope):
    ArtifactBucket(scope, "Artifacts")
    statements = template_of(scope).one("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    conditions = [each["Condition"] for each in statements if each["Effect"] == "Deny"]
    assert conditions == [
        {"Bool": {"aws:SecureTransport": "false"}},
        {"NumericLessThan": {"s3:TlsVersion": 1.2}},
    ]
    assert {(each["Principal"]["AWS"], each["Action"]) for each in statements} == {("*", "s3:*")}


def test_parts_of_uploads_that_never_ended_are_deleted_and_nothing_else(scope):
    ArtifactBucket(scope, "Artifacts")
    assert rules(template_of(scope)) == {
        "parts": {
            "Id": "parts",
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
            "Status": "Enabled",
        }
    }


def test_every_option_reaches_the_template(scope):
    key = kms.Key.from_key_arn(scope, "Key", "arn:aws:kms:us-east-1:123456789012:key/1")
    log = s3.Bucket.from_bucket_name(scope, "Log", "access")
    ArtifactBucket(
        scope,
        "Artifacts",
        versioned=True,
        expire_after="90d",
        encryption_key=key,
        access_log_bucket=log,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    template = template_of(scope)
    properties = template.one(KIND)
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    found = rules(template)
    assert found["replaced"]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert found["expired"]["ExpirationInDays"] == 90
    (encryption,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption == {
        "BucketKeyEnabled": True,
        "ServerSideEncryptionByDefault": {"KMSMasterKeyID": key.key_arn, "SSEAlgorithm": "aws:kms"},
    }
    assert properties["LoggingConfiguration"] == {
        "DestinationBucketName": "access",
        "LogFilePrefix": "Artifacts/",
    }
    (resource,) = template.of(KIND).values()
    assert resource["DeletionPolicy"] == "Delete"
    assert len(template.of("Custom::S3AutoDeleteObjects")) == 1


def test_its_name_is_an_output(scope):
    made = ArtifactBucket(scope, "Artifacts")
    (output,) = template_of(scope)["Outputs"].values()
    assert output == {
        "Description": f"{OUTPUT_ARTIFACT_BUCKET} Artifacts",
        "Value": scope.resolve(made.bucket_name),
    }


@pytest.mark.parametrize("value", ["12h", "1d1s", "0d"])
def test_objects_expire_in_whole_days(scope, value):
    seconds = {"12h": "43200", "1d1s": "86401", "0d": "0"}[value]
    with pytest.raises(ValueError, match=r"^expire_after must be") as caught:
        ArtifactBucket(scope, "Artifacts", expire_after=value)
    assert str(caught.value) == (
        f"expire_after must be a whole number of days, got {seconds} s; S3 counts in days, such as '90d'; round it"
    )


def test_a_cluster_has_none_by_default(scope):
    assert cluster(scope).artifact_bucket is None
    assert template_of(scope).of(KIND) == {}


def test_a_cluster_makes_one_and_its_jobs_are_granted_it(scope):
    made = cluster(scope, artifact_bucket=True)
    job = MultiNodeTrainingJob(
        scope, "Train", cluster=made, nodes=2, image=IMAGE, launcher=Launcher.torch("train.py")
    )
    made.artifact_bucket.grant_read_write(job)
    template = template_of(scope)
    (name,) = template.of(KIND)
    assert name.startswith("ClusterArtifacts")
    (policy,) = [
        each["Properties"]["PolicyDocument"]["Statement"]
        for each in template.of("AWS::IAM::Policy").values()
        if each["Properties"]["Roles"] == [scope.resolve(job.job_role.role_name)]
    ]
    assert "s3:PutObject" in policy[0]["Action"]


def test_a_cluster_takes_one(scope):
    given = s3.Bucket.from_bucket_name(scope, "Given", "mine")
    assert cluster(scope, artifact_bucket=given).artifact_bucket is given
    assert template_of(scope).of(KIND) == {}


def test_arguments_of_a_wrong_type_are_refused_together(scope):
    with pytest.raises(TypeError, match=r"^versioned must be") as caught:
        ArtifactBucket(scope, "Artifacts", versioned="yes", access_log_bucket="logs")
    assert str(caught.value).splitlines() == [
        "versioned must be True or False, got str 'yes'; change it",
        "access_log_bucket must be an s3.IBucket such as s3.Bucket, got str 'logs'; change it",
    ]
