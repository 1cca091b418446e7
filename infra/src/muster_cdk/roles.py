"""Who may do what: the host, the training code, the ECS agent that starts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_iam as iam

if TYPE_CHECKING:
    from constructs import Construct

INSTANCE_POLICY = "service-role/AmazonEC2ContainerServiceforEC2Role"
"""AWS's managed policy of ECS hosts. A frozen copy would strand nodes when the agent needs a new action."""
_TASKS = "ecs-tasks.amazonaws.com"


def instance_role(scope: Construct, id: str) -> iam.Role:
    """The role of the hosts: register with ECS, pull from ECR, write logs."""
    return iam.Role(
        scope,
        id,
        description="Hosts of a GPU cluster",
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(INSTANCE_POLICY)],
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
