"""RUN: what the environment already has is passed over, all else fails by its line."""

import importlib.metadata
import sys
from collections.abc import Callable

import pytest

from muster_cli.local.errors import LocalCloudError
from muster_cli.local.images import NodeRoot
from muster_cli.local.images.requirements import Unmet, installed

Lay = Callable[..., NodeRoot]
CLICK = f"click {importlib.metadata.version('click')}"
BOTO3 = f"boto3 {importlib.metadata.version('boto3')}"


@pytest.mark.parametrize(
    ("run", "notes"),
    [
        ("pip install click", [f"click: the environment has {CLICK}"]),
        (
            "pip3 install --no-cache-dir -U 'click>=8' boto3",
            [f"click>=8: the environment has {CLICK}", f"boto3: the environment has {BOTO3}"],
        ),
        ("python3 -m pip install -q click && pip cache purge", [f"click: the environment has {CLICK}"]),
        ("/opt/venv/bin/pip3.11 install -i https://x/simple click", [f"click: the environment has {CLICK}"]),
        ("uv pip install --system click", [f"click: the environment has {CLICK}"]),
        ("PIP_X=1 pip install click[extra]", [f"click[extra]: the environment has {CLICK}"]),
        ('["pip", "install", "click"]', [f"click: the environment has {CLICK}"]),
        ("--mount=type=cache,target=/x pip install click", [f"click: the environment has {CLICK}"]),
        ("<<EOF\nset -ex\npip install click\n\nEOF", [f"click: the environment has {CLICK}"]),
        ("pip install 'click; python_version < \"3\"'", []),
        ("pip install $WHAT", [f"click: the environment has {CLICK}"]),
        ("true; set -e", []),
    ],
)
def test_what_is_already_there(lay: Lay, run: str, notes: list[str]) -> None:
    node = lay(f"FROM x\nENV WHAT=click\nRUN {run}\n")
    assert node.notes == tuple(f"line 3: {note}" for note in notes)


def test_requirement_files(lay: Lay) -> None:
    node = lay(
        "FROM x\nWORKDIR /w\nCOPY *.txt ./\nRUN pip install -r one.txt --requirement=two.txt -c three.txt\n",
        {
            "one.txt": "# a comment\n--index-url https://x\nclick>=8 \\\n  --hash=sha256:00  # why\n\n-r two.txt\n",
            "two.txt": "boto3\n",
            "three.txt": "no-such-distribution\n",
        },
    )
    assert node.notes == (
        f"line 4: click>=8: the environment has {CLICK}",
        f"line 4: boto3: the environment has {BOTO3}",
        f"line 4: boto3: the environment has {BOTO3}",
    )


def test_folders_are_made(lay: Lay) -> None:
    node = lay("FROM x\nWORKDIR /w\nRUN mkdir -p a/b /c\n")
    assert (node.root / "w/a/b").is_dir()
    assert (node.root / "c").is_dir()


def test_notes_of_a_stage_are_kept(lay: Lay) -> None:
    node = lay("FROM x AS one\nWORKDIR /a\nRUN pip install click\nFROM x\nCOPY --from=one /a /b\n")
    assert node.notes == (f"line 3: click: the environment has {CLICK}",)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (
            "apt-get update",
            "'apt-get' would have to run; the local cloud runs nothing for an image; move it to the base image",
        ),
        (
            "pip install click && make",
            "'make' would have to run; the local cloud runs nothing for an image; move it to the base image",
        ),
        (
            "pip list | grep x",
            "'|' takes a shell; the local cloud runs nothing for an image; move it to the base image",
        ),
        ("echo 'x", "it is no shell command: no closing quotation"),
        (
            "mkdir -m 700 /x",
            "mkdir is followed with -p alone; the local cloud runs nothing for an image; move it to the base image",
        ),
        (
            "pip install no-such-distribution",
            "this environment has no no-such-distribution; install 'no-such-distribution' into it",
        ),
        ("pip install 'click<1'", f"this environment has {CLICK}; install 'click<1' into it"),
        ("pip install click==1.0", f"this environment has {CLICK}; install 'click==1.0' into it"),
        ("pip install .", "'.' is no distribution by name; only those can be looked up"),
        ("pip install -e .", "'-e .' is no distribution by name; only those can be looked up"),
        (
            "pip install -r missing.txt",
            "'-r missing.txt' is no distribution by name; only those can be looked up",
        ),
        (
            "pip install 'x @ https://x/y.whl'",
            "'x @ https://x/y.whl' comes from a URL; only a distribution by name can be looked up",
        ),
    ],
)
def test_refusals(lay: Lay, run: str, reason: str) -> None:
    with pytest.raises(LocalCloudError) as caught:
        lay(f"FROM x\nRUN {run}\n")
    text = str(caught.value)
    assert (
        f"line 2: RUN {run} cannot be followed without a container engine: {reason}; or name a folder" in text
    )


def test_a_long_line_is_cut_in_the_message(lay: Lay) -> None:
    with pytest.raises(LocalCloudError, match=rf"RUN make {'x' * 72}\.\.\. cannot"):
        lay(f"FROM x\nRUN make {'x' * 200}\n")


def test_without_packaging_only_plain_requirements_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    assert installed("click") == CLICK
    assert installed(CLICK.replace(" ", "==")) == CLICK
    with pytest.raises(Unmet, match=r"this environment has click .*; install 'click==1' into it"):
        installed("click==1")
    with pytest.raises(Unmet, match="'click>=8' is not understood; install packaging into this environment"):
        installed("click>=8")
