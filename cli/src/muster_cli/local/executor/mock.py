"""The few places of moto's Batch backend that jobs live in.

Its tables are walked over by other threads (every request has one), so they are replaced whole
rather than changed.
"""
# ruff: noqa: SLF001  moto has no other way to its tables

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moto.batch.models import BatchBackend, Job, JobDefinition


def jobs(backend: BatchBackend) -> dict[str, Job]:
    """Return every job by its id."""
    return backend._jobs


def add_job(backend: BatchBackend, job: Job) -> None:
    """Make a job known."""
    backend._jobs = {**backend._jobs, job.job_id: job}


def definition(backend: BatchBackend, name: str) -> JobDefinition | None:
    """Find an active definition.

    Args:
        backend: moto's Batch.
        name: An ARN, ``name:revision``, or a name: then the latest active revision is meant.
    """
    active = [item for item in list(backend._job_definitions.values()) if item.status == "ACTIVE"]
    exact = [item for item in active if name in {item.arn, f"{item.name}:{item.revision}"}]
    named = [item for item in active if item.name == name]
    return max(exact or named, key=lambda item: item.revision, default=None)
