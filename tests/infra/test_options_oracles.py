"""What others say of the options that the reference app leaves out: cfn-lint, CDK's own validator."""

import json
import os
import subprocess
import sys

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from infra_synth import IMAGE, REPOSITORY, ZONE, context, template_of

from muster_cdk import (
    ArtifactBucket,
    FairShare,
    GpuCluster,
    Launcher,
    MultiNodeTrainingJob,
    SubmitterRole,
    TrainingNetwork,
    TrainingRepository,
)

MEANT = {"W3010"}  # a zone is named as the app's user wants it


def everything(app):
    scope = cdk.Stack(app, "Test")
    key = kms.Key(scope, "Key", enable_key_rotation=True)
    network = TrainingNetwork(
        scope, "Network", availability_zone=ZONE, isolated=True, ecs_exec=True, endpoints=["sts", "dynamodb"]
    )
    bucket = ArtifactBucket(scope, "Artifacts", versioned=True, expire_after="90d", encryption_key=key)
    cluster = GpuCluster(
        scope,
        "Cluster",
        instance_type="p5.48xlarge",
        max_nodes=4,
        vpc=network.vpc,
        inline_instance_policy=True,
        permissions_boundary="arn:aws:iam::123456789012:policy/boundary",
        repository=TrainingRepository(scope, "Images", encryption_key=key, immutable_tags=False),
        artifact_bucket=bucket,
        min_nodes=1,
        acknowledge_idle_cost=True,
        scale_down_delay="1h",
        image_parameter="/images/training:3",
        container_insights="enhanced",
        capacity_limit="1h",
        unsupported_limit="1h",
        fair_share=FairShare(weights={"teamA": 0.5}, decay="1h", reservation=10),
    )
    job = MultiNodeTrainingJob(
        scope, "Train", cluster=cluster, nodes=4, image=IMAGE, launcher=Launcher.torch("train.py")
    )
    bucket.grant_read_write(job)
    SubmitterRole(scope, "Submitter", assumed_by=iam.AccountRootPrincipal(), jobs=[job], job_tags={"a": "b"})
    return scope


@pytest.mark.parametrize("region", ["us-east-1", "us-gov-west-1", "cn-north-1"])
def test_cfn_lint_has_nothing_to_say(tmp_path, region):
    template = template_of(everything(cdk.App(context=context(), outdir=str(tmp_path))))
    found = lint(json.dumps(template), config=ManualArgs(regions=[region]))
    assert [
        str(match) for match in found if match.rule.id not in MEANT and "RestrictDefault" not in str(match)
    ] == []


def test_cdks_own_validator_has_nothing_to_say(tmp_path):
    program = (
        "import sys, aws_cdk as cdk; sys.path[:0] = ['tests', 'tests/infra']; import test_options_oracles as t; "
        "app = cdk.App(); t.everything(app); app.synth()"
    )
    environment = {
        **{name: value for name, value in os.environ.items() if name != "CDK_VALIDATION"},
        "CDK_OUTDIR": str(tmp_path),
        "CDK_CONTEXT_JSON": json.dumps(context()),
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    reports = json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"]
    (ours,) = [report for report in reports if report["pluginName"] == "CloudFormation Validate"]
    assert (ours["conclusion"], ours["violations"]) == ("success", [])
