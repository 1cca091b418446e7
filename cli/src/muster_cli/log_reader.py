"""Logs of a job's nodes, read from CloudWatch Logs: once, or through the end of every node."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from muster_cli.clock import Backoff, Deadline
from muster_cli.jobs import check_deadline
from muster_cli.log_merge import Line, Merger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mypy_boto3_logs.client import CloudWatchLogsClient
    from mypy_boto3_logs.type_defs import GetLogEventsResponseTypeDef, OutputLogEventTypeDef

    from muster_cli.aws import Aws
    from muster_cli.job_view import Job, Node
    from muster_cli.jobs import Jobs

SETTLE_ON_AWS = 5.0
"""Seconds that a node's stream must stay silent after the node's end: lines arrive late there."""
SETTLE_LOCALLY = 0.0
"""A local cloud has every line before it says that a node has ended."""
STOP_GRACE = 60.0
"""Seconds after the job's end in which the other nodes may still stop: Batch kills after 30 s."""
STOPPING = ("STARTING", "RUNNING")
"""States in which a node may still write after the job's end."""
EMPTY_PAGES = 5
"""Pages that are asked for before a stream counts as empty: the service may answer with an empty one."""
LONGEST_PAUSE = 2.0
"""Seconds between two readings of a silent job."""


class Stream:
    """One log stream, read from where it was left.

    Args:
        logs: The client.
        group: Name of the log group.
        name: Name of the stream; it need not exist yet.
        node: Index of the node that writes it.
    """

    def __init__(self, logs: CloudWatchLogsClient, group: str, name: str, node: int) -> None:
        self._logs = logs
        self._group = group
        self._name = name
        self._node = node
        self._token: str | None = None

    def read(self) -> Iterator[Line]:
        """Yield every line that is there and was not read yet, page by page."""
        while page := self._page():
            for event in page["events"]:
                yield _line(event, self._node)
            if page["nextForwardToken"] == self._token:
                return  # the stream's end answers with the token that it was given
            self._token = page["nextForwardToken"]

    def _page(self) -> GetLogEventsResponseTypeDef | None:
        """Read a page; None where the stream is not there: it appears with the first line."""
        more: Any = {"nextToken": self._token} if self._token else {}
        try:
            return self._logs.get_log_events(
                logGroupName=self._group, logStreamName=self._name, startFromHead=True, **more
            )
        except self._logs.exceptions.ResourceNotFoundException:
            return None


class LogReader:
    """Reads the logs of one job.

    Args:
        aws: The clients.
        jobs: Asks about the job's nodes.
        only: Index of the only node to read. Default: - all nodes.
        settle: Seconds of silence after a node's end. Default: - 5 on AWS, 0 in a local cloud.
    """

    def __init__(self, aws: Aws, jobs: Jobs, *, only: int | None = None, settle: float | None = None) -> None:
        self._aws = aws
        self._jobs = jobs
        self._only = only
        self._settle = settle_of(aws) if settle is None else settle
        self._streams: dict[tuple[str, str], Stream] = {}

    def read(self, job: Job) -> list[Line]:
        """Return all lines that are there, merged by time."""
        merger = Merger()
        self._read_into(merger, self._nodes(job))
        return merger.rest()

    def follow(
        self,
        job_id: str,
        on_lines: Callable[[list[Line]], None],
        *,
        deadline: Deadline | None = None,
        on_change: Callable[[Job], None] = lambda _job: None,
    ) -> Job:
        """Read through the end of every node.

        Args:
            job_id: The job.
            on_lines: Called with lines as they come, merged by time.
            deadline: Default: - as long as the job lives.
            on_change: Called with the job each time its status or reason is another one.

        Returns:
            The job in a terminal state.

        Raises:
            MusterError: The deadline passed (exit code 69); the job goes on.
        """
        merger, pauses, end = Merger(), Backoff(ceiling=LONGEST_PAUSE), _End(self._settle)
        seen: tuple[str, str] | None = None
        while True:
            job = self._jobs.get(job_id)
            if (job.status, job.reason) != seen:
                seen = (job.status, job.reason)
                on_change(job)
            nodes = self._nodes(job)
            news = self._read_into(merger, nodes)
            if news:
                pauses.reset()
            on_lines(merger.turn())
            if end.reached(job, nodes, news=news):
                on_lines(merger.rest())
                return job
            check_deadline(job, deadline)
            pauses.pause()

    def _nodes(self, job: Job) -> list[Node]:
        return self._jobs.nodes(job, None if self._only is None else [self._only])

    def _read_into(self, merger: Merger, nodes: Iterable[Node]) -> bool:
        """Read what every node has written since; return whether that was anything."""
        news = False
        for node in nodes:
            for name in node.streams:
                lines = list(self._stream(node, name).read())
                merger.push(lines)
                news = news or bool(lines)
        return news

    def _stream(self, node: Node, name: str) -> Stream:
        key = (node.log_group, name)
        if key not in self._streams:
            self._streams[key] = Stream(self._aws.logs, node.log_group, name, node.index)
        return self._streams[key]


def settle_of(aws: Aws) -> float:
    """Return the seconds in which a node's last lines arrive after its end."""
    return SETTLE_LOCALLY if aws.local else SETTLE_ON_AWS


def last_lines(logs: CloudWatchLogsClient, node: Node) -> list[Line]:
    """Return the last page of each of a node's streams, the oldest stream first."""
    return [line for name in node.streams for line in _last_page(logs, node, name)]


def _last_page(logs: CloudWatchLogsClient, node: Node, name: str) -> list[Line]:
    more: Any = {}
    for _ in range(EMPTY_PAGES):
        try:
            page = logs.get_log_events(
                logGroupName=node.log_group, logStreamName=name, startFromHead=False, **more
            )
        except logs.exceptions.ResourceNotFoundException:
            break
        if page["events"]:
            return [_line(event, node.index) for event in page["events"]]
        more = {"nextToken": page["nextBackwardToken"]}
    return []


def _line(event: OutputLogEventTypeDef, node: int) -> Line:
    return Line(event["timestamp"], node, event["message"].rstrip("\n"))


class _End:
    """Tells when every node has ended and its last lines have arrived."""

    def __init__(self, settle: float) -> None:
        self._settle = settle
        self._grace: Deadline | None = None
        self._silent_since: float | None = None

    def reached(self, job: Job, nodes: Iterable[Node], *, news: bool) -> bool:
        """Judge a turn.

        Args:
            job: As it was before the streams were read.
            nodes: The same.
            news: Whether anything was read in this turn.
        """
        if not job.terminal:
            return False
        self._grace = self._grace or Deadline(STOP_GRACE)
        if any(node.status in STOPPING for node in nodes) and not self._grace.passed:
            return False
        now = time.monotonic()
        if news or self._silent_since is None:
            self._silent_since = now
        return now - self._silent_since >= self._settle
