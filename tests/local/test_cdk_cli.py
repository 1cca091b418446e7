"""The real CDK command line against a real local cloud: what the other tests do in process, once."""

import json
import os
import subprocess

import boto3
import pytest

from muster_cli.local import lifecycle
from muster_cli.local.guard import guarded_environment
from muster_cli.local.settings import ACCOUNT, REGION
from muster_cli.local.state import StateFolder

pytestmark = pytest.mark.slow
BROKEN = {
    "Resources": {
        "Job": {
            "Type": "AWS::Batch::JobDefinition",
            "Properties": {"Type": "multinode", "JobDefinitionName": "broken"},
        }
    }
}


@pytest.fixture
def cloud(tmp_path, monkeypatch, repository):
    """A local cloud, and this process turned to it."""
    state = StateFolder(tmp_path / "local")
    running = lifecycle.up(state)
    environment = guarded_environment(running.endpoint, state)
    for name in [name for name in os.environ if name not in environment]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def cdk(*arguments):
        command = [
            str(repository / "node_modules" / ".bin" / "cdk"),
            *arguments,
            "--no-notices",
            "--no-color",
        ]
        return subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=300)

    yield cdk
    lifecycle.down(state)


def well(done):
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def revisions():
    found = boto3.client("batch").describe_job_definitions()["jobDefinitions"]
    return sorted((each["revision"], each["status"]) for each in found)


def test_bootstrap_deploy_change_and_destroy(cloud, tmp_path):
    """The app is synthesized twice, as it is and with other context; else the assemblies are deployed."""
    two, three = str(tmp_path / "two"), str(tmp_path / "three")
    deploy = ("deploy", "Muster", "--require-approval", "never")
    well(cloud("bootstrap", f"aws://{ACCOUNT}/{REGION}"))
    well(cloud(*deploy, "--output", two))
    template = json.loads((tmp_path / "two" / "Muster.template.json").read_text())
    cloudformation = boto3.client("cloudformation")
    made = cloudformation.describe_stack_resources(StackName="Muster")["StackResources"]
    assert {each["LogicalResourceId"] for each in made} == set(template["Resources"])
    outputs = cloudformation.describe_stacks(StackName="Muster")["Stacks"][0]["Outputs"]
    assert len(outputs) == len(template["Outputs"])

    assert "(no changes)" in well(cloud(*deploy, "--app", two)).stdout
    assert revisions() == [(1, "ACTIVE")]
    well(cloud(*deploy, "--output", three, "-c", "muster:nodes=3"))
    assert revisions() == [(1, "INACTIVE"), (2, "ACTIVE")]
    well(cloud(*deploy, "--app", two, "--method", "direct"))
    assert revisions() == [(1, "INACTIVE"), (2, "INACTIVE"), (3, "ACTIVE")]

    well(cloud("destroy", "Muster", "--force", "--app", two))
    left = [stack["StackName"] for stack in cloudformation.describe_stacks()["Stacks"]]
    assert left == ["CDKToolkit"]
    assert boto3.client("batch").describe_job_queues()["jobQueues"] == []


def test_a_refused_resource_fails_the_deployment_with_its_reason(cloud, tmp_path):
    """Where stock moto lets the CDK print a green tick."""
    app = tmp_path / "app"
    app.mkdir()
    (app / "Broken.template.json").write_text(json.dumps(BROKEN))
    environment = {"type": "aws:cloudformation:stack", "environment": f"aws://{ACCOUNT}/{REGION}"}
    artifact = {**environment, "properties": {"templateFile": "Broken.template.json"}}
    (app / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": {"Broken": artifact}}))
    for method in ("change-set", "direct"):
        done = cloud("deploy", "Broken", "--app", str(app), "--require-approval", "never", "--method", method)
        assert done.returncode == 1
        assert "nodeProperties must be specified for multinode job definitions." in done.stderr
        stack = boto3.client("cloudformation").describe_stacks(StackName="Broken")["Stacks"][0]
        assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
