"""A job of moto's Batch whose nodes really run."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from moto.batch.models import Job

from muster_cli.local.executor import describe, mock, plan, ranges, retry
from muster_cli.local.executor import nodes as states
from muster_cli.local.executor.attempt import Attempt
from muster_cli.local.executor.capacity import Demand, Environment
from muster_cli.local.executor.nodes import NodeState
from muster_cli.local.executor.scheduler import Stopped, TimeLimited

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moto.batch.models import BatchBackend, JobDefinition, JobQueue

    from muster_cli.local.executor.executor import Executor
    from muster_cli.local.executor.plan import JobPlan

DEPENDENCY_SECONDS = 0.2
"""How often a job in PENDING looks at the jobs that it depends on."""
DEPENDENCY_TEXT = "Dependent Job failed"
_log = logging.getLogger("muster.local")


class BatchJob(Job):
    """A job: a thread that leads it through its states.

    Args:
        executor: Runs it.
        job_plan: What it runs.
        request: The SubmitJob request.
        definition: Its definition, as moto keeps it.
        queue: Its queue.
        backend: moto's Batch.
    """

    def __init__(
        self,
        executor: Executor,
        job_plan: JobPlan,
        request: Mapping[str, Any],
        *,
        definition: JobDefinition,
        queue: JobQueue,
        backend: BatchBackend,
    ) -> None:
        self._stop_reason = ""
        self.changed = threading.Condition(threading.RLock())
        super().__init__(
            request["jobName"],
            definition,
            queue,
            backend,
            log_backend=backend.logs_backend,
            container_overrides=request.get("containerOverrides"),
            eks_properties_override=None,
            depends_on=request.get("dependsOn"),
            parameters=request.get("parameters"),
            all_jobs=mock.jobs(backend),
            timeout=request.get("timeout"),
            array_properties={},
            provided_job_id=job_plan.job_id,
            tags=request.get("tags"),
        )
        self.plan = job_plan
        self.propagate_tags = bool(request.get("propagateTags", definition.propagate_tags))
        self.created_at = states.now_ms()
        self.started_at: int | None = None
        self.stopped_at: int | None = None
        self.status_reason = ""
        self.is_cancelled = self.is_terminated = False
        self.nodes = [NodeState(index, index == job_plan.main_node) for index in range(job_plan.num_nodes)]
        self.queue = queue.arn
        self.demand = _demand(job_plan)
        self._executor = executor

    # --- what moto looks at -----------------------------------------------------------------

    @property
    def status(self) -> str:
        """The state; moto's own would move on by itself each time somebody looks."""
        return str(self._status)

    @status.setter
    def status(self, value: str) -> None:
        self._status = value

    @property
    def stop(self) -> bool:
        """Whether the job is to end; moto sets it when a backend is reset."""
        return bool(self._stop_reason)

    @stop.setter
    def stop(self, value: bool) -> None:
        if value:
            self.request_stop(states.SHUTDOWN)

    def terminate(self, reason: str) -> None:
        """TerminateJob: whatever its state, the job ends and is not retried."""
        with self.changed:
            if self.status not in states.TERMINAL and not self._stop_reason:
                self.is_terminated = True
                self.request_stop(reason)

    def cancel(self, reason: str) -> None:
        """CancelJob: only a job that has not started ends."""
        with self.changed:
            if self.status in {states.SUBMITTED, states.PENDING, states.RUNNABLE} and not self._stop_reason:
                self.is_cancelled = True
                self.request_stop(reason)

    def request_stop(self, reason: str) -> None:
        """End the job, whatever its state."""
        with self.changed:
            self._stop_reason = self._stop_reason or reason
            self.changed.notify_all()

    def describe(self) -> dict[str, Any]:
        """Return the ``JobDetail``."""
        with self.changed:
            return describe.job_detail(self)

    def describe_short(self) -> dict[str, Any]:
        """Return the ``JobSummary``."""
        with self.changed:
            return describe.job_summary(self)

    def describe_node(self, index: int) -> dict[str, Any]:
        """Return the ``JobDetail`` of a node."""
        with self.changed:
            return describe.node_detail(self, self.nodes[index])

    def list_nodes(self, status: str | None = None) -> list[dict[str, Any]]:
        """Return the ``JobSummary`` of every node, or of those in a state."""
        with self.changed:
            found = [node for node in self.nodes if status in {None, node.status}]
            return [describe.node_summary(self, node) for node in found]

    # --- what scheduler and attempt look at -------------------------------------------------

    def stop_reason(self) -> str:
        """Return why the job is to stop, empty while it is not."""
        return self._stop_reason

    def environments(self) -> list[Environment]:
        """Return the compute environments of the queue as they are now."""
        return [_environment(item) for item in self.job_queue.environments]

    def time_limits(self) -> list[dict[str, Any]]:
        """Return ``jobStateTimeLimitActions`` of the queue as they are now."""
        return list(getattr(self.job_queue, "job_state_time_limit_actions", None) or ())

    def waits_for(self, reason: str) -> None:
        """Take note of why the job waits."""
        with self.changed:
            self.status_reason = reason

    def main_runs(self) -> None:
        """Take note that the main node runs: so does the job."""
        with self.changed:
            self.started_at = self._main().attempts[-1].started_at
            self._enter(states.RUNNING)

    def _main(self) -> NodeState:
        return self.nodes[self.plan.main_node]

    def _enter(self, status: str) -> None:
        with self.changed:
            self.status = status
            if status in {states.PENDING, states.RUNNABLE}:
                for node in self.nodes:
                    node.status = status
            self.changed.notify_all()

    # --- its life ---------------------------------------------------------------------------

    def run(self) -> None:
        """Lead the job through its states; whatever goes wrong in here fails the job with the reason."""
        try:
            self._live()
        except TimeLimited as stopped:
            self.is_cancelled = True
            self._finish(states.FAILED, str(stopped))
        except Stopped as stopped:
            self._finish(states.FAILED, str(stopped))
        except Exception as error:  # noqa: BLE001  a job's thread must never die without a word
            _log.exception("job %s", self.job_id)
            self._finish(states.FAILED, f"the local cloud failed: {error!r}")

    def _live(self) -> None:
        if self.depends_on:
            self._enter(states.PENDING)
            for dependency in self.depends_on:
                self._await(mock.jobs(self.backend)[dependency["jobId"]])
        number = 1
        while self._attempt(number):
            number += 1

    def _await(self, other: Job) -> None:
        while other.status not in states.TERMINAL:
            with self.changed:
                self.changed.wait(DEPENDENCY_SECONDS)
                if self._stop_reason:
                    raise Stopped(self._stop_reason)
        if other.status == states.FAILED:
            raise Stopped(DEPENDENCY_TEXT)

    def _attempt(self, number: int) -> bool:
        """Run one attempt; tell whether another one follows."""
        self._enter(states.RUNNABLE)
        environment = self._executor.scheduler.claim(self)
        try:
            with self.changed:
                self.status_reason = ""
                self._enter(states.STARTING)
            attempt = Attempt(
                self.plan,
                number,
                environment=environment.name,
                control=self,
                logs=self.backend.logs_backend,
                shared=self._executor.shared,
            )
            attempt.run()
        finally:
            self._executor.scheduler.release(self, environment)
        with self.changed:
            return self._judge(number, attempt.stopped_for or self._stop_reason)

    def _judge(self, number: int, stopped_for: str) -> bool:
        """Decide by the main node's end: the job is over, or another attempt follows."""
        main = self._main().attempts[-1]
        outcome = retry.Outcome(main.exit_code, main.reason, main.status_reason)
        if stopped_for:
            self._finish(states.FAILED, stopped_for)
        elif retry.runs_again(self.plan.retry, number, outcome):
            return True
        else:
            self._finish(states.SUCCEEDED if main.exit_code == 0 else states.FAILED, main.status_reason)
        return False

    def _finish(self, status: str, reason: str) -> None:
        with self.changed:
            self.status_reason = reason
            main = self._main().current
            self.stopped_at = main.stopped_at if main and main.stopped_at else states.now_ms()
            self.exit_code = main.exit_code if main else None
            self.job_stopped, self.job_stopped_reason = True, reason
            for node in self.nodes:
                if node.status not in states.TERMINAL:
                    node.status = states.FAILED
            self._enter(status)


def _demand(job_plan: JobPlan) -> Demand:
    asked = [plan.resources(job_plan.container(index)) for index in range(job_plan.num_nodes)]
    return Demand(
        nodes=job_plan.num_nodes,
        instance_types=tuple(ranges.instance_types(job_plan.properties)),
        vcpus=max(item["VCPU"] for item in asked),
        memory=max(item["MEMORY"] for item in asked),
        gpus=max(item["GPU"] for item in asked),
    )


def _environment(item: Any) -> Environment:  # noqa: ANN401  moto has no types
    resources = item.compute_resources or {}
    limit = resources.get("maxvCpus")
    return Environment(
        name=item.name,
        enabled=item.state != "DISABLED",
        instance_types=tuple(resources.get("instanceTypes") or ()),
        max_vcpus=None if limit is None else int(limit),
    )
