"""A cloud in this process: moto's backends, the fills for jobs, and an executor with folders as images."""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from moto.batch.models import ComputeEnvironment, JobQueue, batch_backends

from muster_cli.local.executor import Executor, ExecutorSettings
from muster_cli.local.fills import batch_jobs
from muster_cli.local.settings import ACCOUNT, REGION
from muster_cli.local.state import StateFolder

DEADLINE = 20.0
PRELUDE = """
import json, os, pathlib, signal, socket, sys, time
shared = pathlib.Path(os.environ["SHARED"])
node = int(os.environ.get("AWS_BATCH_JOB_NODE_INDEX", 0))
main = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS" not in os.environ
def say(*words): print(*words, flush=True)
def mark(name, text=""):
    (shared / f".{name}").write_text(str(text))
    (shared / f".{name}").rename(shared / name)
def wait(name):
    end = time.monotonic() + 15
    while not (shared / name).exists():
        if time.monotonic() > end: sys.exit(f"{name} did not come")
        time.sleep(0.005)
    return (shared / name).read_text()
def hang():
    while True: time.sleep(1)
"""


@functools.cache
def client(service):
    """Clients are made once: reading a service's model takes half a second."""
    return boto3.client(service, region_name=REGION)


@dataclass
class FolderImage:
    """An image that is a folder of the test: nothing is copied."""

    folder: Path
    environment: dict = field(default_factory=dict)
    user: str | None = None
    stop_signal: str | None = None
    notes: tuple[str, ...] = ()

    def materialise(self, root: Path) -> FolderImage:
        root.mkdir(parents=True)
        return FolderImage(root, self.environment, self.user, self.stop_signal, self.notes)

    @property
    def cwd(self) -> Path:
        return self.folder

    def argv(self, command: list[str]) -> list[str]:
        return [sys.executable if word == "python" else word for word in command]


class Bench:
    """What a test does with the cloud."""

    def __init__(self, executor: Executor, images: dict, shared: Path) -> None:
        self.executor = executor
        self.shared = shared
        self.images = images
        self.batch = client("batch")
        self.logs = client("logs")
        self.backend = batch_backends[ACCOUNT][REGION]

    def queue(self, name="queue", max_vcpus=10_000, types=("g6.8xlarge",), state="ENABLED", environment=None):
        resources = {"maxvCpus": max_vcpus, "instanceTypes": list(types)}
        made = ComputeEnvironment(
            environment or f"{name}-ce", "MANAGED", "ENABLED", resources, "role", ACCOUNT, REGION
        )
        self.backend._compute_environments[made.arn] = made
        order = [{"order": 1, "computeEnvironment": made.arn}]
        queue = JobQueue(name, "1", state, [made], order, None, self.backend)
        self.backend._job_queues[queue.arn] = queue
        return queue

    def container(self, program, *, init=True, environment=(), **more):
        command = ["python", "-c", PRELUDE + program] if isinstance(program, str) else program
        return {
            "image": "image",
            "command": command,
            "environment": [{"name": "SHARED", "value": str(self.shared)}, *environment],
            "resourceRequirements": [
                {"type": "VCPU", "value": "32"},
                {"type": "MEMORY", "value": "1000"},
                {"type": "GPU", "value": "1"},
            ],
            "instanceType": "g6.8xlarge",
            "linuxParameters": {"initProcessEnabled": init},
            **more,
        }

    def register(self, ranges, nodes=2, main=0, name="train", **more):
        properties = {
            "numNodes": nodes,
            "mainNode": main,
            "nodeRangeProperties": [
                {"targetNodes": target, "container": container} for target, container in ranges.items()
            ],
        }
        made = self.batch.register_job_definition(
            jobDefinitionName=name, type="multinode", nodeProperties=properties, **more
        )
        return made["jobDefinitionArn"]

    def submit(self, definition="train", queue="queue", **more):
        return self.batch.submit_job(jobName="job", jobQueue=queue, jobDefinition=definition, **more)["jobId"]

    def start(self, program, nodes=2, *, queue=True, **more):
        """Queue, definition and submission of one program for all nodes."""
        if queue:
            self.queue()
        main = more.pop("main", 0)
        options = {
            name: more.pop(name) for name in ("retryStrategy", "timeout", "parameters") if name in more
        }
        self.register({"0:": self.container(program, **more)}, nodes, main, **options)
        return self.submit()

    def job(self, job_id):
        return self.batch.describe_jobs(jobs=[job_id])["jobs"][0]

    def node(self, job_id, index):
        return self.job(f"{job_id}#{index}")

    def wait(self, job_id, *statuses, deadline=DEADLINE):
        statuses = statuses or ("SUCCEEDED", "FAILED")
        self.until(lambda: self.job(job_id)["status"] in statuses, f"{job_id} in {statuses}", deadline)
        return self.job(job_id)

    def until(self, condition, what, deadline=DEADLINE):
        end = time.monotonic() + deadline
        while not (value := condition()):
            assert time.monotonic() < end, f"not within {deadline} s: {what}; jobs: {self.all()}"
            time.sleep(0.01)
        return value

    def all(self):
        return [job.describe() for job in self.backend._jobs.values()]

    def lines(self, job_id, index=None, group="/aws/batch/job"):
        detail = self.job(job_id) if index is None else self.node(job_id, index)
        stream = detail["container"].get("logStreamName")
        if stream is None:
            return []
        events = self.logs.get_log_events(logGroupName=group, logStreamName=stream, startFromHead=True)
        return [event["message"] for event in events["events"]]

    def environments(self, job_id, nodes=2):
        return [json.loads(self.lines(job_id, index)[0]) for index in range(nodes)]

    def marked(self, name, deadline=DEADLINE):
        """Wait for what a program marked; return its text."""
        self.until((self.shared / name).exists, f"mark {name}", deadline)
        return (self.shared / name).read_text()

    def mark(self, name):
        (self.shared / name).touch()


@pytest.fixture
def state(tmp_path):
    folder = StateFolder(tmp_path / "state")
    folder.create()
    return folder


@pytest.fixture
def settings():
    return ExecutorSettings(mode="loopback", stop_timeout=5.0, seed=1)


@pytest.fixture
def images(tmp_path):
    return {"image": FolderImage(tmp_path / "image")}


@pytest.fixture
def port():
    return 40_000


@pytest.fixture
def executor(state, settings, images, port):
    made = Executor(state, port, images.__getitem__, settings)
    yield made
    made.shutdown()
    assert not made.running()


@pytest.fixture
def cloud(executor, images, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o777)
    with mock_aws():
        batch_jobs.install(lambda: executor)
        yield Bench(executor, images, shared)
        executor.shutdown()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def alive():
    """Whether a process, by its pid in this test's own view, still runs."""

    def look(pid: int) -> bool:
        try:
            return _state(pid) not in "ZX"
        except OSError:
            return False

    return look


@pytest.fixture
def processes(alive):
    """The processes whose command line holds a word, without this one."""

    def _holds(entry: Path, word: str) -> bool:
        try:
            return word.encode() in (entry / "cmdline").read_bytes() and alive(int(entry.name))
        except OSError:
            return False

    def look(word: str) -> list[int]:
        found = [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _holds(entry, word)]
        return [pid for pid in found if pid != os.getpid()]

    return look
