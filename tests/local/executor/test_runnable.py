"""Jobs that wait in RUNNABLE: for room, for their turn, for ever, or until the queue cancels them."""

import pytest
from botocore.exceptions import ClientError

from muster_cli.local.executor import ExecutorSettings

MAX_RESOURCE = "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"
REQUIREMENT = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"


def _waits_for(cloud, job_id, code):
    cloud.until(lambda: cloud.job(job_id).get("statusReason", "").startswith(f"{code} - "), code)
    assert cloud.job(job_id)["status"] == "RUNNABLE"
    assert cloud.node(job_id, 0)["status"] == "RUNNABLE"


@pytest.mark.parametrize(
    ("queue", "code"),
    [
        ({"max_vcpus": 63}, MAX_RESOURCE),
        ({"types": ["p5.48xlarge"]}, REQUIREMENT),
    ],
)
def test_what_can_never_run_says_why(cloud, queue, code):
    cloud.queue(**queue)
    cloud.register({"0:": cloud.container("pass")})
    job_id = cloud.submit()
    _waits_for(cloud, job_id, code)
    cloud.batch.terminate_job(jobId=job_id, reason="enough")
    cloud.wait(job_id)


def test_a_larger_environment_lets_it_run(cloud):
    queue = cloud.queue(max_vcpus=63)
    cloud.register({"0:": cloud.container("pass")})
    job_id = cloud.submit()
    _waits_for(cloud, job_id, MAX_RESOURCE)
    queue.environments[0].compute_resources["maxvCpus"] = 64
    job = cloud.wait(job_id)
    assert (job["status"], job["statusReason"]) == ("SUCCEEDED", "Essential container in task exited")


def test_jobs_take_turns_where_there_is_room_for_one(cloud):
    cloud.queue(max_vcpus=32)
    cloud.register({"0:": cloud.container("mark(os.environ['AWS_BATCH_JOB_ID']); wait('go')")}, nodes=1)
    first, second = cloud.submit(), cloud.submit()
    cloud.marked(first)
    assert cloud.job(second)["status"] in {"SUBMITTED", "RUNNABLE"}
    assert not (cloud.shared / second).exists()
    cloud.mark("go")
    assert cloud.wait(first)["stoppedAt"] <= cloud.wait(second)["startedAt"]


def test_a_smaller_job_does_not_overtake(cloud):
    cloud.queue(max_vcpus=64)
    cloud.register({"0:": cloud.container("wait('go')")}, nodes=1)
    first = cloud.submit()
    cloud.wait(first, "RUNNING")
    large = cloud.submit(nodeOverrides={"numNodes": 2})
    cloud.wait(large, "RUNNABLE")
    small = cloud.submit()
    cloud.wait(small, "RUNNABLE")
    cloud.mark("go")
    large, small = cloud.wait(large), cloud.wait(small)
    assert large["startedAt"] <= small["startedAt"]


def test_another_queue_is_not_held_up(cloud):
    cloud.queue(max_vcpus=1)
    cloud.queue("other")
    cloud.register({"0:": cloud.container("pass")}, nodes=1)
    stuck = cloud.submit()
    _waits_for(cloud, stuck, MAX_RESOURCE)
    assert cloud.wait(cloud.submit(queue="other"))["status"] == "SUCCEEDED"
    cloud.batch.cancel_job(jobId=stuck, reason="enough")
    cloud.wait(stuck)


def test_a_disabled_environment_starts_nothing(cloud):
    queue = cloud.queue()
    queue.environments[0].state = "DISABLED"
    cloud.register({"0:": cloud.container("pass")}, nodes=1)
    job_id = cloud.submit()
    cloud.wait(job_id, "RUNNABLE")
    assert "statusReason" not in cloud.job(job_id)
    queue.environments[0].state = "ENABLED"
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"


class TestTimeLimit:
    """jobStateTimeLimitActions, with seconds that last a 2000th."""

    @pytest.fixture
    def settings(self):
        return ExecutorSettings(mode="loopback", seed=1, time_scale=0.0005)

    def _queue(self, cloud, reason, seconds=600, **more):
        cloud.queue("first", **more)
        environment = next(iter(cloud.backend._compute_environments))
        action = {"reason": reason, "state": "RUNNABLE", "maxTimeSeconds": seconds, "action": "CANCEL"}
        cloud.batch.create_job_queue(
            jobQueueName="queue",
            priority=1,
            state="ENABLED",
            computeEnvironmentOrder=[{"order": 1, "computeEnvironment": environment}],
            jobStateTimeLimitActions=[action],
        )
        return action

    def test_cancels(self, cloud):
        action = self._queue(cloud, MAX_RESOURCE, max_vcpus=1)
        (queue,) = cloud.batch.describe_job_queues(jobQueues=["queue"])["jobQueues"]
        assert queue["jobStateTimeLimitActions"] == [action]
        cloud.register({"0:": cloud.container("pass")}, retryStrategy={"attempts": 3})
        job = cloud.wait(cloud.submit())
        assert (job["status"], job["isCancelled"]) == ("FAILED", True)
        assert job["statusReason"] == f"Canceled by JobStateTimeLimit action due to reason: {MAX_RESOURCE}"

    def test_less_than_batch_allows(self, cloud):
        with pytest.raises(ClientError, match="maxTimeSeconds must be between 600 and 86400"):
            self._queue(cloud, MAX_RESOURCE, seconds=10)

    def test_of_another_reason_does_not(self, cloud):
        self._queue(cloud, REQUIREMENT, max_vcpus=1)
        cloud.register({"0:": cloud.container("pass")})
        job_id = cloud.submit()
        _waits_for(cloud, job_id, MAX_RESOURCE)
        action = {"reason": MAX_RESOURCE, "state": "RUNNABLE", "maxTimeSeconds": 600, "action": "CANCEL"}
        cloud.batch.update_job_queue(jobQueue="queue", jobStateTimeLimitActions=[action])
        assert cloud.wait(job_id)["status"] == "FAILED"
