"""What the CDK CLI asks docker for, and which image a URI then names."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muster_cli.local.errors import LocalCloudError
from muster_cli.local.images import LocalImage, resolve
from muster_cli.local.images.shim import main
from muster_cli.local.settings import STATE_VARIABLE
from muster_cli.local.state import StateFolder

Image = Callable[..., LocalImage]
URI = "123456789012.dkr.ecr.us-east-1.amazonaws.com/assets:0123"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateFolder:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return StateFolder()


def build(image: LocalImage, *flags: str, tag: str = "cdkasset-0123") -> int:
    return main(["build", *flags, "--tag", tag, str(image.folder)])


def test_the_calls_of_a_deployment(
    state: StateFolder, image: Image, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = image(
        "ARG V\nFROM x AS one\nARG V\nENV V=$V\nWORKDIR /w\nCOPY a .\nFROM x\nRUN make\n", {"a": "A"}
    )
    made.folder.joinpath("Dockerfile").rename(made.folder / "other")
    monkeypatch.setattr("sys.stdin", io.StringIO("password"))
    assert main(["login", "--username", "AWS", "--password-stdin", "host"]) == 0
    assert main(["inspect", "cdkasset-0123"]) == 1
    monkeypatch.chdir(made.folder)
    flags = [
        "--build-arg",
        "V=a=b",
        "--target",
        "one",
        "--file",
        "other",
        "--platform",
        "linux/arm64",
        "--no-cache",
    ]
    assert (
        main(["build", *flags, "--tag", "cdkasset-0123", "--network", "host", "--output=type=docker", "."])
        == 0
    )
    assert main(["inspect", "cdkasset-0123"]) == 0
    assert main(["tag", "cdkasset-0123", URI]) == 0
    assert main(["--config", "/some/folder", "push", URI]) == 0
    (made.folder / "a").write_text("changed later")
    found = resolve(state, URI)
    assert (found.uri, found.build_args, found.target, found.dockerfile) == (
        URI,
        {"V": "a=b"},
        "one",
        "other",
    )
    assert found.folder.is_relative_to(state.images)
    node = found.materialise(tmp_path / "root")
    assert ((node.cwd / "a").read_text(), node.variables["V"]) == ("A", "a=b")


def test_images_are_listed_by_reference(
    state: StateFolder, image: Image, capsys: pytest.CaptureFixture[str]
) -> None:
    build(image("FROM x\n"), tag=URI)
    capsys.readouterr()
    reference = ["--filter", "reference=*/*:0123"]
    assert main(["images", "--format", "{{.Repository}}:{{.Tag}}", *reference]) == 0
    assert main(["images", "--filter", "reference=*/*:other"]) == 0
    assert capsys.readouterr().out == f"{URI}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "x"], "invalid choice: 'run'"),
        (["build", "--quiet", "--tag", "x", "."], "unrecognized arguments: --quiet"),
        ([], "the following arguments are required: command"),
        (["tag", "missing", "x"], "there is no image 'missing'; build it first"),
        (["push", "missing"], "there is no image 'missing'"),
        (
            ["build", "--tag", "x", "/no/such/folder"],
            "the folder to build must be a folder, got '/no/such/folder'",
        ),
    ],
)
def test_anything_else_is_a_sentence(
    state: StateFolder, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("muster-local-docker: ")
    assert message in error
    assert error.count("\n") == 1


def test_a_build_that_no_builder_would_accept_fails(
    state: StateFolder, image: Image, capsys: pytest.CaptureFixture[str]
) -> None:
    made = image("FROM x\nCOPY missing /\n")
    assert build(made) == 1
    expected = f"muster-local-docker: {made.folder / 'Dockerfile'}, line 2: COPY finds no 'missing' in the image's folder\n"
    assert capsys.readouterr().err == expected
    assert main(["inspect", "cdkasset-0123"]) == 1


def test_a_line_that_cannot_be_followed_is_said_while_deploying(
    state: StateFolder, image: Image, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = image("FROM x\nRUN apt-get install y\n")
    assert build(made) == 0
    assert (
        f"a job that uses this image will fail: {made.folder / 'Dockerfile'}, line 2: RUN"
        in capsys.readouterr().err
    )
    with pytest.raises(LocalCloudError, match="line 2: RUN apt-get install y cannot be followed"):
        resolve(state, "cdkasset-0123").materialise(tmp_path / "root")


def test_what_is_passed_over_is_said(
    state: StateFolder, image: Image, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(image("FROM x\nRUN pip install click\n")) == 0
    assert "muster-local-docker: line 2: click: the environment has click" in capsys.readouterr().out


def test_builds_leave_nothing_but_the_state_folder(state: StateFolder, image: Image, tmp_path: Path) -> None:
    made = image("FROM x\n")
    before = sorted(tmp_path.iterdir())
    build(made)
    assert sorted(tmp_path.iterdir()) == sorted([*before, state.root])


def test_builds_at_the_same_time_are_all_noted(state: StateFolder, image: Image, tmp_path: Path) -> None:
    made = image("FROM x\n")
    command = [sys.executable, "-m", "muster_cli.local.images.shim", "build", str(made.folder), "--tag"]
    with ThreadPoolExecutor() as pool:
        runs = pool.map(
            lambda n: subprocess.run([*command, f"image-{n}"], timeout=60, env=dict(os.environ)), range(4)
        )
        assert [run.returncode for run in runs] == [0] * 4
    assert sorted(json.loads(state.images_path.read_text())) == [f"image-{n}:latest" for n in range(4)]


def test_a_second_build_replaces_the_first(state: StateFolder, image: Image, tmp_path: Path) -> None:
    for number in (1, 2):
        build(image(f"FROM x\nENV N={number}\n"))
    assert resolve(state, "cdkasset-0123").materialise(tmp_path / "root").variables["N"] == "2"


def test_an_unknown_image_is_a_sentence(state: StateFolder) -> None:
    with pytest.raises(LocalCloudError) as caught:
        resolve(state, "nginx:1")
    assert str(caught.value) == (
        "image nginx:1 is unknown to the local cloud: it runs images that were built while deploying to it; "
        "name a folder that stands for this one by --image-map nginx:1=FOLDER"
    )


def test_a_folder_stands_for_a_foreign_image(state: StateFolder, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "train.py").write_text("T")
    node = resolve(state, "nginx", {"nginx:latest": folder}).materialise(tmp_path / "root")
    assert node.stands_in
    assert (node.cwd / "train.py").read_text() == "T"
    (folder / "Dockerfile").write_text("FROM x\nWORKDIR /w\nCOPY train.py .\n")
    node = resolve(state, "nginx", {"nginx": str(folder)}).materialise(tmp_path / "followed")
    assert (node.stands_in, node.workdir) == (True, "/w")
    assert (node.cwd / "train.py").read_text() == "T"


def test_a_mapped_folder_must_exist(state: StateFolder) -> None:
    with pytest.raises(LocalCloudError) as caught:
        resolve(state, "nginx", {"nginx": "/no/such/folder"})
    assert (
        str(caught.value)
        == "image nginx is mapped to '/no/such/folder', which is no folder; correct --image-map"
    )
