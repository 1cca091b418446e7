"""Brings the local cloud up and down, so that nothing is left: no process, no port, no file outside its folder."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING

from muster_cli.invocation import command
from muster_cli.local.errors import LocalCloudError
from muster_cli.local.settings import (
    HEALTH_PATH,
    NAMESPACES,
    POLL_INTERVAL,
    START_TIMEOUT,
    STOP_TIMEOUT,
    namespace_prefix,
)
from muster_cli.local.state import Record, StateFolder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Cloud = Record
"""A running local cloud: pid, port, endpoint, start and tag."""

_HEALTH_TIMEOUT = 2.0
_KILL_TIMEOUT = 10.0
"""Seconds until a killed process is gone."""


def up(state: StateFolder, port: int = 0, image_map: Mapping[str, Path] | None = None) -> Cloud:
    """Start the local cloud and wait until it answers; leftovers of a crash are cleared first.

    Args:
        state: Its folder.
        port: Its port on 127.0.0.1. Default: 0, a free one.
        image_map: Folders that stand for images which are not built here, by URI. Default: - none.

    Returns:
        The local cloud. It goes on when this process ends.

    Raises:
        LocalCloudError: One is running in the folder, the port is taken, a folder that stands for an
            image is missing, or it did not start.
    """
    if image_map:
        from muster_cli.local.images import check_map  # noqa: PLC0415  few need it

        check_map(image_map)
    with state.exclusive("muster local up"):
        if state.server_alive():
            where = state.read_record()
            raise LocalCloudError(
                f"a local cloud is running already{f' at {where.endpoint}' if where else ''} in {state.root}; "
                f"end it first: {command('local', 'down')}"
            )
        _clear(state)
        state.create()
        process = _spawn(state, port, image_map or {})
        try:
            return _wait_until_up(state, process)
        except BaseException:
            _end(process.pid)
            _clear(state)
            raise
        finally:
            process.returncode = 0  # the server outlives this object on purpose: no warning about that


def _spawn(state: StateFolder, port: int, image_map: Mapping[str, Path]) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "muster_cli.local.server",
        "--state",
        str(state.root),
        "--port",
        str(port),
    ]
    for uri, folder in image_map.items():
        command += ["--image-map", f"{uri}={folder}"]
    with state.usable():
        log = state.server_log.open("wb")
    with log:
        return subprocess.Popen(  # a session of its own: a terminal's Ctrl-C is not for it
            command,
            cwd=state.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_until_up(state: StateFolder, process: subprocess.Popen[bytes]) -> Cloud:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        code = process.poll()
        if code is not None:
            raise LocalCloudError(
                f"the local cloud did not start: {_last_line(state) or f'exit code {code}'}"
            )
        record = state.read_record()
        if record and record.pid == process.pid and _answers(record):
            return record
        time.sleep(POLL_INTERVAL)
    raise LocalCloudError(
        f"the local cloud did not answer within {START_TIMEOUT:g} s; its log is {state.server_log}"
    )


def _last_line(state: StateFolder) -> str:
    lines = state.server_log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _answers(record: Record) -> bool:
    """Ask the endpoint who it is: another server may have the port by now."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{record.endpoint}{HEALTH_PATH}", timeout=_HEALTH_TIMEOUT) as answer:
            return bool(json.load(answer).get("pid") == record.pid)
    except (OSError, ValueError, AttributeError):
        return False


def down(state: StateFolder) -> None:
    """End the local cloud with all its jobs; where there is none, clear what one left.

    Args:
        state: Its folder.

    Raises:
        LocalCloudError: Another command is working on the folder, or the server cannot be ended.
    """
    if not state.root.exists() and not _has_namespaces(state):
        return
    with state.exclusive("muster local down"):
        pid = state.server_pid()
        if pid is not None:
            _end(pid)
        if state.server_alive():
            raise LocalCloudError(
                f"the local cloud's process {pid} cannot be ended; look at {state.server_log}"
            )
        _clear(state)


def _end(pid: int) -> None:
    """End the server in good order, and by force when that takes too long or is interrupted."""
    try:
        _signal(pid, signal.SIGTERM)
        _wait(pid, STOP_TIMEOUT)
    finally:
        if _exists(pid):
            _signal(pid, signal.SIGKILL)
            _wait(pid, _KILL_TIMEOUT)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _wait(pid: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while _exists(pid) and time.monotonic() < deadline:
        time.sleep(POLL_INTERVAL)


def _exists(pid: int) -> bool:
    """Tell whether a process is there; where it is a child of this one, it is reaped when it has ended."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _clear(state: StateFolder) -> None:
    """Remove what a server leaves: its files, and where it crashed its nodes and namespaces, too."""
    if state.record_path.exists() or any(state.jobs.glob("*")) or _has_namespaces(state):
        from muster_cli.local.executor import cleanup  # noqa: PLC0415  it imports moto: two seconds

        cleanup(state)
    state.clear()


def _has_namespaces(state: StateFolder) -> bool:
    """Tell whether there are any of this folder's: they outlive a folder that was removed after a crash."""
    return any(NAMESPACES.glob(f"{namespace_prefix(state.tag)}*"))


def status(state: StateFolder) -> Cloud | None:
    """Tell whether the local cloud is up.

    Args:
        state: Its folder.

    Returns:
        The local cloud, or None where there is none.

    Raises:
        LocalCloudError: There is one, but it does not answer.
    """
    if not state.server_alive():
        return None
    record = state.read_record()
    if record is None or not _answers(record):
        raise LocalCloudError(
            f"the local cloud in {state.root} is running but does not answer (yet); "
            f"its log is {state.server_log}, and `{command('local', 'down')}` ends it"
        )
    return record
