"""One module per framework; loaded when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, cast

from muster_core.contract import LAUNCHERS

if TYPE_CHECKING:
    from muster_runtime.launchers.base import Job, Launcher


def load(name: str) -> Callable[[Job], Launcher]:
    """Load a launcher's module: the one of that name, whose ``make`` makes it.

    Args:
        name: a key of :data:`muster_core.contract.LAUNCHERS`.
    """
    from importlib import import_module  # noqa: PLC0415

    return cast("Callable[[Job], Launcher]", import_module(f"{__name__}.{LAUNCHERS[name].name}").make)
