"""Who may do what: the host, the training code, the ECS agent that starts it, the person who submits it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from muster_cdk import trust
from muster_cdk.arguments import checked
from muster_cdk.coercion import to_variables
from muster_cdk.validation import report_of
from muster_core.rules import roles as rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs import Construct

    from muster_cdk.training_job import MultiNodeTrainingJob

INSTANCE_POLICY = "service-role/AmazonEC2ContainerServiceforEC2Role"
"""AWS's managed policy of ECS hosts. A frozen copy would strand nodes when the agent needs a new action."""
INSTANCE_ACTIONS = (
    "ec2:DescribeTags",
    "ecs:CreateCluster",
    "ecs:DeregisterContainerInstance",
    "ecs:DiscoverPollEndpoint",
    "ecs:Poll",
    "ecs:RegisterContainerInstance",
    "ecs:StartTelemetrySession",
    "ecs:Submit*",
    "ecs:UpdateContainerInstancesState",
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetAuthorizationToken",
    "ecr:GetDownloadUrlForLayer",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
)
"""What that policy allowed on every resource at version 10, of 2026-02-12."""
_TASKS = "ecs-tasks.amazonaws.com"
_STOP = ("batch:CancelJob", "batch:TerminateJob")
_LOOK = (
    "batch:DescribeComputeEnvironments",
    "batch:DescribeJobDefinitions",
    "batch:DescribeJobQueues",
    "batch:DescribeJobs",
    "batch:ListJobs",
)
"""Reads for which AWS Batch knows no resource."""
_READ_LOGS = ("logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents")


def instance_role(scope: Construct, id: str, *, inline: bool = False) -> iam.Role:
    """The role of the hosts: register with ECS, pull from ECR, write logs.

    Args:
        scope: Parent construct.
        id: Id of the role.
        inline: Whether it holds a copy of AWS's managed policy in the place of the policy, for accounts
            that allow none; the copy must be kept up by hand. Default: False.
    """
    managed = iam.ManagedPolicy.from_aws_managed_policy_name(INSTANCE_POLICY)
    return iam.Role(
        scope,
        id,
        description="Hosts of a GPU cluster",
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        managed_policies=[] if inline else [managed],
        inline_policies={"Host": _host_policy(cdk.Stack.of(scope))} if inline else None,
    )


def instance_profile(scope: Construct, id: str, role: iam.IRole) -> iam.CfnInstanceProfile:
    """The profile that hands a role to the hosts."""
    return iam.CfnInstanceProfile(scope, id, roles=[role.role_name])


def job_role(scope: Construct, id: str) -> iam.Role:
    """The role of the training code; it may do nothing until something is granted to it."""
    return iam.Role(scope, id, description="Training code of a job", assumed_by=iam.ServicePrincipal(_TASKS))


def execution_role(scope: Construct, id: str) -> iam.Role:
    """The role of the ECS agent for one job: pull its image, read its secrets, write its log.

    Once a definition names an execution role, the log driver and the pull use it and no longer
    the host's: so each is granted to it.
    """
    return iam.Role(
        scope, id, description="ECS agent on behalf of a job", assumed_by=iam.ServicePrincipal(_TASKS)
    )


class SubmitterRole(iam.Role):
    """A role for a person or a pipeline that submits jobs, watches and ends them, and reads their logs.

    It may read the stacks of the jobs too, where ``muster submit`` finds the definition and the queue.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        assumed_by: iam.IPrincipal,
        jobs: Sequence[MultiNodeTrainingJob],
        job_tags: Mapping[str, str] | None = None,
        permissions_boundary: iam.IManagedPolicy | str | None = None,
    ) -> None:
        """Make the role.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            assumed_by: Who may take the role.
            jobs: The job definitions that it may submit.
            job_tags: Tags of the jobs that it may end. Default: - every job of the account in the
                region, as IAM knows no queue of a job.
            permissions_boundary: A managed policy, or its ARN, that bounds the role. Default: none.
        """
        super().__init__(
            scope, id, description="Submits multi-node jobs and follows them", assumed_by=assumed_by
        )
        trust.check_anyone(self, "assumed_by")
        bound(self, permissions_boundary)
        for job in jobs:
            job.grant_submit(self)
            job.grant_read_logs(self)
        for cluster in {job.cluster.node.path: job.cluster for job in jobs}.values():
            cluster.grant_manage(self, job_tags=job_tags)
        for stack in {cdk.Stack.of(job).node.path: cdk.Stack.of(job) for job in jobs}.values():
            self.add_to_policy(_read_stack(stack))


def bound(scope: Construct, boundary: iam.IManagedPolicy | str | None) -> None:
    """Set a permissions boundary on every role within a construct; does nothing for None."""
    if isinstance(boundary, str):
        report_of(scope, scope).add(rules.boundary(boundary))
        boundary = iam.ManagedPolicy.from_managed_policy_arn(scope, "PermissionsBoundary", boundary)
    if boundary is not None:
        iam.PermissionsBoundary.of(scope).apply(boundary)


@checked
def grant_manage(
    stack: cdk.Stack, grantee: iam.IGrantable, queue_arn: str, job_tags: Mapping[str, str] | None
) -> iam.Grant:
    """Let somebody look at jobs, end them, and see what waits in a queue."""
    jobs = stack.format_arn(service="batch", resource="job", resource_name="*")
    tags = {f"aws:ResourceTag/{key}": value for key, value in to_variables(job_tags, "job_tags").items()}
    conditions = {"StringEquals": tags} if tags else None
    grants = [
        iam.Grant.add_to_principal(
            grantee=grantee, actions=[*_STOP], resource_arns=[jobs], conditions=conditions
        ),
        iam.Grant.add_to_principal(grantee=grantee, actions=[*_LOOK], resource_arns=["*"]),
        iam.Grant.add_to_principal(
            grantee=grantee, actions=["batch:GetJobQueueSnapshot"], resource_arns=[queue_arn]
        ),
    ]
    return grants[0].combine(grants[1]).combine(grants[2])


@checked
def grant_read_logs(grantee: iam.IGrantable, log_group_arn: str) -> iam.Grant:
    """Let somebody read the events of a log group, and find its streams.

    Args:
        grantee: Who may read.
        log_group_arn: ARN of the group, which ends in ``:*`` as CloudFormation gives it.
    """
    return iam.Grant.add_to_principal(grantee=grantee, actions=[*_READ_LOGS], resource_arns=[log_group_arn])


def _read_stack(stack: cdk.Stack) -> iam.PolicyStatement:
    arn = stack.format_arn(service="cloudformation", resource="stack", resource_name=f"{stack.stack_name}/*")
    return iam.PolicyStatement(actions=["cloudformation:DescribeStacks"], resources=[arn])


def _host_policy(stack: cdk.Stack) -> iam.PolicyDocument:
    """The statements of :data:`INSTANCE_POLICY`: its tags are for what it makes, and read on what is its own."""
    created = {"StringEquals": {"ecs:CreateAction": ["CreateCluster", "RegisterContainerInstance"]}}
    tagged = [
        stack.format_arn(service="ecs", resource=kind, resource_name="*/*")
        for kind in ("container-instance", "task")
    ]
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=[*INSTANCE_ACTIONS], resources=["*"]),
            iam.PolicyStatement(actions=["ecs:TagResource"], resources=["*"], conditions=created),
            iam.PolicyStatement(actions=["ecs:ListTagsForResource"], resources=tagged),
        ]
    )
