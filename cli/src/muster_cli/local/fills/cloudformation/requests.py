"""CloudFormation's requests where moto reads them wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult

from muster_cli.local.fills.patching import replace

if TYPE_CHECKING:
    from moto.cloudformation.models import CloudFormationBackend, Stack


def _body(self: CloudFormationResponse, stack: Stack | None) -> str:
    if self._get_bool_param("UsePreviousTemplate", False) and stack is not None:
        return str(stack.template)
    url = self._get_param("TemplateURL")
    body = self._get_stack_from_s3_url(url) if url else self._get_param("TemplateBody")
    if not body:
        raise ValidationError(message="Either Template URL or Template Body must be specified.")
    return str(body)


def _tags(self: CloudFormationResponse) -> dict[str, str]:
    return {item["Key"]: item["Value"] for item in self._get_param("Tags", [])}


def _keep_failed(self: CloudFormationResponse) -> bool:
    return bool(
        self._get_bool_param("DisableRollback", False) or self._get_param("OnFailure") == "DO_NOTHING"
    )


def _backend(self: CloudFormationResponse) -> CloudFormationBackend:
    return self.cloudformation_backend


def _create_stack(self: CloudFormationResponse) -> ActionResult:
    stack = _backend(self).create_stack(
        name=self._get_param("StackName"),
        template=_body(self, None),
        parameters=self._get_params_from_list(self._get_param("Parameters", [])),
        notification_arns=self._get_param("NotificationARNs", []),
        tags=_tags(self),
        role_arn=self._get_param("RoleARN"),
        enable_termination_protection=self._get_bool_param("EnableTerminationProtection", False),
        timeout_in_mins=self._get_param("TimeoutInMinutes"),
        stack_policy_body=self._get_param("StackPolicyBody"),
        keep_failed=_keep_failed(self),  # type: ignore[call-arg]
    )
    return ActionResult({"StackId": stack.stack_id})


def _update_stack(self: CloudFormationResponse) -> ActionResult:
    name = self._get_param("StackName")
    stack = _backend(self).get_stack(name)
    _check_status(stack)
    stack = _backend(self).update_stack(
        name=name,
        template=_body(self, stack),
        role_arn=self._get_param("RoleARN"),
        parameters=self._get_param("Parameters", []),
        tags=_tags(self) or None,
        keep_failed=_keep_failed(self),  # type: ignore[call-arg]
    )
    return ActionResult({"StackId": stack.stack_id})


def _check_status(stack: Stack) -> None:
    if stack.status in {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED", "REVIEW_IN_PROGRESS"}:
        raise ValidationError(
            message=f"Stack:{stack.stack_id} is in {stack.status} state and can not be updated."
        )


def _create_change_set(self: CloudFormationResponse) -> ActionResult:
    name, kind = self._get_param("StackName"), self._get_param("ChangeSetType", "UPDATE")
    incoming = self._get_param("Parameters", [])
    stack = None
    if kind == "UPDATE":
        stack = _backend(self).get_stack(name)
        _check_status(stack)
        parameters = _backend(self)._resolve_update_parameters(stack, incoming)  # noqa: SLF001
    else:
        parameters = self._get_params_from_list([p for p in incoming if "ParameterValue" in p])
    change_set_id, stack_id = _backend(self).create_change_set(
        stack_name=name,
        change_set_name=self._get_param("ChangeSetName"),
        template=_body(self, stack),
        parameters=parameters,
        description=self._get_param("Description"),
        notification_arns=self._get_param("NotificationARNs", []),
        tags=_tags(self),
        role_arn=self._get_param("RoleARN"),
        change_set_type=kind,
    )
    return ActionResult({"Id": change_set_id, "StackId": stack_id})


def _describe_change_set(self: CloudFormationResponse) -> ActionResult:
    return ActionResult(
        _backend(self).describe_change_set(self._get_param("ChangeSetName"), self._get_param("StackName"))  # type: ignore[call-arg]
    )


def _delete_change_set(self: CloudFormationResponse) -> ActionResult:
    _backend(self).delete_change_set(self._get_param("ChangeSetName"), self._get_param("StackName"))  # type: ignore[call-arg]
    return EmptyResult()


def _execute_change_set(self: CloudFormationResponse) -> ActionResult:
    _backend(self).execute_change_set(
        self._get_param("ChangeSetName"),
        self._get_param("StackName"),
        keep_failed=_keep_failed(self),  # type: ignore[call-arg]
    )
    return EmptyResult()


def _list_change_sets(self: CloudFormationResponse) -> ActionResult:
    name = self._get_param("StackName")
    of_stack = [c for c in _backend(self).list_change_sets() if name in {c.stack_name, c.stack_id}]
    return ActionResult({"Summaries": of_stack})


def install() -> None:
    """Put the fills in the place of moto's methods."""
    for function in (
        _create_stack,
        _update_stack,
        _create_change_set,
        _describe_change_set,
        _delete_change_set,
        _execute_change_set,
        _list_change_sets,
    ):
        replace(CloudFormationResponse, function.__name__.removeprefix("_"), function)
