"""Job queues: their attributes, changes, and a deletion that asks for the disabled state first."""

from __future__ import annotations

from typing import Any

from moto.batch.exceptions import ClientException
from moto.batch.models import BatchBackend

from muster_cli.local.fills.batch_environments import batch
from muster_cli.local.fills.batch_scheduling import check_change
from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)
from muster_cli.local.fills.patching import replace, stock
from muster_cli.local.fills.shapes import to_api

_ACTIONS = range(600, 86401)
"""Seconds that a time limit of a queue may have."""
_REASONS = (
    "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
    "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
    "MISCONFIGURATION:EC2_INSTANCE_CONFIGURATION_UNSUPPORTED",
)
_ENVIRONMENTS = 3
"""Environments that a queue may have."""

DELETED_TEXT = "Job queue is deleted"
"""``statusReason`` of jobs that a queue takes along: Batch ends them, in words that it does not document."""


def check_limits(actions: list[dict[str, Any]]) -> None:
    """Refuse time limits that Batch refuses.

    Args:
        actions: ``jobStateTimeLimitActions`` of a request.

    Raises:
        ClientException: In Batch's manner.
    """
    for action in actions:
        if action["maxTimeSeconds"] not in _ACTIONS:
            raise ClientException("maxTimeSeconds must be between 600 and 86400")
        if action["state"] != "RUNNABLE":
            raise ClientException("state of a jobStateTimeLimitAction must be RUNNABLE")
        if action["reason"] not in _REASONS:
            raise ClientException(f"reason of a jobStateTimeLimitAction must be one of {', '.join(_REASONS)}")


def _delete_queue(self: BatchBackend, queue_name: str) -> None:
    queue = self.get_job_queue(queue_name)
    if queue is None:
        return
    if queue.state != "DISABLED":
        raise ClientException("Cannot delete, resource must be disabled")
    stock(BatchBackend, "delete_job_queue")(self, queue_name)
    for job in list(queue.jobs):
        if hasattr(job, "request_stop"):  # one of the executor's: moto's own need Docker
            job.request_stop(DELETED_TEXT)


class _Queue(Fill):
    resource_type = "AWS::Batch::JobQueue"
    name_property = "JobQueueName"
    _FIXED = ("JobQueueName", "JobQueueType")

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        request = _request(name, properties)
        queue = batch(site).create_job_queue(
            queue_name=name,
            priority=request["priority"],
            schedule_policy=request.get("schedulingPolicyArn"),
            state=request.get("state", "ENABLED"),
            compute_env_order=request["computeEnvironmentOrder"],
            tags={**site.tags, **request.get("tags", {})},
        )
        _keep_limits(queue, request)
        return Made(queue.arn, {"JobQueueArn": queue.arn})

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        if any(old.get(key) != new.get(key) for key in self._FIXED):
            raise ReplacementError
        backend, arn = batch(site), resource.physical_resource_id
        request = _request("same", new)
        check_change(old.get("SchedulingPolicyArn"), new.get("SchedulingPolicyArn"))
        backend.update_job_queue(
            arn,
            request["priority"],
            request.get("state", "ENABLED"),
            request["computeEnvironmentOrder"],
            request.get("schedulingPolicyArn"),
        )
        gone = [key for key in old.get("Tags", {}) if key not in new.get("Tags", {})]
        backend.untag_resource(arn, gone)
        backend.tag_resource(arn, request.get("tags", {}))
        _keep_limits(backend.get_job_queue(arn), request)
        return resource

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        backend, arn = batch(site), resource.physical_resource_id
        backend.update_job_queue(arn, None, "DISABLED", None, None)
        backend.delete_job_queue(arn)


def _request(name: str, properties: Properties) -> dict[str, Any]:
    known = {key: value for key, value in properties.items() if key != "JobQueueName"}
    request = to_api("batch", "CreateJobQueueRequest", {**known, "jobQueueName": name})
    check_limits(request.get("jobStateTimeLimitActions", []))
    if len(request.get("computeEnvironmentOrder", [])) > _ENVIRONMENTS:
        raise ClientException(
            f"computeEnvironmentOrder must have at most {_ENVIRONMENTS} compute environments"
        )
    return request


def _keep_limits(queue: Any, request: dict[str, Any]) -> None:  # noqa: ANN401
    """Where :mod:`muster_cli.local.fills.batch_jobs` shows them, for queues that the API made, too."""
    queue.job_state_time_limit_actions = request.get("jobStateTimeLimitActions", [])


def install() -> None:
    """Put the fills in the place of moto's methods."""
    replace(BatchBackend, "delete_job_queue", _delete_queue)
    register(_Queue())
