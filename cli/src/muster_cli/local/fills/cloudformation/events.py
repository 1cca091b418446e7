"""A stack's states and events, and the end of a resource."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from moto.cloudformation.models import Event
from moto.ec2.models import ec2_backends

from muster_cli.local.fills.cloudformation.resources import fill_for

if TYPE_CHECKING:
    from moto.cloudformation.models import Stack

    from muster_cli.local.fills.cloudformation.resources import Properties, Site

_log = logging.getLogger("muster.local.cloudformation")


@dataclass
class Deployed:
    """A resource of a stack that exists."""

    site: Site
    properties: Properties
    resource: Any
    definition: dict[str, Any]


class Phase(NamedTuple):
    """The names of an operation's states."""

    working: str
    done: str
    rolling_back: str
    rolled_back: str
    failed: str


CREATE = Phase(
    "CREATE_IN_PROGRESS", "CREATE_COMPLETE", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE", "CREATE_FAILED"
)
UPDATE = Phase(
    "UPDATE_IN_PROGRESS",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE",
    "UPDATE_FAILED",
)


def set_status(stack: Stack, status: str, reason: str | None = None) -> None:
    """Put a stack into a state, with an event.

    Args:
        stack: The stack.
        status: Such as ``ROLLBACK_IN_PROGRESS``.
        reason: Why. Default: - none.
    """
    stack.status = status
    stack.status_reason = reason  # type: ignore[attr-defined]
    stack._add_stack_event(status, resource_status_reason=reason)  # noqa: SLF001
    _stamp(stack)


def resource_event(
    stack: Stack, site: Site, physical_id: str, status: str, reason: str | None = None
) -> None:
    """Write down what happened to a resource.

    Args:
        stack: Its stack.
        site: The resource.
        physical_id: What it is called, empty where it is not known yet.
        status: Such as ``CREATE_FAILED``.
        reason: Why. Default: - none.
    """
    stack.events.append(
        Event(
            stack_id=stack.stack_id,
            stack_name=stack.name,
            logical_resource_id=site.logical_id,
            physical_resource_id=physical_id,
            resource_type=site.resource_type,
            resource_status=status,
            resource_status_reason=reason,
            resource_properties=None,
        )
    )
    _stamp(stack)


def _stamp(stack: Stack) -> None:
    """Let every event be later than the one before by what the CDK can tell apart."""
    if len(stack.events) > 1:
        before, last = stack.events[-2:]
        last.timestamp = max(last.timestamp, before.timestamp + timedelta(milliseconds=1))


def delete_resource(stack: Stack, gone: Deployed, policy: str | None) -> bool:
    """Delete a resource unless its policy keeps it, with events.

    Args:
        stack: Its stack.
        gone: The resource.
        policy: Its DeletionPolicy or UpdateReplacePolicy; ``Retain`` keeps it.

    Returns:
        Whether the stack is rid of it.
    """
    site, physical_id = gone.site, gone.resource.physical_resource_id
    if str(policy).startswith("Retain"):
        resource_event(stack, site, physical_id, "DELETE_SKIPPED")
        return True
    resource_event(stack, site, physical_id, "DELETE_IN_PROGRESS")
    try:
        fill_for(site.resource_type).delete(site, gone.resource, gone.properties)
    except Exception as error:  # noqa: BLE001  every kind of failure becomes an event
        _log.warning("deleting %s", site.logical_id, exc_info=True)
        resource_event(stack, site, physical_id, "DELETE_FAILED", reason_of(error))
        return False
    ec2_backends[site.account][site.region].tags.pop(physical_id, None)  # moto keeps those of the dead
    resource_event(stack, site, physical_id, "DELETE_COMPLETE")
    return True


def reason_of(error: Exception) -> str:
    """Return an error as an event tells it.

    Args:
        error: What a fill or moto raised.

    Returns:
        A service's own words, else the error's type and text.
    """
    text = getattr(error, "message", None) or str(error)
    if type(error).__module__.startswith("moto.") or isinstance(error, ValueError):
        return str(text) or type(error).__name__
    return f"Internal failure of the local cloud: {type(error).__name__}: {text}"
