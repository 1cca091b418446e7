"""moto's stacks, led to the engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moto.cloudformation.exceptions import AlreadyExistsException, ValidationError
from moto.cloudformation.models import CloudFormationBackend, Stack
from moto.cloudformation.parsing import OutputMap, ResourceMap
from moto.cloudformation.utils import generate_stack_id
from moto.ssm.models import ssm_backends
from yaml import YAMLError

from muster_cli.local.fills.cloudformation import engine, resources, template
from muster_cli.local.fills.cloudformation.events import CREATE, UPDATE, set_status
from muster_cli.local.fills.patching import replace

if TYPE_CHECKING:
    from collections.abc import Iterator


_parse_yaml = Stack.parse_template


def _parse(text: str) -> dict[str, Any]:
    """Read JSON as JSON, which is what the CDK sends: moto reads it as YAML, 50 times slower."""
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = _parse_yaml(text)
    if not isinstance(parsed, dict):
        raise template.TemplateError("Template format error: unsupported structure.")
    return parsed


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
    except (ValueError, YAMLError) as error:
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


def apply(
    stack: Stack,
    body: str,
    parameters: dict[str, Any],
    *,
    creating: bool,
    keep_failed: bool = False,
) -> None:
    """Load a template into a stack and let the engine work; afterwards the stack shows what is.

    Args:
        stack: The stack.
        body: The template.
        parameters: Its parameters as they were given.
        creating: Whether the stack is new.
        keep_failed: Do not roll back. Default: ``False``.
    """
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


def publish_exports(backend: CloudFormationBackend, stack: Stack) -> None:
    """Make a stack's exports those of its last good template.

    Args:
        backend: moto's CloudFormation.
        stack: The stack.
    """
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
    apply(stack, template, parameters, creating=True, keep_failed=keep_failed)
    publish_exports(self, stack)
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
    apply(stack, template, new, creating=False, keep_failed=keep_failed)
    publish_exports(self, stack)
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
    for stack in named(self, name_or_stack_id):
        if stack.enable_termination_protection:
            raise ValidationError(
                message=f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
            )
        if engine.remove(stack):
            for name in [n for n, e in self.exports.items() if e.exporting_stack_id == stack.stack_id]:
                del self.exports[name]
            self.deleted_stacks[stack.stack_id] = self.stacks.pop(stack.stack_id)


def named(backend: CloudFormationBackend, name_or_id: str) -> Iterator[Stack]:
    """Find the stacks of a name or an id.

    Args:
        backend: moto's CloudFormation.
        name_or_id: Either.

    Yields:
        None or one of them.
    """
    yield from [s for s in backend.stacks.values() if name_or_id in {s.name, s.stack_id}]


def install() -> None:
    """Put the fills in the place of moto's methods."""
    replace(Stack, "parse_template", staticmethod(_parse))
    replace(ResourceMap, "__getitem__", _get)
    replace(ResourceMap, "resources", property(_existing))
    replace(ResourceMap, "load", _load)
    replace(ResourceMap, "parse_ssm_parameter", _parse_ssm_parameter)
    backend = CloudFormationBackend
    replace(backend, "create_stack", _create_stack)
    replace(backend, "update_stack", _update_stack)
    replace(backend, "delete_stack", _delete_stack)
    replace(backend, "_resolve_update_parameters", _resolve_update_parameters)
