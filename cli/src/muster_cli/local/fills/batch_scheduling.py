"""Fair-share policies for CloudFormation, and what Batch refuses of them: moto has the API alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.batch.exceptions import ClientException
from moto.batch.models import BatchBackend

from muster_cli.local.fills.batch_environments import batch
from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)
from muster_cli.local.fills.patching import replace, stock
from muster_cli.local.fills.shapes import to_api

if TYPE_CHECKING:
    from collections.abc import Mapping

ADDED = (
    "A job queue without a fair-share scheduling policy is scheduled as a FIFO job queue and can't have a fair-share "
    "scheduling policy added."
)
REMOVED = "After a job queue has a fair-share scheduling policy, it can be replaced but can't be removed."


def check_change(old: str | None, new: str | None) -> None:
    """Refuse a change of a queue's policy that Batch refuses; another policy is no such change.

    Args:
        old: ARN of the policy that the queue has.
        new: ARN of the policy that it shall have.

    Raises:
        ClientException: In the words of Batch's API reference.
    """
    if bool(old) != bool(new):
        raise ClientException(ADDED if new else REMOVED)


def check_share(policy: str | None, request: Mapping[str, Any]) -> None:
    """Refuse a submission that names no share where the queue has a policy, or one where it has none.

    Args:
        policy: ARN of the queue's policy.
        request: The SubmitJob request.

    Raises:
        ClientException: In Batch's manner.
    """
    if policy and not request.get("shareIdentifier"):
        raise ClientException("shareIdentifier must be specified: the job queue has a scheduling policy.")
    if request.get("shareIdentifier") and not policy:
        raise ClientException("shareIdentifier can't be specified: the job queue has no scheduling policy.")


def _update_queue(  # noqa: PLR0917  the signature is moto's
    self: BatchBackend,
    queue_name: str,
    priority: str | None,
    state: str | None,
    compute_env_order: list[dict[str, Any]] | None,
    schedule_policy: str | None,
) -> tuple[str, str]:
    queue = self.get_job_queue(queue_name)
    if queue is not None and schedule_policy is not None:
        check_change(queue.schedule_policy, schedule_policy)
    answer: tuple[str, str] = stock(BatchBackend, "update_job_queue")(
        self, queue_name, priority, state, compute_env_order, schedule_policy
    )
    return answer


def _delete_policy(self: BatchBackend, arn: str) -> None:
    if any(queue.schedule_policy == arn for queue in self._job_queues.values()):
        raise ClientException("You can't delete a scheduling policy that's used in any job queues.")
    stock(BatchBackend, "delete_scheduling_policy")(self, arn)


class _Policy(Fill):
    resource_type = "AWS::Batch::SchedulingPolicy"
    name_property = "Name"

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        request = _request(name, properties)
        policy = batch(site).create_scheduling_policy(
            name, request.get("fairsharePolicy", {}), {**site.tags, **request.get("tags", {})}
        )
        return Made(policy.arn, {"Arn": policy.arn})

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        if any(old.get(key) != new.get(key) for key in ("Name", "Tags")):
            raise ReplacementError
        policy = _request("same", new).get("fairsharePolicy", {})
        batch(site).update_scheduling_policy(resource.physical_resource_id, policy)
        return resource

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        batch(site).delete_scheduling_policy(resource.physical_resource_id)


def _request(name: str, properties: Properties) -> dict[str, Any]:
    known = {key: value for key, value in properties.items() if key != "Name"}
    return to_api("batch", "CreateSchedulingPolicyRequest", {**known, "name": name})


def install() -> None:
    """Put the fills in the place of moto's methods, and add the resource type."""
    replace(BatchBackend, "update_job_queue", _update_queue)
    replace(BatchBackend, "delete_scheduling_policy", _delete_policy)
    register(_Policy())
