"""Counts the hosts and jobs of a cluster for its alarms: nothing of AWS's does."""  # noqa: INP001  a Lambda function

import os
import time
from collections.abc import Iterator
from typing import Any

import boto3

Client = Any
"""One of boto3's, which are made at run time."""
ALIVE = ["pending", "running"]
BUSY = ["STARTING", "RUNNING"]


def listed(client: Client, operation: str, key: str, **request: object) -> Iterator[dict[str, Any]]:
    """All that an operation lists, page by page."""
    for page in client.get_paginator(operation).paginate(**request):
        yield from page[key]


def hosts(ec2: Client) -> int:
    """Instances that are paid for, by the launch template's tag: also those that never joined ECS."""
    filters = [
        {"Name": "tag:" + os.environ["TAG"], "Values": [os.environ["CLUSTER"]]},
        {"Name": "instance-state-name", "Values": ALIVE},
    ]
    found = listed(ec2, "describe_instances", "Reservations", Filters=filters)
    return sum(len(each["Instances"]) for each in found)


def busy(batch: Client, queue: str) -> int:
    """Jobs that have hosts."""
    found = [listed(batch, "list_jobs", "jobSummaryList", jobQueue=queue, jobStatus=each) for each in BUSY]
    return sum(len(list(each)) for each in found)


def wait(batch: Client, queue: str, now: float) -> float:
    """Seconds that the job at the head of the queue has been there: the others wait for it."""
    front = batch.get_job_queue_snapshot(jobQueue=queue).get("frontOfQueue", {}).get("jobs", [])
    since = front[0].get("earliestTimeAtPosition", 0) / 1000 if front else 0
    return max(0.0, now - since) if since else 0.0


def measure(ec2: Client, batch: Client, now: float) -> dict[str, tuple[str, float]]:
    """The metrics by name: unit and value."""
    queue = os.environ["QUEUE"]
    up, jobs = hosts(ec2), busy(batch, queue)
    idle = 0 if jobs else max(0, up - int(os.environ["MIN_NODES"]))
    return {
        "Hosts": ("Count", up),
        "BusyJobs": ("Count", jobs),
        "IdleHosts": ("Count", idle),
        "HeadOfQueueWait": ("Seconds", wait(batch, queue, now)),
    }


def handler(event: object, context: object) -> dict[str, float]:  # noqa: ARG001  Lambda's signature
    """Publish the metrics; a failure shows in the function's errors, which have an alarm."""
    measured = measure(boto3.client("ec2"), boto3.client("batch"), time.time())
    dimensions = [{"Name": "Cluster", "Value": os.environ["CLUSTER"]}]
    boto3.client("cloudwatch").put_metric_data(
        Namespace=os.environ["NAMESPACE"],
        MetricData=[
            {"MetricName": name, "Dimensions": dimensions, "Unit": unit, "Value": value}
            for name, (unit, value) in measured.items()
        ],
    )
    return {name: value for name, (_, value) in measured.items()}
