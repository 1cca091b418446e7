"""What monitoring is made of: the topic, and the function that counts hosts and jobs."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns

from muster_cdk.launch_template import CLUSTER_TAG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constructs import Construct

    from muster_cdk.cluster import GpuCluster

HANDLER = "monitor_handler.py"
SCHEDULE = "rate(5 minutes)"
TIMEOUT_SECONDS = 60
MEMORY_MIB = 256
_ALARMS = "cloudwatch.amazonaws.com"


def create_topic(scope: Construct, key: kms.IKey | None) -> sns.Topic:
    """A topic that is encrypted, speaks TLS only, and takes the messages of this account's alarms.

    Args:
        scope: Parent construct.
        key: Its key. Default: None, which makes one: alarms cannot use the account's own key for SNS.
    """
    key = key or kms.Key(scope, "Key", description="Notifications of a GPU cluster", enable_key_rotation=True)
    topic = sns.Topic(scope, "Topic", master_key=key, enforce_ssl=True)
    alarms = iam.ServicePrincipal(
        _ALARMS, conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(scope).account}}
    )
    topic.grant_publish(alarms)
    return topic


def subscribe(scope: Construct, topic: sns.ITopic, emails: Sequence[str]) -> None:
    """Send a topic's messages to addresses.

    Args:
        scope: Parent construct.
        topic: The topic.
        emails: The addresses.
    """
    for index, address in enumerate(emails):
        sns.CfnSubscription(
            scope, f"Email{index}", topic_arn=topic.topic_arn, protocol="email", endpoint=address
        )


def min_nodes(cluster: GpuCluster) -> int:
    """The hosts of a cluster that are up without any job because somebody said so.

    Args:
        cluster: The cluster.
    """
    resources = cluster.compute_environment.compute_environment.compute_resources
    vcpus = getattr(resources, "minv_cpus", None) or 0
    return int(vcpus) // cluster.instance.vcpus


def create_watcher(
    scope: Construct,
    *,
    queue_arn: str,
    cluster: str,
    min_nodes: int,
    namespace: str,
    retention: logs.RetentionDays,
) -> lambda_.Function:
    """The function that counts, its role, its log and its schedule.

    Args:
        scope: Parent construct.
        queue_arn: ARN of the queue.
        cluster: The cluster as the tag of its hosts has it.
        min_nodes: Hosts that may be up without a job.
        namespace: Namespace of the metrics.
        retention: How long its log is kept.
    """
    log_group = logs.LogGroup(
        scope, "WatcherLog", retention=retention, removal_policy=cdk.RemovalPolicy.DESTROY
    )
    function = lambda_.Function(
        scope,
        "Watcher",
        description="Counts hosts and jobs of a GPU cluster",
        runtime=lambda_.Runtime.PYTHON_3_14,
        architecture=lambda_.Architecture.ARM_64,
        handler="index.handler",
        code=lambda_.Code.from_inline((files("muster_cdk") / "files" / HANDLER).read_text()),
        role=_role(scope, queue_arn, namespace, log_group),
        log_group=log_group,
        timeout=cdk.Duration.seconds(TIMEOUT_SECONDS),
        memory_size=MEMORY_MIB,
        environment={
            "TAG": CLUSTER_TAG,
            "CLUSTER": cluster,
            "QUEUE": queue_arn,
            "MIN_NODES": str(min_nodes),
            "NAMESPACE": namespace,
        },
    )
    _schedule(scope, function)
    return function


def _role(scope: Construct, queue_arn: str, namespace: str, log_group: logs.ILogGroup) -> iam.Role:
    role = iam.Role(
        scope,
        "WatcherRole",
        description="Counts hosts and jobs of a GPU cluster",
        assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        inline_policies={"Watch": _policy(queue_arn, namespace)},
    )
    log_group.grant_write(role)
    return role


def _policy(queue_arn: str, namespace: str) -> iam.PolicyDocument:
    own = {"StringEquals": {"cloudwatch:namespace": namespace}}
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=["batch:GetJobQueueSnapshot"], resources=[queue_arn]),
            # Neither knows a resource.
            iam.PolicyStatement(actions=["batch:ListJobs", "ec2:DescribeInstances"], resources=["*"]),
            iam.PolicyStatement(actions=["cloudwatch:PutMetricData"], resources=["*"], conditions=own),
        ]
    )


def _schedule(scope: Construct, function: lambda_.Function) -> None:
    rule = events.CfnRule(
        scope,
        "Schedule",
        description="Looks at a GPU cluster",
        schedule_expression=SCHEDULE,
        state="ENABLED",
        targets=[events.CfnRule.TargetProperty(id="Watcher", arn=function.function_arn)],
    )
    lambda_.CfnPermission(
        scope,
        "SchedulePermission",
        action="lambda:InvokeFunction",
        function_name=function.function_name,
        principal="events.amazonaws.com",
        source_arn=rule.attr_arn,
    )
