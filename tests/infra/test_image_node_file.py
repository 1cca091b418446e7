"""The runtime as one file."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from muster_cdk import node_file
from muster_cdk.node_file import write_node_file


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_node_file(tmp_path / "muster-node")
    return tmp_path / "muster-node"


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_it_runs_on_the_standard_library_alone(written: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", written, "--help"], capture_output=True, text=True, timeout=60, cwd="/"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "muster-node" in done.stdout


def test_its_members(written: Path) -> None:
    with zipfile.ZipFile(written) as archive:
        members = archive.infolist()
    names = [member.filename for member in members]
    assert names == sorted(names)
    assert {
        "__main__.py",
        "muster_core/__init__.py",
        "muster_core/contract.py",
        "muster_runtime/cli.py",
    } <= set(names)
    assert [name for name in names if name.startswith("muster_core/")] == [
        "muster_core/__init__.py",
        "muster_core/contract.py",
    ]
    assert all(name.endswith(".py") for name in names)
    assert {(member.date_time, member.compress_type, member.external_attr >> 16) for member in members} == {
        ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_STORED, 0o100644)
    }


def test_the_runtime_has_nothing_that_would_be_left_out() -> None:
    spec = find_spec("muster_runtime")
    assert spec is not None
    assert spec.origin is not None
    files = [path for path in Path(spec.origin).parent.rglob("*") if path.is_file()]
    assert {path.suffix for path in files if path.name != "py.typed"} <= {".py", ".pyc"}


def test_the_same_bytes_whatever_the_umask_and_the_times(written: Path, tmp_path: Path, umask: None) -> None:
    other = tmp_path / "other"
    write_node_file(other)
    assert other.read_bytes() == written.read_bytes()
    assert other.stat().st_mode & 0o777 == 0o755
    assert other.read_bytes().startswith(b"#!/usr/bin/env python3\nPK")


def test_a_copy_installed_elsewhere_gives_the_same_bytes(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("muster_runtime", "muster_core"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        shutil.copytree(Path(spec.origin).parent, tmp_path / name, copy_function=shutil.copyfile)
        (tmp_path / name / "__pycache__" / "junk.py.pyc").parent.mkdir(exist_ok=True)
        (tmp_path / name / "__pycache__" / "junk.pyc").touch()
    monkeypatch.setattr(node_file, "_package", lambda name: tmp_path / name)
    write_node_file(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == written.read_bytes()


def test_a_missing_runtime_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError) as caught:
        write_node_file(tmp_path / "x")
    assert str(caught.value) == (
        "muster_runtime is not installed; install the distribution that muster-cdk depends on"
    )
