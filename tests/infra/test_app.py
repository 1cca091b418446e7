"""The reference app: its context, its flags, its requirements."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import aws_cdk
import pytest
from infra_synth import REPOSITORY, app_module, context, reference_template

from muster_core.contract import OPEN_NODE_RANGE


@pytest.fixture(scope="module")
def settings():
    return json.loads((REPOSITORY / "cdk.json").read_text())


def test_context_decides_type_sizes_and_zone(tmp_path):
    template = reference_template(
        tmp_path,
        {
            "muster:instance_type": "p5.48xlarge",
            "muster:nodes": "3",
            "muster:max_nodes": "8",
            "muster:zone": "eu-west-1c",
        },
    )
    assert template.resources["InstanceTypes"] == ["p5.48xlarge"]
    assert template.resources["MaxvCpus"] == 8 * 192
    nodes = template.one("AWS::Batch::JobDefinition")["NodeProperties"]
    assert (nodes["NumNodes"], nodes["NodeRangeProperties"][0]["TargetNodes"]) == (3, OPEN_NODE_RANGE)
    assert {each["Properties"]["AvailabilityZone"] for each in template.of("AWS::EC2::Subnet").values()} == {
        "eu-west-1c"
    }


def test_the_defaults_are_affordable(tmp_path):
    template = reference_template(tmp_path, {})
    assert template.resources["InstanceTypes"] == ["g6.8xlarge"]
    assert template.resources["MaxvCpus"] == 4 * 32
    assert template.one("AWS::Batch::JobDefinition")["NodeProperties"]["NumNodes"] == 2


def test_a_number_in_the_context_that_is_none(tmp_path):
    with pytest.raises(SystemExit) as caught:
        reference_template(tmp_path, {"muster:nodes": "two"})
    assert (
        str(caught.value) == "muster:nodes must be a whole number, got 'two'; give one by -c muster:nodes=2"
    )


def test_the_app_runs_as_cdk_json_says(settings, tmp_path):
    program, *arguments = settings["app"].split()
    assert program == "python3"
    environment = {
        **os.environ,
        "CDK_OUTDIR": str(tmp_path),
        "CDK_CONTEXT_JSON": json.dumps(context()),
    }
    subprocess.run(
        [sys.executable, *arguments], cwd=REPOSITORY, env=environment, check=True, capture_output=True
    )
    assert (tmp_path / "Muster.template.json").exists()


def test_cdk_json_carries_the_recommended_flags_of_the_installed_cdk(settings):
    archive = next(Path(aws_cdk.__file__).parent.glob("_jsii/*.tgz"))
    with tarfile.open(archive) as package:
        recommended = json.load(package.extractfile("package/recommended-feature-flags.json"))
    partitions = "@aws-cdk/core:target-partitions"
    assert set(recommended.pop(partitions)) < set(settings["context"][partitions])
    assert settings["context"].items() >= recommended.items()
    assert set(settings["context"]) == {*recommended, partitions}


def test_requirements_are_the_checkouts_distributions():
    lines = (REPOSITORY / "requirements.txt").read_text().splitlines()
    folders = [line for line in lines if line and not line.startswith("#")]
    assert folders == ["./core", "./runtime", "./infra"]
    assert all((REPOSITORY / folder / "pyproject.toml").exists() for folder in folders)


def test_the_module_can_be_imported_without_a_synth():
    assert app_module().DIGITS == REPOSITORY / "examples" / "digits"
