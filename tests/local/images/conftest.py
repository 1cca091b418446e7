"""An image of the local cloud out of a few files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from muster_cli.local.images import LocalImage, NodeRoot

NO_FILES: Mapping[str, str] = {}


@pytest.fixture
def image(tmp_path: Path) -> Callable[..., LocalImage]:
    """Make a folder with a Dockerfile: ``image(dockerfile, {"train.py": "..."}, **of_the_image)``."""

    def make(dockerfile: str, files: Mapping[str, str] = NO_FILES, **values: Any) -> LocalImage:
        folder = tmp_path / "context"
        for name, text in {**files, "Dockerfile": dockerfile}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return LocalImage("repo/image:tag", folder, **values)

    return make


@pytest.fixture
def lay(image: Callable[..., LocalImage], tmp_path: Path) -> Callable[..., NodeRoot]:
    """The same, laid out in ``tmp_path / "node/root"``."""

    def make(dockerfile: str, files: Mapping[str, str] = NO_FILES, **values: Any) -> NodeRoot:
        return image(dockerfile, files, **values).materialise(tmp_path / "node" / "root")

    return make


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[], dict[str, str]]:
    """Read the files below the node's root: path to content, folders with a slash."""

    def read() -> dict[str, str]:
        root = tmp_path / "node" / "root"
        found = {}
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            found[name if path.is_file() else f"{name}/"] = path.read_text() if path.is_file() else ""
        return found

    return read
