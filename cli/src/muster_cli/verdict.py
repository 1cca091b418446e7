"""The verdict: found in the main node's log, and told to a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

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

    from muster_cli.log_merge import Line


def is_verdict(text: str) -> bool:
    """Whether a line of a log is a verdict."""
    return text.startswith(VERDICT_MARKER)


def parse(text: str) -> Verdict | None:
    """Read a line of a log.

    Returns:
        The verdict, None where the line is none or was cut off.
    """
    if not is_verdict(text):
        return None
    try:
        found = json.loads(text[len(VERDICT_MARKER) :])
    except ValueError:
        return None
    whole = isinstance(found, dict) and Verdict.__required_keys__ <= found.keys()
    return cast("Verdict", found) if whole else None


def find(lines: Iterable[Line], main_node: int) -> Verdict | None:
    """Return the last verdict among the main node's lines: that of the last attempt."""
    found = (parse(line.text) for line in lines if line.node == main_node)
    return next((verdict for verdict in reversed(list(found)) if verdict), None)


def render(verdict: Verdict) -> list[str]:
    """Tell a verdict in a few lines, the outcome first."""
    failure = verdict["first_failure"]
    if not failure:
        return [_headline(verdict)]
    stopped = verdict["outcome"] == OUTCOME_TERMINATED
    return [_headline(verdict), _stopped(failure) if stopped else _first(failure), *_quoted(failure)]


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
