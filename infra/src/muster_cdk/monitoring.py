"""Alarms on what goes wrong in silence: a blocked queue, failed jobs, idle hosts, a job that never starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_logs as logs
from constructs import Construct

from muster_cdk import monitoring_parts, roles
from muster_cdk.arguments import checked
from muster_cdk.coercion import to_duration, to_flag, to_strings
from muster_cdk.paths import account_and_region
from muster_cdk.validation import Report
from muster_core.contract import BATCH_ID_SEPARATOR, OUTCOME_FAILED, VERDICT_MARKER
from muster_core.rules import Problem, monitoring, nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_sns as sns

    from muster_cdk.cluster import GpuCluster
    from muster_cdk.training_job import MultiNodeTrainingJob

NAMESPACE = "Muster"
FAILED_PATTERN = f'"{VERDICT_MARKER.strip()}" "\\"outcome\\":\\"{OUTCOME_FAILED}\\""'
"""A filter on the runtime's verdict; its JSON is written without spaces."""
WATCHER_FAILURES = 3
"""Looks in a row that fail until the watcher itself is told of."""


class TrainingMonitoring(Construct):
    """Alarms, a dashboard and notifications for one cluster and its jobs.

    AWS Batch has no metrics. Blocked queues and failed jobs are counted by EventBridge rules; hosts and
    waiting jobs by a small function that looks every 5 minutes; failed attempts, also those that are
    tried again, by the verdicts in the jobs' logs. The alarms, the dashboard, the key of a new topic and
    the function cost a few dollars a month.

    Attributes:
        topic: The topic of the notifications.
        blocked_queue: Alarm: a job at the head of the queue cannot run, by AWS Batch's reckoning.
        failed_jobs: Alarm: a job failed for good, or somebody ended it.
        idle_hosts: Alarm: more hosts than ``min_nodes`` are up and no job runs, also where hosts never join.
        waiting_job: Alarm: the job at the head of the queue waits for long.
        watcher_failure: Alarm: the function that counts fails, so that two alarms above are blind.
        function: The function that counts.
        dashboard: The dashboard, None without one.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: GpuCluster,
        jobs: Sequence[MultiNodeTrainingJob] = (),
        topic: sns.ITopic | None = None,
        encryption_key: kms.IKey | None = None,
        emails: Sequence[str] = (),
        idle_after: str | cdk.Duration = "30m",
        runnable_after: str | cdk.Duration = "30m",
        dashboard: bool = True,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        permissions_boundary: iam.IManagedPolicy | str | None = None,
    ) -> None:
        """Watch a cluster.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            cluster: The cluster.
            jobs: Its jobs, whose failed attempts are counted. Default: none.
            topic: A topic of yours; its policy and its key must let CloudWatch in. Default: - a new one that does.
            encryption_key: The key of a new topic; CloudWatch is let in. Default: - a new key.
            emails: Addresses that get the notifications; AWS asks each to confirm. Default: none.
            idle_after: How long hosts may be up without a job: 5 minutes to 24 hours in steps of 5 minutes, and
                longer than the cluster's ``scale_down_delay``. Default: 30m.
            runnable_after: How long the job at the head of the queue may wait: 5 minutes to 24 hours. Default: 30m.
            dashboard: Whether there is a dashboard. Default: True.
            log_retention: How long the function's own log is kept. Default: one month.
            permissions_boundary: A managed policy, or its ARN, that bounds the function's role. Default: none.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: A text is no duration, or a duration is not known at synth. All other problems are reported together at the synth.
        """
        super().__init__(scope, id)
        self._cluster, self._jobs = cluster, list(jobs)
        idle = _seconds(idle_after, "idle_after")
        waiting = _seconds(runnable_after, "runnable_after")
        Report(self).add(self._problems(idle, waiting))
        roles.bound(self, permissions_boundary)
        self.topic = topic or monitoring_parts.create_topic(self, encryption_key)
        monitoring_parts.subscribe(self, self.topic, to_strings(emails, "emails"))
        self.function = monitoring_parts.create_watcher(
            self,
            queue_arn=self._queue_arn,
            cluster=cluster.node.path,
            min_nodes=monitoring_parts.min_nodes(cluster),
            namespace=NAMESPACE,
            retention=log_retention,
        )
        self.blocked_queue = self._event_alarm("BlockedQueue", blocked_pattern(self._queue_arn), _BLOCKED)
        self.failed_jobs = self._event_alarm("FailedJobs", failed_pattern(self._queue_arn), _FAILED)
        periods = max(1, idle // monitoring.PERIOD_SECONDS)
        self.idle_hosts = self._alarm("IdleHosts", self.metric("IdleHosts"), 1, periods, _IDLE)
        self.waiting_job = self._alarm("WaitingJob", self.metric("HeadOfQueueWait"), waiting, 1, _WAITING)
        errors = self.function.metric_errors(period=_PERIOD)
        self.watcher_failure = self._alarm("WatcherFailure", errors, 1, WATCHER_FAILURES, _BLIND)
        self._failures = [self._count_failures(each) for each in self._jobs]
        self.dashboard = self._create_dashboard() if to_flag(dashboard, "dashboard") else None

    def metric(self, name: str) -> cloudwatch.Metric:
        """A metric of the cluster: the highest value of 5 minutes.

        Args:
            name: ``Hosts``, ``BusyJobs``, ``IdleHosts`` or ``HeadOfQueueWait`` (in seconds).

        Returns:
            The metric.
        """
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map={"Cluster": self._cluster.node.path},
            statistic="Maximum",
            period=_PERIOD,
        )

    def metric_failed_attempts(self, job: MultiNodeTrainingJob) -> cloudwatch.Metric:
        """Attempts of a job that failed by the runtime's verdict, also those that were tried again.

        Args:
            job: One of the jobs.

        Returns:
            The metric.
        """
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=_failures_name(job),
            statistic="Sum",
            period=_PERIOD,
        )

    @property
    def alarms(self) -> list[cloudwatch.Alarm]:
        """All alarms."""
        return [
            *(self.blocked_queue, self.failed_jobs, self.idle_hosts),
            *(self.waiting_job, self.watcher_failure),
        ]

    @property
    def _queue_arn(self) -> str:
        return self._cluster.job_queue.arn

    def _problems(self, idle: int, waiting: int) -> list[Problem]:
        watched = self._cluster.node.path
        elsewhere = [
            problem
            for each in self._jobs
            for problem in monitoring.job(each.node.path, each.cluster.node.path, watched)
        ]
        places = account_and_region(self), account_and_region(self._cluster)
        return [
            *nodes.environment(*places, "monitoring"),
            *monitoring.idle_after(idle),
            *monitoring.runnable_after(waiting),
            *elsewhere,
        ]

    def _event_alarm(self, id: str, pattern: dict[str, Any], text: str) -> cloudwatch.Alarm:
        rule = events.CfnRule(self, f"{id}Rule", description=text, event_pattern=pattern, state="ENABLED")
        matched = cloudwatch.Metric(
            namespace="AWS/Events",
            metric_name="MatchedEvents",
            # A rule of the default bus has no other dimension.
            dimensions_map={"RuleName": rule.ref},
            statistic="Sum",
            period=_PERIOD,
        )
        return self._alarm(id, matched, 1, 1, text)

    def _alarm(
        self, id: str, metric: cloudwatch.Metric, threshold: float, periods: int, text: str
    ) -> cloudwatch.Alarm:
        alarm = metric.create_alarm(
            self,
            id,
            alarm_description=f"{text} ({self._cluster.node.path})",
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))
        return alarm

    def _count_failures(self, job: MultiNodeTrainingJob) -> cloudwatch.Metric:
        logs.CfnMetricFilter(
            self,
            f"Failures-{job.node.addr}",
            log_group_name=job.log_group.log_group_name,
            filter_pattern=FAILED_PATTERN,
            metric_transformations=[
                logs.CfnMetricFilter.MetricTransformationProperty(
                    metric_namespace=NAMESPACE,
                    metric_name=_failures_name(job),
                    metric_value="1",
                    default_value=0,
                    unit="Count",
                )
            ],
        )
        return self.metric_failed_attempts(job)

    def _create_dashboard(self) -> cloudwatch.Dashboard:
        hosts = [self.metric(name) for name in ("Hosts", "BusyJobs", "IdleHosts")]
        ended = [self.blocked_queue.metric, self.failed_jobs.metric, *self._failures]
        rows: list[list[cloudwatch.IWidget]] = [
            [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(self.alarms), width=24)],
            [
                cloudwatch.GraphWidget(title="Hosts and jobs", left=list(hosts)),
                cloudwatch.GraphWidget(title="Wait at the head", left=[self.metric("HeadOfQueueWait")]),
                cloudwatch.GraphWidget(title="Blocked, failed, failed attempts", left=list(ended)),
            ],
        ]
        if self._jobs:
            rows.append([self._verdicts()])
        return cloudwatch.Dashboard(self, "Dashboard", widgets=rows)

    def _verdicts(self) -> cloudwatch.LogQueryWidget:
        return cloudwatch.LogQueryWidget(
            title="Verdicts",
            width=24,
            log_group_names=[each.log_group.log_group_name for each in self._jobs],
            query_lines=[
                "fields @timestamp, @message",
                f"filter @message like '{VERDICT_MARKER.strip()}'",
                "sort @timestamp desc",
                "limit 20",
            ],
        )


_PERIOD = cdk.Duration.seconds(monitoring.PERIOD_SECONDS)
_BLOCKED = "the job at the head of the queue cannot run, by AWS Batch's reckoning; its statusReason says why"
_FAILED = "a job failed for good, or somebody ended it"
_IDLE = "hosts are up and paid for, and no job runs on them"
_WAITING = "the job at the head of the queue has been waiting for long"
_BLIND = "the function that counts hosts and jobs fails: idle hosts and waiting jobs are not told of"


def blocked_pattern(queue_arn: str) -> dict[str, Any]:
    """The pattern of the events by which AWS Batch says that a queue is blocked.

    Args:
        queue_arn: ARN of the queue.
    """
    return {
        "source": ["aws.batch"],
        "detail-type": ["Batch Job Queue Blocked"],
        "detail": {"jobQueue": [queue_arn]},
    }


def failed_pattern(queue_arn: str) -> dict[str, Any]:
    """The pattern of the events of jobs that failed: whole jobs, whose id has no node's suffix.

    Args:
        queue_arn: ARN of the queue.
    """
    return {
        "source": ["aws.batch"],
        "detail-type": ["Batch Job State Change"],
        "detail": {
            "jobQueue": [queue_arn],
            "status": ["FAILED"],
            "jobId": [{"anything-but": {"wildcard": f"*{BATCH_ID_SEPARATOR}*"}}],
        },
    }


def _seconds(value: str | cdk.Duration, argument: str) -> int:
    duration = to_duration(value, argument)
    if duration.is_unresolved():
        raise ValueError(f"{argument} must be known at synth, got a token; give a duration such as '30m'")
    return int(duration.to_seconds())


def _failures_name(job: MultiNodeTrainingJob) -> str:
    return f"FailedAttempts {job.node.path}"
