"""Look-up of instance types by name. The data file is read at the first look-up."""

from __future__ import annotations

import json
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from muster_core.instances.model import Accelerator, InstanceType, NetworkCard, Nvme, Source

DATA = Path(__file__).with_name("catalogue.json")
"""The data: one row per type, written by ``scripts/refresh_instances.py``."""

USAGE_CLASSES = {"d": "on-demand", "s": "spot", "c": "capacity-block"}
"""Letters of a row's ``usage``, and EC2's names for them."""


class UnknownInstanceTypeError(ValueError):
    """The catalogue has no instance type of this name.

    Attributes:
        name: What was asked for.
        nearest: The three names that come nearest, best first.
    """

    def __init__(self, name: str, nearest: Tuple[str, ...]) -> None:
        self.name = name
        self.nearest = nearest
        super().__init__(
            f"instance_type is not in the catalogue, got {name!r}; it holds every type with EFA or an accelerator, "
            f"the nearest are {', '.join(nearest)}; correct the name, or give the type's facts by InstanceType.custom"
        )


def lookup(name: str) -> InstanceType:
    """The facts of an instance type.

    Args:
        name: Such as ``p5.48xlarge``.

    Returns:
        The facts.

    Raises:
        UnknownInstanceTypeError: The catalogue has no such type; the message has the nearest names.
        TypeError: The name is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"instance_type must be a string such as 'p5.48xlarge', got {name!r}")
    row = _document()["rows"].get(name)
    if row is None:
        raise UnknownInstanceTypeError(name, _nearest(name))
    return _decode(name, row)


def names() -> Tuple[str, ...]:
    """Every name of the catalogue, sorted."""
    return tuple(_document()["rows"])


def sources() -> Tuple[Source, ...]:
    """What the catalogue was made from."""
    return tuple(Source(**source) for source in _document()["sources"])


@cache
def _document() -> Dict[str, Any]:
    document: Dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return document


def _nearest(name: str) -> Tuple[str, ...]:
    from difflib import get_close_matches  # noqa: PLC0415  costs milliseconds, and only errors need it

    return tuple(get_close_matches(name.strip().lower(), names(), n=3, cutoff=0.0))


def _decode(name: str, row: Mapping[str, Any]) -> InstanceType:
    known = sources()
    return InstanceType(
        name=name,
        architecture=row["arch"],
        vcpus=row["vcpus"],
        cores=row["cores"],
        memory_mib=row["memory"],
        accelerator=_accelerator(row.get("acc")),
        network_cards=tuple(_cards(row["cards"])),
        max_efa=row.get("efa", 0),
        uverbs=tuple(row.get("uverbs", range(row.get("efa", 0)))),
        nvme=Nvme(*row["nvme"]) if "nvme" in row else None,
        network=row["network"],
        on_demand="d" in row["usage"],
        spot="s" in row["usage"],
        capacity_block="c" in row["usage"],
        sources=tuple(known[index] for index in row["from"]),
    )


def _accelerator(fields: Optional[List[Any]]) -> Optional[Accelerator]:
    return Accelerator(*fields) if fields else None


def _cards(runs: List[List[int]]) -> Iterator[NetworkCard]:
    """Cards from runs of ``[how many, interfaces of each, takes EFA]``."""
    each = chain.from_iterable([(limit, efa)] * count for count, limit, efa in runs)
    return (NetworkCard(index, limit, bool(efa)) for index, (limit, efa) in enumerate(each))
