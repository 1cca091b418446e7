"""TrainingImage in a stack: the asset, its hash, and who may pull."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from constructs import RootConstruct

from muster_cdk.image import BoundImage, TrainingImage
from muster_core.instances import lookup

P5 = lookup("p5.48xlarge")
GRAVITON = lookup("c7gn.16xlarge")
Bind = Callable[..., tuple[cdk.Stack, BoundImage]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    (root / "docker").mkdir(parents=True)
    (root / "docker" / "Dockerfile").write_text("FROM python:3.11 AS train\nCOPY train.py /app/\n")
    (root / "Dockerfile").write_text("FROM python:3.11 AS train\nCOPY train.py /app/\n")
    (root / "train.py").write_text("print('hello')\n")
    return root


@pytest.fixture
def bind(tmp_path: Path) -> Bind:
    """Bind an image in a new app with an output folder of its own."""

    def make(image: TrainingImage, instance: Any = P5, **app: Any) -> tuple[cdk.Stack, BoundImage]:
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        stack = cdk.Stack(cdk.App(outdir=str(out), **app), "Stack")
        return stack, image.bind(stack, "Image", instance)

    return make


def asset(stack: cdk.Stack) -> dict[str, Any]:
    """The only image asset of a stack, as the manifest has it."""
    root = stack.node.root
    assert isinstance(root, cdk.App)
    (one,) = json.loads(Path(root.synth().directory, "Stack.assets.json").read_text())[
        "dockerImages"
    ].values()
    return dict(one["source"])


def test_an_asset_that_holds_the_runtime(folder: Path, bind: Bind) -> None:
    stack, bound = bind(TrainingImage.from_directory(folder, build_args={"A": "1"}))
    source = asset(stack)
    assert source == {
        "directory": source["directory"],
        "dockerFile": "Dockerfile",
        "dockerBuildArgs": {"A": "1"},
        "platform": "linux/amd64",
    }
    assert bound.architecture == "x86_64"
    assert bound.asset is not None
    assert source["directory"] == f"asset.{bound.asset.asset_hash}"
    copy = Path(stack.node.root.outdir, source["directory"])  # type: ignore[attr-defined]
    assert sorted(path.name for path in copy.iterdir()) == ["Dockerfile", "docker", "muster-node", "train.py"]
    assert (copy / "muster-node").stat().st_mode & 0o777 == 0o755
    assert json.dumps(stack.resolve(bound.uri)).count(bound.asset.asset_hash) == 1


def test_target_file_and_platform(folder: Path, bind: Bind) -> None:
    (folder / ".dockerignore").write_text("*\n!train.py\n")
    image = TrainingImage.from_directory(str(folder), file="docker/Dockerfile", target="train")
    stack, bound = bind(image, GRAVITON)
    source = asset(stack)
    assert (source["dockerFile"], source["dockerBuildTarget"]) == ("docker/Dockerfile", "muster-runtime")
    assert (source["platform"], bound.architecture) == ("linux/arm64", "arm64")
    copy = Path(stack.node.root.outdir, source["directory"])  # type: ignore[attr-defined]
    names = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*"))
    assert names == [
        ".dockerignore",
        "docker",
        "docker/Dockerfile",
        "docker/Dockerfile.dockerignore",
        "muster-node",
        "train.py",
    ]


def test_the_same_folder_elsewhere_has_the_same_hash(folder: Path, bind: Bind, tmp_path: Path) -> None:
    (folder / "link").symlink_to(folder / "train.py")
    other = tmp_path / "another" / "place"
    shutil.copytree(folder, other, symlinks=True)
    (other / "link").unlink()
    (other / "link").symlink_to(other / "train.py")
    (other / "__pycache__").mkdir()
    (other / "__pycache__" / "train.cpython-311.pyc").touch()
    os.utime(other / "train.py", (1, 1))
    one, two = (bind(TrainingImage.from_directory(path))[1].asset for path in (folder, other))
    assert one is not None
    assert two is not None
    assert one.asset_hash == two.asset_hash


def test_another_content_has_another_hash(folder: Path, bind: Bind) -> None:
    image = TrainingImage.from_directory(folder)
    hashes = []
    for text in ("one", "two"):
        (folder / "train.py").write_text(text)
        bound = bind(image)[1]
        assert bound.asset is not None
        hashes.append(bound.asset.asset_hash)
    assert hashes[0] != hashes[1]


def test_nothing_else_is_left_in_the_output_folder(folder: Path, bind: Bind) -> None:
    stack, bound = bind(TrainingImage.from_directory(folder))
    assert bound.asset is not None
    out = Path(stack.node.root.outdir)  # type: ignore[attr-defined]
    assert [path.name for path in out.iterdir()] == [f"asset.{bound.asset.asset_hash}"]


def test_where_cdk_copies_no_assets_the_copy_stays(folder: Path, bind: Bind) -> None:
    stack, _ = bind(TrainingImage.from_directory(folder), context={"aws:cdk:disable-asset-staging": True})
    directory = Path(asset(stack)["directory"])
    assert directory.parent == Path(stack.node.root.outdir)  # type: ignore[attr-defined]
    assert (directory / "muster-node").is_file()


def test_one_image_can_be_bound_twice(folder: Path, bind: Bind) -> None:
    image = TrainingImage.from_directory(folder)
    stack, first = bind(image)
    second = image.bind(stack, "Again", P5)
    assert first.asset is not None
    assert second.asset is not None
    assert first.asset.asset_hash == second.asset.asset_hash


def test_an_asset_grants_its_own_repository(folder: Path, bind: Bind) -> None:
    stack, bound = bind(TrainingImage.from_directory(folder))
    statement = _pull_statement(stack, bound)
    assert "container-assets" in json.dumps(statement["Resource"])


@pytest.mark.parametrize(
    ("uri", "repository"),
    [
        (
            "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/train:v1",
            "eu-west-1:123456789012:repository/team/train",
        ),
        (
            f"123456789012.dkr.ecr.us-east-1.amazonaws.com/train@sha256:{'0' * 64}",
            "us-east-1:123456789012:repository/train",
        ),
        ("123456789012.dkr-ecr.us-east-1.on.aws/train", "us-east-1:123456789012:repository/train"),
    ],
)
def test_an_ecr_uri_grants_its_repository(bind: Bind, uri: str, repository: str) -> None:
    stack, bound = bind(TrainingImage.from_uri(uri))
    assert (bound.uri, bound.asset) == (uri, None)
    statement = _pull_statement(stack, bound)
    assert statement["Resource"] == {
        "Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, f":ecr:{repository}"]]
    }


@pytest.mark.parametrize("uri", ["nginx", "public.ecr.aws/docker/library/python:3.11", "ghcr.io/x/y:1"])
def test_other_registries_need_no_grant(bind: Bind, uri: str) -> None:
    stack, bound = bind(TrainingImage.from_uri(uri))
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    bound.grant_pull(role)
    assertions.Template.from_stack(stack).resource_count_is("AWS::IAM::Policy", 0)
    assert bound.uri == uri


def test_a_token_is_left_alone() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    uri = ecr.Repository(stack, "Repository").repository_uri
    bound = TrainingImage.from_uri(uri).bind(stack, "Image", P5)
    assert bound.uri == uri
    assert stack.node.try_find_child("Image") is None


def test_a_uri_must_be_a_text() -> None:
    with pytest.raises(TypeError) as caught:
        TrainingImage.from_uri(7)  # type: ignore[arg-type]
    assert str(caught.value) == "uri must be a str, got int 7; change it"


def test_an_image_needs_an_app(folder: Path) -> None:
    with pytest.raises(ValueError, match="scope must stand in an App or a Stage"):
        TrainingImage.from_directory(folder).bind(RootConstruct(), "Image", P5)


def _pull_statement(stack: cdk.Stack, bound: BoundImage) -> dict[str, Any]:
    """The statement that a grant adds to a role's policy: the one for the layers."""
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    bound.grant_pull(role)
    (policy,) = assertions.Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    statements = policy["Properties"]["PolicyDocument"]["Statement"]
    layers, token = statements
    assert layers["Action"] == [
        "ecr:BatchCheckLayerAvailability",
        "ecr:GetDownloadUrlForLayer",
        "ecr:BatchGetImage",
    ]
    assert (token["Action"], token["Resource"]) == ("ecr:GetAuthorizationToken", "*")
    return dict(layers)
