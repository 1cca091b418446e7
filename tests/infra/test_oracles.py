"""What others say of the reference template: botocore, cfn-lint, CDK's own validator."""

import json
import os
import subprocess
import sys

import botocore.session
import pytest
from botocore.validate import ParamValidator
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from infra_synth import REPOSITORY, ZONE, context

TYPES = ["g6.8xlarge", "p5.48xlarge", "p6-b300.48xlarge", "trn1.32xlarge"]

# Maps of strings, whose keys are data and not names of fields.
MAPS = {"Options", "Tags", "Parameters"}


def plain(value):
    """A value of the template with each intrinsic function as a text."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::")):
            return "value-at-deployment"
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def camel(value):
    """The same with the API's spelling of the keys."""
    if isinstance(value, dict):
        return {key[0].lower() + key[1:]: each if key in MAPS else camel(each) for key, each in value.items()}
    return [camel(each) for each in value] if isinstance(value, list) else value


def complaints(service, operation, request):
    shape = botocore.session.get_session().get_service_model(service).operation_model(operation).input_shape
    report = ParamValidator().validate(request, shape).generate_report()
    return [report] * bool(report) + list(enums(request, shape, operation))


def enums(value, shape, path):
    """Values that are not in an enumeration of the service model, which botocore itself does not check."""
    if shape.type_name == "structure":
        for name, each in value.items():
            if name in shape.members:
                yield from enums(each, shape.members[name], f"{path}.{name}")
    elif shape.type_name == "list":
        for each in value:
            yield from enums(each, shape.member, path)
    elif getattr(shape, "enum", None) and value not in shape.enum and value != "value-at-deployment":
        yield f"{path}: {value!r} is none of {shape.enum}"


@pytest.mark.parametrize("name", TYPES)
def test_botocore_takes_the_job_definition(reference, name):
    properties = camel(plain(reference(name).one("AWS::Batch::JobDefinition")))
    assert complaints("batch", "RegisterJobDefinition", {"jobDefinitionName": "x", **properties}) == []


@pytest.mark.parametrize("name", TYPES)
def test_botocore_takes_the_compute_environment(reference, name):
    properties = camel(plain(reference(name).one("AWS::Batch::ComputeEnvironment")))
    policy = properties.pop("updatePolicy")
    del properties["replaceComputeEnvironment"]  # CloudFormation's own
    assert (
        complaints("batch", "CreateComputeEnvironment", {"computeEnvironmentName": "x", **properties}) == []
    )
    assert (
        complaints("batch", "UpdateComputeEnvironment", {"computeEnvironment": "x", "updatePolicy": policy})
        == []
    )


def test_botocore_takes_the_queue(reference):
    properties = camel(plain(reference("g6.8xlarge").one("AWS::Batch::JobQueue")))
    assert complaints("batch", "CreateJobQueue", {"jobQueueName": "x", **properties}) == []


@pytest.mark.parametrize("name", TYPES)
def test_botocore_takes_the_launch_template(reference, name):
    properties = plain(reference(name).one("AWS::EC2::LaunchTemplate"))
    assert complaints("ec2", "CreateLaunchTemplate", {"LaunchTemplateName": "xyz", **properties}) == []


def test_the_enum_walk_finds_a_wrong_value():
    request = {"computeEnvironmentName": "x", "type": "MANAGED", "computeResources": {"type": "EC3"}}
    assert any(
        "'EC3' is none of" in each for each in complaints("batch", "CreateComputeEnvironment", request)
    )


@pytest.mark.parametrize("name", TYPES)
def test_cfn_lint_has_nothing_to_say(reference, name):
    found = lint(json.dumps(reference(name)), config=ManualArgs(regions=["us-east-1"]))
    assert [str(match) for match in found if not meant(match)] == []


def meant(match):
    """A zone is named as the app's user wants it; the superfluous dependency is in CDK's own function."""
    return match.rule.id == "W3010" or (
        match.rule.id == "W3005" and "VpcRestrictDefaultSG" in str(match.path)
    )


def test_cdks_own_validator_has_nothing_to_say(tmp_path):
    environment = {
        **{name: value for name, value in os.environ.items() if name != "CDK_VALIDATION"},
        "CDK_OUTDIR": str(tmp_path),
        "CDK_CONTEXT_JSON": json.dumps(context(**{"muster:zone": ZONE})),
    }
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "app.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    reports = json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"]
    (ours,) = [report for report in reports if report["pluginName"] == "CloudFormation Validate"]
    assert (ours["conclusion"], ours["violations"]) == ("success", [])
