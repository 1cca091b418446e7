"""A Dockerfile's settings, followed without a container engine."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from muster_cli.local.errors import LocalCloudError
from muster_cli.local.images import LocalImage, NodeRoot

Lay = Callable[..., NodeRoot]


def test_an_image_that_says_nothing(lay: Lay) -> None:
    node = lay("FROM base\n")
    assert (node.cwd, node.user, node.entrypoint, node.cmd, node.stop_signal) == (
        node.root,
        None,
        (),
        (),
        None,
    )
    assert node.environment["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert set(node.environment) == {"PATH"}


def test_settings_of_the_last_stage(lay: Lay) -> None:
    node = lay(
        "ARG WHO=nobody\n"
        "FROM base\n"
        "ARG WHO\n"
        "ENV A=1 B=${A}x C='$A'\n"
        "ENV B2=$A$B\n"
        "WORKDIR /w\n"
        "WORKDIR sub/$A\n"
        "USER $WHO:1000\n"
        "STOPSIGNAL SIGINT\n"
        "VOLUME /data\n"
        "LABEL x=y\nEXPOSE 80\nHEALTHCHECK NONE\nMAINTAINER me\nONBUILD RUN x\n"
    )
    assert {name: value for name, value in node.variables.items() if name != "PATH"} == {
        "A": "1",
        "B": "x",
        "C": "$A",
        "B2": "1x",
    }
    assert (node.workdir, node.user, node.stop_signal) == ("/w/sub/1", "nobody:1000", "SIGINT")
    assert node.cwd == node.root / "w/sub/1"
    assert node.cwd.is_dir()
    assert (node.root / "data").is_dir()


@pytest.mark.parametrize(
    ("lines", "build_args", "value"),
    [
        ("ARG V=default", {}, "default"),
        ("ARG V=default", {"V": "given"}, "given"),
        ("ARG V", {"V": "given"}, "given"),
        ("ARG V", {}, "global"),
        ("ARG W=w\nARG V=$W", {}, "w"),
        ("ARG V=default\nENV V=env", {"V": "given"}, "env"),
        ("", {"V": "given"}, ""),
        ("ARG TARGETARCH\nARG V=$TARGETARCH", {}, "arm64"),
        ("ARG UNSET\nARG V=-$UNSET-", {}, "--"),
    ],
)
def test_arguments(lay: Lay, lines: str, build_args: dict[str, str], value: str) -> None:
    text = f"ARG V=global\nFROM base\n{lines}\nENV RESULT=$V\n"
    node = lay(text, build_args=build_args, platform="linux/arm64/v8")
    assert node.variables["RESULT"] == value


def test_an_argument_names_the_base(lay: Lay, image: Callable[..., LocalImage]) -> None:
    text = "ARG BASE\nARG LAST=${BASE:-one}\nFROM x AS one\nENV FROM=one\nFROM x AS two\nENV FROM=two\nFROM $LAST\n"
    assert lay(text).variables["FROM"] == "one"
    assert lay(text, build_args={"BASE": "TWO"}).variables["FROM"] == "two"


@pytest.mark.parametrize(
    ("lines", "entrypoint", "cmd"),
    [
        ('ENTRYPOINT ["a", "b"]\nCMD ["c"]', ("a", "b"), ("c",)),
        ('CMD ["c"]\nENTRYPOINT ["a"]', ("a",), ("c",)),
        ("ENTRYPOINT run this\nCMD and that", ("/bin/sh", "-c", "run this"), ("/bin/sh", "-c", "and that")),
        ('SHELL ["/bin/bash", "-ec"]\nCMD x', (), ("/bin/bash", "-ec", "x")),
        ('ENTRYPOINT ["a"]\nENTRYPOINT []', (), ()),
        ("ENTRYPOINT a\nENTRYPOINT", (), ()),
    ],
)
def test_programs(lay: Lay, lines: str, entrypoint: tuple[str, ...], cmd: tuple[str, ...]) -> None:
    node = lay(f"FROM base\n{lines}\n")
    assert (node.entrypoint, node.cmd) == (entrypoint, cmd)


def test_a_new_entrypoint_drops_an_inherited_command(lay: Lay) -> None:
    base = 'FROM x AS one\nENTRYPOINT ["a"]\nCMD ["b"]\nWORKDIR /w\nUSER u\nARG LOST=1\nENV KEPT=1\nFROM one\nENV L=$LOST\n'
    node = lay(base)
    assert (node.entrypoint, node.cmd, node.workdir, node.user) == (("a",), ("b",), "/w", "u")
    assert (node.variables["KEPT"], node.variables["L"]) == ("1", "")
    again = lay(f'{base}ENTRYPOINT ["c"]\n')
    assert (again.entrypoint, again.cmd) == (("c",), ())


def test_a_target_is_followed_and_what_comes_after_is_not(lay: Lay) -> None:
    text = "FROM x AS one\nENV S=1\nFROM x AS two\nRUN make\n"
    assert lay(text, target="ONE").variables["S"] == "1"


def test_the_escape_directive_counts(lay: Lay) -> None:
    assert lay("# escape=`\nFROM x\nENV A=C:\\dir B=`$A\n").variables["A"] == "C:\\dir"


def test_stages_leave_nothing_beside_the_root(lay: Lay) -> None:
    node = lay("FROM x AS one\nWORKDIR /a\nFROM x\nCOPY --from=one /a /b\n")
    assert list(node.root.parent.iterdir()) == [node.root]


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("FROM x\nFOO\n", {}, "line 2: 'FOO' is no instruction of a Dockerfile"),
        ("FROM x AS a\n", {"target": "b"}, "line 1: there is no stage 'b' to build"),
        ("ARG BASE\nFROM $BASE\n", {}, "line 2: FROM $BASE names no image; give the ARG a default"),
        ("FROM x\nENV A=${B:?it-is-needed}\n", {}, "line 2: B must be set: it-is-needed"),
        (
            "FROM x AS a\nONBUILD RUN y\nFROM a\n",
            {},
            (
                "line 2: ONBUILD RUN y cannot be followed without a container engine: it would run in the stage of line 3; "
                "write it there; or name a folder that stands for the image by --image-map IMAGE=FOLDER"
            ),
        ),
    ],
)
def test_refusals(lay: Lay, tmp_path: Path, text: str, values: dict[str, str], message: str) -> None:
    with pytest.raises(LocalCloudError) as caught:
        lay(text, **values)
    assert str(caught.value) == f"image repo/image:tag: {tmp_path / 'context' / 'Dockerfile'}, {message}"


def test_a_dockerfile_that_is_not_there(image: Callable[..., LocalImage], tmp_path: Path) -> None:
    made = image("FROM x\n")
    (made.folder / "Dockerfile").rename(made.folder / "other")
    with pytest.raises(LocalCloudError, match="Dockerfile, line 1: Dockerfile cannot be read"):
        made.materialise(tmp_path / "root")
