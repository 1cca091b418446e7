"""Replaces attributes of moto's classes and remembers what stood there."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MISSING = object()
_stock: dict[tuple[Any, str], Any] = {}
_filled: dict[tuple[Any, str], Any] = {}


def replace(owner: Any, name: str, value: Any) -> None:  # noqa: ANN401
    """Put a fill in the place of a stock attribute; a second time is no different from once.

    Args:
        owner: A class or module of moto.
        name: The attribute; it need not exist.
        value: A function, property or class method.
    """
    key = (owner, name)
    _stock.setdefault(key, owner.__dict__.get(name, _MISSING))
    _filled[key] = value
    setattr(owner, name, value)


def stock(owner: Any, name: str) -> Any:  # noqa: ANN401
    """Return the attribute as moto has it.

    Args:
        owner: A class or module of moto.
        name: The attribute.

    Returns:
        What stood there before :func:`replace`, or what stands there now.
    """
    value = _stock.get((owner, name), _MISSING)
    return getattr(owner, name) if value is _MISSING else value


@contextlib.contextmanager
def unfilled() -> Iterator[None]:
    """Take the fills out for a while: a test shows with it what stock moto does."""
    with temporary():
        for owner, name in list(_filled):
            _restore(owner, name)
        yield


@contextlib.contextmanager
def temporary() -> Iterator[None]:
    """Undo, at the end of the block, whatever was filled or taken out in it."""
    before = dict(_filled)
    try:
        yield
    finally:
        for owner, name in _filled.keys() - before.keys():
            _restore(owner, name)
        for (owner, name), value in before.items():
            replace(owner, name, value)


def _restore(owner: Any, name: str) -> None:  # noqa: ANN401
    value = _stock[owner, name]
    if value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
    del _filled[owner, name]
