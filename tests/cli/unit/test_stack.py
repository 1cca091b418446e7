"""Jobs of a stack, found by the descriptions of its outputs."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from cli_fakes import FakeCloudFormation

from muster_cli.errors import MusterError
from muster_cli.stack import StackJob, choose, read_outputs, stack_jobs
from muster_core.contract import OUTPUT_JOB_DEFINITION, OUTPUT_JOB_QUEUE, OUTPUT_LOG_GROUP

pytestmark = pytest.mark.unit


def _outputs(path: str, definition: str, queue: str, group: str | None = None) -> list[Any]:
    values = {OUTPUT_JOB_DEFINITION: definition, OUTPUT_JOB_QUEUE: queue, OUTPUT_LOG_GROUP: group}
    return [
        {"OutputKey": f"Key{number}", "OutputValue": value, "Description": f"{kind} {path}"}
        for number, (kind, value) in enumerate(values.items())
        if value is not None
    ]


TRAIN = StackJob("Train", "train", "arn:q", "/g")
EVAL = StackJob("Other/Eval", "eval", "arn:q2", "")
OTHER_TRAIN = StackJob("Other/Train", "train2", "arn:q2", "")


def test_outputs_are_read_by_their_descriptions() -> None:
    outputs = [
        *_outputs("Train", "train", "arn:q", "/g"),
        *_outputs("Other/Eval", "eval", "arn:q2"),
        {"OutputKey": "Url", "OutputValue": "x", "Description": "an address"},
        {"OutputKey": "Bare", "OutputValue": "x"},
        *_outputs("Half", "half", "arn:q")[:1],
    ]
    assert read_outputs(outputs) == [EVAL, TRAIN]


@pytest.mark.parametrize(
    ("jobs", "wanted", "expected"),
    [
        ([TRAIN], None, TRAIN),
        ([TRAIN, EVAL], "Train", TRAIN),
        ([TRAIN, EVAL], "Eval", EVAL),
        ([TRAIN, EVAL], "Other/Eval", EVAL),
        ([TRAIN, OTHER_TRAIN], "Train", TRAIN),
    ],
)
def test_a_job_is_chosen_by_its_path_or_the_end_of_it(
    jobs: list[StackJob], wanted: str | None, expected: StackJob
) -> None:
    assert choose(jobs, "Muster", wanted) == expected


@pytest.mark.parametrize(
    ("jobs", "wanted", "text"),
    [
        ([TRAIN, EVAL], None, "stack 'Muster' has several jobs; choose one with --job: Train, Other/Eval"),
        ([TRAIN, EVAL], "rain", "stack 'Muster' has no job 'rain'; it has: Train, Other/Eval"),
        (
            [OTHER_TRAIN, StackJob("More/Train", "t", "q", "")],
            "Train",
            "stack 'Muster' has several jobs that 'Train' fits; choose one with --job: Other/Train, More/Train",
        ),
    ],
)
def test_no_job_or_too_many_are_a_sentence(jobs: list[StackJob], wanted: str | None, text: str) -> None:
    with pytest.raises(MusterError) as caught:
        choose(jobs, "Muster", wanted)
    assert (caught.value.message, caught.value.exit_code) == (text, 78)


def test_a_stack_without_jobs_is_a_sentence() -> None:
    with pytest.raises(
        MusterError, match="stack 'Muster' offers no job: none of its outputs is described as"
    ):
        stack_jobs(FakeCloudFormation(), "Muster")  # type: ignore[arg-type]


@pytest.mark.parametrize(("code", "kind"), [("ValidationError", MusterError), ("AccessDenied", ClientError)])
def test_a_stack_that_is_not_there_is_a_sentence_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch, code: str, kind: type[Exception]
) -> None:
    def refuse(_self: FakeCloudFormation, **_request: str) -> None:
        raise ClientError({"Error": {"Code": code, "Message": "x"}}, "DescribeStacks")

    monkeypatch.setattr(FakeCloudFormation, "describe_stacks", refuse)
    with pytest.raises(kind) as caught:
        stack_jobs(FakeCloudFormation(), "Muster")  # type: ignore[arg-type]
    if isinstance(caught.value, MusterError):
        assert caught.value.message.startswith(
            "there is no stack 'Muster' in this region and account; deploy it"
        )
