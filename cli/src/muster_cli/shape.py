"""Whether a value that was read from JSON has the shape of a type; pure."""

from __future__ import annotations

from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict


def fits(value: object, kind: Any) -> bool:  # noqa: ANN401  a type, or a form of typing's
    """Hold a value of JSON against a type.

    Args:
        value: As ``json.loads`` returns it.
        kind: A ``TypedDict``, ``List``, ``Dict`` or ``Optional`` of such, ``str``, ``bool``, ``int``, or
            ``float``, which a whole number fits too; a truth value is no number.
    """
    if is_typeddict(kind):
        return isinstance(value, dict) and all(
            name in value and fits(value[name], hint) for name, hint in get_type_hints(kind).items()
        )
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Union:
        return any(fits(value, each) for each in arguments)
    if origin is list:
        return isinstance(value, list) and all(fits(each, arguments[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(each, arguments[1]) for each in value.values())
    return _plain(value, kind)


def _plain(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
