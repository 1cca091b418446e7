"""The error of a Dockerfile's line that takes a container engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster_core.dockerfile import DockerfileError

if TYPE_CHECKING:
    from muster_core.dockerfile import Instruction

_SHOWN = 80


class CannotFollow(DockerfileError):  # noqa: N818  what it says to its reader
    """A line that a build would accept and the local cloud cannot follow.

    Args:
        instruction: The line's instruction.
        reason: What is in the way, and if there is one, its own way out.
    """

    def __init__(self, instruction: Instruction, reason: str) -> None:
        text = instruction.text if len(instruction.text) <= _SHOWN else instruction.text[: _SHOWN - 3] + "..."
        super().__init__(
            instruction.line,
            f"{instruction.name} {text} cannot be followed without a container engine: {reason}; "
            "or name a folder that stands for the image by --image-map IMAGE=FOLDER",
        )
