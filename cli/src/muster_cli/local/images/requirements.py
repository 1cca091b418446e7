"""Whether this environment already has what pip would install."""

from __future__ import annotations

import importlib.metadata
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PLAIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*(?:==\s*([A-Za-z0-9.!+_-]+))?\Z")
_OPTION_IN_LINE = re.compile(r"\s+--?[a-z].*|\s+#.*|^#.*")


class Unmet(Exception):  # noqa: N818  what it says to its reader
    """A requirement that the environment does not meet: one sentence with what to do."""


def installed(requirement: str) -> str:
    """What the environment has for a requirement.

    Args:
        requirement: As pip takes it, such as ``torch>=2.6``. Extras are not looked at.

    Returns:
        Name and version, empty where the requirement's marker leaves this environment out.

    Raises:
        Unmet: Nothing that fits is installed, or it cannot be told.
    """
    name, version = _name_and_version(requirement)
    if not name:
        return ""
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise Unmet(f"this environment has no {name}; install {requirement!r} into it") from None
    if not _fits(requirement, version, found):
        raise Unmet(f"this environment has {name} {found}; install {requirement!r} into it")
    return f"{name} {found}"


def _name_and_version(requirement: str) -> tuple[str, str | None]:
    """The name, empty where a marker says no, and the version after == where that is all there is."""
    plain = _PLAIN.match(requirement)
    if plain:
        return plain.group(1), plain.group(2)
    try:
        from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415  it may be missing
    except ImportError:
        raise Unmet(f"{requirement!r} is not understood; install packaging into this environment") from None
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        raise Unmet(f"{requirement!r} is no distribution by name; only those can be looked up") from None
    if parsed.url:
        raise Unmet(f"{requirement!r} comes from a URL; only a distribution by name can be looked up")
    return (parsed.name if parsed.marker is None or parsed.marker.evaluate() else ""), None


def _fits(requirement: str, version: str | None, found: str) -> bool:
    try:
        from packaging.requirements import Requirement  # noqa: PLC0415  it may be missing
    except ImportError:
        return version is None or version in {found, found.partition("+")[0]}
    return Requirement(requirement).specifier.contains(found, prereleases=True)


def read_requirements(path: Path) -> list[str]:
    """The requirements of a file, those of the files that it names included; constraints are passed over."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    found: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        name, _, value = stripped.partition(" ")
        if name in {"-r", "--requirement"}:
            found += read_requirements(path.parent / value.strip())
        elif stripped.startswith("-e"):
            found.append(stripped)
        elif stripped and not stripped.startswith(("-", "#")):
            found.append(_OPTION_IN_LINE.sub("", stripped).strip())
    return found
