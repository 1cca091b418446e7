"""The runtime as one file, as it lies in an image."""

import os
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

import muster_core
import muster_runtime


@pytest.fixture
def node_file(tmp_path):
    """Pack what the image holds: the runtime, the contract, nothing else."""
    source = tmp_path / "source"
    package = Path(muster_runtime.__file__).parent
    for file in package.rglob("*.py"):
        target = source / "muster_runtime" / file.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    core = Path(muster_core.__file__).parent
    (source / "muster_core").mkdir()
    for name in ("__init__.py", "contract.py"):
        (source / "muster_core" / name).write_bytes((core / name).read_bytes())
    zipapp.create_archive(source, tmp_path / "muster-node", main="muster_runtime.cli:main")
    return tmp_path / "muster-node"


def test_two_nodes_by_the_one_file(any_nodes, node_file):
    any_nodes.entry = ["-I", str(node_file)]
    unmeasured = {
        name: None for name in os.environ if name.startswith("COV")
    }  # there is no source to report on
    main, child = any_nodes.start_all(2, "exit_7.py 1 /", **unmeasured)
    assert (main.code(), child.code()) == (7, 7)
    assert main.verdict()["first_failure"]["rank"] == 1


def test_it_needs_no_home_no_temporary_folder_and_no_writable_place(node_file, tmp_path):
    done = subprocess.run(
        [sys.executable, "-I", "-B", str(node_file), "--version"],
        env={},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, f"muster-node {muster_runtime.__version__}\n")
