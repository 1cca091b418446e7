"""Change sets: found by name and stack, executed by the engine."""

from __future__ import annotations

from moto.cloudformation.exceptions import AlreadyExistsException, CloudFormationError, ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Stack
from moto.cloudformation.utils import generate_changeset_id, generate_stack_id, validate_create_change_set

from muster_cli.local.fills.cloudformation.events import CREATE, UPDATE, set_status
from muster_cli.local.fills.cloudformation.stacks import apply, named, publish_exports, validated
from muster_cli.local.fills.patching import replace

_REVIEW = "REVIEW_IN_PROGRESS"


class ChangeSetNotFoundError(CloudFormationError):
    """The CDK looks for an old change set before it makes one, and goes by this code."""

    code = "ChangeSetNotFound"


def _create_change_set(  # noqa: PLR0917  the signature is moto's
    self: CloudFormationBackend,
    stack_name: str,
    change_set_name: str,
    template: str,
    parameters: dict[str, str],
    description: str,
    change_set_type: str,
    notification_arns: list[str] | None = None,
    tags: dict[str, str] | None = None,
    role_arn: str | None = None,
) -> tuple[str, str]:
    validate_create_change_set(change_set_name)
    validated(template)
    stack = _stack_for_change_set(self, stack_name, change_set_type, notification_arns, tags, role_arn)
    change_set = ChangeSet(
        change_set_type=change_set_type,
        change_set_id=generate_changeset_id(change_set_name, self.region_name, self.account_id),
        change_set_name=change_set_name,
        stack=stack,
        template=template,
        parameters=parameters,
        description=description,
        notification_arns=notification_arns,
        tags=tags,
        role_arn=role_arn,
    )
    unchanged = (
        change_set_type == "UPDATE"
        and stack.has_template(template)
        and stack.has_parameters(parameters)
        and stack.tags == (tags or {})
    )
    change_set.status = "FAILED" if unchanged else "CREATE_COMPLETE"
    change_set.execution_status = "UNAVAILABLE" if unchanged else "AVAILABLE"
    if unchanged:
        change_set.status_reason = (
            "The submitted information didn't contain changes. "
            "Submit different information to create a change set."
        )
    self.change_sets[change_set.change_set_id] = change_set
    return change_set.change_set_id, stack.stack_id


def _stack_for_change_set(  # noqa: PLR0917  what a stack is made of
    backend: CloudFormationBackend,
    name: str,
    change_set_type: str,
    notification_arns: list[str] | None,
    tags: dict[str, str] | None,
    role_arn: str | None,
) -> Stack:
    existing = next(named(backend, name), None)
    if change_set_type == "UPDATE":
        if existing is None:
            raise ValidationError(name)
        return existing
    if existing is not None:
        if existing.status != _REVIEW:
            raise AlreadyExistsException(f"Stack [{name}] already exists")
        return existing
    stack = Stack(  # type: ignore[abstract]
        stack_id=generate_stack_id(name, backend.region_name, backend.account_id),
        name=name,
        template={},
        parameters={},
        account_id=backend.account_id,
        region_name=backend.region_name,
        notification_arns=notification_arns,
        tags=tags,
        role_arn=role_arn,
        cross_stack_resources=backend.exports,
    )
    backend.stacks[stack.stack_id] = stack
    set_status(stack, _REVIEW, "User Initiated")
    return stack


def _find_change_set(
    self: CloudFormationBackend, change_set_name: str, stack_name: str | None = None
) -> ChangeSet:
    """Find a change set by its id, or by its name and its stack: the CDK gives every stack's one name."""
    for change_set in reversed(list(self.change_sets.values())):
        of_stack = stack_name in {None, change_set.stack_name, change_set.stack_id}
        if change_set_name == change_set.change_set_id or (
            of_stack and change_set_name == change_set.change_set_name
        ):
            return change_set
    raise ChangeSetNotFoundError(f"ChangeSet [{change_set_name}] does not exist")


def _delete_change_set(
    self: CloudFormationBackend, change_set_name: str, stack_name: str | None = None
) -> None:
    try:
        change_set = _find_change_set(self, change_set_name, stack_name)
    except ChangeSetNotFoundError:
        return
    del self.change_sets[change_set.change_set_id]


def _execute_change_set(
    self: CloudFormationBackend,
    change_set_name: str,
    stack_name: str | None = None,
    *,
    keep_failed: bool = False,
) -> None:
    change_set = _find_change_set(self, change_set_name, stack_name)
    if change_set.execution_status != "AVAILABLE":
        raise ValidationError(
            message=f"ChangeSet [{change_set.change_set_id}] cannot be executed in its current execution status "
            f"of [{change_set.execution_status}]"
        )
    stack = change_set.stack
    if change_set.tags is not None:
        stack.tags = change_set.tags
    creating = change_set.change_set_type == "CREATE"
    set_status(stack, (CREATE if creating else UPDATE).working, "User Initiated")
    change_set.execution_status = "EXECUTE_IN_PROGRESS"
    apply(stack, change_set.template, change_set.parameters, creating=creating, keep_failed=keep_failed)
    publish_exports(self, stack)
    done = stack.status == (CREATE if creating else UPDATE).done
    change_set.execution_status = "EXECUTE_COMPLETE" if done else "EXECUTE_FAILED"


def _parse_template(self: ChangeSet) -> None:
    self.template_dict = Stack.parse_template(self.template)


def install() -> None:
    """Put the fills in the place of moto's methods."""
    replace(ChangeSet, "_parse_template", _parse_template)
    backend = CloudFormationBackend
    replace(backend, "create_change_set", _create_change_set)
    replace(backend, "describe_change_set", _find_change_set)
    replace(backend, "delete_change_set", _delete_change_set)
    replace(backend, "execute_change_set", _execute_change_set)
