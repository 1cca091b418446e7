"""Removes what a crashed local cloud left behind."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from muster_cli.local.executor import records
from muster_cli.local.executor.networks import NetworkError, namespaces

if TYPE_CHECKING:
    from muster_cli.local.state import StateFolder


def cleanup(state: StateFolder) -> list[str]:
    """End the processes of nodes that are written down, and remove their namespaces, links and folders.

    Call it while no server runs in the folder. A process is only killed when it is still the one
    that was written down: its start time says so.

    Args:
        state: The local cloud's folder.

    Returns:
        What was found, one text each.
    """
    found: list[str] = []
    written = list(records.read_all(state.jobs))
    if sys.platform == "linux":
        ended = records.end([record.process for record in written])
        found += [f"process {process.pid}" for process in ended]
        found += _remove_network(state.tag)
    outside = [Path(record.outside) for record in written if record.outside]
    for folder in [*state.jobs.glob("*"), *outside]:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _remove_network(tag: str) -> list[str]:
    try:
        return [f"network {name}" for name in namespaces.remove(tag)]
    except NetworkError:
        return []  # no `ip` here: nothing of the kind was ever made
