"""TrainingImage: the runtime baked into any image that has Python, as one file."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from aws_cdk import IgnoreMode, Stack, Stage, SymlinkFollowMode
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecr_assets as ecr_assets

from muster_cdk.coercion import to_text, to_variables
from muster_cdk.image_stage import ImageFolder, staged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_cdk import aws_iam as iam
    from constructs import Construct

    from muster_core.instances import InstanceType

_PLATFORMS = {"x86_64": "linux/amd64", "arm64": "linux/arm64"}
_NO_STAGING = "aws:cdk:disable-asset-staging"
"""CDK's context key under which assets are used where they lie instead of being copied."""
_ECR = re.compile(
    r"(?P<account>\d{12})\.dkr[.-]ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z.]+/(?P<name>[^:@]+)(?:[:@].*)?"
)


@dataclass(frozen=True)
class BoundImage:
    """An image as a job definition takes it.

    Attributes:
        uri: The image's URI, maybe a token.
        architecture: ``x86_64`` or ``arm64``: what it runs on.
        grant_pull: Lets a grantee pull the image. Does nothing where the URI names no private ECR
            repository that can be seen at synth.
        asset: What is built, None for an image that exists already.
    """

    uri: str
    architecture: str
    grant_pull: Callable[[iam.IGrantable], object]
    asset: ecr_assets.DockerImageAsset | None = None


class TrainingImage(ABC):
    """The image that a job's nodes run: built from a folder, or one that exists already."""

    @staticmethod
    def from_directory(
        path: str | PurePath,
        *,
        file: str | None = None,
        build_args: Mapping[str, str] | None = None,
        target: str | None = None,
        keep_entrypoint: bool = False,
    ) -> TrainingImage:
        """An image that is built from a folder at deployment, with Muster's runtime in it.

        A copy of the folder is staged: the runtime, one file that needs Python 3.9 or later, is
        added by a COPY at the end of the Dockerfile, which needs no network and works under a
        non-root USER; the copy's ignore file lets it through. The image's ENTRYPOINT is emptied,
        as AWS Batch has no way to replace it and it would swallow the job's command.
        ``__pycache__``, ``*.pyc``, ``cdk.out``, ``.muster`` and file times stay out, so that the same folder
        gives the same image tag on every machine. Links are copied as links.

        Args:
            path: The folder, absolute or relative to the current one.
            file: The Dockerfile, relative to the folder. Default: ``Dockerfile``.
            build_args: Values of the Dockerfile's ARG. Default: none.
            target: The stage to build; it must have a name. Default: the last stage.
            keep_entrypoint: Leave the image's ENTRYPOINT in front of the job's command: it must
                run what it gets as arguments, by ``exec``. Default: False.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: The folder or its Dockerfile cannot be staged; all reasons at once.
        """
        image = ImageFolder(
            folder=Path(to_text(path, "path")).absolute(),
            file=PurePath(to_text("Dockerfile" if file is None else file, "file")).as_posix(),
            target=None if target is None else to_text(target, "target"),
            keep_entrypoint=keep_entrypoint,
        )
        problems = image.problems()
        if problems:
            raise ValueError("\n".join(problems))
        return _BuiltImage(image, to_variables(build_args, "build_args"))

    @staticmethod
    def from_uri(uri: str) -> TrainingImage:
        """An image that exists already; it must have Muster's runtime at ``/opt/muster/muster-node``.

        Args:
            uri: Such as ``123456789012.dkr.ecr.us-east-1.amazonaws.com/train:v1``, or a token.

        Raises:
            TypeError: The URI is no str.
        """
        if not isinstance(uri, str):
            raise TypeError(f"uri must be a str, got {type(uri).__name__} {uri!r}; change it")
        return _ExistingImage(uri)

    @abstractmethod
    def bind(self, scope: Construct, id: str, instance: InstanceType) -> BoundImage:
        """Make what the image needs in a stack.

        Args:
            scope: Where to make it.
            id: Its id there.
            instance: The facts of the type that runs it; its architecture is the platform.
        """


class _BuiltImage(TrainingImage):
    def __init__(self, image: ImageFolder, build_args: dict[str, str]) -> None:
        self._image = image
        self._build_args = build_args

    def bind(self, scope: Construct, id: str, instance: InstanceType) -> BoundImage:
        outdir = Path(_stage_of(scope).asset_outdir).absolute()
        keep = bool(scope.node.try_get_context(_NO_STAGING))
        with staged(self._image, outdir, keep=keep) as folder:
            asset = ecr_assets.DockerImageAsset(
                scope,
                id,
                directory=str(folder),
                file=self._image.file,
                build_args=self._build_args or None,
                target=self._image.build_target,
                platform=ecr_assets.Platform.custom(_PLATFORMS[instance.architecture]),
                follow_symlinks=SymlinkFollowMode.NEVER,
                # The copy holds what a build sees and nothing else: CDK is to drop none of it. It reads
                # one kind of ignore file only, and would lose a Dockerfile in a folder.
                ignore_mode=IgnoreMode.DOCKER,
                exclude=["!**"],
            )
        return BoundImage(asset.image_uri, instance.architecture, asset.repository.grant_pull, asset)


class _ExistingImage(TrainingImage):
    def __init__(self, uri: str) -> None:
        self._uri = uri

    def bind(self, scope: Construct, id: str, instance: InstanceType) -> BoundImage:
        match = _ECR.fullmatch(self._uri)
        grant = _repository(scope, id, match).grant_pull if match else _nothing
        return BoundImage(self._uri, instance.architecture, grant)


def _repository(scope: Construct, id: str, match: re.Match[str]) -> ecr.IRepository:
    name = match["name"]
    arn = Stack.of(scope).format_arn(
        service="ecr",
        resource="repository",
        resource_name=name,
        account=match["account"],
        region=match["region"],
    )
    return ecr.Repository.from_repository_attributes(scope, id, repository_arn=arn, repository_name=name)


def _nothing(_: iam.IGrantable) -> None:
    """No permission is needed, or none that can be seen."""


def _stage_of(scope: Construct) -> Stage:
    stage = Stage.of(scope)
    if stage is None:
        raise ValueError(
            "scope must stand in an App or a Stage, got a construct outside of one; add it to an App"
        )
    return stage
