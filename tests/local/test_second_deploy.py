"""The second deploy: synthesized templates, deployed one after the other to the local cloud in this process."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar

import aws_cdk as cdk
import pytest
from infra_synth import IMAGE, ZONE, Template, reference_template, stack, template_of
from local_deploy import (
    client,
    delete,
    deploy,
    deploy_well,
    describe,
    local_account,
    reasons,
    resources,
    upload_assets,
)
from moto.batch.models import batch_backends

from muster_cdk import Capacity, FairShare, GpuCluster, Launcher, MultiNodeTrainingJob, TrainingQueue
from muster_cli.local import fills
from muster_cli.local.executor import Executor, ExecutorSettings
from muster_cli.local.fills.batch_queues import DELETED_TEXT
from muster_cli.local.fills.batch_scheduling import ADDED, REMOVED
from muster_cli.local.settings import ACCOUNT, REGION
from muster_cli.local.state import StateFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DEADLINE = 30.0


@pytest.fixture(autouse=True)
def _account() -> Iterator[None]:
    with local_account():
        yield


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Template]:
    """Synthesizes a cluster and its job; each call is another state of the same app."""

    def synthesize(
        id: str = "Cluster",
        queue: dict[str, Any] | None = None,
        tags: dict[str, str] | None = None,
        **options: Any,
    ) -> Template:
        given = {"instance_type": "g6.8xlarge", "max_nodes": 4, "availability_zone": ZONE, **options}
        scope = stack(tmp_path / f"out-{time.monotonic_ns()}")
        for key, value in (tags or {}).items():
            cdk.Tags.of(scope).add(key, value)
        cluster = GpuCluster(scope, id, **given)
        if queue is not None:
            TrainingQueue(scope, "Second", compute_environment=cluster.compute_environment, **queue)
        launcher = Launcher.torch("train.py")
        MultiNodeTrainingJob(scope, "Train", cluster=cluster, nodes=2, image=IMAGE, launcher=launcher)
        return template_of(scope)

    return synthesize


def physical(kind: str) -> str:
    """The physical id of the only resource of a type."""
    (found,) = [identity for each, identity in resources().values() if each == kind]
    return found


def identities(*kinds: str) -> list[str]:
    return [physical(kind) for kind in kinds]


LASTING = ("AWS::Batch::ComputeEnvironment", "AWS::Batch::JobQueue", "AWS::EC2::LaunchTemplate")


def environment() -> dict[str, Any]:
    (found,) = client("batch").describe_compute_environments()["computeEnvironments"]
    return found


def compute() -> dict[str, Any]:
    return environment()["computeResources"]


def queues() -> list[dict[str, Any]]:
    return client("batch").describe_job_queues()["jobQueues"]


def launch_template_data() -> dict[str, Any]:
    """The version of the launch template that the environment starts its hosts from."""
    used = compute()["launchTemplate"]
    (version,) = client("ec2").describe_launch_template_versions(
        LaunchTemplateId=used["launchTemplateId"], Versions=[used["version"]]
    )["LaunchTemplateVersions"]
    return version["LaunchTemplateData"]


def test_a_larger_volume_reaches_the_environment_in_place(made):
    deploy_well(made())
    before = identities(*LASTING)
    assert compute()["launchTemplate"]["version"] == "1"
    deploy_well(made(root_volume_size="300GiB"))
    assert identities(*LASTING) == before
    assert compute()["launchTemplate"]["version"] == "2"
    (volume,) = launch_template_data()["BlockDeviceMappings"]
    assert volume["Ebs"]["VolumeSize"] == 300


def test_max_nodes_goes_up_and_down_without_touching_the_hosts(made):
    deploy_well(made(max_nodes=4))
    before = identities(*LASTING)
    for nodes in (8, 2):
        deploy_well(made(max_nodes=nodes))
        assert compute()["maxvCpus"] == nodes * 32
    assert identities(*LASTING) == before
    assert compute()["launchTemplate"]["version"] == "1"
    assert "DesiredvCpus" not in made().resources


def test_another_type_comes_in_place_with_its_network_cards(made):
    deploy_well(made())
    before = identities(*LASTING)
    definition = physical("AWS::Batch::JobDefinition")
    deploy_well(made(instance_type="p4d.24xlarge"))
    assert identities(*LASTING) == before
    assert (compute()["instanceTypes"], compute()["maxvCpus"]) == (["p4d.24xlarge"], 4 * 96)
    assert len(launch_template_data()["NetworkInterfaces"]) == 4
    after = physical("AWS::Batch::JobDefinition")
    assert (definition.rpartition(":")[2], after.rpartition(":")[2]) == ("1", "2")


def test_options_of_environment_and_queue_come_in_place_and_go(made):
    deploy_well(made())
    before = identities(*LASTING)
    deploy_well(made(scale_down_delay="1h", container_insights="enabled", priority=9, capacity_limit="2h"))
    assert compute()["scalingPolicy"] == {"minScaleDownDelayMinutes": 60}
    assert queues()[0]["priority"] == 9
    deploy_well(made())
    assert "scalingPolicy" not in compute()
    assert identities(*LASTING) == before


def test_a_tag_of_the_app_reaches_hosts_and_queue_and_replaces_neither(made):
    deploy_well(made(tags={"team": "a"}))
    before = identities(*LASTING)
    deploy_well(made(tags={"group": "b"}))
    assert identities(*LASTING) == before
    assert queues()[0]["tags"] == {"group": "b"}
    (instance, _volume) = launch_template_data()["TagSpecifications"]
    assert {"Key": "group", "Value": "b"} in instance["Tags"]


def test_best_fit_is_replaced_for_other_hosts_and_the_queue_follows(made):
    deploy_well(made(allocation_strategy="BEST_FIT"))
    first, queue = identities("AWS::Batch::ComputeEnvironment", "AWS::Batch::JobQueue")
    deploy_well(made(allocation_strategy="BEST_FIT", root_volume_size="300GiB"))
    second = physical("AWS::Batch::ComputeEnvironment")
    assert second != first
    (found,) = queues()
    assert found["jobQueueArn"] == queue
    assert [each["computeEnvironment"] for each in found["computeEnvironmentOrder"]] == [second]
    assert environment()["computeEnvironmentArn"] == second


BLOCK = "cr-0123456789abcdef0"


@pytest.mark.parametrize(
    ("capacity", "market"),
    [
        (Capacity.block(BLOCK, zone=ZONE, size=4), {"MarketType": "capacity-block"}),
        (Capacity.reservation(BLOCK), None),
    ],
)
def test_another_kind_of_capacity_is_a_new_environment_behind_the_same_queue(made, capacity, market):
    options = {"instance_type": "p5.48xlarge"}
    deploy_well(made(**options))
    first, queue, template = identities(*LASTING)
    assert compute()["placementGroup"] == physical("AWS::EC2::PlacementGroup")
    deploy_well(made(**options, capacity=capacity))
    second, *same = identities(*LASTING)
    assert second != first
    assert same == [queue, template]
    assert environment()["computeEnvironmentArn"] == second
    assert [each["computeEnvironment"] for each in queues()[0]["computeEnvironmentOrder"]] == [second]
    assert "placementGroup" not in compute()
    data = launch_template_data()
    assert data.get("InstanceMarketOptions") == market
    assert data["CapacityReservationSpecification"]["CapacityReservationTarget"] == {
        "CapacityReservationId": BLOCK
    }
    deploy_well(made(**options))
    assert "CapacityReservationSpecification" not in launch_template_data()
    assert identities(*LASTING)[1:] == [queue, template]


def test_the_next_block_is_a_new_environment_too(made):
    options = {"instance_type": "p5.48xlarge"}
    deploy_well(made(**options, capacity=Capacity.block(BLOCK, zone=ZONE, size=4)))
    first = identities(*LASTING)
    deploy_well(made(**options, capacity=Capacity.block(BLOCK, zone=ZONE, size=4), max_nodes=3))
    assert identities(*LASTING) == first
    deploy_well(made(**options, capacity=Capacity.block(BLOCK.replace("0", "1"), zone=ZONE, size=4)))
    assert identities(*LASTING)[0] != first[0]
    assert identities(*LASTING)[1:] == first[1:]


def test_a_fair_share_cannot_come_later_and_the_deploy_says_so(made):
    deploy_well(made())
    before = identities(*LASTING)
    assert deploy(made(fair_share=FairShare()))["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert [reason.partition(": ")[2] for reason in reasons()] == [ADDED]
    assert identities(*LASTING) == before
    assert physical("AWS::Batch::JobDefinition").endswith(":3")  # changed, and changed back
    assert not queues()[0].get("schedulingPolicyArn")


def test_a_second_queue_with_a_fair_share_is_the_way(made):
    deploy_well(made())
    before = identities(*LASTING)
    deploy_well(made(queue={"fair_share": FairShare(weights={"teamA": 0.5}), "priority": 2}))
    assert len(queues()) == 2
    (policy,) = [queue["schedulingPolicyArn"] for queue in queues() if queue["priority"] == 2]
    assert policy == physical("AWS::Batch::SchedulingPolicy")
    assert {
        each["computeEnvironment"] for queue in queues() for each in queue["computeEnvironmentOrder"]
    } == {before[0]}


def test_a_fair_share_changes_in_place_and_cannot_go(made):
    deploy_well(made(fair_share=FairShare(weights={"teamA": 0.5})))
    before = identities(*LASTING, "AWS::Batch::SchedulingPolicy")
    deploy_well(made(fair_share=FairShare(weights={"teamA": 0.25}, decay="1h", reservation=10)))
    assert identities(*LASTING, "AWS::Batch::SchedulingPolicy") == before
    (policy,) = client("batch").describe_scheduling_policies(arns=[before[-1]])["schedulingPolicies"]
    assert policy["fairsharePolicy"] == {
        "shareDecaySeconds": 3600,
        "computeReservation": 10,
        "shareDistribution": [{"shareIdentifier": "teamA", "weightFactor": 0.25}],
    }
    assert deploy(made())["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert [reason.partition(": ")[2] for reason in reasons()] == [REMOVED]
    assert identities(*LASTING, "AWS::Batch::SchedulingPolicy") == before


def test_a_renamed_construct_is_a_new_cluster_and_the_old_one_goes(made):
    deploy_well(made())
    before = identities(*LASTING)
    deploy_well(made("Renamed"))
    after = identities(*LASTING)
    assert not set(before) & set(after)
    assert environment()["computeEnvironmentArn"] == after[0]
    (queue,) = queues()
    assert queue["jobQueueArn"] == after[1]
    assert len(client("ec2").describe_launch_templates()["LaunchTemplates"]) == 1


class _Sleeper:
    """An image whose training sleeps, whatever the command."""

    user = None
    stop_signal = None
    notes = ()
    environment: ClassVar[dict[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def materialise(self, root: Path) -> _Sleeper:
        root.mkdir(parents=True)
        return _Sleeper(root)

    @property
    def cwd(self) -> Path:
        return self.folder

    def argv(self, command: list[str]) -> list[str]:
        return [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[Executor]:
    state = StateFolder(tmp_path / "state")
    state.create()
    settings = ExecutorSettings(mode="loopback", stop_timeout=5.0, seed=1)
    running = Executor(state, 40_000, lambda _uri: _Sleeper(tmp_path), settings)
    fills.install(lambda: running)
    yield running
    running.shutdown()
    assert not running.running()


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"not within {DEADLINE} s: {what}"
        time.sleep(0.01)


def test_destroying_ends_the_job_that_runs_and_leaves_nothing(made, executor):
    deploy_well(made())
    job = client("batch").submit_job(
        jobName="job",
        jobQueue=physical("AWS::Batch::JobQueue"),
        jobDefinition=physical("AWS::Batch::JobDefinition"),
    )["jobId"]

    def detail() -> dict[str, Any]:
        return client("batch").describe_jobs(jobs=[job])["jobs"][0]

    until(lambda: detail()["status"] == "RUNNING", "the job runs")
    delete()
    until(lambda: detail()["status"] == "FAILED", "the job has ended")
    assert detail()["statusReason"] == DELETED_TEXT
    until(lambda: not executor.running(), "no process is left")
    assert gone() == []


def gone() -> list[str]:
    """What is left of a stack that was deleted, but for what is to be kept."""
    batch, ec2 = client("batch"), client("ec2")
    left = [
        each["computeEnvironmentArn"] for each in batch.describe_compute_environments()["computeEnvironments"]
    ]
    left += [each["jobQueueArn"] for each in queues()]
    left += [each["LaunchTemplateId"] for each in ec2.describe_launch_templates()["LaunchTemplates"]]
    left += [each["GroupName"] for each in ec2.describe_placement_groups()["PlacementGroups"]]
    left += [each["VpcId"] for each in ec2.describe_vpcs()["Vpcs"] if not each["IsDefault"]]
    definitions = batch_backends[ACCOUNT][REGION]._job_definitions.values()
    return left + [each.arn for each in definitions if each.status == "ACTIVE"]


def broken(template: Template) -> Template:
    """A template whose queue Batch refuses, when all before it is made."""
    queue = template.one("AWS::Batch::JobQueue")
    queue["JobStateTimeLimitActions"][0]["MaxTimeSeconds"] = 5
    return template


def test_a_failed_create_is_rolled_back_and_destroyed(made):
    assert deploy(broken(made()))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert [reason.partition(": ")[2] for reason in reasons()] == [
        "maxTimeSeconds must be between 600 and 86400"
    ]
    assert gone() == []
    delete()
    deploy_well(made())


def test_a_failed_create_without_rollback_is_destroyed_too(made):
    template = broken(made())
    upload_assets(template)
    assert deploy(template, OnFailure="DO_NOTHING")["StackStatus"] == "CREATE_FAILED"
    assert environment()["status"] == "VALID"
    delete()
    assert gone() == []
    deploy_well(made())
    assert describe()["StackStatus"] == "CREATE_COMPLETE"


def test_two_synths_in_two_folders_give_the_same_template(tmp_path):
    context = {"muster:instance_type": "p5.48xlarge", "muster:zone": ZONE}
    first = reference_template(tmp_path / "here" / "cdk.out", dict(context))
    second = reference_template(tmp_path / "there" / "deeper" / "out", dict(context))
    assert first == second
    assert str(tmp_path) not in str(first)
