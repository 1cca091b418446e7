"""No argument of a wrong type reaches CDK: each is refused by its own name, never in jsii's words."""

import inspect

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from infra_synth import IMAGE, ZONE, context

import muster_cdk
from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob, SubmitterRole

WITH_REQUIRED = (
    *("GpuCluster", "MultiNodeTrainingJob", "TrainingNetwork", "EfaSecurityGroup", "EfaLaunchTemplate"),
    *("GpuComputeEnvironment", "TrainingQueue", "TrainingRepository", "TrainingMonitoring", "SubmitterRole"),
)


def arguments(name):
    signature = inspect.signature(getattr(muster_cdk, name).__init__)
    return [
        each for each, parameter in signature.parameters.items() if parameter.kind is parameter.KEYWORD_ONLY
    ]


CASES = [(name, argument) for name in WITH_REQUIRED for argument in arguments(name)]


@pytest.fixture(scope="module")
def scope(tmp_path_factory):
    return cdk.Stack(cdk.App(context=context(), outdir=str(tmp_path_factory.mktemp("cdk"))), "Test")


@pytest.fixture(scope="module")
def made(scope):
    return GpuCluster(scope, "Made", instance_type="p5.48xlarge", max_nodes=2, availability_zone=ZONE)


@pytest.fixture(scope="module")
def job(scope, made):
    launcher = Launcher.torch("train.py")
    return MultiNodeTrainingJob(scope, "Job", cluster=made, nodes=2, image=IMAGE, launcher=launcher)


@pytest.fixture(scope="module")
def required(scope, made, job):
    """What each construct must be given."""
    kind = {"instance_type": "p5.48xlarge", "max_nodes": 2}
    return {
        "GpuCluster": kind,
        "MultiNodeTrainingJob": {
            "cluster": made,
            "nodes": 2,
            "image": IMAGE,
            "launcher": Launcher.torch("train.py"),
        },
        "EfaSecurityGroup": {"vpc": made.vpc},
        "EfaLaunchTemplate": {"instance": made.instance, "security_group": made.security_group},
        "GpuComputeEnvironment": {**kind, "subnet": made.subnet, "launch_template": made.launch_template},
        "TrainingMonitoring": {"cluster": made},
        "SubmitterRole": {"assumed_by": iam.AccountRootPrincipal(), "jobs": [job]},
        "TrainingQueue": {"compute_environment": made.compute_environment},
    }


@pytest.mark.parametrize("case", CASES, ids=".".join)
def test_an_argument_that_is_nothing_of_use_is_refused_by_its_name(scope, required, case):
    name, argument = case
    given = {**required.get(name, {}), argument: object()}
    with pytest.raises((TypeError, ValueError)) as caught:
        getattr(muster_cdk, name)(scope, f"{name}-{argument}", **given)
    assert str(caught.value).startswith(f"{argument} must be "), str(caught.value)
    assert "got object <object object" in str(caught.value)


@pytest.mark.parametrize("name", ["grant_manage", "grant_pull"])
def test_whom_a_cluster_grants(made, name):
    with pytest.raises(
        TypeError, match=r"^grantee must be an iam\.IGrantable such as iam\.Role, got str 'me'; change it$"
    ):
        getattr(made, name)("me")


@pytest.mark.parametrize("name", ["grant_submit", "grant_read_logs", "grant_pull"])
def test_whom_a_job_grants(job, name):
    with pytest.raises(
        TypeError, match=r"^grantee must be an iam\.IGrantable such as iam\.Role, got int 5; change it$"
    ):
        getattr(job, name)(5)


@pytest.mark.parametrize(
    ("tags", "sentence"),
    [
        ("team", "job_tags must be a dict of str to str, got str 'team'; change it"),
        ({"team": 5}, "job_tags['team'] must be a str, got int 5; change it"),
    ],
)
def test_tags_of_jobs(scope, made, tags, sentence):
    with pytest.raises(TypeError) as caught:
        made.grant_manage(iam.AccountRootPrincipal(), job_tags=tags)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"assumed_by": "arn"},
            "assumed_by must be an iam.IPrincipal such as iam.AccountPrincipal, got str 'arn'; change it",
        ),
        ({"jobs": [5]}, "jobs must be a list of MultiNodeTrainingJob, got list [5]; change it"),
    ],
)
def test_what_makes_no_submitter(scope, required, options, sentence):
    with pytest.raises(TypeError) as caught:
        SubmitterRole(scope, "Submitter", **{**required["SubmitterRole"], **options})
    assert str(caught.value) == sentence
