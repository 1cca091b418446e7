"""The README's commands are the ones that CI runs, and what it names exists."""

import re
import subprocess
from pathlib import Path


def _console_blocks(text: str) -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    return [[line.strip() for line in block.splitlines() if line.strip()] for block in blocks]


def test_the_two_commands_are_the_ones_that_ci_runs(repository: Path) -> None:
    first = _console_blocks((repository / "README.md").read_text())[0]
    lines = (repository / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if line.startswith("make ")] == first == ["make demo", "make test"]


def test_every_make_target_in_the_documents_exists(repository: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(), flags=re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:`|^)make ([a-z-]+)", (repository / name).read_text(), flags=re.MULTILINE))
        assert named <= targets, f"{name} names {sorted(named - targets)}"


def test_make_alone_lists_the_targets(repository: Path) -> None:
    done = subprocess.run(["make", "-s"], cwd=repository, text=True, capture_output=True, check=True)
    for target in ("demo", "test", "check", "deploy", "destroy", "synth", "bench", "docs", "clean"):
        assert re.search(rf"^  make {target} ", done.stdout, flags=re.MULTILINE), target


def test_every_muster_command_in_the_readme_exists(repository: Path) -> None:
    from muster_cli.main import main  # the group knows its commands without importing them

    text = (repository / "README.md").read_text()
    named = {
        line.split()[1] for block in _console_blocks(text) for line in block if line.startswith("muster ")
    }
    assert named <= set(main.list_commands(None)), named
