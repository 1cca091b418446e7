"""Values that no job or cluster can do anything with: each is stopped with its sentence, or warned of."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from infra_synth import IMAGE, ZONE, context, problems_of, stack, warnings_of

from muster_cdk import Capacity, GpuCluster, Launcher, MultiNodeTrainingJob, TrainingMonitoring

CHARACTER = "neither NUL nor half of a surrogate pair can be; remove it"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, **more):
    kind = {"instance_type": "p5.48xlarge", "max_nodes": 4, "availability_zone": ZONE}
    return GpuCluster(scope, "Cluster", **{**kind, **more})


def job(scope, given=None, **more):
    options = {"nodes": 2, "image": IMAGE, "launcher": Launcher.torch("train.py"), **more}
    return MultiNodeTrainingJob(scope, "Train", cluster=given or cluster(scope), **options)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (Launcher("horovod", {}, ("x",)), "launcher is unknown, got 'horovod'; allowed: torch"),
        (
            Launcher("torch", {}, ()),
            (
                "launcher has no program, got (); every node would end at once; give one, such as "
                "Launcher.torch('train.py')"
            ),
        ),
        (
            Launcher.torch("train", module=True, no_python=True),
            "module and no_python exclude each other, got True for both; leave one of them out",
        ),
        (
            Launcher.torch("train\0.py"),
            f"command holds a character that no process can be given, got '\\x00'; {CHARACTER}",
        ),
        (
            Launcher.torch("train.py", "\ud800"),
            f"command holds a character that no process can be given, got '\\ud800'; {CHARACTER}",
        ),
    ],
)
def test_a_launcher_that_starts_nothing(scope, given, sentence):
    job(scope, launcher=given)
    assert problems_of(scope) == [f"[Test/Train] {sentence}"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((5, {}, ("x",)), "name must be a str, got int 5; change it"),
        (("torch", None, ("x",)), "options must be a dict, got NoneType None; change it"),
        (("torch", {}, "train.py"), "program must be a list of str, got str 'train.py'; change it"),
        (("torch", {}, (5,)), "program[0] must be a str, got int 5; change it"),
    ],
)
def test_what_is_no_launcher(given, sentence):
    with pytest.raises(TypeError) as caught:
        Launcher(*given)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (
            {"A B": "x"},
            (
                "environment has a name that no variable can have, got 'A B'; a name is not empty and has no '=', white "
                "space or control character; rename it"
            ),
        ),
        (
            {"A": "x\0"},
            f"environment['A'] holds a character that no process can be given, got '\\x00'; {CHARACTER}",
        ),
        (
            {"A": "\udfff"},
            f"environment['A'] holds a character that no process can be given, got '\\udfff'; {CHARACTER}",
        ),
    ],
)
def test_variables_that_no_process_can_have(scope, variables, sentence):
    job(scope, environment=variables)
    assert problems_of(scope) == [f"[Test/Train] {sentence}"]


def test_a_command_that_is_likely_a_mistake_is_warned_of(scope):
    job(scope, launcher=Launcher.torch("train.py", "Ref::data", nproc_per_node=64))
    assert warnings_of(scope) == [
        (
            "nproc_per_node is more than the node has accelerators, got 64; p5.48xlarge has 8 GPUs, and processes that share "
            "one are slow or fail; lower it, or leave it out to get one for each [ack: muster-cdk:processesPerNode]"
        ),
        (
            "command holds a placeholder of AWS Batch, got 'Ref::data'; the job definition has no parameters, so each "
            "submission must give this one and `muster submit` gives none; write the value, or read it from a variable in "
            "the program [ack: muster-cdk:commandPlaceholder]"
        ),
    ]


@pytest.mark.parametrize(
    "processes", [32, cdk.Token.as_number({"Ref": "Processes"}), None], ids=["cores", "token", "unset"]
)
def test_a_process_for_each_neuron_core_is_no_mistake(scope, processes):
    launcher = Launcher.torch("train.py", nproc_per_node=processes)
    job(scope, cluster(scope, instance_type="trn1.32xlarge"), launcher=launcher)
    assert warnings_of(scope) == []


def test_more_processes_than_neuron_cores(scope):
    launcher = Launcher.torch("train.py", nproc_per_node=129)
    job(scope, cluster(scope, instance_type="trn1.32xlarge"), launcher=launcher)
    (found,) = warnings_of(scope)
    assert found.startswith(
        "nproc_per_node is more than the node has accelerators, got 129; trn1.32xlarge has 128 Neuron cores at most, "
    )


@pytest.mark.parametrize(
    ("options", "strategy"),
    [
        ({"strategy": ec2.PlacementGroupStrategy.SPREAD}, "spread"),
        ({"spread_level": ec2.PlacementGroupSpreadLevel.RACK}, "spread"),
        ({"partitions": 2}, "partition"),
    ],
)
@pytest.mark.parametrize("of_reservation", [False, True])
def test_a_placement_group_that_keeps_hosts_apart(scope, options, strategy, of_reservation):
    group = ec2.PlacementGroup(scope, "Group", **options)
    reserved = Capacity.reservation("cr-0123456789abcdef0", placement_group=group)
    cluster(scope, **({"capacity": reserved} if of_reservation else {"placement_group": group}))
    assert problems_of(scope) == [
        (
            f"[Test/Cluster] placement_group is of another strategy than 'cluster', got {strategy!r}; it keeps hosts apart, "
            "where multi-node jobs need them close together, and may refuse them; give a cluster placement group"
        )
    ]


@pytest.mark.parametrize("options", [{}, {"strategy": ec2.PlacementGroupStrategy.CLUSTER}])
def test_a_placement_group_that_keeps_hosts_close(scope, options):
    cluster(scope, placement_group=ec2.PlacementGroup(scope, "Group", **options))
    assert problems_of(scope) == []


def test_an_imported_vpc_without_any_subnet(scope):
    vpc = ec2.Vpc.from_vpc_attributes(scope, "Vpc", vpc_id="vpc-1", availability_zones=[ZONE])
    with pytest.raises(ValueError, match=r"^vpc has no private subnet, got 0 public and 0 isolated in "):
        GpuCluster(scope, "Cluster", instance_type="p5.48xlarge", max_nodes=4, vpc=vpc)


@pytest.mark.parametrize(
    ("own", "others", "got"),
    [
        ({"region": "us-east-1"}, {"region": "eu-west-1"}, "'us-east-1' and 'eu-west-1'"),
        (
            {"account": "111111111111", "region": "us-east-1"},
            {"account": "222222222222", "region": "us-east-1"},
            "'111111111111' and '222222222222'",
        ),
    ],
)
def test_a_cluster_of_another_account_or_region(tmp_path, own, others, got):
    app = cdk.App(context=context(), outdir=str(tmp_path))
    given = cluster(cdk.Stack(app, "Own", env=cdk.Environment(**own)))
    elsewhere = cdk.Stack(app, "Other", env=cdk.Environment(**others))
    job(elsewhere, given)
    TrainingMonitoring(elsewhere, "Monitoring", cluster=given)
    assert problems_of(elsewhere) == [
        (
            f"[Other/{path}] cluster is in another account or region than the {what}, got {got}; AWS Batch knows a queue in "
            f"its own account and region only; give the {what}'s stack the env of the cluster's"
        )
        for path, what in (("Train", "job"), ("Monitoring", "monitoring"))
    ]


def test_a_cluster_of_another_stack_in_the_same_region(tmp_path):
    app = cdk.App(context=context(), outdir=str(tmp_path))
    env = cdk.Environment(region="us-east-1")
    given = cluster(cdk.Stack(app, "Own", env=env))
    elsewhere = cdk.Stack(app, "Other", env=env)
    job(elsewhere, given)
    assert problems_of(elsewhere) == []


def test_a_boundary_that_is_no_policy(scope):
    of = cluster(scope, permissions_boundary="Boundary")
    job(scope, of, permissions_boundary="Boundary")
    TrainingMonitoring(scope, "Monitoring", cluster=of, permissions_boundary="Boundary")
    assert problems_of(scope) == [
        (
            f"[Test/{each}] permissions_boundary is not the ARN of a managed policy, got 'Boundary'; it ends like "
            "':iam::123456789012:policy/Boundary'; correct it"
        )
        for each in ("Cluster", "Train", "Monitoring")
    ]
