"""`muster demo` with a CDK CLI and a local cloud that are played: what is said and done in each case."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
from cli_fakes import JOB_ID, FakeAws, FakeBatch, child, parent
from click.testing import CliRunner, Result

from muster_cli import demo, deployment, main
from muster_cli.job_view import job_of
from muster_cli.local import lifecycle
from muster_cli.local.errors import LocalCloudError
from muster_cli.local.state import Record, StateFolder
from muster_cli.outcome import End

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.unit

CLOUD = Record(pid=7, port=40123, endpoint="http://127.0.0.1:40123", started=1.0, tag="ab")
VERDICT: Any = {"phases": {"supervise": 3.0}}

CDK = f"""#!{sys.executable} -S
import os, pathlib, sys
step, arguments = sys.argv[1], sys.argv[2:]
with open("steps", "a") as file:
    print(step, os.environ["AWS_ENDPOINT_URL"], *arguments, file=file)
print("said by", step)
if step == "synth":
    out = pathlib.Path(arguments[arguments.index("--output") + 1])
    out.mkdir(parents=True)
    (out / "Muster.template.json").write_text('{{"Resources": {{}}}}')
sys.exit(pathlib.Path("fail").exists() and pathlib.Path("fail").read_text() == step)
"""


class Stage:
    """A checkout, and what the demo meets in it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.events: list[str] = []
        self.end = End(job_of(parent("SUCCEEDED")), VERDICT)
        self.missing: list[str] = []
        self.on_train: Callable[[], None] = lambda: None
        (root / "cdk.json").write_text("{}")
        cdk = root / "node_modules" / ".bin" / "cdk"
        cdk.parent.mkdir(parents=True)
        cdk.write_text(CDK)
        cdk.chmod(0o755)
        monkeypatch.chdir(root)
        monkeypatch.setattr(lifecycle, "up", self._up)
        monkeypatch.setattr(lifecycle, "down", lambda _state: self.events.append("down"))
        monkeypatch.setattr(lifecycle, "status", lambda _state: None)
        monkeypatch.setattr(demo, "Aws", lambda **_options: self._aws())
        monkeypatch.setattr(deployment, "problems", lambda *_arguments: self.missing)
        monkeypatch.setattr(demo, "prepare", lambda _aws, wanted: {"nodes": wanted.nodes})
        monkeypatch.setattr(demo, "send", self._send)
        monkeypatch.setattr(demo, "see_through", self._see_through)

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main.main, ["demo", *arguments])

    @property
    def steps(self) -> list[str]:
        return sorted(line.split()[0] for line in (self.root / "steps").read_text().splitlines())

    def _up(self, _state: StateFolder, port: int) -> Record:
        self.events.append(f"up {port}")
        return CLOUD

    def _aws(self) -> FakeAws:
        assert os.environ["AWS_ENDPOINT_URL"] == CLOUD.endpoint  # no real account is ever met
        return FakeAws(FakeBatch([[child(0, self.end.job.status, 7)]]))

    def _send(self, _batch: object, request: dict[str, int]) -> str:
        self.events.append(f"submit {request['nodes']}")
        return JOB_ID

    def _see_through(self, *_arguments: object, follow: bool, deadline: object) -> End:
        assert follow
        assert deadline
        self.on_train()
        return self.end


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_all_goes_well(stage: Stage) -> None:
    before = dict(os.environ)
    result = stage.run("--nodes", "3", "--port", "40123")
    assert result.exit_code == 0, result.output
    assert stage.events == ["up 40123", "submit 3", "down"]
    assert stage.steps == ["bootstrap", "deploy", "synth"]
    assert CLOUD.endpoint in (stage.root / "steps").read_text()
    lines = result.stdout.splitlines()
    table = lines[lines.index(next(line for line in lines if line.startswith("phase"))) :]
    assert [re.sub(r" +[\d.]+$| +seconds$|─+", "", line).rstrip() for line in table] == [
        "phase",
        "",
        "start the local cloud",
        "synthesize the reference app",
        "bootstrap the local cloud's account",
        "deploy",
        "check that every resource exists",
        "train on 3 nodes",
        "  supervise",
        "take everything down",
        "in all",
    ]
    assert "[7/7] take everything down ... 0.0 s" in lines
    assert "said by" not in result.output
    assert (stage.root / ".muster" / "demo" / "logs" / "synth.log").read_text() == "said by synth\n"
    assert dict(os.environ) == before


def test_keep_leaves_the_cloud_up_and_says_how_to_play(stage: Stage) -> None:
    result = stage.run("--keep")
    assert stage.events == ["up 0", "submit 2"]
    assert "/6] " in result.stdout
    last = result.stdout.splitlines()[-8:]
    assert last[1].startswith(
        f"the local cloud stays up at {CLOUD.endpoint}; to play with it, from {stage.root}"
    )
    assert last[2].split("#")[0].strip() == 'eval "$(muster local env)"'
    assert last[3:] == [
        "  muster submit --nodes 3 --follow",
        "  muster cancel JOB_ID   # end a job",
        "  node_modules/.bin/cdk deploy --require-approval never   # after a change of the app or of its train.py",
        "  aws batch describe-job-queues",
        "and to end it: muster local down",
    ]


@pytest.mark.parametrize("step", ["synth", "bootstrap", "deploy"])
def test_a_step_that_fails_shows_its_last_lines_and_its_log(stage: Stage, step: str) -> None:
    (stage.root / "fail").write_text(step)
    result = stage.run()
    log = stage.root / ".muster" / "demo" / "logs" / f"{step}.log"
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-3:] == [
        f"{step} failed (exit code 1); its last lines:",
        f"  | said by {step}",
        f"the whole log: {log}",
    ]
    assert stage.events == ["up 0", "down"]


def test_a_deployment_that_is_not_whole_is_a_sentence(stage: Stage) -> None:
    stage.missing = ["Queue (AWS::Batch::JobQueue) is absent"]
    result = stage.run()
    assert result.exit_code == 1
    assert "the deployment is not whole: Queue (AWS::Batch::JobQueue) is absent" in result.stderr
    assert stage.events == ["up 0", "down"]


def test_training_that_fails_gives_its_exit_code(stage: Stage) -> None:
    job = job_of(parent("FAILED", statusReason="Essential container in task exited"))
    for verdict, why in ((VERDICT, ""), (None, ": Essential container in task exited")):
        stage.end = End(job, verdict)
        result = stage.run()
        assert result.exit_code == 7
        assert result.stderr.splitlines()[-1] == f"muster: the training failed with exit code 7{why}"
    assert stage.events[-1] == "down"


def test_training_without_a_verdict_is_no_success(stage: Stage) -> None:
    stage.end = End(job_of(parent("SUCCEEDED")), None)
    result = stage.run()
    assert (result.exit_code, stage.events[-1]) == (1, "down")
    assert "its main node left no verdict" in result.stderr


def test_a_signal_takes_everything_down(stage: Stage) -> None:
    stage.on_train = lambda: os.kill(os.getpid(), signal.SIGTERM)
    result = stage.run("--keep")
    assert result.exit_code == 143
    assert stage.events == ["up 0", "submit 2", "down"]
    assert result.stderr.splitlines()[-1] == "muster demo was ended by SIGTERM; everything is down again"


def test_a_cloud_that_is_up_is_left_alone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "status", lambda _state: CLOUD)
    result = stage.run()
    assert result.stderr == (
        f"muster: the local cloud of this checkout is up already at {CLOUD.endpoint};"
        " end it first: muster local down\n"
    )
    assert (result.exit_code, stage.events) == (1, [])


def test_a_second_demo_is_a_sentence(stage: Stage) -> None:
    with StateFolder(stage.root / ".muster" / "local").exclusive("muster demo"):
        result = stage.run()
    assert result.stderr.startswith(f"muster: `muster demo` (process {os.getpid()}) is working on ")
    assert (result.exit_code, stage.events) == (1, [])


def test_a_local_cloud_that_does_not_start_is_a_sentence(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_state: StateFolder, port: int) -> None:
        raise LocalCloudError(f"port {port} is taken")

    monkeypatch.setattr(lifecycle, "up", refuse)
    result = stage.run("--port", "80")
    assert (result.stderr, result.exit_code) == ("muster: port 80 is taken\n", 1)
    assert stage.events == ["down"]


def test_the_template_that_is_checked_is_the_one_that_was_deployed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Any] = []
    monkeypatch.setattr(deployment, "problems", lambda *arguments: checked.extend(arguments[1:]) or [])
    assert stage.run().exit_code == 0
    assert checked == ["Muster", json.loads('{"Resources": {}}')]
