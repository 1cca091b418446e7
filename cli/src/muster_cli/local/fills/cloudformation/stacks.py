"""moto's stacks and change sets, led to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.cloudformation.exceptions import AlreadyExistsException, CloudFormationError, ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Stack
from moto.cloudformation.parsing import OutputMap, ResourceMap
from moto.cloudformation.utils import (
    generate_changeset_id,
    generate_stack_id,
    validate_create_change_set,
)
from moto.ssm.models import ssm_backends

from muster_cli.local.fills.cloudformation import engine, resources, template
from muster_cli.local.fills.cloudformation.events import CREATE, UPDATE, set_status
from muster_cli.local.fills.patching import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

_REVIEW = "REVIEW_IN_PROGRESS"


class ChangeSetNotFoundError(CloudFormationError):
    """The CDK looks for an old change set before it makes one, and goes by this code."""

    code = "ChangeSetNotFound"


def validated(body: str) -> dict[str, Any]:
    """Parse a template and turn it away when it cannot be deployed.

    Args:
        body: JSON or YAML.

    Returns:
        The template.

    Raises:
        ValidationError: In CloudFormation's words.
    """
    try:
        parsed = Stack.parse_template(body)
        template.check(parsed, resources.is_known)
    except (template.TemplateError, ValueError) as error:
        raise ValidationError(message=str(error)) from error
    return parsed


# --- the map of resources: it looks up, it never makes ------------------------------------------


def _get(self: ResourceMap, key: str) -> Any:  # noqa: ANN401
    return self._parsed_resources[key]


def _existing(self: ResourceMap) -> list[str]:
    return [name for name in self._resource_json_map if name in self._parsed_resources]


def _load(self: ResourceMap) -> None:
    """Load all but the outputs: the engine reads these once their resources exist."""
    self.load_mapping()
    self.transform_mapping()
    self.load_parameters()
    self.load_conditions()


def _parse_ssm_parameter(self: ResourceMap, value: str, value_type: str) -> Any:  # noqa: ANN401
    backend = ssm_backends[self._account_id][self._region_name]
    parameter = backend.get_parameter(value)
    if parameter is None:
        raise ValidationError(
            message=f"Unable to fetch parameters [{value}] from parameter store for this account."
        )
    text = str(parameter.value)
    return text.split(",") if "List" in value_type else text


# --- stacks -------------------------------------------------------------------------------------


def _apply(
    stack: Stack,
    body: str,
    parameters: dict[str, Any],
    *,
    creating: bool,
    keep_failed: bool = False,
) -> None:
    """Load a template into a stack and let the engine work; afterwards the stack shows what is."""
    before = (stack.template, stack.template_dict, stack.parameters, stack.output_map)
    stack.template = body
    stack._parse_template()  # noqa: SLF001
    stack.parameters = parameters
    new_map = stack._create_resource_map()  # noqa: SLF001
    stack.output_map = OutputMap(new_map, stack.template_dict, stack.stack_id)
    stack.description = stack.template_dict.get("Description")
    phase = CREATE if creating else UPDATE
    engine.converge(stack, new_map, phase, keep_failed=keep_failed)
    if stack.status != phase.done:  # outputs may refer to what was not made
        stack.output_map = OutputMap(stack.resource_map, {}, stack.stack_id) if creating else before[3]
    if stack.resource_map is not new_map and not creating:
        stack.template, stack.template_dict, stack.parameters = before[:3]


def _publish_exports(backend: CloudFormationBackend, stack: Stack) -> None:
    for name in [n for n, e in backend.exports.items() if e.exporting_stack_id == stack.stack_id]:
        del backend.exports[name]
    if stack.status.endswith("_COMPLETE") and engine.deployed(stack):
        backend.exports.update({export.name: export for export in stack.exports})


def _create_stack(  # noqa: PLR0917  the signature is moto's
    self: CloudFormationBackend,
    name: str,
    template: str,
    parameters: dict[str, Any],
    notification_arns: list[str] | None = None,
    tags: dict[str, str] | None = None,
    role_arn: str | None = None,
    enable_termination_protection: bool | None = False,
    timeout_in_mins: int | None = None,
    stack_policy_body: str | None = None,
    *,
    keep_failed: bool = False,
) -> Stack:
    if any(stack.name == name for stack in self.stacks.values()):
        raise AlreadyExistsException(f"Stack [{name}] already exists")
    validated(template)
    stack = Stack(  # type: ignore[abstract]
        stack_id=generate_stack_id(name, self.region_name, self.account_id),
        name=name,
        template=template,
        parameters=parameters,
        account_id=self.account_id,
        region_name=self.region_name,
        notification_arns=notification_arns,
        tags=tags,
        role_arn=role_arn,
        cross_stack_resources=self.exports,
        enable_termination_protection=enable_termination_protection,
        timeout_in_mins=timeout_in_mins,
        stack_policy_body=stack_policy_body,
    )
    self.stacks[stack.stack_id] = stack
    set_status(stack, CREATE.working, "User Initiated")
    _apply(stack, template, parameters, creating=True, keep_failed=keep_failed)
    _publish_exports(self, stack)
    return stack


def _update_stack(  # noqa: PLR0917  the signature is moto's
    self: CloudFormationBackend,
    name: str,
    template: str,
    role_arn: str | None,
    parameters: list[dict[str, Any]],
    tags: dict[str, str] | None,
    *,
    keep_failed: bool = False,
) -> Stack:
    stack = self.get_stack(name)
    validated(template)
    new = self._resolve_update_parameters(instance=stack, incoming_params=parameters)
    if stack.has_template(template) and stack.parameters == new and (not tags or tags == stack.tags):
        raise ValidationError(message="No updates are to be performed.")
    stack.role_arn = role_arn
    if tags is not None:
        stack.tags = tags
    set_status(stack, UPDATE.working, "User Initiated")
    _apply(stack, template, new, creating=False, keep_failed=keep_failed)
    _publish_exports(self, stack)
    return stack


def _resolve_update_parameters(
    _self: CloudFormationBackend,
    instance: Any,  # noqa: ANN401
    incoming_params: list[dict[str, str]],
) -> dict[str, str]:
    """A previous value that there is not is the parameter's default."""
    previous = instance.parameters
    given = {p["ParameterKey"]: p["ParameterValue"] for p in incoming_params if "ParameterValue" in p}
    kept = {p["ParameterKey"] for p in incoming_params if p.get("UsePreviousValue") in {True, "true"}}
    return {**given, **{key: previous[key] for key in kept if key in previous}}


def _delete_stack(self: CloudFormationBackend, name_or_stack_id: str) -> None:
    for stack in _named(self, name_or_stack_id):
        if stack.enable_termination_protection:
            raise ValidationError(
                message=f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
            )
        if engine.remove(stack):
            for name in [n for n, e in self.exports.items() if e.exporting_stack_id == stack.stack_id]:
                del self.exports[name]
            self.deleted_stacks[stack.stack_id] = self.stacks.pop(stack.stack_id)


def _named(backend: CloudFormationBackend, name_or_id: str) -> Iterator[Stack]:
    yield from [s for s in backend.stacks.values() if name_or_id in {s.name, s.stack_id}]


# --- change sets --------------------------------------------------------------------------------


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
    existing = next(_named(backend, name), None)
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
    _apply(stack, change_set.template, change_set.parameters, creating=creating, keep_failed=keep_failed)
    _publish_exports(self, stack)
    done = stack.status == (CREATE if creating else UPDATE).done
    change_set.execution_status = "EXECUTE_COMPLETE" if done else "EXECUTE_FAILED"


def install() -> None:
    """Put the fills in the place of moto's methods."""
    replace(ResourceMap, "__getitem__", _get)
    replace(ResourceMap, "resources", property(_existing))
    replace(ResourceMap, "load", _load)
    replace(ResourceMap, "parse_ssm_parameter", _parse_ssm_parameter)
    backend = CloudFormationBackend
    replace(backend, "create_stack", _create_stack)
    replace(backend, "update_stack", _update_stack)
    replace(backend, "delete_stack", _delete_stack)
    replace(backend, "_resolve_update_parameters", _resolve_update_parameters)
    replace(backend, "create_change_set", _create_change_set)
    replace(backend, "describe_change_set", _find_change_set)
    replace(backend, "delete_change_set", _delete_change_set)
    replace(backend, "execute_change_set", _execute_change_set)
