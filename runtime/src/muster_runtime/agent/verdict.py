"""The one structured record of a job's end: the last line of the main node's log. Pure."""

from __future__ import annotations

import json
from typing import Iterable, List

from muster_core.contract import VERDICT_LIMIT, VERDICT_MARKER, Failure, NodeRow, Verdict

_REASON = 1500  # bytes
_NAME = 200
_LINE = 600
_LINES = 4096  # bytes of all last lines; what is left is for the nodes' rows


def verdict_line(verdict: Verdict) -> bytes:
    """Write a verdict as one line of at most ``VERDICT_LIMIT`` bytes, end of line included.

    Where not all fits, the oldest of the last lines go first, and rows of nodes that ended well.
    """
    failure = verdict["first_failure"]
    record = Verdict(**verdict)
    record["job"], record["launcher"] = cut(verdict["job"], _NAME), cut(verdict["launcher"], _NAME)
    record["first_failure"] = None if failure is None else shortened(failure)
    record["nodes"] = []
    record["nodes"] = _rows_that_fit(verdict["nodes"], VERDICT_LIMIT - len(_write(record)))
    return _write(record)


def _write(record: Verdict) -> bytes:
    return f"{VERDICT_MARKER}{_json(record)}\n".encode("ascii")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def shortened(failure: Failure) -> Failure:
    """Bound a failure, so that it fits a verdict and a message alike."""
    short = Failure(**failure)
    short["host"], short["reason"] = cut(failure["host"], _NAME), cut(failure["reason"], _REASON)
    short["lines"] = last_that_fit(failure["lines"], _LINES)
    return short


def cut(text: str, size: int) -> str:
    """Cut a text so that it takes at most ``size`` bytes within a JSON string."""
    text = text[:size]
    while len(_json(text)) - 2 > size:
        text = text[: max(0, min(len(text) - 1, len(text) * size // (len(_json(text)) - 2)))]
    return text


def last_that_fit(lines: Iterable[str], size: int) -> List[str]:
    """Give the last lines that together take at most ``size`` bytes as JSON, each of them cut."""
    kept: List[str] = []
    for line in reversed(list(lines)):
        short = cut(line, _LINE)
        size -= len(_json(short)) + 1
        if size < 0:
            break
        kept.insert(0, short)
    return kept


def _rows_that_fit(rows: List[NodeRow], size: int) -> List[NodeRow]:
    kept = []
    for row in sorted(rows, key=lambda row: (row["code"] == 0, row["index"])):
        short = NodeRow(**row)
        short["address"], short["host"] = cut(row["address"], _NAME), cut(row["host"], _NAME)
        size -= len(_json(short)) + 1
        if size < 0:
            break
        kept.append(short)
    return sorted(kept, key=lambda row: row["index"])
