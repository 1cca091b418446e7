"""Creates, updates and deletes a stack, resource by resource, with an event for each.

moto makes a resource when something refers to it, answers HTTP 500 where that fails (which the
SDK retries until the stack looks done), and skips types that it lacks. Here the order follows
the references, and the first failure rolls everything back and says why.
"""

from __future__ import annotations

import logging
import threading
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from muster_cli.local.fills.cloudformation.events import (
    Deployed,
    delete_resource,
    reason_of,
    resource_event,
    set_status,
)
from muster_cli.local.fills.cloudformation.resources import ReplacementError, Site, fill_for, physical_name
from muster_cli.local.fills.cloudformation.template import creation_order
from muster_cli.local.fills.cloudformation.values import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from moto.cloudformation.models import Stack
    from moto.cloudformation.parsing import ResourceMap

    from muster_cli.local.fills.cloudformation.events import Phase
    from muster_cli.local.fills.cloudformation.resources import Properties

_log = logging.getLogger("muster.local.cloudformation")
LOCK = threading.RLock()
"""One stack at a time: a deployment takes about a second."""


class ResourceFailedError(Exception):
    """A resource could not be made or changed; the event is written already."""


_deployments: WeakKeyDictionary[Stack, dict[str, Deployed]] = WeakKeyDictionary()


def deployed(stack: Stack) -> dict[str, Deployed]:
    """Return the resources of a stack that exist, in the order of their creation.

    Args:
        stack: A stack of moto.
    """
    return _deployments.setdefault(stack, {})


def converge(stack: Stack, resources: ResourceMap, phase: Phase, *, keep_failed: bool = False) -> None:
    """Make a stack what its new template says, or roll it back.

    Args:
        stack: The stack; its status and events tell the outcome.
        resources: The map of the new template, loaded, without any resource yet.
        phase: Whether it is a creation or an update.
        keep_failed: Leave everything as it is on a failure, as with ``--no-rollback``.
            Default: ``False``.
    """
    with LOCK:
        old_map, stack.resource_map = stack.resource_map, resources
        stack.status = phase.working
        run = _Run(stack, resources, phase)
        try:
            run.make_all()
        except ResourceFailedError as failure:
            if keep_failed:
                _deployments[stack] = {**run.old, **run.new}
                _show(resources, _deployments[stack])
                set_status(stack, phase.failed, str(failure))
                return
            set_status(stack, phase.rolling_back, str(failure))
            _roll_back(stack, run, phase)
            stack.resource_map = old_map
            _show(old_map, deployed(stack))
            return
        run.clean_up()
        _deployments[stack] = run.new
        set_status(stack, phase.done)


def _show(resources: ResourceMap, existing: dict[str, Deployed]) -> None:
    """Let moto's look-ups find what exists."""
    for name, each in existing.items():
        resources._parsed_resources[name] = each.resource  # noqa: SLF001  moto has no other way


def _roll_back(stack: Stack, run: _Run, phase: Phase) -> None:
    left = run.undo_all()
    if not left:
        set_status(stack, phase.rolled_back)
        return
    _deployments[stack] = {**{name: run.new[name] for name in left if name in run.new}, **run.old}
    reason = f"The following resource(s) failed to roll back: [{', '.join(left)}]."
    set_status(stack, phase.rolled_back.replace("COMPLETE", "FAILED"), reason)


def remove(stack: Stack) -> bool:
    """Delete a stack's resources, in the opposite order of their creation.

    Args:
        stack: The stack; its status and events tell the outcome.

    Returns:
        Whether all that may go is gone.
    """
    with LOCK:
        existing = deployed(stack)
        set_status(stack, "DELETE_IN_PROGRESS", "User Initiated")
        failed = [name for name in reversed(list(existing)) if not _remove_one(stack, existing, name)]
        if failed:
            reason = f"The following resource(s) failed to delete: [{', '.join(failed)}]."
            set_status(stack, "DELETE_FAILED", reason)
            return False
        set_status(stack, "DELETE_COMPLETE")
        return True


def _remove_one(stack: Stack, existing: dict[str, Deployed], name: str) -> bool:
    gone = delete_resource(stack, existing[name], existing[name].definition.get("DeletionPolicy"))
    if gone:
        stack.resource_map._parsed_resources.pop(name, None)  # noqa: SLF001
        del existing[name]
    return gone


def _name(made: Deployed) -> None:
    """Let a resource say which of the template's it is: an update may have returned another object."""
    made.resource.logical_resource_id = made.site.logical_id
    made.resource.cf_resource_type = made.site.resource_type


class _Run:
    """One creation or update of one stack."""

    def __init__(self, stack: Stack, resources: ResourceMap, phase: Phase) -> None:
        self.stack = stack
        self.map = resources
        self.phase = phase
        self.old = dict(deployed(stack))
        self.new: dict[str, Deployed] = {}
        self.replaced: set[str] = set()
        self.undo: list[tuple[str, Callable[[], bool]]] = []
        self.template = resources._template  # noqa: SLF001

    def make_all(self) -> None:
        """Make or change every resource, then read every output."""
        for logical_id in creation_order(self.template):
            definition = self.template["Resources"][logical_id]
            if self._wanted(definition):
                self._make(logical_id, definition)
        for name, output in (self.template.get("Outputs") or {}).items():
            if self._wanted(output):
                self._read_output(name, output)

    def _wanted(self, definition: dict[str, Any]) -> bool:
        condition = definition.get("Condition")
        return not condition or bool(self.map.lazy_condition_map[condition])

    def _make(self, logical_id: str, definition: dict[str, Any]) -> None:
        site = self._site(logical_id, definition["Type"])
        before = self.old.get(logical_id)
        try:
            properties = resolve(definition.get("Properties", {}), self.map)
            if before is None:
                made = self._create(site, properties, definition)
            elif before.properties == properties:
                made = Deployed(site, properties, before.resource, definition)
            else:
                made = self._update(site, before, properties, definition)
        except Exception as error:
            _log.warning("%s %s", logical_id, site.resource_type, exc_info=True)
            verb = "CREATE" if before is None else "UPDATE"
            physical_id = before.resource.physical_resource_id if before else ""
            resource_event(self.stack, site, physical_id, f"{verb}_FAILED", reason_of(error))
            raise ResourceFailedError(
                f"The following resource(s) failed to {verb.lower()}: [{logical_id}]."
            ) from error
        self._keep(logical_id, made)

    def _keep(self, logical_id: str, made: Deployed) -> None:
        _name(made)
        self.new[logical_id] = made
        self.map._parsed_resources[logical_id] = made.resource  # noqa: SLF001

    def _create(self, site: Site, properties: Properties, definition: dict[str, Any]) -> Deployed:
        """Make a resource; moto's classes write into the properties, so they get a copy."""
        fill = fill_for(site.resource_type)
        resource_event(self.stack, site, "", "CREATE_IN_PROGRESS")
        resource = fill.create(site, physical_name(site, fill, properties), deepcopy(properties))
        made = Deployed(site, properties, resource, definition)
        self.undo.append((site.logical_id, lambda: delete_resource(self.stack, made, None)))
        resource_event(self.stack, site, resource.physical_resource_id, "CREATE_COMPLETE")
        return made

    def _update(
        self, site: Site, before: Deployed, properties: Properties, definition: dict[str, Any]
    ) -> Deployed:
        if before.site.resource_type != site.resource_type:
            raise ValueError(
                f"Update of resource type is not permitted. The new template modifies resource type of the "
                f"following resources: [{site.logical_id}]"
            )
        fill = fill_for(site.resource_type)
        resource_event(self.stack, site, before.resource.physical_resource_id, "UPDATE_IN_PROGRESS")
        try:
            resource = fill.update(site, before.resource, before.properties, deepcopy(properties))
        except ReplacementError:
            return self._replace(site, before, properties, definition)
        made = Deployed(site, properties, resource, definition)
        self.undo.append((site.logical_id, lambda: self._revert(before, made)))
        resource_event(self.stack, site, resource.physical_resource_id, "UPDATE_COMPLETE")
        return made

    @staticmethod
    def _revert(before: Deployed, made: Deployed) -> bool:
        fill = fill_for(made.site.resource_type)
        before.resource = fill.update(made.site, made.resource, made.properties, deepcopy(before.properties))
        _name(before)
        return True

    def _replace(
        self, site: Site, before: Deployed, properties: Properties, definition: dict[str, Any]
    ) -> Deployed:
        key = fill_for(site.resource_type).name_property
        name = properties.get(key)
        if name and name == before.properties.get(key):
            raise ValueError(
                "CloudFormation cannot update a stack when a custom-named resource requires replacing. "
                f"Rename {name} and update the stack again."
            )
        self.replaced.add(site.logical_id)
        return self._create(site, properties, definition)

    def _read_output(self, name: str, output: dict[str, Any]) -> None:
        try:
            resolve(output["Value"], self.map)
        except Exception as error:
            raise ResourceFailedError(f"Output {name}: {reason_of(error)}") from error

    def _site(self, logical_id: str, resource_type: str) -> Site:
        stack = self.stack
        return Site(
            stack.account_id,
            stack.region_name,
            stack.stack_id,
            stack.name,
            logical_id,
            resource_type,
            dict(stack.tags),
        )

    def undo_all(self) -> list[str]:
        """Take back what was done, last first.

        Returns:
            The logical ids for which that failed.
        """
        return [logical_id for logical_id, step in reversed(self.undo) if not self._undone(logical_id, step)]

    def _undone(self, logical_id: str, step: Callable[[], bool]) -> bool:
        try:
            return step()
        except Exception:  # noqa: BLE001  every kind of failure is one more thing that stays
            _log.exception("rolling back %s of %s", logical_id, self.stack.name)
            return False

    def clean_up(self) -> None:
        """Delete what the new template no longer has, and what was replaced."""
        for logical_id, before in reversed(self.old.items()):
            if logical_id not in self.new:
                delete_resource(self.stack, before, before.definition.get("DeletionPolicy"))
            elif logical_id in self.replaced:
                delete_resource(self.stack, before, before.definition.get("UpdateReplacePolicy"))
