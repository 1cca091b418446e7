"""The queue: one environment behind it, and no job that waits for ever on a mistake."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from constructs import Construct

from muster_cdk.capacity_times import warn_of_times
from muster_cdk.coercion import to_amount, to_count, to_numbers
from muster_cdk.compute_environment import GpuComputeEnvironment
from muster_cdk.validation import report_of
from muster_core.rules import queue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from muster_cdk.capacity import Capacity
    from muster_core.rules import Problem

MISCONFIGURATIONS = (
    "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
)
"""Reasons for which a job can never start as things are. Waiting for capacity is none of them."""
CAPACITY = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"
UNSUPPORTED = "MISCONFIGURATION:EC2_INSTANCE_CONFIGURATION_UNSUPPORTED"
"""In AWS's newest list of reasons; not every region may know it, so it is opt-in."""
DEFAULT_LIMIT = "1h"
"""An hour: the resource reason may be given while a host still boots."""


@dataclass(frozen=True, kw_only=True)
class FairShare:
    """How a queue divides its capacity among shares, such as teams.

    Each job then names its share when it is submitted (``shareIdentifier``), and AWS Batch refuses
    one that does not. A queue without a fair share is first in, first out, and AWS Batch refuses to
    give it one later, or to take one away; weights, decay and reservation may change. To have both,
    make a second ``TrainingQueue`` in front of the same environment.

    Attributes:
        weights: Share identifier, or the beginning of some with an asterisk -> weight; a lower weight
            gets more. Default: - 1 for every share.
        decay: Time over which use counts against a share, up to 7 days. Default: - Batch's 10 minutes.
        reservation: Per cent of the capacity, 0 to 99, that is kept for shares not in use. Default: none.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    decay: str | cdk.Duration | None = None
    reservation: int | None = None


class TrainingQueue(Construct):
    """A job queue in front of one compute environment.

    A second environment would not help: a job at the head of the queue that waits for capacity in
    the first blocks the queue even where the second could run it.

    What a queue can never change is its name, its type, and whether it has a fair share: AWS Batch
    refuses such an update. For another kind of scheduling make a second queue beside it, in front of
    the same environment. A queue that goes ends all its jobs, those that run, too.

    Attributes:
        job_queue: The L1 construct.
        scheduling_policy: The L1 construct of the fair share; None without one.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        compute_environment: GpuComputeEnvironment | batch.IComputeEnvironment,
        more_environments: Sequence[GpuComputeEnvironment | batch.IComputeEnvironment] = (),
        priority: int = 1,
        misconfiguration_limit: str | cdk.Duration | None = DEFAULT_LIMIT,
        capacity_limit: str | cdk.Duration | None = None,
        unsupported_limit: str | cdk.Duration | None = None,
        fair_share: FairShare | None = None,
    ) -> None:
        """Make the queue.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            compute_environment: The environment that runs its jobs, or one of yours.
            more_environments: Up to two more, for the move from one to the other; a warning says what they
                do not do. Default: none.
            priority: Priority among queues of the same environment, 0 to 1000. Default: 1.
            misconfiguration_limit: How long a job at the head of the queue may wait for what can never come, as
                AWS Batch reckons, until it is cancelled: 1 to 24 hours, or None for ever. Default: 1h.
            capacity_limit: How long a job at the head of the queue may wait for capacity until it is cancelled:
                10 minutes to 24 hours; refused beside a Capacity Block. Default: - for ever.
            unsupported_limit: How long a job at the head of the queue may wait whose hosts EC2 cannot start as
                they are configured: 1 to 24 hours. The newest of Batch's reasons, which a region may not
                know yet. Default: - for ever.
            fair_share: How the capacity is divided among shares; jobs then name theirs. It can neither be
                added to a queue later nor taken away. Default: - first in, first out.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: A text is no duration, or a weight is not finite. All other problems are reported together at the synth.
        """
        super().__init__(scope, id)
        self.environments = [compute_environment, *_several(more_environments)]
        arns = [_arn(each) for each in self.environments]
        limits = {
            name: to_amount(value, name, cdk.Duration.to_seconds)
            for name, value in (
                ("misconfiguration_limit", misconfiguration_limit),
                ("capacity_limit", capacity_limit),
                ("unsupported_limit", unsupported_limit),
            )
        }
        number = to_count(priority, "priority")
        report = report_of(self, scope)
        block = any(each.is_block for each in self._capacities())
        report.add([*queue.priority(number), *_limit_problems(limits, block=block)])
        report.add(self._environment_problems())
        self.scheduling_policy: batch.CfnSchedulingPolicy | None = None
        if fair_share is not None:
            policy, problems = _policy(fair_share)
            report.add(problems)
            self.scheduling_policy = batch.CfnSchedulingPolicy(self, "FairShare", fairshare_policy=policy)
        self.job_queue = batch.CfnJobQueue(
            self,
            "Resource",
            priority=number,
            state="ENABLED",
            compute_environment_order=[
                batch.CfnJobQueue.ComputeEnvironmentOrderProperty(order=order, compute_environment=arn)
                for order, arn in enumerate(arns, start=1)
            ],
            job_state_time_limit_actions=_actions(limits) or None,
            scheduling_policy_arn=self.scheduling_policy.attr_arn if self.scheduling_policy else None,
        )
        self.node.default_child = self.job_queue
        if more_environments:
            self._warn_second()
        for each in self._capacities():
            warn_of_times(self, each, [limit for limit in limits.values() if limit is not None])

    @property
    def arn(self) -> str:
        """ARN of the queue."""
        return self.job_queue.attr_job_queue_arn

    @property
    def needs_share_identifier(self) -> bool:
        """Whether a submission must name its share."""
        return self.scheduling_policy is not None

    def _capacities(self) -> list[Capacity]:
        found = [each.capacities for each in self.environments if isinstance(each, GpuComputeEnvironment)]
        return [capacity for each in found for capacity in each]

    def _environment_problems(self) -> list[Problem]:
        kinds = [problem for each in self.environments for problem in queue.environment_kind(_kind(each))]
        types = [each.instance for each in self.environments if isinstance(each, GpuComputeEnvironment)]
        return [
            *kinds,
            *queue.environments([each.node.path for each in self.environments]),
            *queue.architectures({each.name: each.architecture for each in types}),
        ]

    def _warn_second(self) -> None:
        cdk.Annotations.of(self).add_warning_v2(
            "muster-cdk:secondEnvironment",
            f"more_environments does not help the job at the head of the queue, got {len(self.environments)} environments; "
            "a multi-node job that waits for capacity in the first one blocks the queue, whatever the others have free; "
            "give each environment a queue of its own",
        )


def _limit_problems(limits: Mapping[str, float | None], *, block: bool) -> list[Problem]:
    return [
        *queue.misconfiguration_limit(limits["misconfiguration_limit"]),
        *queue.capacity_limit(limits["capacity_limit"], block=block),
        *queue.unsupported_limit(limits["unsupported_limit"]),
    ]


def _actions(limits: Mapping[str, float | None]) -> list[batch.CfnJobQueue.JobStateTimeLimitActionProperty]:
    reasons = {
        **dict.fromkeys(MISCONFIGURATIONS, limits["misconfiguration_limit"]),
        CAPACITY: limits["capacity_limit"],
        UNSUPPORTED: limits["unsupported_limit"],
    }
    return [
        batch.CfnJobQueue.JobStateTimeLimitActionProperty(
            reason=reason, state="RUNNABLE", max_time_seconds=seconds, action="CANCEL"
        )
        for reason, seconds in reasons.items()
        if seconds is not None
    ]


def _policy(share: FairShare) -> tuple[batch.CfnSchedulingPolicy.FairsharePolicyProperty, list[Problem]]:
    """The policy, and what is wrong with it.

    Raises:
        TypeError: The value is no ``FairShare``, or a field of it has a wrong type.
        ValueError: A weight is infinite, or no number at all.
    """
    if not isinstance(share, FairShare):
        raise TypeError(
            f"fair_share must be a FairShare, got {type(share).__name__} {share!r}; "
            "use FairShare(weights={'teamA': 0.5})"
        )
    weights = to_numbers(share.weights, "weights")
    decay = to_amount(share.decay, "decay", cdk.Duration.to_seconds)
    reservation = None if share.reservation is None else to_count(share.reservation, "reservation")
    problems = queue.fair_share(weights, decay, reservation)
    if not all(math.isfinite(each) for each in weights.values()):  # CDK's process would not outlive it
        raise ValueError("\n".join(problem.message for problem in problems))
    policy = batch.CfnSchedulingPolicy.FairsharePolicyProperty(
        share_decay_seconds=decay,
        compute_reservation=reservation,
        share_distribution=[
            batch.CfnSchedulingPolicy.ShareAttributesProperty(share_identifier=name, weight_factor=weight)
            for name, weight in weights.items()
        ],
    )
    return policy, problems


def _several(
    environments: Sequence[GpuComputeEnvironment | batch.IComputeEnvironment],
) -> Sequence[GpuComputeEnvironment | batch.IComputeEnvironment]:
    if isinstance(environments, (list, tuple)):
        return environments
    raise TypeError(
        f"more_environments must be a list of environments, got {type(environments).__name__} {environments!r}; "
        "change it"
    )


def _arn(environment: GpuComputeEnvironment | batch.IComputeEnvironment) -> str:
    if isinstance(environment, GpuComputeEnvironment):
        return environment.arn
    arn = getattr(environment, "compute_environment_arn", None)
    if isinstance(arn, str):
        return arn
    raise TypeError(
        "compute_environment must be a GpuComputeEnvironment or one of CDK's environments, got "
        f"{type(environment).__name__} {environment!r}; change it"
    )


def _kind(environment: object) -> str | None:
    """What is wrong with an environment that CDK made; of an imported one nothing is known."""
    if isinstance(environment, batch.ManagedEc2EcsComputeEnvironment) and environment.spot:
        return queue.SPOT
    if isinstance(environment, batch.FargateComputeEnvironment):
        return queue.FARGATE
    return queue.UNMANAGED if isinstance(environment, batch.UnmanagedComputeEnvironment) else None
