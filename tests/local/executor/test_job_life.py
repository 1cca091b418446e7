"""Batch's semantics of a multi-node job's life, each with real processes."""

import pytest
from botocore.exceptions import ClientError

from muster_cli.local.executor import ExecutorSettings
from muster_cli.local.executor.plan import JobPlan

STOPPED = "stopped: the main node has exited"
EXITED = "Essential container in task exited"
TIMED_OUT = "Job attempt duration exceeded timeout"


def test_main_first_then_children_in_random_order(cloud):
    program = """
if main:
    time.sleep(0.2)  # children have every chance to come first
    mark("main", time.monotonic())
    [wait(f"child{i}") for i in range(6) if i != node]
else:
    mark(f"child{node}", time.monotonic())
    hang()
"""
    job_id = cloud.start(program, nodes=6, main=2)
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    started = {index: cloud.node(job_id, index)["startedAt"] for index in range(6)}
    assert min(started, key=started.get) == 2
    children = sorted((index for index in started if index != 2), key=started.get)
    assert children == [3, 4, 5, 0, 1], "the order of seed 1"


def test_another_seed_another_order(cloud):
    orders = set()
    for seed in range(3):
        cloud.executor.shared.order.seed(seed)
        children = list(range(1, 8))
        cloud.executor.shared.order.shuffle(children)
        orders.add(tuple(children))
    assert len(orders) == 3


def test_states_in_order(cloud):
    job_id = cloud.start("mark(f'up{node}'); wait('go') if main else hang()")
    cloud.marked("up1")
    job = cloud.wait(job_id, "RUNNING")
    assert "stoppedAt" not in job
    assert "statusReason" not in job
    assert job["createdAt"] <= job["startedAt"]
    cloud.until(lambda: cloud.node(job_id, 1)["status"] == "RUNNING", "node 1 runs")
    assert cloud.node(job_id, 0)["status"] == "RUNNING"
    cloud.mark("go")
    job = cloud.wait(job_id)
    assert (job["status"], job["statusReason"]) == ("SUCCEEDED", EXITED)
    assert job["startedAt"] <= job["stoppedAt"]


def test_status_times_and_code_are_the_main_nodes(cloud):
    job_id = cloud.start("wait('up') if main else mark('up'); sys.exit(7 if main else 0)", main=1)
    job = cloud.wait(job_id)
    main = cloud.node(job_id, 1)
    assert job["status"] == "FAILED"
    assert job["statusReason"] == EXITED
    assert main["container"]["exitCode"] == 7
    assert job["attempts"][0]["container"]["exitCode"] == 7
    assert (job["startedAt"], job["stoppedAt"]) == (main["startedAt"], main["stoppedAt"])


def test_a_childs_failure_changes_nothing(cloud):
    program = """
if node == 1: sys.exit(9)
if node == 2: wait("failed"); sys.exit(0)
wait("go")
"""
    job_id = cloud.start(program, nodes=3)
    cloud.until(lambda: cloud.node(job_id, 1)["status"] == "FAILED", "node 1 fails")
    assert cloud.job(job_id)["status"] == "RUNNING"
    assert cloud.node(job_id, 2)["status"] == "RUNNING"
    cloud.mark("failed")
    cloud.until(lambda: cloud.node(job_id, 2)["status"] == "SUCCEEDED", "node 2 succeeds")
    cloud.mark("go")
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    child = cloud.node(job_id, 1)
    assert (child["status"], child["container"]["exitCode"], child["statusReason"]) == ("FAILED", 9, EXITED)


def test_a_failed_child_is_not_retried(cloud):
    job_id = cloud.start(
        "mark('failed') or sys.exit(1) if not main else wait('failed')", retryStrategy={"attempts": 3}
    )
    job = cloud.wait(job_id)
    assert job["status"] == "SUCCEEDED"
    assert len(job["attempts"]) == 1


def test_the_main_nodes_exit_stops_the_children_by_sigterm(cloud):
    program = """
if main: wait("ready"); sys.exit(0)
def bye(*_): say("flushed"); sys.exit(3)
signal.signal(signal.SIGTERM, bye)
mark("ready")
hang()
"""
    job_id = cloud.start(program)
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    child = cloud.node(job_id, 1)
    assert (child["status"], child["container"]["exitCode"], child["statusReason"]) == ("FAILED", 3, STOPPED)
    assert cloud.lines(job_id, 1) == ["flushed"]


def test_a_child_that_ends_well_on_sigterm_has_succeeded(cloud):
    program = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
mark("ready") if not main else wait("ready")
main or hang()
"""
    job_id = cloud.start(program)
    cloud.wait(job_id)
    assert cloud.node(job_id, 1)["status"] == "SUCCEEDED"


def test_an_early_end_of_the_main_node_starts_no_more_children(cloud, monkeypatch):
    job_id = cloud.start(["python", "-c", "raise SystemExit(4)"], nodes=12)
    job = cloud.wait(job_id)
    assert job["attempts"][0]["container"]["exitCode"] == 4
    reasons = {cloud.node(job_id, index)["statusReason"] for index in range(1, 12)}
    assert "not started: the main node has exited" in reasons
    assert {cloud.node(job_id, index)["status"] for index in range(1, 12)} == {"FAILED"}


class TestShortGrace:
    """SIGKILL comes when the stop timeout is over."""

    @pytest.fixture
    def settings(self):
        return ExecutorSettings(mode="loopback", stop_timeout=0.3, seed=1)

    IGNORE = "signal.signal(signal.SIGTERM, signal.SIG_IGN); mark(f'ready{node}')\n"

    def test_to_children(self, cloud):
        job_id = cloud.start(self.IGNORE + "wait('ready1') if main else hang()")
        assert cloud.wait(job_id)["status"] == "SUCCEEDED"
        assert cloud.node(job_id, 1)["container"]["exitCode"] == 137

    def test_a_node_that_does_not_die_is_given_up(self, cloud, monkeypatch):
        monkeypatch.setattr("muster_cli.local.executor.attempt.KILL_SECONDS", 0.1)
        monkeypatch.setattr("muster_cli.local.executor.node.Node._on_end", lambda *_: None)
        job_id = cloud.start("mark('up'); hang()", nodes=1)
        cloud.marked("up")
        cloud.batch.terminate_job(jobId=job_id, reason="enough")
        assert cloud.wait(job_id)["status"] == "FAILED"
        assert cloud.node(job_id, 0)["statusReason"] == "lost: the node did not die of SIGKILL"

    def test_to_all_by_terminate(self, cloud):
        job_id = cloud.start(self.IGNORE + "hang()")
        cloud.marked("ready0")
        cloud.marked("ready1")
        cloud.batch.terminate_job(jobId=job_id, reason="enough")
        job = cloud.wait(job_id)
        assert (job["status"], job["statusReason"], job["isTerminated"]) == ("FAILED", "enough", True)
        assert [cloud.node(job_id, n)["container"]["exitCode"] for n in (0, 1)] == [137, 137]


class TestDeclaredStopTimeout:
    """The definition says what its hosts' stop timeout is."""

    @pytest.fixture
    def settings(self):
        return ExecutorSettings(mode="loopback", seed=1)

    def test_it_is_the_grace_of_the_nodes(self, cloud):
        program = TestShortGrace.IGNORE + "wait('ready1') if main else hang()"
        job_id = cloud.start(program, environment=[{"name": "MUSTER_STOP_TIMEOUT", "value": "1"}])
        assert cloud.wait(job_id, deadline=25)["status"] == "SUCCEEDED"  # 30 s would be ECS's own
        assert cloud.node(job_id, 1)["container"]["exitCode"] == 137

    @pytest.mark.parametrize(("value", "seconds"), [(None, 30.0), ("120", 120.0), ("", 30.0), ("soon", 30.0)])
    def test_without_one_it_is_that_of_ecs(self, value, seconds):
        variables = [] if value is None else [{"name": "MUSTER_STOP_TIMEOUT", "value": value}]
        container = {"targetNodes": "0:", "container": {"environment": variables}}
        properties = {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": [container]}
        job = JobPlan("id", "train", "queue", "1", "us-east-1", properties)
        assert job.stop_timeout == seconds


class TestTimeout:
    """attemptDurationSeconds, with seconds that last a 200th."""

    @pytest.fixture
    def settings(self):
        return ExecutorSettings(mode="loopback", stop_timeout=5.0, seed=1, time_scale=0.005)

    def test_of_the_whole_job_and_not_retried(self, cloud):
        job_id = cloud.start("hang()", timeout={"attemptDurationSeconds": 60}, retryStrategy={"attempts": 3})
        job = cloud.wait(job_id)
        assert (job["status"], job["statusReason"]) == ("FAILED", TIMED_OUT)
        assert len(job["attempts"]) == 1
        assert job["timeout"] == {"attemptDurationSeconds": 60}
        assert cloud.node(job_id, 0)["container"]["exitCode"] == 143
        assert cloud.node(job_id, 1)["statusReason"] == TIMED_OUT

    def test_the_submissions_own_timeout_wins(self, cloud):
        cloud.queue()
        cloud.register({"0:": cloud.container("hang()")}, timeout={"attemptDurationSeconds": 100_000})
        job_id = cloud.submit(timeout={"attemptDurationSeconds": 60})
        assert cloud.wait(job_id)["statusReason"] == TIMED_OUT

    def test_a_job_in_time(self, cloud):
        job_id = cloud.start("mark('up') if node else wait('up')", timeout={"attemptDurationSeconds": 3600})
        assert cloud.wait(job_id)["status"] == "SUCCEEDED"


# --- retries ----------------------------------------------------------------------------------

SECOND_TIME = """
attempt = int(os.environ["AWS_BATCH_JOB_ATTEMPT"])
say("attempt", attempt)
mark(f"up{attempt}{node}")
main or hang()
wait(f"up{attempt}1")
sys.exit(75 if attempt == 1 else 0)
"""


def test_a_retry_runs_all_nodes_again(cloud):
    job_id = cloud.start(SECOND_TIME, retryStrategy={"attempts": 3})
    job = cloud.wait(job_id)
    assert job["status"] == "SUCCEEDED"
    assert [attempt["container"]["exitCode"] for attempt in job["attempts"]] == [75, 0]
    child = cloud.node(job_id, 1)
    assert len(child["attempts"]) == 2
    streams = [attempt["container"]["logStreamName"] for attempt in child["attempts"]]
    assert len(set(streams)) == 2
    assert cloud.lines(job_id, 1) == ["attempt 2"], "the node's own stream is the latest attempt's"


def test_attempts_are_counted(cloud):
    job_id = cloud.start(["python", "-c", "raise SystemExit(1)"], nodes=1, retryStrategy={"attempts": 2})
    job = cloud.wait(job_id)
    assert job["status"] == "FAILED"
    assert [attempt["container"]["exitCode"] for attempt in job["attempts"]] == [1, 1]
    assert job["retryStrategy"]["attempts"] == 2


def test_rules_of_the_definition_and_of_the_submission(cloud):
    cloud.queue()
    rules = [{"onExitCode": "7", "action": "EXIT"}]
    failing = cloud.container(["python", "-c", "raise SystemExit(7)"])
    cloud.register({"0:": failing}, 1, retryStrategy={"attempts": 3, "evaluateOnExit": rules})
    first = cloud.submit()
    assert len(cloud.wait(first)["attempts"]) == 1
    second = cloud.submit(retryStrategy={"attempts": 2})
    assert len(cloud.wait(second)["attempts"]) == 2


def test_a_node_that_cannot_start_is_a_reason_to_retry(cloud):
    rules = [
        {"onStatusReason": "Task failed to start*", "action": "RETRY"},
        {"onReason": "*", "action": "EXIT"},
    ]
    job_id = cloud.start("pass", image="unknown", retryStrategy={"attempts": 2, "evaluateOnExit": rules})
    job = cloud.wait(job_id)
    assert (job["status"], job["statusReason"]) == ("FAILED", "Task failed to start")
    assert len(job["attempts"]) == 2
    assert job["attempts"][0]["container"]["reason"] == "CannotPullContainerError: unknown: 'unknown'"
    assert "exitCode" not in job["attempts"][0]["container"]
    assert "startedAt" not in job


# --- what does not start ----------------------------------------------------------------------


def test_a_child_that_cannot_start_changes_nothing(cloud):
    cloud.queue()
    cloud.register({"0:0": cloud.container("wait('go')"), "1:": cloud.container(["no-such-program"])})
    job_id = cloud.submit()
    cloud.until(lambda: cloud.node(job_id, 1)["status"] == "FAILED", "node 1 fails")
    assert cloud.job(job_id)["status"] == "RUNNING"
    cloud.mark("go")
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    child = cloud.node(job_id, 1)
    assert child["statusReason"] == "Task failed to start"
    assert child["container"]["reason"] == (
        'CannotStartContainerError: exec: "no-such-program": executable file not found in $PATH'
    )


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["/no/such"], 'CannotStartContainerError: exec: "/no/such": no such file or directory'),
        (["/etc/passwd"], 'CannotStartContainerError: exec: "/etc/passwd": permission denied'),
        ([], "CannotStartContainerError: no command specified, neither by the job nor by the image"),
    ],
)
def test_commands_that_cannot_run(cloud, command, reason):
    job_id = cloud.start(command, nodes=1)
    assert cloud.wait(job_id)["status"] == "FAILED"
    assert cloud.node(job_id, 0)["container"]["reason"] == reason


def test_a_user_that_does_not_exist(cloud):
    job_id = cloud.start("pass", nodes=1, user="nobody-of-that-name")
    cloud.wait(job_id)
    assert "unable to find user nobody-of-that-name" in cloud.node(job_id, 0)["container"]["reason"]


def test_a_fault_of_ours_fails_the_node_with_the_reason(cloud, monkeypatch):
    def broken():
        raise RuntimeError("out of luck")

    monkeypatch.setattr(cloud.executor.network, "attach", broken)
    job_id = cloud.start("pass")
    assert cloud.wait(job_id)["status"] == "FAILED"
    assert cloud.node(job_id, 0)["container"]["reason"] == (
        "the local cloud failed: RuntimeError('out of luck')"
    )


def test_a_fault_of_ours_fails_the_job_with_the_reason(cloud, monkeypatch):
    def broken(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(cloud.executor.scheduler, "claim", broken)
    job_id = cloud.start("pass")
    job = cloud.wait(job_id)
    assert (job["status"], job["statusReason"]) == (
        "FAILED",
        "the local cloud failed: RuntimeError('out of luck')",
    )


# --- ending it --------------------------------------------------------------------------------


def test_terminate_while_it_runs(cloud):
    job_id = cloud.start("mark(f'up{node}'); hang()", retryStrategy={"attempts": 3})
    cloud.marked("up1")
    cloud.batch.terminate_job(jobId=job_id, reason="enough")
    job = cloud.wait(job_id)
    assert (job["status"], job["statusReason"]) == ("FAILED", "enough")
    assert len(job["attempts"]) == 1, "a terminated job is not retried"
    assert [cloud.node(job_id, n)["container"]["exitCode"] for n in (0, 1)] == [143, 143]


def test_cancel_does_nothing_while_it_runs(cloud):
    job_id = cloud.start("mark('up') if main else hang(); wait('go')")
    cloud.marked("up")
    cloud.batch.cancel_job(jobId=job_id, reason="too late")
    cloud.mark("go")
    job = cloud.wait(job_id)
    assert (job["status"], job["isCancelled"]) == ("SUCCEEDED", False)


@pytest.mark.parametrize("operation", ["cancel_job", "terminate_job"])
def test_ending_what_has_not_started(cloud, operation):
    cloud.queue(max_vcpus=1)
    cloud.register({"0:": cloud.container("pass")})
    job_id = cloud.submit()
    cloud.wait(job_id, "RUNNABLE")
    getattr(cloud.batch, operation)(jobId=job_id, reason="changed my mind")
    job = cloud.wait(job_id)
    assert (job["status"], job["statusReason"]) == ("FAILED", "changed my mind")
    assert job["attempts"] == []
    assert job["isCancelled"] is (operation == "cancel_job")
    assert cloud.node(job_id, 1)["status"] == "FAILED"


def test_ending_what_has_ended_changes_nothing(cloud):
    job_id = cloud.start("pass", nodes=1)
    before = cloud.wait(job_id)
    cloud.batch.terminate_job(jobId=job_id, reason="late")
    cloud.batch.cancel_job(jobId=job_id, reason="late")
    assert cloud.job(job_id) == before


def test_shutdown_ends_everything(cloud, alive):
    job_id = cloud.start("mark(f'pid{node}', os.getpid()); hang()")
    pids = [int(cloud.marked(f"pid{node}")) for node in (0, 1)]
    cloud.executor.shutdown()
    job = cloud.job(job_id)
    assert (job["status"], job["statusReason"]) == ("FAILED", "the local cloud was taken down")
    assert not any(map(alive, pids))
    assert list(cloud.executor.shared.jobs.glob("*/*")) == []


def test_a_reset_of_the_mock_ends_jobs(cloud):
    job_id = cloud.start("mark('up'); hang()", nodes=1)
    cloud.marked("up")
    job = cloud.backend._jobs[job_id]
    assert job.stop is False
    job.stop = True
    job.join(10)
    assert job.status == "FAILED"


# --- dependencies -----------------------------------------------------------------------------


def test_a_job_waits_for_another(cloud):
    first = cloud.start("wait('go')", nodes=1)
    second = cloud.submit(dependsOn=[{"jobId": first}])
    assert cloud.wait(second, "PENDING")["dependsOn"] == [{"jobId": first}]
    cloud.mark("go")
    assert cloud.wait(second)["status"] == "SUCCEEDED"


def test_a_job_fails_with_the_one_it_waits_for(cloud):
    first = cloud.start("wait('go'); sys.exit(1)", nodes=1)
    second = cloud.submit(dependsOn=[{"jobId": first}])
    cloud.mark("go")
    job = cloud.wait(second)
    assert (job["status"], job["statusReason"]) == ("FAILED", "Dependent Job failed")


def test_a_waiting_job_can_be_cancelled(cloud):
    first = cloud.start("wait('go')", nodes=1)
    second = cloud.submit(dependsOn=[{"jobId": first}])
    cloud.wait(second, "PENDING")
    cloud.batch.cancel_job(jobId=second, reason="no")
    assert cloud.wait(second)["statusReason"] == "no"
    cloud.mark("go")
    cloud.wait(first)


# --- container jobs ---------------------------------------------------------------------------


def test_a_container_job_runs_as_one_node(cloud):
    cloud.queue()
    container = cloud.container("say(sorted(k for k in os.environ if k.startswith('AWS_BATCH')))")
    container["environment"] = [{"name": "SHARED", "value": str(cloud.shared)}]
    del container["instanceType"]
    cloud.batch.register_job_definition(
        jobDefinitionName="single", type="container", containerProperties=container
    )
    job_id = cloud.submit("single")
    job = cloud.wait(job_id)
    assert job["status"] == "SUCCEEDED"
    assert job["container"]["exitCode"] == 0
    assert "nodeProperties" not in job
    names = ["AWS_BATCH_CE_NAME", "AWS_BATCH_JOB_ATTEMPT", "AWS_BATCH_JOB_ID", "AWS_BATCH_JQ_NAME"]
    assert cloud.lines(job_id) == [str(names)]
    assert cloud.batch.describe_jobs(jobs=[f"{job_id}#0"])["jobs"] == []
    (row,) = cloud.batch.list_jobs(jobQueue="queue", jobStatus="SUCCEEDED")["jobSummaryList"]
    assert row["container"] == {"exitCode": 0}
    assert cloud.batch.list_jobs(multiNodeJobId=job_id)["jobSummaryList"] == []


def test_a_pod_is_refused(cloud):
    cloud.queue()
    pod = {"podProperties": {"containers": [{"image": "image"}]}}
    cloud.batch.register_job_definition(jobDefinitionName="pod", type="container", eksProperties=pod)
    with pytest.raises(ClientError, match="the local cloud runs containers on EC2 alone"):
        cloud.submit("pod")
