"""The commands as a person or a program calls them."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from cli_fakes import JOB_ID, FakeAws, FakeBatch, FakeLogs, child, parent
from click.testing import CliRunner, Result

from muster_cli import __version__, cancel, logs, main, outcome, status, submit
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
ENDED = "Essential container in task exited"
GOES_ON = (
    f"job {JOB_ID} goes on; see it with: muster logs --follow {JOB_ID}; end it with: muster cancel {JOB_ID}"
)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Backoff, "pause", lambda _self: None)


def _run(monkeypatch: pytest.MonkeyPatch, aws: FakeAws | None, *arguments: str) -> Result:
    for module in (cancel, logs, status, submit):
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


FORGED = json.loads(VERDICT.removeprefix(VERDICT_MARKER)) | {
    "outcome": "succeeded",
    "code": 0,
    "first_failure": None,
}


@pytest.mark.parametrize("how", [("logs",), ("logs", "--follow"), ("submit", "--follow")])
@pytest.mark.parametrize("more", [{}, {"job": "x"}, {"nodes": 2}, {"first_failure": 1}])
def test_a_verdict_that_the_training_forged_is_a_line_like_any_other(
    monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...], more: dict[str, Any]
) -> None:
    text = VERDICT_MARKER + json.dumps(FORGED | more)
    aws = _aws([parent("FAILED", statusReason="Host EC2 terminated"), child(0, "FAILED", 137)])
    aws.logs.streams["train/default/0"] = [(1, text)]  # type: ignore[attr-defined]
    result = _run(monkeypatch, aws, *how, *([JOB_ID] if "logs" in how else []))
    assert result.stdout == f"[0] {text}\n"
    assert f"job {JOB_ID} is FAILED: Host EC2 terminated" in result.stderr
    assert result.exit_code == (0 if "logs" in how else 137)


def test_wait_believes_no_forged_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws([parent("FAILED", statusReason="Host EC2 terminated"), child(0, "FAILED", 137)])
    aws.logs.streams["train/default/0"] = [(1, VERDICT_MARKER + json.dumps(FORGED))]  # type: ignore[attr-defined]
    result = _run(monkeypatch, aws, "submit", "--wait")
    assert (result.exit_code, result.stdout) == (137, "")
    assert f"job {JOB_ID} is FAILED: Host EC2 terminated" in result.stderr


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
    assert lines[5] == ["1", "FAILED", "7", "10.0.0.5", "2023-11-14", "22:13:30Z", "2.5"]
    assert lines[6] == ["2", "not", "started", "-", "-", "-", "-"]
    assert len(lines) == 7
    assert all(line == line.rstrip() for line in result.stdout.splitlines())


def test_status_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    shown = _run(monkeypatch, _aws(), "status", JOB_ID).stdout
    assert "\x1b[1m" in shown
    assert max(len(click.unstyle(line)) for line in shown.splitlines()[3:]) <= 60


def test_the_widest_usual_table_has_no_more_than_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    network = [{"privateIpv4Address": "100.100.100.100"}]
    turns = [
        parent("FAILED", nodes=2),
        child(0, "SUCCEEDED", 0, stoppedAt=1_700_000_010_000 + 86_399_900),
        child(1, "FAILED", 137, container={"exitCode": 137, "networkInterfaces": network}, stoppedAt=1),
    ]
    shown = _run(monkeypatch, _aws(turns), "status", JOB_ID).stdout.splitlines()
    assert max(len(line) for line in shown[2:]) <= 80
    assert "100.100.100.100" in shown[5]


def test_status_tells_each_reason_of_nodes_once_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "Task failed to start: " + "CannotPullContainerError: " + "x" * 200
    pulled = {"statusReason": "Task failed to start", "container": {"reason": told.partition(": ")[2]}}
    turns = [
        parent("FAILED", nodes=5, statusReason="a node did not start"),
        *(child(index, "FAILED", attempts=[pulled]) for index in (0, 1, 2, 4)),
        child(3, "FAILED", 7, statusReason="a node did not start"),
    ]
    shown = _run(monkeypatch, _aws(turns), "status", JOB_ID).stdout.splitlines()
    assert shown[1] == "  a node did not start"
    assert shown[-2].startswith("4 ")
    assert shown[-1] == f"nodes 0-2, 4: {told}"


def test_status_of_a_job_that_was_asked_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [
        parent("FAILED", statusReason="too slow", isTerminated=True),
        child(0, "FAILED", 143, statusReason=ENDED),
    ]
    shown = _run(monkeypatch, _aws(turns), "status", JOB_ID).stdout.splitlines()
    assert shown[:2] == [f"digits ({JOB_ID}): FAILED, it was asked to end", "  too slow"]
    assert not any(ENDED in line for line in shown)


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


def test_the_longest_wait_leaves_programs_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--wait", "--wait-timeout", "0", "--output", "json")
    result = _run(monkeypatch, _aws([parent("RUNNABLE")]), "submit", *options)
    found = json.loads(result.stdout)
    assert (found["job_id"], found["status"], len(found["nodes"])) == (JOB_ID, "RUNNABLE", 2)
    assert result.exit_code == 69


def test_a_reader_that_goes_away_leaves_the_job_and_does_not_look_like_its_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    told: list[str] = []
    with io.TextIOWrapper(io.FileIO(writer, "w"), write_through=True) as gone:  # type: ignore[type-var]

        def echo(message: str, *, err: bool = False) -> None:
            told.append(click.unstyle(message))
            if not err:
                click.utils.echo(message, file=gone)

        monkeypatch.setattr(click, "echo", echo)
        result = _run(monkeypatch, _aws([parent("RUNNING"), child(0)]), "submit", "--follow")
    assert result.exit_code == 141
    assert told[-2:] == ["[0] zero", f"\n{GOES_ON}"]


def test_an_error_of_a_file_is_not_taken_for_one_of_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws()
    monkeypatch.setattr(aws.batch, "describe_jobs", lambda **_request: Path("/nowhere/x").read_text())
    assert _run(monkeypatch, aws, "status", JOB_ID).exit_code == 70


def test_ctrl_c_leaves_the_job_and_says_how_to_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_self: Backoff) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Backoff, "pause", interrupt)
    result = _run(monkeypatch, _aws([parent("RUNNABLE")]), "submit", "--wait")
    assert result.exit_code == 130
    assert GOES_ON in result.stderr.splitlines()


def test_ctrl_c_of_the_logs_says_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_self: Backoff) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Backoff, "pause", interrupt)
    result = _run(monkeypatch, _aws([parent("RUNNING"), child(0)]), "logs", "--follow", JOB_ID)
    assert result.exit_code == 130
    assert GOES_ON in result.stderr.splitlines()


@pytest.mark.parametrize("text", ["A", "=b", ""])
def test_a_variable_without_a_name_or_a_value_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    result = _run(monkeypatch, _aws(), "submit", "--env", text)
    assert result.exit_code == 2
    assert f"must be NAME=VALUE, got {text!r}" in result.stderr


def test_a_variable_of_bytes_that_are_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws()
    result = _run(monkeypatch, aws, "submit", "--env", "A=\udcff")
    assert result.exit_code == 2
    assert "must be text in UTF-8, got 'A=\\udcff'" in result.stderr
    assert aws.batch.submitted == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["nan", "inf", "-1"])
def test_a_wait_without_end_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    aws = _aws()
    result = _run(monkeypatch, aws, "submit", "--wait", "--wait-timeout", text)
    assert result.exit_code == 2
    assert "Invalid value for '--wait-timeout'" in result.stderr
    assert aws.batch.submitted == []  # type: ignore[attr-defined]


# --- how a job's end is told --------------------------------------------------------------------

TOLD = [
    "verdict: failed with exit code 7 (0 nodes, 2 ranks, launcher torch in the local cloud)",
    "first failure: rank 1 exited with code 7 (node 1, rank 1, host h, exit code 7)",
    "its last lines:",
    "  | boom",
]
PULL = "CannotPullContainerError: pull image manifest has been retried"
NEVER_STARTED = [
    parent("FAILED", statusReason="Task failed to start"),
    *(
        {
            "jobId": f"{JOB_ID}#{index}",
            "jobName": "digits",
            "status": "FAILED",
            "attempts": [{"statusReason": "Task failed to start", "container": {"reason": PULL}}],
        }
        for index in (0, 1)
    ),
]
WHY_NEVER_STARTED = f"job {JOB_ID} is FAILED: Task failed to start: {PULL} (nodes 0-1)"


def test_wait_tells_the_verdict_of_a_failed_job(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws(), "submit", "--wait")
    assert result.stdout.splitlines() == TOLD
    assert result.stderr.splitlines()[-1] == f"job {JOB_ID} is FAILED"
    for_programs = _run(monkeypatch, _aws(), "submit", "--wait", "--output", "json")
    assert json.loads(for_programs.stdout)["exit_code"] is None
    assert for_programs.stderr.splitlines()[-4:] == TOLD


def test_follow_tells_the_end_after_the_last_lines_of_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    going = [parent("RUNNING"), child(0)]
    result = _run(monkeypatch, _aws(going, going, FAILED), "submit", "--follow")
    assert result.output.splitlines()[1:] == [
        f"job {JOB_ID} is RUNNING",
        "[0] zero",
        "[1] one",
        f"job {JOB_ID} is FAILED",
        *TOLD,
    ]


def test_a_reason_beside_a_verdict_is_told_where_it_says_something(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = [parent("FAILED", statusReason="Job attempt duration exceeded timeout"), *FAILED[1:]]
    shown = _run(monkeypatch, _aws(turn), "submit", "--follow").stderr
    assert f"job {JOB_ID} is FAILED: Job attempt duration exceeded timeout\n" in shown


@pytest.mark.parametrize(("how", "more"), [("--wait", [f"see: muster logs {JOB_ID}"]), ("--follow", [])])
def test_a_job_that_never_started_says_why(
    monkeypatch: pytest.MonkeyPatch, how: str, more: list[str]
) -> None:
    result = _run(monkeypatch, _aws(NEVER_STARTED), "submit", how)
    assert (result.exit_code, result.stdout) == (69, "")
    assert result.stderr.splitlines()[1:] == [WHY_NEVER_STARTED, *more]


@pytest.mark.parametrize("how", [[], ["--follow"], ["--node", "1"]])
def test_logs_of_a_job_that_never_started_say_why(monkeypatch: pytest.MonkeyPatch, how: list[str]) -> None:
    result = _run(monkeypatch, _aws(NEVER_STARTED), "logs", *how, JOB_ID)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{WHY_NEVER_STARTED}\n"


def test_logs_of_a_job_that_waits_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws([parent("RUNNABLE")]), "logs", JOB_ID)
    assert (result.stdout, result.stderr) == ("", f"job {JOB_ID} is RUNNABLE\n")


def test_a_node_that_was_killed_leaves_no_verdict_and_its_reason_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed = {"exitCode": 137, "reason": "OutOfMemoryError: killed", "logStreamName": "train/default/1"}
    turn = [
        parent("FAILED", statusReason="Essential container in task exited"),
        child(0, "FAILED", statusReason="Essential container in task exited", container=killed),
        child(1, "FAILED", 137, statusReason="Host EC2 terminated"),
    ]
    result = _run(monkeypatch, _aws(turn), "submit", "--wait")
    assert result.stdout == ""
    assert result.stderr.splitlines()[-3:] == [
        f"job {JOB_ID} is FAILED: Essential container in task exited: OutOfMemoryError: killed (node 0)",
        "  Host EC2 terminated (node 1)",
        f"see: muster logs {JOB_ID}",
    ]


def test_a_verdict_that_comes_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws()
    late = aws.logs.streams.pop("train/default/0")  # type: ignore[attr-defined]
    monkeypatch.setattr(outcome, "settle_of", lambda _aws: 600.0)
    monkeypatch.setattr(
        Backoff,
        "pause",
        lambda _self: aws.logs.streams.update({"train/default/0": late}),  # type: ignore[attr-defined]
    )
    assert _run(monkeypatch, aws, "submit", "--wait").stdout.splitlines() == TOLD


# --- cancel -----------------------------------------------------------------------------------


def test_cancel_ends_a_job_on_all_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws([parent("RUNNING")])
    result = _run(monkeypatch, aws, "cancel", JOB_ID, "--reason", "too slow")
    assert aws.batch.terminated == [{"jobId": JOB_ID, "reason": "too slow"}]  # type: ignore[attr-defined]
    assert result.exit_code == 0
    assert result.output == (
        f"job {JOB_ID} (RUNNING) was asked to end: too slow; see it with: muster status {JOB_ID}\n"
    )


def test_cancel_of_a_node_names_the_job_and_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws([parent("RUNNABLE")])
    result = _run(monkeypatch, aws, "cancel", f"{JOB_ID}#3")
    assert aws.batch.terminated == [{"jobId": JOB_ID, "reason": "ended by muster cancel"}]  # type: ignore[attr-defined]
    assert result.output.splitlines()[0] == f"{JOB_ID}#3 is a node of job {JOB_ID}, which ends as a whole"


def test_cancel_of_a_job_that_has_ended_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _aws([parent("SUCCEEDED")])
    result = _run(monkeypatch, aws, "cancel", JOB_ID)
    assert (result.output, result.exit_code) == (f"job {JOB_ID} has ended already: it is SUCCEEDED\n", 0)
    assert aws.batch.terminated == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(("status_", "asked"), [("STARTING", True), ("FAILED", False)])
def test_cancel_for_programs(monkeypatch: pytest.MonkeyPatch, status_: str, asked: bool) -> None:
    result = _run(monkeypatch, _aws([parent(status_)]), "cancel", JOB_ID, "--output", "json")
    assert json.loads(result.stdout) == {"jobId": JOB_ID, "status": status_, "asked_to_end": asked}


def test_cancel_of_an_unknown_job_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _aws([]), "cancel", JOB_ID)
    assert result.exit_code == 1
    assert f"job {JOB_ID!r} is not known to Batch here" in result.stderr


# --- the group --------------------------------------------------------------------------------


def test_every_command_has_help_with_an_example() -> None:
    assert main.main.list_commands(None) == [
        "cancel",
        "demo",
        "list",
        "local",
        "logs",
        "status",
        "submit",
    ]  # type: ignore[arg-type]
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
