"""The messages between coordinator and members, and their shapes. Pure.

A body is a JSON object: ``kind`` and exactly the fields of that kind.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Tuple, Type, Union

from muster_runtime.agent.errors import ProtocolError

if TYPE_CHECKING:
    from muster_core.contract import Failure

HELLO = "hello"
CHALLENGE = "challenge"
REFUSED = "refused"
JOIN = "join"
START = "start"
BEAT = "beat"
FAILED = "failed"
TERMINATE = "terminate"
DONE = "done"
STOP = "stop"
LEAVE = "leave"

CAUSE_CONTRACT = "contract"
CAUSE_JOB = "job"
CAUSE_SECRET = "secret"  # noqa: S105
CAUSE_PLACE = "place"
CAUSE_STARTED = "started"
CAUSE_PROTOCOL = "protocol"

_Types = Union[Type[Any], Tuple[Type[Any], ...]]
_NUMBER = (int, float)
_OPTIONAL_OBJECT = (dict, type(None))

SHAPES: Mapping[str, Mapping[str, _Types]] = {
    HELLO: {"contract": int, "job": str, "attempt": int, "node": int, "nonce": str},
    CHALLENGE: {"nonce": str},
    REFUSED: {"cause": str, "reason": str},
    JOIN: {"node": int, "address": str, "host": str, "slots": int, "container": str},
    START: {"nodes": list, "shared": dict},
    BEAT: {},
    FAILED: {"failure": dict},
    TERMINATE: {"signal": int},
    DONE: {"code": int},
    STOP: {"outcome": str, "code": int, "failure": _OPTIONAL_OBJECT, "grace": _NUMBER},
    LEAVE: {},
}
MEMBER_SAYS = frozenset({JOIN, BEAT, FAILED, TERMINATE, DONE})
COORDINATOR_SAYS = frozenset({REFUSED, START, BEAT, STOP, LEAVE})

_FAILURE: Mapping[str, _Types] = {
    "node": (int, type(None)),
    "rank": (int, type(None)),
    "host": str,
    "code": int,
    "reason": str,
    "lines": list,
}
_TEXT_LIMIT = 4096


class Message(NamedTuple):
    """One message, of the shape that :data:`SHAPES` gives for its kind."""

    kind: str
    fields: Mapping[str, Any]


def encode(kind: str, **fields: object) -> bytes:
    """Write a body."""
    return json.dumps({"kind": kind, **fields}, separators=(",", ":")).encode("ascii")


def decode(body: bytes, allowed: frozenset[str]) -> Message:
    """Read a body.

    Raises:
        ProtocolError: it is no JSON object, of no allowed kind, or not of that kind's shape.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise ProtocolError("a message is not json") from None
    if not isinstance(fields, dict):
        raise ProtocolError("a message is not a json object")
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in allowed:
        raise ProtocolError(f"a message of kind {printable(repr(kind))} is not expected here")
    check(fields, SHAPES[kind], kind)
    return Message(kind, fields)


def check(fields: Mapping[str, object], shape: Mapping[str, _Types], what: str) -> None:
    """Hold an object against a shape.

    Raises:
        ProtocolError: a field is missing, too many, of another type, or a text too long.
    """
    if fields.keys() != shape.keys():
        raise ProtocolError(f"{what} must have exactly the fields {', '.join(shape) or 'none'}")
    for name, types in shape.items():
        value = fields[name]
        if isinstance(value, bool) or not isinstance(value, types):
            raise ProtocolError(f"{what}.{name} has the wrong type")
        if isinstance(value, str) and len(value) > _TEXT_LIMIT:
            raise ProtocolError(f"{what}.{name} is longer than {_TEXT_LIMIT}")


def failure_of(value: Mapping[str, object]) -> Failure:
    """Read a failure out of a message.

    Raises:
        ProtocolError: it is not of the shape of :class:`muster_core.contract.Failure`.
    """
    check(value, _FAILURE, "failure")
    lines = value["lines"]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ProtocolError("failure.lines has the wrong type")
    failure: Any = dict(value)
    return failure  # type: ignore[no-any-return]


def optional_failure(value: Mapping[str, object] | None) -> Optional[Failure]:
    """Read a failure that may be absent."""
    return None if value is None else failure_of(value)


def printable(text: str, limit: int = 200) -> str:
    """Make a stranger's words fit for a log line."""
    return "".join(mark if mark.isprintable() else "?" for mark in text[:limit])
