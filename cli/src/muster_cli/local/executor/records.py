"""What is written down of running nodes, so that the next cloud can end what a crash left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORD = "node.json"
_START_FIELD = 19
"""Of /proc/<pid>/stat, counted after the command's closing parenthesis: start time in clock ticks."""
_SESSION_FIELD = 3
_STATE_FIELD = 0
KILL_SECONDS = 5.0


class Process(NamedTuple):
    """A process that is what it was: a pid alone may be somebody else's by now."""

    pid: int
    started: str
    """Start time as the system tells it; empty where it does not (macOS)."""


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat after the command; none where there is no such process."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return []


def identify(pid: int) -> Process:
    """Return a process with its start time."""
    fields = _stat(pid)
    return Process(pid, fields[_START_FIELD] if fields else "")


def is_alive(process: Process) -> bool:
    """Tell whether a process still runs; a zombie does not, nor does another one of the same pid."""
    fields = _stat(process.pid)
    return bool(fields) and fields[_START_FIELD] == process.started and fields[_STATE_FIELD] not in "ZX"


class Record(NamedTuple):
    """What is written down of a node."""

    process: Process
    outside: str
    """A folder of the node outside of the state folder; empty: none."""


def write(folder: Path, pid: int, outside: Path | None = None) -> None:
    """Write down the process that holds a node, in the node's folder.

    Args:
        folder: The node's.
        pid: The process.
        outside: A folder of the node elsewhere. Default: none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    value = {**identify(pid)._asdict(), "outside": str(outside or "")}
    (folder / RECORD).write_text(json.dumps(value), encoding="utf-8")


def read_all(jobs: Path) -> Iterator[Record]:
    """Yield every record below a folder; what makes no sense is passed over."""
    for path in sorted(jobs.glob(f"*/*/{RECORD}")):
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
            value = json.loads(path.read_text(encoding="utf-8"))
            yield Record(Process(int(value["pid"]), str(value["started"])), str(value.get("outside", "")))


def descendants(pids: set[int]) -> set[int]:
    """Return the processes below some, and those in their sessions (Linux)."""
    table = {int(entry.name): _stat(int(entry.name)) for entry in Path("/proc").glob("[0-9]*")}
    found = set(pids)
    while True:
        more = {
            pid
            for pid, fields in table.items()
            if fields
            and pid not in found
            and (int(fields[1]) in found or int(fields[_SESSION_FIELD]) in found)
        }
        if not more:
            return found - pids
        found |= more


def end(processes: list[Process]) -> list[Process]:
    """Kill processes with everything below them, if they are still what they were.

    Args:
        processes: As they were written down.

    Returns:
        Those that were alive.
    """
    alive = [process for process in processes if is_alive(process)]
    below = [identify(pid) for pid in descendants({process.pid for process in alive})]
    for process in [*alive, *below]:
        if is_alive(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while any(map(is_alive, [*alive, *below])) and time.monotonic() < deadline:
        time.sleep(0.01)
    return alive
