"""`muster local`: what is said, what is printed for a shell, and the demo's own pure parts."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster_cli import demo, local_command, main
from muster_cli.errors import MusterError
from muster_cli.local import lifecycle
from muster_cli.local.errors import LocalCloudError
from muster_cli.local.guard import guarded_environment
from muster_cli.local.state import Record, StateFolder

pytestmark = pytest.mark.unit

CLOUD = Record(pid=7, port=40123, endpoint="http://127.0.0.1:40123", started=1.0, tag="ab")

WITHOUT_EXTRA = (
    "the local cloud is not installed ({missing} missing); run: pip install 'muster-cli[local]',"
    " or in a checkout of Muster: pip install ./core ./runtime './cli[local]'"
)
NOT_UP = "no local cloud is up in {state}; name another folder with --state"


def _run(*arguments: str) -> Any:
    return CliRunner().invoke(main.main, ["local", *arguments])


def test_up_says_where_it_is_and_what_is_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: dict[str, Any] = {}

    def up(state: StateFolder, **options: Any) -> Record:
        given.update(options, root=state.root)
        return CLOUD

    monkeypatch.setattr(lifecycle, "up", up)
    result = _run("up", "--state", str(tmp_path), "--port", "40123", "--image-map", "a/b:c=images")
    assert result.output.splitlines() == [
        "the local cloud answers at http://127.0.0.1:40123 (process 7)",
        f'next: eval "$(muster local env --state {tmp_path})"',
    ]
    assert given == {"root": tmp_path, "port": 40123, "image_map": {"a/b:c": Path.cwd() / "images"}}
    assert json.loads(_run("up", "--output", "json").output)["endpoint"] == CLOUD.endpoint


def test_errors_of_the_local_cloud_are_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    def up(*_arguments: Any, **_options: Any) -> None:
        raise LocalCloudError("port 80 is taken")

    monkeypatch.setattr(lifecycle, "up", up)
    result = _run("up")
    assert (result.stderr, result.exit_code) == ("muster: port 80 is taken\n", 1)


def test_without_the_extra_the_sentence_names_it() -> None:
    with pytest.raises(MusterError) as caught, local_command.sentences():
        raise ModuleNotFoundError("No module named 'moto'", name="moto")
    assert caught.value.message == WITHOUT_EXTRA.format(missing="moto")


@pytest.mark.parametrize("arguments", [["local", "up"], ["demo"]])
def test_without_the_extra_nothing_is_started(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    def find_spec(name: str) -> object:
        return None if name in {"moto", "flask"} else object()

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    monkeypatch.setattr(lifecycle, "up", lambda *_arguments, **_options: pytest.fail("it was started"))
    result = CliRunner().invoke(main.main, arguments)
    assert result.stderr == f"muster: {WITHOUT_EXTRA.format(missing='moto, flask')}\n"
    assert result.exit_code == 78


def test_down_is_said_also_where_nothing_is_up(tmp_path: Path) -> None:
    result = _run("down", "--state", str(tmp_path / "none"))
    assert (result.output, result.exit_code) == (f"{NOT_UP.format(state=tmp_path / 'none')}\n", 0)


def test_down_of_a_cloud_that_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "down", lambda _state: None)
    monkeypatch.setattr(StateFolder, "server_alive", lambda _state: True)
    assert _run("down").output == "the local cloud is down\n"


@pytest.mark.parametrize(
    ("cloud", "text", "data", "code"),
    [
        (CLOUD, "the local cloud answers at http://127.0.0.1:40123 (process 7)\n", "ab", 0),
        (None, f"{NOT_UP.format(state='/s')}, or start one: muster local up --state /s\n", None, 1),
    ],
)
def test_status_is_an_exit_code_too(
    monkeypatch: pytest.MonkeyPatch, cloud: Record | None, text: str, data: str | None, code: int
) -> None:
    monkeypatch.setattr(lifecycle, "status", lambda _state: cloud)
    result = _run("status", "--state", "/s")
    assert (result.output, result.exit_code) == (text, code)
    found = json.loads(_run("status", "--output", "json").output)
    assert (found and found["tag"]) == data


def test_env_needs_a_cloud(tmp_path: Path) -> None:
    result = _run("env", "--state", str(tmp_path))
    assert result.stderr == (
        f"muster: {NOT_UP.format(state=tmp_path)}, or start one: muster local up --state {tmp_path}\n"
    )
    assert (result.stdout, result.exit_code) == ("", 1)


def test_env_is_what_a_shell_needs_and_leads_to_no_real_account(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lifecycle, "status", lambda _state: CLOUD)
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t")
    state = tmp_path / "with 'quotes' and spaces"
    script = _run("env", "--state", str(state)).output
    shown = subprocess.run(
        ["sh", "-c", f"{script}\nenv -0"], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    found = dict(line.split("=", 1) for line in shown if line)
    guarded = guarded_environment(CLOUD.endpoint, StateFolder(state))
    assert {name for name in found if name.startswith("AWS_")} == {
        name for name in guarded if name.startswith("AWS_")
    }
    assert found["AWS_ENDPOINT_URL"] == CLOUD.endpoint
    assert found["MUSTER_LOCAL_STATE"] == str(state)
    assert found["CDK_DOCKER"] == guarded["CDK_DOCKER"]
    assert found["PATH"].startswith(guarded["PATH"].split(":")[0])
    assert found["PATH"].endswith(os.environ["PATH"])
    assert found["HOME"] == os.environ["HOME"]


def test_the_closing_table_has_the_main_nodes_phases_below_the_training() -> None:
    steps = [("deploy", 9.96), ("train on 2 nodes", 8.0), ("take everything down", 1.0)]
    verdict: Any = {"phases": {"rendezvous": 0.25, "supervise": 7.5}}
    assert demo.table_rows(steps, verdict, 20.0) == [
        ("deploy", "10.0"),
        ("train on 2 nodes", "8.0"),
        ("  rendezvous", "  0.2"),
        ("  supervise", "  7.5"),
        ("take everything down", "1.0"),
        ("in all", "20.0"),
    ]


def test_the_demo_outside_a_checkout_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main.main, ["demo"])
    assert result.stderr.startswith("muster: no cdk.json in ")
    assert result.exit_code == 78
