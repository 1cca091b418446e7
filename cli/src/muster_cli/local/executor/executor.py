"""The executor: takes submissions, runs jobs, ends them."""

from __future__ import annotations

import copy
import random
import re
import threading
import uuid
from typing import TYPE_CHECKING, Any

from moto.batch.exceptions import ClientException

from muster_cli.local.executor import mock, ranges, submission
from muster_cli.local.executor import nodes as states
from muster_cli.local.executor.attempt import Surroundings
from muster_cli.local.executor.job import BatchJob
from muster_cli.local.executor.networks import choose_mode, make_network
from muster_cli.local.executor.plan import ECS_STOP_TIMEOUT, JobPlan
from muster_cli.local.executor.scheduler import Scheduler
from muster_cli.local.executor.settings import ExecutorSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moto.batch.models import BatchBackend, JobDefinition, JobQueue

    from muster_cli.local.executor.image import ImageResolver
    from muster_cli.local.state import StateFolder

_JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
KILL_SECONDS = 15.0
"""What a job may take to end beyond its stop timeout."""


class Executor:
    """Runs the jobs of one local cloud, inside the process of moto's server.

    Args:
        state: The local cloud's folder.
        endpoint_port: Port of the local cloud on 127.0.0.1.
        resolve: Finds the image of a URI.
        settings: Default: Batch's own behaviour, and the network that the machine allows.
    """

    def __init__(
        self,
        state: StateFolder,
        endpoint_port: int,
        resolve: ImageResolver,
        settings: ExecutorSettings | None = None,
    ) -> None:
        self.settings = settings or ExecutorSettings()
        self.mode = self.settings.mode or choose_mode()
        self.tag = state.tag
        self.network = make_network(self.mode, state.tag, endpoint_port)
        self.scheduler = Scheduler(self.settings.time_scale)
        order = random.Random(self.settings.seed)  # noqa: S311  an order, not a secret
        self.shared = Surroundings(state.jobs, self.network, resolve, self.settings, order)
        self._jobs: list[BatchJob] = []
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, backend: BatchBackend, request: Mapping[str, Any]) -> BatchJob:
        """Accept a job and start it.

        Args:
            backend: moto's Batch.
            request: The SubmitJob request.

        Raises:
            ClientException: Batch would refuse it.
        """
        if self._closed:
            raise ClientException("the local cloud is going down")
        definition, queue = _look_up(backend, request)
        job_plan = _plan(backend, definition, queue, request)
        try:
            job = BatchJob(self, job_plan, request, definition=definition, queue=queue, backend=backend)
        except Exception:
            queue.jobs[:] = [other for other in queue.jobs if other.job_id != job_plan.job_id]
            raise
        with self._lock:
            self._jobs = [other for other in self._jobs if other.is_alive()] + [job]
        mock.add_job(backend, job)
        job.start()
        return job

    def running(self) -> list[BatchJob]:
        """Return the jobs that have not ended."""
        with self._lock:
            return [job for job in self._jobs if job.is_alive()]

    def shutdown(self, reason: str = states.SHUTDOWN) -> None:
        """End every job as TerminateJob does, and take the network away.

        Args:
            reason: Their ``statusReason``.
        """
        self._closed = True
        jobs = self.running()
        for job in jobs:
            job.request_stop(reason)
        self.scheduler.look()
        for job in jobs:
            job.join((self.settings.stop_timeout or ECS_STOP_TIMEOUT) + KILL_SECONDS)
        self.network.close()


def _look_up(backend: BatchBackend, request: Mapping[str, Any]) -> tuple[JobDefinition, JobQueue]:
    """Find definition and queue, or say as Batch does what is wrong with them."""
    if _JOB_NAME.fullmatch(request["jobName"]) is None:
        raise ClientException("Job name should match valid pattern")
    queue = backend.get_job_queue(request["jobQueue"])
    if queue is None:
        raise ClientException(f"Job queue {request['jobQueue']} does not exist")
    if queue.state != "ENABLED":
        raise ClientException(f"Job queue {queue.name} is not in ENABLED state, cannot submit jobs to it.")
    definition = mock.definition(backend, request["jobDefinition"])
    if definition is None:
        raise ClientException(f"Job definition {request['jobDefinition']} does not exist")
    for dependency in request.get("dependsOn") or ():
        if dependency.get("jobId") not in mock.jobs(backend):
            raise ClientException(f"Job {dependency.get('jobId')} in dependsOn does not exist")
    return definition, queue


def _plan(
    backend: BatchBackend, definition: JobDefinition, queue: JobQueue, request: Mapping[str, Any]
) -> JobPlan:
    wrong = submission.problems(
        {"type": definition.type, "nodeProperties": definition.node_properties}, request
    )
    if wrong:
        raise ClientException(" ".join(wrong))
    timeout = request.get("timeout") or definition.timeout or {}
    return JobPlan(
        job_id=str(uuid.uuid4()),
        definition_name=definition.name,
        queue_name=queue.name,
        account=backend.account_id,
        region=backend.region_name,
        properties=_properties(definition, request),
        multinode=definition.type == submission.MULTINODE,
        parameters={**(definition.parameters or {}), **(request.get("parameters") or {})},
        retry=copy.deepcopy(request.get("retryStrategy") or definition.retry_strategy or {}),
        timeout=timeout.get("attemptDurationSeconds"),
    )


def _properties(definition: JobDefinition, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return effective node properties; a container job is a job of one node."""
    if definition.type == submission.MULTINODE and definition.node_properties:
        properties = ranges.effective(definition.node_properties, request.get("nodeOverrides"))
        _check_runnable(properties)
        return properties
    if definition.container_properties is None:
        raise ClientException("the local cloud runs containers on EC2 alone; eksProperties are not supported")
    container = ranges.override_container(
        definition.container_properties, request.get("containerOverrides") or {}
    )
    return {
        "numNodes": 1,
        "mainNode": 0,
        "nodeRangeProperties": [{"targetNodes": "0:", "container": container}],
    }


def _check_runnable(properties: Mapping[str, Any]) -> None:
    """Refuse what only AWS can run, and ranges that leave a node without a container."""
    for node_range in properties["nodeRangeProperties"]:
        if not node_range.get("container"):
            raise ClientException(
                f"the local cloud runs node ranges with a container; range {node_range['targetNodes']} has none"
            )
    try:
        for node in range(properties["numNodes"]):
            ranges.container_of(properties, node)
    except ValueError as error:
        raise ClientException(str(error)) from error
