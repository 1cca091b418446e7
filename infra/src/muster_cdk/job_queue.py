"""The queue: one environment behind it, and no job that waits for ever on a mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_batch as batch
from constructs import Construct

if TYPE_CHECKING:
    from muster_cdk.compute_environment import GpuComputeEnvironment

MISCONFIGURATIONS = (
    "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
)
"""Reasons for which a job can never start as things are. Waiting for capacity is none of them."""
DEFAULT_LIMIT_SECONDS = 3600
"""An hour: the resource reason may be given while a host still boots."""


class TrainingQueue(Construct):
    """A job queue in front of one compute environment.

    A second environment would not help: a job at the head of the queue that waits for capacity in
    the first blocks the queue even where the second could run it.

    Attributes:
        job_queue: The L1 construct.
    """

    def __init__(
        self, scope: Construct, id: str, *, compute_environment: GpuComputeEnvironment, priority: int = 1
    ) -> None:
        """Make the queue.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            compute_environment: The environment that runs its jobs.
            priority: Priority among queues of the same environment, 0 to 1000. Default: 1.
        """
        super().__init__(scope, id)
        self.job_queue = batch.CfnJobQueue(
            self,
            "Resource",
            priority=priority,
            state="ENABLED",
            compute_environment_order=[
                batch.CfnJobQueue.ComputeEnvironmentOrderProperty(
                    order=1, compute_environment=compute_environment.arn
                )
            ],
            job_state_time_limit_actions=[_cancel(reason) for reason in MISCONFIGURATIONS],
        )
        self.node.default_child = self.job_queue

    @property
    def arn(self) -> str:
        """ARN of the queue."""
        return self.job_queue.attr_job_queue_arn


def _cancel(reason: str) -> batch.CfnJobQueue.JobStateTimeLimitActionProperty:
    return batch.CfnJobQueue.JobStateTimeLimitActionProperty(
        reason=reason, state="RUNNABLE", max_time_seconds=DEFAULT_LIMIT_SECONDS, action="CANCEL"
    )
