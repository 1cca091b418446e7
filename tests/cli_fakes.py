"""Batch and CloudWatch Logs as the command line meets them: what they answer is scripted, turn by turn.

Every request is held against botocore's service model, so that a fake takes nothing that AWS would refuse.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import botocore.session
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from muster_cli.aws import Aws

JOB_ID = "3e5c7fd1-6c0f-4b6a-9a0a-1d4c8d3f2b11"
GROUP = "muster-train"


@functools.cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def check_request(service: str, operation: str, request: dict[str, Any]) -> None:
    shape = _model(service).operation_model(operation).input_shape
    report = ParamValidator().validate(request, shape)
    assert not report.has_errors(), report.generate_report()


def parent(status: str = "RUNNING", nodes: int = 2, **more: Any) -> dict[str, Any]:
    """A multi-node job as DescribeJobs returns it: no container of its own."""
    return {
        "jobId": JOB_ID,
        "jobName": "digits",
        "jobQueue": "arn:aws:batch:us-east-1:123456789012:job-queue/gpus",
        "jobDefinition": "arn:aws:batch:us-east-1:123456789012:job-definition/train:3",
        "status": status,
        "createdAt": 1_700_000_000_000,
        "nodeProperties": {"numNodes": nodes, "mainNode": 0, "nodeRangeProperties": []},
        **more,
    }


def child(index: int, status: str = "RUNNING", exit_code: int | None = None, **more: Any) -> dict[str, Any]:
    """A node as DescribeJobs returns it for ``id#n``."""
    container: dict[str, Any] = {
        "logStreamName": f"train/default/{index}",
        "logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": GROUP}},
        "networkInterfaces": [{"attachmentId": "a", "privateIpv4Address": f"10.0.0.{index + 4}"}],
    }
    if exit_code is not None:
        container["exitCode"] = exit_code
    return {
        "jobId": f"{JOB_ID}#{index}",
        "jobName": "digits",
        "status": status,
        "startedAt": 1_700_000_010_000,
        "container": container,
        "nodeDetails": {"nodeIndex": index, "isMainNode": index == 0},
        **more,
    }


@dataclass
class FakeBatch:
    """Answers turn by turn; the last turn goes on for ever.

    A turn is over when the job itself is asked for.
    """

    turns: list[list[dict[str, Any]]] = field(default_factory=list)
    definitions: list[dict[str, Any]] = field(default_factory=list)
    submitted: list[dict[str, Any]] = field(default_factory=list)
    terminated: list[dict[str, Any]] = field(default_factory=list)
    limits: dict[str, int | None] = field(default_factory=dict)
    """``maxvCpus`` of the compute environments of every queue."""
    denied: str = ""
    """Code of the error with which every question about a queue is answered."""
    listed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Summaries of jobs by queue, the newest first."""
    now: int = -1

    def describe_jobs(self, **request: Any) -> dict[str, Any]:
        check_request("batch", "DescribeJobs", request)
        if any("#" not in job_id for job_id in request["jobs"]):
            self.now = min(self.now + 1, len(self.turns) - 1)
        known = self.turns[self.now] if self.turns else []
        return {"jobs": [detail for detail in known if detail["jobId"] in request["jobs"]]}

    def submit_job(self, **request: Any) -> dict[str, Any]:
        check_request("batch", "SubmitJob", request)
        self.submitted.append(request)
        return {"jobId": JOB_ID, "jobName": request["jobName"]}

    def terminate_job(self, **request: Any) -> dict[str, Any]:
        check_request("batch", "TerminateJob", request)
        self.terminated.append(request)
        return {}

    def list_jobs(self, **request: Any) -> dict[str, Any]:
        """Pages of :attr:`listed` by queue, two jobs a page; as Batch does, of all states with a filter alone."""
        check_request("batch", "ListJobs", request)
        start = int(request.get("nextToken", 0))
        jobs = self.listed[request["jobQueue"]]
        page: dict[str, Any] = {"jobSummaryList": jobs[start : start + 2] if request.get("filters") else []}
        return {**page, "nextToken": str(start + 2)} if start + 2 < len(jobs) else page

    def describe_job_queues(self, **request: Any) -> dict[str, Any]:
        check_request("batch", "DescribeJobQueues", request)
        if self.denied:
            raise ClientError({"Error": {"Code": self.denied, "Message": "no"}}, "DescribeJobQueues")
        order = [{"order": i, "computeEnvironment": name} for i, name in enumerate(self.limits)]
        return {"jobQueues": [{"computeEnvironmentOrder": order}]}

    def describe_compute_environments(self, **request: Any) -> dict[str, Any]:
        check_request("batch", "DescribeComputeEnvironments", request)
        known = {name: self.limits[name] for name in request["computeEnvironments"]}
        return {
            "computeEnvironments": [
                {} if limit is None else {"computeResources": {"maxvCpus": limit}} for limit in known.values()
            ]
        }

    def describe_job_definitions(self, **request: Any) -> dict[str, Any]:
        check_request("batch", "DescribeJobDefinitions", request)
        wanted = request.get("jobDefinitionName") or request["jobDefinitions"][0]
        found = [each for each in self.definitions if _fits(each, wanted)]
        return {"jobDefinitions": found}

    def get_paginator(self, operation: str) -> FakePaginator:
        return FakePaginator(getattr(self, operation))


def _fits(definition: dict[str, Any], wanted: str) -> bool:
    name = definition["jobDefinitionName"]
    return wanted.rpartition("/")[2] in {name, f"{name}:{definition['revision']}"}


@dataclass
class FakePaginator:
    operation: Any

    def paginate(self, **request: Any) -> list[dict[str, Any]]:
        return [self.operation(**request)]


class _NotFoundError(Exception):
    pass


@dataclass
class FakeLogs:
    """Streams that grow: each entry is ``(time, text)``; ``page`` lines come at a time."""

    streams: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    page: int = 2
    calls: int = 0
    exceptions: ClassVar[Any] = SimpleNamespace(ResourceNotFoundException=_NotFoundError)

    def get_log_events(self, **request: Any) -> dict[str, Any]:
        check_request("logs", "GetLogEvents", request)
        self.calls += 1
        if request["logStreamName"] not in self.streams:
            raise _NotFoundError
        if not request["startFromHead"]:
            return self._page_before(request)
        start = int(request.get("nextToken", "f/0").removeprefix("f/"))
        lines = self.streams[request["logStreamName"]][start : start + self.page]
        events = [
            {"timestamp": time_ms, "message": text, "ingestionTime": time_ms} for time_ms, text in lines
        ]
        return {"events": events, "nextForwardToken": f"f/{start + len(lines)}", "nextBackwardToken": "b/0"}

    def _page_before(self, request: dict[str, Any]) -> dict[str, Any]:
        """The first answer without a token is an empty page, as the service may well have it."""
        lines = self.streams[request["logStreamName"]][-self.page :] if "nextToken" in request else []
        events = [
            {"timestamp": time_ms, "message": text, "ingestionTime": time_ms} for time_ms, text in lines
        ]
        return {"events": events, "nextForwardToken": "f/9", "nextBackwardToken": "b/0"}


@dataclass
class FakeCloudFormation:
    outputs: list[dict[str, str]] = field(default_factory=list)

    def describe_stacks(self, **request: Any) -> dict[str, Any]:
        check_request("cloudformation", "DescribeStacks", request)
        return {"Stacks": [{"StackName": request["StackName"], "Outputs": self.outputs}]}


class FakeAws(Aws):
    """Hands out fakes as clients."""

    def __init__(self, batch: FakeBatch, logs: FakeLogs | None = None, outputs: Any = ()) -> None:
        super().__init__()
        self.__dict__.update(
            batch=batch, logs=logs or FakeLogs(), cloudformation=FakeCloudFormation(list(outputs))
        )

    @property
    def local(self) -> bool:
        return True
