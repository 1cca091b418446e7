"""The contract's exit codes and Batch's host failures as retry rules."""

from __future__ import annotations

from muster_core.contract import EXIT_TEMPFAIL

DEFAULT_ATTEMPTS = 3
"""Attempts of a job: a lost host costs an attempt, a fault of the training ends the job."""


def default_rules() -> list[dict[str, str]]:
    """The rules for ``evaluateOnExit``, in order: the first that matches decides.

    Status reasons come first, as a lost main host may leave no exit code. Then the runtime's own
    code for a temporary fault. Everything else ends the job: where no rule matches, Batch retries.
    The five are Batch's limit.
    """
    return [
        {"onStatusReason": "Host EC2*", "action": "RETRY"},
        {"onStatusReason": "Task failed to start*", "action": "RETRY"},
        {"onStatusReason": "Timeout waiting for network interface provisioning*", "action": "RETRY"},
        {"onExitCode": str(EXIT_TEMPFAIL), "action": "RETRY"},
        {"onReason": "*", "action": "EXIT"},
    ]
