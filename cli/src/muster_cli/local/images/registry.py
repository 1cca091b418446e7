"""Which image a URI names: noted builds, and folders that stand for foreign images."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster_cli.local.errors import LocalCloudError
from muster_cli.local.images.follow import Follower
from muster_cli.local.images.node_root import NodeRoot
from muster_core.dockerfile import DockerfileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muster_cli.local.state import StateFolder

_DEFAULT_TAG = "latest"
_DOCKERFILE = "Dockerfile"


@dataclass(frozen=True)
class LocalImage:
    """An image of the local cloud: a folder and how it would be built.

    Attributes:
        uri: What it was asked for by.
        folder: The build's folder.
        dockerfile: The Dockerfile's path in it; None: the folder itself is the image's content.
        build_args: Values of ARG.
        target: The stage that is built, None for the last one.
        platform: Such as ``linux/arm64``, None for the default.
        foreign: Whether the folder stands for an image that was built elsewhere.
    """

    uri: str
    folder: Path
    dockerfile: str | None = _DOCKERFILE
    build_args: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    platform: str | None = None
    foreign: bool = False

    def materialise(self, root: Path) -> NodeRoot:
        """Lay the image out for one node, which may change every file of it.

        Args:
            root: A folder that does not exist yet, or is empty.

        Raises:
            LocalCloudError: The Dockerfile has a line that cannot be followed; its text names it.
        """
        try:
            return self.follow(root)
        except DockerfileError as error:
            raise LocalCloudError(
                f"image {self.uri}: {self.folder / (self.dockerfile or '')}, {error}"
            ) from error

    def follow(self, root: Path) -> NodeRoot:
        """The same, with the error as it is.

        Raises:
            CannotFollow: A line that only a container engine can follow.
            DockerfileError: A line that no build would accept.
        """
        root.mkdir(parents=True, exist_ok=True)
        if self.dockerfile is None:
            shutil.copytree(self.folder, root, symlinks=True, dirs_exist_ok=True)
            return NodeRoot(root=root, stands_in=True)
        follower = Follower(
            folder=self.folder,
            file=self.dockerfile,
            build_args=self.build_args,
            platform=self.platform,
        )
        return follower.run(root, self.target, stands_in=self.foreign)


def note_build(state: StateFolder, tag: str, image: LocalImage) -> LocalImage:
    """Keep a copy of a build's folder and note it under a tag.

    Args:
        state: The local cloud's folder.
        tag: What the build is tagged with.
        image: The build; its folder may be gone afterwards.

    Returns:
        The same build of the copy.
    """
    state.create()
    name = uuid.uuid4().hex
    unfinished, folder = state.images / f".{name}", state.images / name
    shutil.copytree(image.folder, unfinished, symlinks=True)
    unfinished.rename(folder)
    kept = LocalImage(tag, folder, image.dockerfile, image.build_args, image.target, image.platform)
    with state.edit_json(state.images_path) as notes:
        notes[full_name(tag)] = _note(kept)
    return kept


def note_tag(state: StateFolder, source: str, tag: str) -> None:
    """Give a noted image another tag.

    Raises:
        LocalCloudError: There is no such image.
    """
    with state.edit_json(state.images_path) as notes:
        if full_name(source) not in notes:
            raise LocalCloudError(f"there is no image {source!r}; build it first")
        notes[full_name(tag)] = notes[full_name(source)]


def tags(state: StateFolder) -> list[str]:
    """The tags of all noted images, sorted."""
    return sorted(state.read_json(state.images_path))


def resolve(state: StateFolder, uri: str, image_map: Mapping[str, str | Path] | None = None) -> LocalImage:
    """The image of a URI.

    Args:
        state: The local cloud's folder.
        uri: As the job definition has it.
        image_map: Folders that stand for images, by URI; one with a Dockerfile is followed, any other
            is the content of ``/``, where the command runs. They come first. Default: none.

    Raises:
        LocalCloudError: Nobody knows the image, or the folder that stands for it is missing.
    """
    mapped = {full_name(name): Path(folder) for name, folder in (image_map or {}).items()}
    name = full_name(uri)
    if name in mapped:
        return _foreign(uri, mapped[name])
    note = state.read_json(state.images_path).get(name)
    if note is None:
        raise LocalCloudError(
            f"image {uri} is unknown to the local cloud: it runs images that were built while deploying to it; "
            f"name a folder that stands for this one by --image-map {uri}=FOLDER"
        )
    return _image(uri, note)


def full_name(tag: str) -> str:
    """A tag as images are noted: ``name`` alone means ``name:latest``."""
    return tag if ":" in tag.rpartition("/")[2] else f"{tag}:{_DEFAULT_TAG}"


def check_map(image_map: Mapping[str, Path]) -> None:
    """Look that the folders which stand for images are there.

    Args:
        image_map: Folders by URI.

    Raises:
        LocalCloudError: One of them or more are no folders; its text names all.
    """
    wrong = [
        f"image {uri} is mapped to {str(folder)!r}, which is no folder"
        for uri, folder in image_map.items()
        if not folder.is_dir()
    ]
    if wrong:
        raise LocalCloudError(f"{'; '.join(wrong)}; correct --image-map")


def _foreign(uri: str, folder: Path) -> LocalImage:
    check_map({uri: folder})
    dockerfile = _DOCKERFILE if (folder / _DOCKERFILE).is_file() else None
    return LocalImage(uri, folder.absolute(), dockerfile, foreign=True)


def _note(image: LocalImage) -> dict[str, Any]:
    values = asdict(image) | {"folder": str(image.folder)}
    return {key: values[key] for key in ("folder", "dockerfile", "build_args", "target", "platform")}


def _image(uri: str, note: dict[str, Any]) -> LocalImage:
    return LocalImage(
        uri, Path(note["folder"]), note["dockerfile"], note["build_args"], note["target"], note["platform"]
    )
