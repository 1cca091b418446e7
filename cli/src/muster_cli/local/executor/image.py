"""What a node runs in: the interface to ``muster_cli.local.images``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    ImageResolver = Callable[[str], "Image"]
    """Finds the image of a URI; raises an exception whose text says why it cannot."""


class Root(Protocol):
    """A node's file system: an image laid out in a folder."""

    @property
    def cwd(self) -> Path:
        """WORKDIR in the folder."""

    @property
    def environment(self) -> Mapping[str, str]:
        """ENV of the image."""

    @property
    def user(self) -> str | None:
        """USER of the image; None: root."""

    @property
    def stop_signal(self) -> str | None:
        """STOPSIGNAL of the image, a name or a number; None: SIGTERM."""

    @property
    def notes(self) -> Sequence[str]:
        """Lines of the Dockerfile that were passed over, each with the reason."""

    def argv(self, command: list[str]) -> list[str]:
        """Return what is run for a container command: ENTRYPOINT in front, paths mapped into the folder."""


class Image(Protocol):
    """An image of the local cloud."""

    def materialise(self, root: Path) -> Root:
        """Lay the image out for one node.

        Args:
            root: A folder that does not exist yet.
        """
