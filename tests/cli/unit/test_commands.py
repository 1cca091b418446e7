"""The commands as a person or a program calls them."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any

import click
import pytest
from cli_fakes import JOB_ID, FakeAws, FakeBatch, FakeLogs, child, parent
from click.testing import CliRunner, Result

from muster_cli import __version__, logs, main, status, submit
from muster_cli.clock import Backoff
from muster_core.contract import OUTPUT_JOB_DEFINITION, OUTPUT_JOB_QUEUE, VERDICT_MARKER

pytestmark = pytest.mark.unit

OUTPUTS = [
    {"OutputValue": "train", "Description": f"{OUTPUT_JOB_DEFINITION} Train"},
    {"OutputValue": "arn:q", "Description": f"{OUTPUT_JOB_QUEUE} Train"},
]
DEFINITION = {
    "jobDefinitionName": "train",
    "revision": 1,
    "type": "multinode",
    "nodeProperties": {"nodeRangeProperties": [{"targetNodes": "0:"}]},
}
VERDICT = VERDICT_MARKER + json.dumps(
    {
        "contract": 1,
        "job": JOB_ID,
        "attempt": 1,
        "outcome": "failed",
        "code": 7,
        "first_failure": {
            "node": 1,
            "rank": 1,
            "host": "h",
            "code": 7,
            "reason": "rank 1 exited with code 7",
            "lines": ["boom"],
        },
        "phases": {},
        "nodes": [],
        "launcher": "torch",
        "world_size": 2,
        "simulated": True,
    }
)
STREAMS = {
    "train/default/0": [(1, "zero\n"), (3, f"{VERDICT}\n")],
    "train/default/1": [(2, "one\n")],
}
FAILED = [
    parent("FAILED", statusReason="Essential container in task exited"),
    child(0, "FAILED", 7),
    child(1, "FAILED", 7),
]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Backoff, "pause", lambda _self: None)


def _run(monkeypatch: pytest.MonkeyPatch, aws: FakeAws | None, *arguments: str) -> Result:
    for module in (logs, status, submit):
        if aws:
            monkeypatch.setattr(module, "Aws", lambda *_arguments, **_options: aws)
    return CliRunner().invoke(main.main, list(arguments))


def _aws(*turns: list[dict[str, Any]]) -> FakeAws:
    batch = FakeBatch(list(turns) or [FAILED], definitions=[DEFINITION])
    return FakeAws(batch, FakeLogs(dict(STREAMS)), OUTPUTS)


# --- logs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_logs_are_merged_and_prefixed_and_the_verdict_is_told(
    monkeypatch: pytest.MonkeyPatch, follow: list[str]
) -> None:
    result = _run(monkeypatch, _aws(), "logs", *follow, JOB_ID)
    assert result.stdout.splitlines() == [
        "[0] zero",
        "[1] one",
        "verdict: failed with exit code 7 (0 nodes, 2 ranks, launcher torch in the local cloud)",
        "first failure: rank 1 exited with code 7 (node 1, rank 1, host h, exit code 7)",
        "its last lines:",
        "  | boom",
    ]
    assert result.exit_code == 0


def test_logs_for_programs_are_a_json_object_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws(), "logs", "--output", "json", JOB_ID)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"time": 1, "node": 0, "message": "zero"},
        {"time": 2, "node": 1, "message": "one"},
        {"time": 3, "node": 0, "message": VERDICT},
    ]


def test_logs_of_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws(), "logs", "--node", "1", JOB_ID)
    assert result.stdout == "[1] one\n"


def test_logs_of_a_node_that_the_job_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws(), "logs", "--node", "2", JOB_ID)
    assert result.stderr == "muster: --node must be a node of the job, got 2; its nodes are 0 to 1\n"
    assert result.exit_code == 2


def test_nodes_have_colours_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "Aws", lambda *_arguments: _aws())
    coloured = CliRunner().invoke(main.main, ["logs", JOB_ID], color=True).stdout
    assert coloured.startswith("\x1b[36m[0]\x1b[0m zero\n\x1b[32m[1]\x1b[0m one\n")
    monkeypatch.setenv("NO_COLOR", "1")
    assert (
        CliRunner().invoke(main.main, ["logs", JOB_ID], color=True).stdout.startswith("[0] zero\n[1] one\n")
    )


# --- status -----------------------------------------------------------------------------------


def test_status_shows_the_job_and_a_row_for_each_node(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [
        parent("RUNNING", nodes=3, attempts=[{}, {}]),
        child(0),
        child(1, "FAILED", 7, stoppedAt=1_700_000_012_500),
    ]
    result = _run(monkeypatch, _aws(turns), "status", JOB_ID)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == f"digits ({JOB_ID}): RUNNING, attempt 2".split()
    assert lines[1] == ["definition", "train:3,", "queue", "gpus,", "3", "nodes"]
    assert lines[2][:3] == ["node", "state", "exit"]
    assert lines[4][:6] == ["0", "(main)", "RUNNING", "-", "10.0.0.4", "2023-11-14"]
    assert lines[5] == ["1", "FAILED", "7", "10.0.0.5", "2023-11-14", "22:13:30Z", "2.5", "-"]
    assert lines[6] == ["2", "not", "started", "-", "-", "-", "-", "-"]
    assert all(line == line.rstrip() for line in result.stdout.splitlines())


def test_status_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    shown = _run(monkeypatch, _aws(), "status", JOB_ID).stdout
    assert "\x1b[1m" in shown
    assert max(len(click.unstyle(line)) for line in shown.splitlines()[3:]) <= 60


def test_status_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(_run(monkeypatch, _aws(), "status", "--output", "json", JOB_ID).stdout)
    assert (found["job_id"], found["status"], found["reason"]) == (
        JOB_ID,
        "FAILED",
        "Essential container in task exited",
    )
    assert [(node["index"], node["exit_code"]) for node in found["nodes"]] == [(0, 7), (1, 7)]


def test_status_tells_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\n  Essential container in task exited\n" in _run(monkeypatch, _aws(), "status", JOB_ID).stdout


# --- submit -----------------------------------------------------------------------------------


def test_submit_prints_the_id_alone_on_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws()
    result = _run(monkeypatch, aws, "submit", "--nodes", "3", "--env", "A=b=c", "--name", "x")
    assert result.stdout == f"{JOB_ID}\n"
    assert f"muster logs --follow {JOB_ID}" in result.stderr
    (request,) = aws.batch.submitted  # type: ignore[attr-defined]
    assert request["nodeOverrides"]["numNodes"] == 3
    (override,) = request["nodeOverrides"]["nodePropertyOverrides"]
    assert override["containerOverrides"]["environment"] == [{"name": "A", "value": "b=c"}]


def test_submit_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws(), "submit", "--name", "x", "--output", "json")
    assert json.loads(result.stdout) == {"jobId": JOB_ID, "jobName": "x"}
    assert result.stderr == ""


def test_a_dry_run_prints_the_request_and_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws()
    result = _run(monkeypatch, aws, "submit", "--dry-run", "--name", "x")
    assert json.loads(result.stdout) == {"jobName": "x", "jobQueue": "arn:q", "jobDefinition": "train"}
    assert aws.batch.submitted == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("how", ["--wait", "--follow"])
@pytest.mark.parametrize(
    ("turns", "code"),
    [
        ([[parent("RUNNING"), child(0)], FAILED], 7),
        ([[parent("SUCCEEDED"), child(0, "SUCCEEDED", 0), child(1, "FAILED", 3)]], 0),
        ([[parent("RUNNABLE")], [parent("FAILED", statusReason="no capacity")]], 69),
    ],
)
def test_the_jobs_exit_code_is_the_commands(
    monkeypatch: pytest.MonkeyPatch, how: str, turns: list[list[dict[str, Any]]], code: int
) -> None:
    result = _run(monkeypatch, _aws(*turns), "submit", how)
    assert result.exit_code == code
    assert f"job {JOB_ID} is {turns[-1][0]['status']}" in result.stderr


def test_following_for_programs_leaves_standard_output_to_json(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws(), "submit", "--follow", "--output", "json")
    assert json.loads(result.stdout)["status"] == "FAILED"
    assert "[1] one\n" in result.stderr
    assert result.exit_code == 7


def test_the_longest_wait_is_69(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws([parent("RUNNABLE")]), "submit", "--wait", "--wait-timeout", "0")
    assert result.exit_code == 69
    assert f"job {JOB_ID} is still RUNNABLE after the time that was given" in result.stderr


def test_ctrl_c_leaves_the_job_and_says_how_to_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_self: Backoff) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Backoff, "pause", interrupt)
    result = _run(monkeypatch, _aws([parent("RUNNABLE")]), "submit", "--wait")
    assert result.exit_code == 130
    assert f"job {JOB_ID} goes on; see it with: muster logs --follow {JOB_ID}" in result.stderr


@pytest.mark.parametrize("text", ["A", "=b", ""])
def test_a_variable_without_a_name_or_a_value_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    result = _run(monkeypatch, _aws(), "submit", "--env", text)
    assert result.exit_code == 2
    assert f"must be NAME=VALUE, got {text!r}" in result.stderr


# --- the group --------------------------------------------------------------------------------


def test_every_command_has_help_with_an_example() -> None:
    assert main.main.list_commands(None) == ["demo", "local", "logs", "status", "submit"]  # type: ignore[arg-type]
    for name in main.COMMANDS:
        result = CliRunner().invoke(main.main, [name, "--help"])
        assert result.exit_code == 0
        assert f"Examples:\n    muster {name}" in result.output


def test_version_and_unknown_commands() -> None:
    assert CliRunner().invoke(main.main, ["--version"]).output == f"muster {__version__}\n"
    result = CliRunner().invoke(main.main, ["sumbit"])
    assert result.exit_code == 2
    assert "No such command 'sumbit'" in result.stderr


def test_an_error_of_aws_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    result = CliRunner().invoke(main.main, ["status", JOB_ID])
    assert result.stderr == "muster: no region is set; give --region, or set AWS_REGION\n"
    assert result.exit_code == 78


def test_a_fault_in_muster_is_a_sentence_and_70(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws()
    monkeypatch.setattr(aws.batch, "describe_jobs", lambda **_request: 1 / 0)
    result = _run(monkeypatch, aws, "status", JOB_ID)
    assert result.stderr == (
        "muster: a fault in muster: ZeroDivisionError: division by zero; `muster --traceback ...` shows where\n"
    )
    assert result.exit_code == 70
    shown = _run(monkeypatch, aws, "--traceback", "status", JOB_ID)
    assert isinstance(shown.exception, ZeroDivisionError)


def test_help_loads_neither_boto3_nor_rich_nor_moto_and_is_quick() -> None:
    script = (
        "import sys\nfrom muster_cli.main import main\n"
        "try:\n main(['--help'])\nexcept SystemExit:\n pass\n"
        "print([name for name in ('boto3', 'botocore', 'rich', 'moto', 'asyncio') if name in sys.modules])"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "[]"
    # of the processor, not of the clock: the machine may be busy; 0.15 s is usual
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.6
