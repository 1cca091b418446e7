"""What the roles of the user's own lack: the trust of the service that takes them, policies, grants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
import jsii
from aws_cdk import aws_iam as iam
from constructs import IValidation

from muster_cdk.paths import path_of
from muster_core.rules import trust as rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constructs import Construct

    from muster_core.rules import Problem


@jsii.implements(IValidation)
class _Trust:
    """The trust policy of a role, judged at the synth: statements may be added until then."""

    def __init__(self, role: iam.Role, judge: Callable[[Sequence[rules.Statement]], list[Problem]]) -> None:
        self._role = role
        self._judge = judge

    def validate(self) -> list[str]:
        """The sentences, for CDK."""
        document = cdk.Stack.of(self._role).resolve(self._role.assume_role_policy) or {}
        return [problem.message for problem in self._judge(document.get("Statement", []))]


def check_service(owner: Construct, argument: str, role: iam.IRole | None, service: str) -> None:
    """Refuse a role of this app that does not trust the service which is to take it.

    Args:
        owner: Whoever takes the role.
        argument: The argument that it was given by.
        role: The role; None where none was given.
        service: The service's short name, such as ``ec2``.
    """
    if isinstance(role, iam.Role):
        name = path_of(role)
        judge = _Trust(role, lambda found: rules.service(argument, name, found, service))
        owner.node.add_validation(judge)


def check_anyone(role: iam.Role, argument: str) -> None:
    """Refuse a role that everybody may take.

    Args:
        role: The role.
        argument: The argument that says who may.
    """
    role.node.add_validation(_Trust(role, lambda found: rules.anyone(argument, found)))


def warn_without_policy(scope: Construct, role: iam.IRole | None) -> None:
    """Say that a role of this app for the hosts has no policy; nobody here knows those of an imported one.

    Args:
        scope: Whoever takes the role.
        role: The role; None where none was given.
    """
    made = role.node.default_child if isinstance(role, iam.Role) else None
    if not isinstance(role, iam.Role) or not isinstance(made, iam.CfnRole):
        return
    written = cdk.Stack.of(role).resolve([made.managed_policy_arns, made.policies])
    if not any(written or ()) and not _has_policy(role):
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:instanceRolePolicy",
            f"instance_role has no policy, got {path_of(role)!r}; the hosts register with ECS by it; give it "
            "service-role/AmazonEC2ContainerServiceforEC2Role before the cluster",
        )


def warn_dropped_grants(scope: Construct, role: iam.IRole) -> None:
    """Say that a role took none of the grants that it was given: CDK drops those to an immutable one.

    Args:
        scope: The job.
        role: Its execution role, after the grants.
    """
    if not isinstance(role, iam.Role) and not _has_policy(role):
        cdk.Annotations.of(scope).add_warning_v2(
            "muster-cdk:executionRoleGrants",
            f"execution_role takes no grants, got {path_of(role)!r}; it must allow to read the job's secret, to write its "
            "log and to pull its image; allow these where the role is made, or import it without mutable=False",
        )


def _has_policy(role: iam.IRole) -> bool:
    return any(isinstance(child, iam.Policy) for child in role.node.find_all())
