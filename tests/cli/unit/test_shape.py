"""JSON held against the shapes of the contract."""

import copy
from typing import Any

import pytest

from muster_cli import shape
from muster_core.contract import Failure, NodeRow, Verdict

pytestmark = pytest.mark.unit

WHOLE: dict[str, Any] = {
    "contract": 1,
    "job": "j",
    "attempt": 1,
    "outcome": "failed",
    "code": 7,
    "first_failure": {"node": 1, "rank": None, "host": "h", "code": 7, "reason": "r", "lines": ["a"]},
    "phases": {"identity": 0.1, "launch": 3},
    "nodes": [{"index": 0, "address": "10.0.0.4", "host": "h", "code": None}],
    "launcher": "torch",
    "world_size": 2,
    "simulated": False,
}
FIELDS = [(name,) for name in Verdict.__annotations__]
DEEPER = [
    *(("first_failure", name) for name in Failure.__annotations__),
    *(("nodes", 0, name) for name in NodeRow.__annotations__),
    ("first_failure", "lines", 0),
    ("phases", "identity"),
]


def _with(path: tuple[Any, ...], value: object) -> Any:
    changed = copy.deepcopy(WHOLE)
    at: Any = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def test_a_whole_verdict_fits_with_and_without_a_failure_and_with_a_field_of_a_later_version() -> None:
    assert shape.fits(WHOLE, Verdict)
    assert shape.fits(_with(("first_failure",), None), Verdict)
    assert shape.fits(_with(("later",), 1), Verdict)


@pytest.mark.parametrize("path", [*FIELDS, *DEEPER])
def test_a_field_of_another_type_fits_nowhere(path: tuple[Any, ...]) -> None:
    # no field holds a complex number, and none of JSON's own values fits all of them
    assert not shape.fits(_with(path, 1j), Verdict)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodes",), 2),
        (("nodes",), {}),
        (("nodes", 0), 2),
        (("phases",), []),
        (("first_failure",), []),
        (("first_failure", "lines"), "text"),
        (("code",), True),
        (("code",), 7.0),
        (("code",), None),
        (("code",), "7"),
        (("simulated",), 0),
        (("phases", "identity"), False),
        (("job",), 1),
    ],
)
def test_what_json_holds_in_its_place_does_not_fit(path: tuple[Any, ...], value: object) -> None:
    assert not shape.fits(_with(path, value), Verdict)


@pytest.mark.parametrize("name", [*WHOLE, *Failure.__annotations__])
def test_a_field_that_is_missing_does_not_fit(name: str) -> None:
    changed = copy.deepcopy(WHOLE)
    (changed if name in changed and name != "code" else changed["first_failure"]).pop(name)
    assert not shape.fits(changed, Verdict)
