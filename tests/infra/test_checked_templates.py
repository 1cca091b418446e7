"""The templates of every type with EFA, judged by rules that were written a second time."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from batch_checker import Emitted, camel, complaints
from infra_synth import IMAGE, Template, context

from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob
from muster_core import rules
from muster_core.instances import lookup, names
from muster_core.rules import ClusterRequest

CIDR = "10.0.0.0/20"
KINDS = ["efa-only", "efa"]


def runs(name, kind):
    """Whether the type runs so; with one interface the kind of the further ones makes no difference."""
    facts = lookup(name)
    return facts.max_efa > KINDS.index(kind) and not rules.cluster(
        facts, ClusterRequest(3, kind, subnet_cidr=CIDR)
    )


CASES = [(name, kind) for name in names() for kind in KINDS if runs(name, kind)]


def add(app, name, kind):
    scope = cdk.Stack(app, f"{name}-{kind}".replace(".", "-"))
    vpc = ec2.Vpc.from_vpc_attributes(
        scope,
        "Vpc",
        vpc_id="vpc-1",
        availability_zones=["us-east-1a"],
        private_subnet_ids=["subnet-1"],
        private_subnet_ipv4_cidr_blocks=[CIDR],
        private_subnet_route_table_ids=["rtb-1"],
    )
    cluster = GpuCluster(
        scope,
        "Cluster",
        instance_type=name,
        max_nodes=3,
        vpc=vpc,
        default_security_group="sg-1",
        interface_type=kind,
    )
    MultiNodeTrainingJob(
        scope, "Train", cluster=cluster, nodes=2, image=IMAGE, launcher=Launcher.torch("train.py")
    )
    return scope.stack_name


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    """The template of each case, out of one synth."""
    app = cdk.App(context=context(), outdir=str(tmp_path_factory.mktemp("cdk")))
    stacks = {case: add(app, *case) for case in CASES}
    assembly = app.synth()
    paths = {case: assembly.get_stack_by_name(name).template_full_path for case, name in stacks.items()}
    return {case: Template(json.loads(Path(path).read_text())) for case, path in paths.items()}


def emitted(template):
    environment = template.one("AWS::Batch::ComputeEnvironment")
    data = template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    return Emitted(
        interfaces=camel(data["NetworkInterfaces"]),
        compute=camel(environment["ComputeResources"]),
        job=camel(template.one("AWS::Batch::JobDefinition")),
        cidr=CIDR,
    )


def test_there_is_much_to_judge():
    assert len(CASES) > 50
    assert {name.partition(".")[0] for name, _ in CASES} >= {
        "p4d",
        "p5",
        "p6-b200",
        "p6-b300",
        "g6e",
        "trn1",
        "trn2",
    }


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_nothing_is_wrong_by_the_rules_of_ec2_and_batch(templates, case):
    assert complaints(emitted(templates[case])) == []
