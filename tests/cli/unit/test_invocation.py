"""How the program is named in texts that tell a person to run it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from muster_cli.invocation import command

pytestmark = pytest.mark.unit

HERE = Path(sys.executable).parent


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an environment of its own, this Python's; nothing of it is on PATH."""
    own = tmp_path / "with space" / ".venv" / "bin"
    own.mkdir(parents=True)
    (own / "muster").write_text("#!/bin/sh\n")
    (own / "muster").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setattr(sys, "argv", ["-c"])
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(own.parent.parent)
    return own.parent.parent


def test_by_its_name_where_path_leads_to_it() -> None:
    assert command("local", "up") == "muster local up"


def test_relative_to_the_current_folder_where_it_is_not_on_path(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("logs", "JOB") == ".venv/bin/muster logs JOB"
    monkeypatch.chdir(checkout / ".venv" / "bin")
    assert command("demo") == "./muster demo"


def test_by_its_whole_path_elsewhere(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "elsewhere").mkdir()
    monkeypatch.chdir(checkout / "elsewhere")
    assert command("demo") == f"'{checkout}/.venv/bin/muster' demo"


def test_another_program_of_the_name_on_path_is_not_this_one(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(HERE))
    assert command("demo") == ".venv/bin/muster demo"
    monkeypatch.setenv("PATH", str(checkout / ".venv" / "bin"))
    assert command("demo") == "muster demo"


def test_the_script_that_runs_goes_before_the_one_beside_python(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = checkout / "tools" / "muster"
    script.parent.mkdir()
    script.touch()
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert command("demo") == "tools/muster demo"


def test_without_a_script_python_runs_the_module(checkout: Path) -> None:
    (checkout / ".venv" / "bin" / "muster").unlink()
    assert command("demo") == f"'{checkout}/.venv/bin/python' -m muster_cli.main demo"
