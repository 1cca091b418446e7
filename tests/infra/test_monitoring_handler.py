"""The function that counts, in this process: against moto where moto has it, else against botocore's stubs."""

import importlib.util
import os
import subprocess
import sys

import boto3
import pytest
from botocore.stub import Stubber
from infra_synth import REPOSITORY
from moto import mock_aws

FILE = REPOSITORY / "infra" / "src" / "muster_cdk" / "files" / "monitor_handler.py"
QUEUE = "arn:aws:batch:us-east-1:123456789012:job-queue/Queue-abc"
TAG, CLUSTER = "muster:cluster", "Muster/Cluster"
NOW = 1_800_000_000.0


@pytest.fixture
def module(monkeypatch):
    settings = {"TAG": TAG, "CLUSTER": CLUSTER, "QUEUE": QUEUE, "MIN_NODES": "0", "NAMESPACE": "Muster"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("monitor_handler", FILE)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    monkeypatch.setattr(loaded.time, "time", lambda: NOW)
    return loaded


@pytest.fixture
def cloud():
    with mock_aws():
        yield


def start(number, path=CLUSTER):
    ec2 = boto3.client("ec2")
    image = ec2.describe_images()["Images"][0]["ImageId"]
    tags = [{"ResourceType": "instance", "Tags": [{"Key": TAG, "Value": path}]}]
    made = ec2.run_instances(ImageId=image, MinCount=number, MaxCount=number, TagSpecifications=tags)
    return [each["InstanceId"] for each in made["Instances"]]


def summaries(number):
    return [{"jobId": f"job-{index}", "jobName": "train"} for index in range(number)]


def batch(starting=0, running=0, front=(), pages=1):
    client = boto3.client("batch")
    stubs = Stubber(client)
    for status, number in (("STARTING", starting), ("RUNNING", running)):
        request = {"jobQueue": QUEUE, "jobStatus": status}
        for page in range(pages):
            more = {"nextToken": f"page-{page + 1}"} if page + 1 < pages else {}
            before = {"nextToken": f"page-{page}"} if page else {}
            stubs.add_response(
                "list_jobs", {"jobSummaryList": summaries(number), **more}, {**request, **before}
            )
    jobs = [
        {"jobArn": f"arn:{index}", "earliestTimeAtPosition": int(since * 1000)}
        for index, since in enumerate(front)
    ]
    stubs.add_response(
        "get_job_queue_snapshot",
        {"frontOfQueue": {"jobs": jobs, "lastUpdatedAt": int(NOW * 1000)}},
        {"jobQueue": QUEUE},
    )
    stubs.activate()
    return client


def call(module, monkeypatch, client):
    real = boto3.client
    monkeypatch.setattr(module.boto3, "client", lambda name: client if name == "batch" else real(name))
    return module.handler({}, None)


def test_hosts_without_a_job_are_idle(module, cloud, monkeypatch):
    start(3)
    start(2, "Other/Cluster")
    assert call(module, monkeypatch, batch()) == {
        "Hosts": 3,
        "BusyJobs": 0,
        "IdleHosts": 3,
        "HeadOfQueueWait": 0.0,
    }


def test_hosts_that_are_gone_are_not_counted(module, cloud, monkeypatch):
    first, second, _ = start(3)
    boto3.client("ec2").terminate_instances(InstanceIds=[first])
    boto3.client("ec2").stop_instances(InstanceIds=[second])
    assert call(module, monkeypatch, batch())["Hosts"] == 1


@pytest.mark.parametrize("jobs", [{"starting": 1}, {"running": 1}])
def test_hosts_with_a_job_are_not_idle(module, cloud, monkeypatch, jobs):
    start(3)
    found = call(module, monkeypatch, batch(**jobs))
    assert (found["BusyJobs"], found["IdleHosts"]) == (1, 0)


def test_hosts_whose_job_never_starts_are_idle(module, cloud, monkeypatch):
    # They never joined ECS, yet they are paid for.
    start(2)
    found = call(module, monkeypatch, batch(front=[NOW - 900]))
    assert (found["IdleHosts"], found["HeadOfQueueWait"]) == (2, 900.0)


@pytest.mark.parametrize(("minimum", "idle"), [("2", 1), ("3", 0), ("8", 0)])
def test_hosts_that_are_meant_to_be_up_are_not_idle(module, cloud, monkeypatch, minimum, idle):
    monkeypatch.setenv("MIN_NODES", minimum)
    start(3)
    assert call(module, monkeypatch, batch())["IdleHosts"] == idle


def test_the_wait_is_that_of_the_head(module, cloud, monkeypatch):
    found = call(module, monkeypatch, batch(running=1, front=[NOW - 60, NOW - 7200]))
    assert found["HeadOfQueueWait"] == 60.0


def test_a_clock_that_is_behind_gives_no_negative_wait(module, cloud, monkeypatch):
    assert call(module, monkeypatch, batch(front=[NOW + 5]))["HeadOfQueueWait"] == 0.0


def test_jobs_are_listed_page_by_page(module, cloud, monkeypatch):
    assert call(module, monkeypatch, batch(running=2, pages=3))["BusyJobs"] == 6


def test_a_queue_without_a_snapshot(module, cloud):
    client = boto3.client("batch")
    stubs = Stubber(client)
    stubs.add_response("get_job_queue_snapshot", {}, {"jobQueue": QUEUE})
    with stubs:
        assert module.wait(client, QUEUE, NOW) == 0.0


def test_the_metrics_are_published(module, cloud, monkeypatch):
    start(1)
    call(module, monkeypatch, batch(front=[NOW - 42]))
    metrics = boto3.client("cloudwatch").list_metrics(Namespace="Muster")["Metrics"]
    assert sorted(each["MetricName"] for each in metrics) == [
        "BusyJobs",
        "HeadOfQueueWait",
        "Hosts",
        "IdleHosts",
    ]
    assert [each["Dimensions"] for each in metrics] == [[{"Name": "Cluster", "Value": CLUSTER}]] * 4


def test_it_fits_inline_and_imports_what_lambda_has():
    assert len(FILE.read_bytes()) <= 4096
    program = "import sys, runpy; runpy.run_path(sys.argv[1], run_name='index')"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(FILE)], env=dict(os.environ), capture_output=True
    )
    assert done.returncode == 0, done.stderr
