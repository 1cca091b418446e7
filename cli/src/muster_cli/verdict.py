"""The verdict: found in the main node's log, and told to a person.

The training writes to the same log, and may write whatever it likes: a verdict counts only where
Batch bears it out. Only Batch says how a job ended.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from muster_cli import shape
from muster_cli.job_view import SUCCEEDED
from muster_core.contract import (
    OUTCOME_FAILED,
    OUTCOME_SUCCEEDED,
    OUTCOME_TERMINATED,
    VERDICT_MARKER,
    Failure,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muster_cli.job_view import Job, Node
    from muster_cli.log_merge import Line


def is_verdict(text: str) -> bool:
    """Whether a line of a log is a verdict."""
    return text.startswith(VERDICT_MARKER)


def parse(text: str) -> Verdict | None:
    """Read a line of a log.

    Returns:
        The verdict, None where the line is none, was cut off, or has another shape.
    """
    if not is_verdict(text):
        return None
    try:
        found = json.loads(text[len(VERDICT_MARKER) :])
    except (ValueError, RecursionError):
        return None
    return cast("Verdict", found) if shape.fits(found, Verdict) else None


def find(lines: Iterable[Line], job: Job, main: Node) -> Verdict | None:
    """Return the verdict of a job's last attempt among the main node's lines.

    Args:
        lines: Of any node.
        job: The job.
        main: Its main node.
    """
    texts = [line.text for line in lines if line.node == job.main_node]
    found = (parse(text) for text in reversed(texts))
    return next((each for each in found if each and is_last(each, job) and agrees(each, job, main)), None)


def is_last(verdict: Verdict, job: Job) -> bool:
    """Whether it is of the last attempt that Batch knows the end of."""
    return len(job.attempts) in (0, verdict["attempt"])


def agrees(verdict: Verdict, job: Job, main: Node) -> bool:
    """Whether Batch bears a verdict out: it is of this job, and its attempt ended with this code.

    Args:
        verdict: From the log of the main node.
        job: The job.
        main: Its main node, asked where the job itself names no exit code.
    """
    succeeded, code = verdict["outcome"] == OUTCOME_SUCCEEDED, verdict["code"]
    own = verdict["job"] == job.job_id and succeeded == (code == 0)
    return own and _ended_with(code, verdict["attempt"], job, main)


def _ended_with(code: int, attempt: int, job: Job, main: Node) -> bool:
    ended = len(job.attempts)
    if 1 <= attempt <= ended and not (job.terminal and attempt == ended):
        return job.attempts[attempt - 1].exit_code in (code, None)
    if not job.terminal or (ended and attempt > ended):
        return False
    if job.status == SUCCEEDED:
        return code == 0
    said = job.exit_code if job.exit_code is not None else main.exit_code
    return code != 0 and said in (code, None)


def render(verdict: Verdict) -> list[str]:
    """Tell a verdict in a few lines, the outcome first."""
    failure = verdict["first_failure"]
    lines = [_headline(verdict)]
    if failure:
        stopped = verdict["outcome"] == OUTCOME_TERMINATED
        lines += [_stopped(failure) if stopped else _first(failure), *_quoted(failure)]
    return [line.encode(errors="replace").decode() for line in lines]  # JSON can hold half a character


def _headline(verdict: Verdict) -> str:
    nodes, ranks = len(verdict["nodes"]), verdict["world_size"]
    where = " in the local cloud" if verdict["simulated"] else ""
    attempt = f", attempt {verdict['attempt']}" if verdict["attempt"] > 1 else ""
    shape = (
        f"{_count(nodes, 'node')}, {_count(ranks, 'rank')}, launcher {verdict['launcher']}{where}{attempt}"
    )
    if verdict["outcome"] == OUTCOME_SUCCEEDED:
        return f"verdict: succeeded ({shape})"
    word = "failed" if verdict["outcome"] == OUTCOME_FAILED else verdict["outcome"]
    return f"verdict: {word} with exit code {verdict['code']} ({shape})"


def _stopped(failure: Failure) -> str:
    return f"stopped: {failure['reason']}"


def _first(failure: Failure) -> str:
    at = [
        f"node {failure['node']}" if failure["node"] is not None else "",
        f"rank {failure['rank']}" if failure["rank"] is not None else "",
        f"host {failure['host']}" if failure["host"] else "",
        f"exit code {failure['code']}",
    ]
    return f"first failure: {failure['reason']} ({', '.join(part for part in at if part)})"


def _quoted(failure: Failure) -> list[str]:
    quoted = [f"  | {line}" for line in failure["lines"]]
    return ["its last lines:", *quoted] if quoted else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
