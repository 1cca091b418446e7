"""A node's output as events in the cloud's CloudWatch Logs, put there as they come."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from moto.logs.models import LogStream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from io import BufferedReader

    from moto.logs.models import LogsBackend

DEFAULT_GROUP = "/aws/batch/job"
"""Where Batch logs without a ``logConfiguration``."""
EVENT_LIMIT = 262_144 - 26
"""Bytes of one event; longer lines are split."""
_CHUNK = 65_536
_log = logging.getLogger("muster.local")
_NAME_LIMIT = 200
"""Batch takes this many characters of a definition's name into the stream's name."""
_lock = threading.Lock()
"""moto counts event ids without a lock; two events of one id would be one to those who follow."""


class LogTarget(NamedTuple):
    """Where a node's output goes."""

    group: str
    stream: str
    create_group: bool


def log_target(container: Mapping[str, Any], definition_name: str, task_id: str) -> LogTarget:
    """Return where the output of a container goes.

    Args:
        container: Container properties with or without ``logConfiguration``.
        definition_name: Name of the job definition, the stream's first part by default.
        task_id: The node's task.
    """
    options = (container.get("logConfiguration") or {}).get("options") or {}
    group = options.get("awslogs-group", DEFAULT_GROUP)
    prefix = options.get("awslogs-stream-prefix") or definition_name[:_NAME_LIMIT]
    create = group == DEFAULT_GROUP or options.get("awslogs-create-group") == "true"
    return LogTarget(group, f"{prefix}/default/{task_id}", create)


class LogError(Exception):
    """The log driver could not start; the text is worded as the container agent does."""


class LogWriter:
    """One log stream.

    Args:
        backend: The cloud's CloudWatch Logs.
        target: Group and stream.

    Raises:
        LogError: There is no such group.
    """

    def __init__(self, backend: LogsBackend, target: LogTarget) -> None:
        self._stream = _make_stream(backend, target)
        self._last = 0

    def write(self, lines: Iterable[bytes]) -> None:
        """Put lines; empty ones are no events, as CloudWatch takes none without text."""
        now = max(self._last, time.time_ns() // 1_000_000)
        events = [{"timestamp": now, "message": text} for line in lines for text in _pieces(line)]
        if events:
            self._last = now
            try:
                with _lock:
                    self._stream.put_log_events(events)
            except Exception:  # noqa: BLE001  such as a subscription's: the node must never stand still for a full pipe
                _log.exception("%s: output was lost", self._stream.log_stream_name)

    def follow(self, output: BufferedReader) -> None:
        """Put every line of a pipe until its end; text without a line's end is held until one comes."""
        rest = b""
        with output:
            while chunk := output.read1(_CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                self.write(lines)
                if len(rest) > EVENT_LIMIT:
                    self.write([rest])
                    rest = b""
        self.write([rest])


def _pieces(line: bytes) -> list[str]:
    line = line.rstrip(b"\r")
    starts = range(0, len(line), EVENT_LIMIT)
    return [line[start : start + EVENT_LIMIT].decode("utf-8", "replace") for start in starts]


def _make_stream(backend: LogsBackend, target: LogTarget) -> LogStream:
    """Make group and stream; the table is replaced whole, for others walk over it meanwhile."""
    with _lock:
        if target.group not in backend.groups:
            if not target.create_group:
                raise LogError(
                    "failed to initialize logging driver: failed to create Cloudwatch log stream:"
                    f" ResourceNotFoundException: The specified log group does not exist: {target.group}"
                )
            backend.create_log_group(target.group, {})
        group = backend.groups[target.group]
        stream = LogStream(group, target.stream)
        group.streams = {**group.streams, target.stream: stream}
        return stream
