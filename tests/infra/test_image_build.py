"""A staged image, really built, and the runtime run in it."""

import json
import os
import platform
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
import pytest
from requirements_check import require_root, require_tool

from muster_cdk.image import TrainingImage
from muster_core.contract import (
    BATCH_JOB_ATTEMPT,
    BATCH_JOB_ID,
    BATCH_MAIN_NODE_INDEX,
    BATCH_NODE_INDEX,
    BATCH_NUM_NODES,
    ENV_LOCAL,
    RUNTIME_COMMAND,
)
from muster_core.instances import lookup

TYPES = {"x86_64": "p5.48xlarge", "aarch64": "c7gn.16xlarge"}
BASE = "localhost/muster-test-base"
USER = 1234
DOCKERFILE = f"""\
FROM {BASE} AS train
WORKDIR /app
COPY train.py .
USER {USER}
ENTRYPOINT ["/usr/bin/python3", "train.py"]
"""
NODE = {
    BATCH_JOB_ID: "job",
    BATCH_JOB_ATTEMPT: "1",
    BATCH_NODE_INDEX: "0",
    BATCH_MAIN_NODE_INDEX: "0",
    BATCH_NUM_NODES: "1",
    ENV_LOCAL: "127.0.0.1",
}
UNUSED = (
    "test",
    "__pycache__",
    "config-*",
    "idlelib",
    "tkinter",
    "ensurepip",
    "lib2to3",
    "pydoc_data",
    "*-packages",
)


SHARED = (Path("/var/lib/containers"), Path("/run/containers"))
"""Folders that buildah makes whatever storage it is told to use."""


class Buildah:
    """Buildah with a storage of its own, removed at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = require_tool("buildah")
        self._made = [folder, *(path for path in SHARED if not path.exists())]
        folder.mkdir()

    def __call__(self, *arguments: str, cwd: Path = Path()) -> str:
        storage = [
            "--storage-driver=vfs",
            f"--root={self._folder / 'root'}",
            f"--runroot={self._folder / 'run'}",
        ]
        environment = {**os.environ, "TMPDIR": str(self._folder), "BUILDAH_ISOLATION": "chroot"}
        command = [self._program, *storage, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, env=environment)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def close(self) -> None:
        self("rm", "--all")
        self("rmi", "--all", "--force")
        for folder in self._made:
            shutil.rmtree(folder, ignore_errors=folder in SHARED)


@pytest.fixture
def buildah(tmp_path: Path) -> Iterator[Buildah]:
    require_root()
    tool = Buildah(tmp_path / "buildah")
    yield tool
    tool.close()


def python_root(root: Path) -> None:
    """Put this interpreter, its libraries and its standard library where a small image has them."""
    library = Path(sysconfig.get_path("stdlib"))
    program = Path(
        sysconfig.get_config_var("BINDIR"), f"python{sysconfig.get_config_var('py_version_short')}"
    )
    extensions = (library / "lib-dynload").glob("*.so")
    for path in {program, *(one for file in (program, *extensions) for one in _libraries(file))}:
        target = root / str(path).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.copytree(library, root / str(library).lstrip("/"), ignore=shutil.ignore_patterns(*UNUSED))
    (root / "usr" / "bin").mkdir(parents=True, exist_ok=True)
    (root / "usr" / "bin" / "python3").symlink_to(program)


def _libraries(program: Path) -> list[Path]:
    done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=60)
    return [Path(path) for path in re.findall(r"(?:=>|^)\s*(/\S+)", done.stdout, re.MULTILINE)]


def staged_asset(folder: Path, out: Path) -> tuple[Path, list[str]]:
    """Synthesize an app with the image; the staged folder, and what the CDK CLI passes to a build."""
    app = cdk.App(outdir=str(out))
    image = TrainingImage.from_directory(folder, target="train")
    image.bind(cdk.Stack(app, "Stack"), "Image", lookup(TYPES[platform.machine()]))
    (asset,) = json.loads(Path(app.synth().directory, "Stack.assets.json").read_text())[
        "dockerImages"
    ].values()
    source = asset["source"]
    flags = [
        "--target",
        source["dockerBuildTarget"],
        "--file",
        source["dockerFile"],
        "--platform",
        source["platform"],
    ]
    return out / source["directory"], flags


@pytest.mark.slow
def test_the_runtime_runs_in_a_built_image(buildah: Buildah, tmp_path: Path) -> None:
    python_root(tmp_path / "base" / "root")
    (tmp_path / "base" / "Dockerfile").write_text("FROM scratch\nCOPY root /\n")
    buildah("bud", "--tag", BASE, str(tmp_path / "base"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "Dockerfile").write_text(DOCKERFILE)
    (folder / ".dockerignore").write_text("*\n!train.py\n")
    (folder / "train.py").write_text("print('swallowed')\n")
    context, flags = staged_asset(folder, tmp_path / "cdk.out")

    buildah("bud", "--tag", "train", *flags, ".", cwd=context)
    config = json.loads(buildah("inspect", "--type", "image", "train"))["OCIv1"]["config"]
    assert (config["User"], config["WorkingDir"], config.get("Entrypoint")) == (str(USER), "/app", None)

    container = buildah("from", "train").strip()
    variables = [f"--env={name}={value}" for name, value in NODE.items()]
    output = buildah("run", *variables, container, "--", *RUNTIME_COMMAND, "env")
    assert "job = job\n" in output
    assert "WORLD_SIZE = 1\n" in output
    assert (
        buildah("run", container, "--", "/usr/bin/python3", "-c", "import os; print(os.getuid())")
        == f"{USER}\n"
    )
    shutil.rmtree(tmp_path / "base")
