"""No argument of a wrong type reaches CDK: each is refused by its own name, never in jsii's words."""

import inspect

import aws_cdk as cdk
import pytest
from infra_synth import IMAGE, ZONE, context

import muster_cdk
from muster_cdk import GpuCluster, Launcher

WITH_REQUIRED = (
    *("GpuCluster", "MultiNodeTrainingJob", "TrainingNetwork", "EfaSecurityGroup", "EfaLaunchTemplate"),
    *("GpuComputeEnvironment", "TrainingQueue", "TrainingRepository"),
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
def required(scope):
    """What each construct must be given."""
    made = GpuCluster(scope, "Made", instance_type="p5.48xlarge", max_nodes=2, availability_zone=ZONE)
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
