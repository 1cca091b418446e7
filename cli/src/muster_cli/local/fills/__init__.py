"""The gaps of moto that a multi-node Batch stack meets, filled: one module for each service.

Every fill replaces a method of moto's or adds a resource type to CloudFormation; a test for each
shows that stock moto still needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from muster_cli.local.executor import Executor


def install(executor: Callable[[], Executor] | None = None) -> None:
    """Fill moto's gaps in this process; a second time is no different from once.

    Args:
        executor: Returns the executor that runs submitted jobs. Default: - jobs are left to
            moto, which needs Docker; enough for tests that deploy and submit nothing.
    """
    # importing moto takes seconds: who only asks for a status shall not wait for it
    from muster_cli.local.fills import (  # noqa: PLC0415
        batch_definitions,
        batch_environments,
        batch_jobs,
        batch_queues,
        batch_scheduling,
        custom,
        ec2_groups,
        ec2_network,
        ec2_placement,
        ecr,
        iam,
        logs,
        s3,
        secretsmanager,
    )
    from muster_cli.local.fills.cloudformation import change_sets, requests, stacks  # noqa: PLC0415

    for module in (
        stacks,
        change_sets,
        requests,
        batch_definitions,
        batch_environments,
        batch_queues,
        batch_scheduling,
        custom,
        ec2_groups,
        ec2_network,
        ec2_placement,
        ecr,
        iam,
        logs,
        s3,
        secretsmanager,
    ):
        module.install()
    if executor is not None:
        batch_jobs.install(executor)
