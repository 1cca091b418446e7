"""What may be set of an executor; the defaults are Batch's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster_cli.local.executor.networks.choose import Mode


@dataclass(frozen=True)
class ExecutorSettings:
    """Settings of an executor.

    Args:
        mode: ``namespaces``, ``loopback`` or ``ports``. Default: what the machine allows.
        stop_timeout: Seconds between SIGTERM and SIGKILL, the host's ``ECS_CONTAINER_STOP_TIMEOUT``.
            Default: what the job's definition says of its hosts, else 30.
        seed: Of the order in which children start. Default: another order every time.
        time_scale: Factor on the definition's seconds (job timeout, queue's limits on RUNNABLE),
            so that a test need not wait for a minute. Default: 1.
    """

    mode: Mode | None = None
    stop_timeout: float | None = None
    seed: int | None = None
    time_scale: float = 1.0
