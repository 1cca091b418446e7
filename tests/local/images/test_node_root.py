"""A command and its environment, seen from the host."""

import os
import sys
from pathlib import Path

import pytest

from muster_cli.local.images import NodeRoot
from muster_core.contract import RUNTIME_COMMAND, RUNTIME_PATH


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (RUNTIME_PATH, "/app/train.py", "/venv/bin/python"):
        path = tmp_path / "root" / name.lstrip("/")
        path.parent.mkdir(parents=True)
        path.touch()
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ([*RUNTIME_COMMAND, "env"], [sys.executable, f"ROOT{RUNTIME_PATH}", "env"]),
        (["python", "train.py"], [sys.executable, "train.py"]),
        (["/usr/bin/python3.11", "-V"], [sys.executable, "-V"]),
        (["/venv/bin/python", "x"], ["ROOT/venv/bin/python", "x"]),
        (["/app/train.py"], ["ROOT/app/train.py"]),
        (["x", "--file=/app/train.py"], ["x", "--file=ROOT/app/train.py"]),
        (
            ["sh", "-c", "cd /app && python3 '/app/train.py'"],
            ["sh", "-c", "cd ROOT/app && python3 'ROOT/app/train.py'"],
        ),
        (["x", "/app/new", "/app/no/new", "/app/"], ["x", "ROOT/app/new", "/app/no/new", "ROOT/app/"]),
        (["x", "s3://bucket/app", "https://host/app", "rel/app", "./app", "~/app", "/"], []),
        (["x", "/etc/passwd", "/dev/null"], []),
    ],
)
def test_commands(root: Path, command: list[str], argv: list[str]) -> None:
    expected = argv or command
    assert NodeRoot(root).argv(command) == [word.replace("ROOT", str(root)) for word in expected]


def test_the_entrypoint_stands_in_front_and_the_command_replaces_cmd(root: Path) -> None:
    node = NodeRoot(root, entrypoint=("/app/train.py", "--"), cmd=("python3", "x"))
    assert node.argv([]) == [f"{root}/app/train.py", "--", sys.executable, "x"]
    assert node.argv(["other"]) == [f"{root}/app/train.py", "--", "other"]
    assert NodeRoot(root).argv([]) == []


def test_paths_in_the_environment_are_the_hosts(root: Path) -> None:
    node = NodeRoot(root, variables={"PYTHONPATH": "/app:/nowhere", "N": "1", "OUT": "/app/out"})
    assert node.environment["PYTHONPATH"] == f"{root}/app:/nowhere"
    assert (node.environment["N"], node.environment["OUT"]) == ("1", f"{root}/app/out")


def test_the_search_path_keeps_the_hosts_folders(root: Path) -> None:
    (root / "usr" / "bin").mkdir(parents=True)
    path = NodeRoot(root, variables={"PATH": "/venv/bin:/usr/bin:/nowhere"}).environment["PATH"]
    assert path.split(os.pathsep) == [f"{root}/venv/bin", f"{root}/usr/bin", "/usr/bin"]


def test_a_host_file_is_not_shadowed_by_a_folder_alone(root: Path) -> None:
    (root / "etc").mkdir()
    assert NodeRoot(root).mapped("/etc/passwd /etc/mine") == f"/etc/passwd {root}/etc/mine"


def test_a_folder_that_stands_for_an_image_uses_this_environments_runtime(tmp_path: Path) -> None:
    command = [*RUNTIME_COMMAND, "run", "--", "train.py"]
    expected = [sys.executable, "-m", "muster_runtime", "run", "--", "train.py"]
    assert NodeRoot(tmp_path, stands_in=True).argv(command) == expected
    assert NodeRoot(tmp_path).argv(command) == [sys.executable, *command[1:]]


def test_the_runtime_in_a_folder_comes_first(root: Path) -> None:
    assert NodeRoot(root, stands_in=True).argv(list(RUNTIME_COMMAND)) == [
        sys.executable,
        f"{root}{RUNTIME_PATH}",
    ]
