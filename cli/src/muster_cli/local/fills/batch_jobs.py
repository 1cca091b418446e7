"""Batch jobs that run: SubmitJob, DescribeJobs, ListJobs, TerminateJob, CancelJob.

Stock moto drops ``nodeOverrides``, lets any node's failure fail a job, knows no ``id#n`` and needs
Docker. Here every job goes to the executor of :mod:`muster_cli.local.executor`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moto.batch.exceptions import ClientException
from moto.batch.models import BatchBackend, JobQueue, batch_backends
from moto.batch.responses import BatchResponse

from muster_cli.local.executor import mock
from muster_cli.local.executor.job import BatchJob
from muster_cli.local.fills.batch_queues import check_limits
from muster_cli.local.fills.batch_scheduling import check_share
from muster_cli.local.fills.patching import replace, stock
from muster_core import contract

if TYPE_CHECKING:
    from collections.abc import Callable

    from muster_cli.local.executor import Executor

_executor: Callable[[], Executor]
_REQUIRED = ("jobId", "reason")
LIMITS = "jobStateTimeLimitActions"
MAX_DESCRIBED = 100
"""Jobs of one DescribeJobs request."""
STATUSES = ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED", "FAILED")


def install(executor: Callable[[], Executor]) -> None:
    """Put this module's functions in the place of moto's.

    Args:
        executor: Returns the executor; asked at every submission, so that a test may change it.
    """
    global _executor  # noqa: PLW0603  moto makes its response objects itself: there is no other way in
    _executor = executor
    replace(BatchResponse, "batch_backend", property(_backend))
    replace(BatchResponse, "submitjob", _submit_job)
    replace(BatchResponse, "describejobs", _describe_jobs)
    replace(BatchResponse, "listjobs", _list_jobs)
    replace(BatchResponse, "terminatejob", _terminate_job)
    replace(BatchResponse, "canceljob", _cancel_job)
    replace(BatchResponse, "createjobqueue", _create_queue)
    replace(BatchResponse, "updatejobqueue", _update_queue)
    replace(JobQueue, "describe", _describe_queue)


def _backend(self: Any) -> BatchBackend:  # noqa: ANN401  moto has no types
    """The backend, whatever ``use_docker`` says: nothing here needs Docker."""
    return batch_backends[self.current_account][self.region]


def _submit_job(self: Any) -> str:  # noqa: ANN401
    request = json.loads(self.body)
    queue = self.batch_backend.get_job_queue(request.get("jobQueue"))
    if queue is not None:
        check_share(queue.schedule_policy, request)
    job = _executor().submit(self.batch_backend, request)
    return json.dumps({"jobId": job.job_id, "jobName": job.job_name, "jobArn": job.arn})


# --- DescribeJobs ---------------------------------------------------------------------------


def _describe_jobs(self: Any) -> str:  # noqa: ANN401
    asked = self._get_param("jobs") or []
    if len(asked) > MAX_DESCRIBED:
        raise ClientException(f"jobs must have at most {MAX_DESCRIBED} entries, got {len(asked)}")
    details = [_describe(self.batch_backend, name) for name in dict.fromkeys(asked)]
    return json.dumps({"jobs": [detail for detail in details if detail]})


def find(backend: BatchBackend, name: str) -> tuple[Any, int | None]:
    """Find a job or a node by id or ARN.

    Args:
        backend: moto's Batch.
        name: Id or ARN of a job, or of a node: then it ends in ``#<index>``.

    Returns:
        The job, None where there is none; and the node's index, None where a job is meant.
    """
    identifier, separator, index = name.rpartition("/")[2].partition(contract.BATCH_ID_SEPARATOR)
    job = mock.jobs(backend).get(identifier)
    if not separator:
        return job, None
    if not index.isdigit() or not isinstance(job, BatchJob) or not job.plan.multinode:
        return None, None
    return (job, int(index)) if int(index) < len(job.nodes) else (None, None)


def _describe(backend: BatchBackend, name: str) -> dict[str, Any] | None:
    job, index = find(backend, name)
    if job is None:
        return None
    detail: dict[str, Any] = job.describe() if index is None else job.describe_node(index)
    return detail


# --- ListJobs -------------------------------------------------------------------------------


def _list_jobs(self: Any) -> str:  # noqa: ANN401
    status, filters = self._get_param("jobStatus"), self._get_param("filters")
    parents = [name for name in ("jobQueue", "arrayJobId", "multiNodeJobId") if self._get_param(name)]
    if len(parents) != 1:
        raise ClientException("Exactly one of jobQueue, arrayJobId and multiNodeJobId must be given.")
    if status is not None and status not in STATUSES:
        raise ClientException(f"Job status is not one of {' | '.join(STATUSES)}")
    parent = self._get_param(parents[0])
    if parents[0] == "multiNodeJobId":
        summaries = _list_nodes(self.batch_backend, parent, status)
    elif filters or parents[0] == "arrayJobId":
        jobs = self.batch_backend.list_jobs(
            job_queue_name=self._get_param("jobQueue"),
            array_job_id=self._get_param("arrayJobId"),
            job_status=status,
            filters=filters,
        )
        summaries = [job.describe_short() for job in jobs]
    else:
        summaries = _list_queue(self.batch_backend, parent, status or "RUNNING")
    return json.dumps(_page(summaries, self._get_param("maxResults"), self._get_param("nextToken")))


def _list_nodes(backend: BatchBackend, job_id: str, status: str | None) -> list[dict[str, Any]]:
    """Return a job's nodes; without a status, those that run, as Batch does."""
    job, index = find(backend, job_id)
    if index is not None or not isinstance(job, BatchJob) or not job.plan.multinode:
        return []
    return job.list_nodes(status or "RUNNING")


def _list_queue(backend: BatchBackend, queue_name: str, status: str) -> list[dict[str, Any]]:
    queue = backend.get_job_queue(queue_name)
    if queue is None:
        raise ClientException(f"Job queue {queue_name} does not exist")
    summaries = [job.describe_short() for job in list(queue.jobs)]
    return [summary for summary in summaries if summary["status"] == status]


def _page(summaries: list[dict[str, Any]], limit: int | None, token: str | None) -> dict[str, Any]:
    start = int(token) if token and token.isdigit() else 0
    end = start + int(limit or 100)
    page: dict[str, Any] = {"jobSummaryList": summaries[start:end]}
    return {**page, "nextToken": str(end)} if end < len(summaries) else page


# --- TerminateJob, CancelJob ----------------------------------------------------------------


def _terminate_job(self: Any) -> str:  # noqa: ANN401
    if job := _job_to_end(self):
        job.terminate(self._get_param("reason"))
        _executor().scheduler.look()
    return ""


def _cancel_job(self: Any) -> str:  # noqa: ANN401
    if job := _job_to_end(self):
        job.cancel(self._get_param("reason"))
        _executor().scheduler.look()
    return ""


def _job_to_end(self: Any) -> BatchJob | None:  # noqa: ANN401
    """Return the job that a request names, None where it is unknown: Batch says nothing then."""
    for name in _REQUIRED:
        if not self._get_param(name):
            raise ClientException(f"'{name}' is a required field (cannot be an empty string)")
    job, index = find(self.batch_backend, self._get_param("jobId"))
    if index is not None:
        raise ClientException(
            f"Job {self._get_param('jobId')} is a node of a multi-node parallel job; end {job.job_id} instead."
        )
    return job if isinstance(job, BatchJob) else None


# --- the queue's time limits ----------------------------------------------------------------


def _create_queue(self: Any) -> str:  # noqa: ANN401
    check_limits(self._get_param(LIMITS) or [])
    answer: str = stock(BatchResponse, "createjobqueue")(self)
    _keep_limits(self, self._get_param("jobQueueName"))
    return answer


def _update_queue(self: Any) -> str:  # noqa: ANN401
    check_limits(self._get_param(LIMITS) or [])
    answer: str = stock(BatchResponse, "updatejobqueue")(self)
    _keep_limits(self, self._get_param("jobQueue"))
    return answer


def _keep_limits(self: Any, queue_name: str) -> None:  # noqa: ANN401
    """Keep ``jobStateTimeLimitActions``, which moto drops."""
    actions = self._get_param(LIMITS)
    if actions is not None:
        self.batch_backend.get_job_queue(queue_name).job_state_time_limit_actions = actions


def _describe_queue(self: Any) -> dict[str, Any]:  # noqa: ANN401
    actions = getattr(self, "job_state_time_limit_actions", None) or []
    return {**stock(JobQueue, "describe")(self), LIMITS: actions}
