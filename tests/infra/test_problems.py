"""What is certainly wrong stops the synth: all problems at once, each with its construct's path."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from infra_synth import IMAGE, ZONE, problems_of, stack, template_of, warnings_of

from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, **more):
    return GpuCluster(
        scope,
        "Cluster",
        **{"instance_type": "p5.48xlarge", "max_nodes": 4, "availability_zone": ZONE, **more},
    )


def job(scope, given=None, **more):
    options = {"nodes": 2, "image": IMAGE, "launcher": Launcher.torch("train.py"), **more}
    return MultiNodeTrainingJob(scope, "Train", cluster=given or cluster(scope), **options)


def test_all_problems_of_a_cluster_and_its_job_are_in_one_report(scope):
    given = cluster(scope, max_nodes=0, availability_zone="us-east-1")
    job(
        scope,
        given,
        image="docker://digits",
        launcher=Launcher.torch("train.py", "--data", "$DATA", master_port=28800),
        environment={"RANK": "1", "MUSTER_X": "2", "AWS_BATCH_Y": "3", "a=b": "4"},
        timeout="10s",
        retry_attempts=11,
        memory="2TiB",
        shared_memory="3TiB",
    )
    found = problems_of(scope)
    assert [each.split("]")[0] for each in found] == [*["[Test/Cluster"] * 2, *["[Test/Train"] * 12]
    for part in (
        "max_nodes must be a whole number from 1 to 1000, got 0",
        "availability_zone is not the name of a zone, got 'us-east-1'",
        "nodes is more than the cluster can start, got 2",
        "got 'docker://digits'",
        "master_port is the port of muster's rendezvous, got 28800",
        "command holds a variable that nobody expands, got '$DATA'",
        "the launcher torch sets for each process, got 'RANK'",
        "got 'MUSTER_X'",
        "got 'AWS_BATCH_Y'",
        "got 'a=b'",
        "memory must be from 4 to 1992294 MiB on p5.48xlarge, got 2097152 MiB",
        "shared_memory must be at least 1 MiB and at most the job's memory of 2097152 MiB, which holds it, got 3145728",
        "timeout must be at least 60 s, got 10 s",
        "retry_attempts must be a whole number from 1 to 10, got 11",
    ):
        assert sum(part in each for each in found) == 1, part


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"nodes": 0}, "nodes must be a whole number of at least 1, got 0; give at least 1"),
        (
            {"nodes": 5},
            (
                "nodes is more than the cluster can start, got 5; the cluster's max_nodes is 4; lower nodes or raise "
                "max_nodes of the cluster"
            ),
        ),
        ({"timeout": "59s"}, "timeout must be at least 60 s, got 59 s; give a longer timeout"),
        (
            {"environment": {"BLOB": "x" * 24576}},
            "the job definition is too large, got 29",
        ),
    ],
)
def test_one_problem_of_a_job(scope, more, sentence):
    job(scope, **more)
    (found,) = problems_of(scope)
    assert found.startswith(f"[Test/Train] {sentence}")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            {"root_volume_size": "20GiB"},
            (
                "root_volume_size must be a whole number of GiB and at least 30, got 20480 MiB; the machine image alone takes "
                "30 GiB, and training images come on top; give more"
            ),
        ),
        (
            {"root_volume_size": cdk.Size.mebibytes(204801)},
            (
                "root_volume_size must be a whole number of GiB and at least 30, got 204801 MiB; the machine image alone takes "
                "30 GiB, and training images come on top; give more"
            ),
        ),
        (
            {"allocation_strategy": "SPOT_CAPACITY_OPTIMIZED"},
            (
                "allocation_strategy is none for instances on demand, got 'SPOT_CAPACITY_OPTIMIZED'; allowed: BEST_FIT, "
                "BEST_FIT_PROGRESSIVE, BEST_FIT_PROGRESSIVE_ORDERED; multi-node jobs do not run on Spot; change it"
            ),
        ),
    ],
)
def test_one_problem_of_a_cluster(scope, more, sentence):
    cluster(scope, **more)
    assert problems_of(scope) == [f"[Test/Cluster] {sentence}"]


def test_a_subnet_too_small_says_both_numbers(scope):
    cluster(scope, max_nodes=1000, interface_type="efa")
    (found,) = problems_of(scope)
    assert found == (
        "[Test/Cluster] max_nodes needs more addresses than the subnet has, got 1000; each node takes 33, together "
        "33000, and 10.0.128.0/17 has 32763 to give; use a larger subnet or lower max_nodes"
    )


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda scope: cluster(scope, instance_type=["p5.48xlarge"]),
            (
                "instance_type must be a str such as 'p5.48xlarge' or an ec2.InstanceType, got list ['p5.48xlarge']; "
                "change it"
            ),
        ),
        (lambda scope: cluster(scope, max_nodes="4"), "max_nodes must be an int, got str '4'; change it"),
        (
            lambda scope: cluster(scope, root_volume_size=500),
            "root_volume_size must be a Size or a str such as '200GiB', got int 500; change it",
        ),
        (
            lambda scope: cluster(scope, efa_devices="/dev/infiniband/uverbs0"),
            "efa_devices must be a list of str, got str '/dev/infiniband/uverbs0'; change it",
        ),
        (
            lambda scope: cluster(scope, interface_type=None),
            "interface_type must be a str, got NoneType None; change it",
        ),
        (
            lambda scope: job(scope, timeout=86400),
            "timeout must be a Duration or a str such as '24h', got int 86400; change it",
        ),
        (lambda scope: job(scope, nodes="2"), "nodes must be an int, got str '2'; change it"),
        (
            lambda scope: job(scope, environment=["A=1"]),
            "environment must be a dict of str to str, got list ['A=1']; change it",
        ),
        (
            lambda scope: job(scope, image=5),
            "image must be a TrainingImage or the URI of an image, got int 5; use TrainingImage.from_directory",
        ),
        (
            lambda scope: job(scope, launcher="train.py"),
            (
                "launcher must be a Launcher, got str 'train.py'; use a method of Launcher such as "
                "Launcher.torch('train.py')"
            ),
        ),
    ],
)
def test_a_wrong_type_is_our_own_sentence(scope, make, sentence):
    with pytest.raises(TypeError) as caught:
        make(scope)
    assert str(caught.value) == sentence


def test_a_subnet_needs_its_vpc(scope):
    subnet = ec2.Subnet.from_subnet_id(scope, "Subnet", "subnet-1")
    with pytest.raises(ValueError, match=r"^subnet needs its vpc, got a subnet alone; pass vpc too$"):
        cluster(scope, subnet=subnet)


def test_tokens_pass_every_rule(scope):
    parameter = cdk.CfnParameter(scope, "Nodes", type="Number", default=2)
    text = cdk.CfnParameter(scope, "Text", default="x")
    given = cluster(scope)
    job(
        scope,
        given,
        nodes=parameter.value_as_number,
        retry_attempts=parameter.value_as_number,
        image=text.value_as_string,
        timeout=cdk.Duration.seconds(parameter.value_as_number),
        environment={"A": text.value_as_string},
        launcher=Launcher.torch("train.py", text.value_as_string),
    )
    assert problems_of(scope) == []
    template = template_of(scope)
    definition = template.one("AWS::Batch::JobDefinition")
    assert definition["NodeProperties"]["NumNodes"] == {"Ref": "Nodes"}
    assert definition["RetryStrategy"]["Attempts"] == {"Ref": "Nodes"}
    assert definition["Timeout"] == {"AttemptDurationSeconds": {"Ref": "Nodes"}}
    assert template.container["Command"][-1] == {"Ref": "Text"}
    # A timeout that nobody knows leaves the drain at Batch's most.
    assert (
        template.one("AWS::Batch::ComputeEnvironment")["UpdatePolicy"]["JobExecutionTimeoutMinutes"] == 7200
    )


def test_the_drain_follows_the_longest_job(scope):
    given = cluster(scope)
    job(scope, given, timeout="90m")
    MultiNodeTrainingJob(
        scope, "Short", cluster=given, nodes=1, image=IMAGE, launcher=Launcher.torch("t.py"), timeout="61s"
    )
    assert (
        template_of(scope).one("AWS::Batch::ComputeEnvironment")["UpdatePolicy"]["JobExecutionTimeoutMinutes"]
        == 90
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_drain_is_the_longest_beside_a_timeout_that_nobody_knows(scope, order):
    given = cluster(scope)
    seconds = cdk.CfnParameter(scope, "Seconds", type="Number").value_as_number
    timeouts = ("1h", cdk.Duration.seconds(seconds))
    for index in order:
        MultiNodeTrainingJob(
            scope,
            f"Job{index}",
            cluster=given,
            nodes=1,
            image=IMAGE,
            launcher=Launcher.torch("t.py"),
            timeout=timeouts[index],
        )
    assert (
        template_of(scope).one("AWS::Batch::ComputeEnvironment")["UpdatePolicy"]["JobExecutionTimeoutMinutes"]
        == 7200
    )


def test_a_job_longer_than_any_drain_is_a_warning(scope):
    job(scope, timeout="6d")
    (warning,) = warnings_of(scope)
    assert warning == (
        "an update of the environment waits 7200 minutes for running jobs, AWS Batch's most, and a job may take 8640; "
        "deploy changes of the cluster on an empty queue [ack: muster-cdk:drainCapped]"
    )


def test_no_rule_of_a_group_is_dropped(scope):
    job(scope)
    assert warnings_of(scope) == []
