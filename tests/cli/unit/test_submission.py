"""A submission, as the request that Batch takes."""

from typing import Any

import pytest
from cli_fakes import FakeAws, FakeBatch, check_request

from muster_cli.errors import MusterError
from muster_cli.submission import Submission, prepare, submit
from muster_core.contract import OUTPUT_JOB_DEFINITION, OUTPUT_JOB_QUEUE

pytestmark = pytest.mark.unit

QUEUE = "arn:aws:batch:us-east-1:123456789012:job-queue/gpus"
OUTPUTS = [
    {"OutputValue": "train", "Description": f"{OUTPUT_JOB_DEFINITION} Train"},
    {"OutputValue": QUEUE, "Description": f"{OUTPUT_JOB_QUEUE} Train"},
]
MORE_OUTPUTS = [
    {"OutputValue": "eval", "Description": f"{OUTPUT_JOB_DEFINITION} Eval"},
    {"OutputValue": f"{QUEUE}2", "Description": f"{OUTPUT_JOB_QUEUE} Eval"},
]


def _definition(name: str = "train", revision: int = 1, **more: Any) -> dict[str, Any]:
    ranges = [{"targetNodes": "0:", "container": {"image": "x"}}]
    return {
        "jobDefinitionName": name,
        "jobDefinitionArn": f"arn:aws:batch:us-east-1:123456789012:job-definition/{name}:{revision}",
        "revision": revision,
        "type": "multinode",
        "nodeProperties": {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": ranges},
        **more,
    }


def _aws(*definitions: dict[str, Any], outputs: Any = OUTPUTS) -> FakeAws:
    return FakeAws(FakeBatch(definitions=list(definitions) or [_definition()]), outputs=outputs)


def test_a_stacks_only_job_needs_no_option() -> None:
    request = prepare(_aws(), Submission())
    assert request.pop("jobName").startswith("train-20")
    assert request == {"jobQueue": QUEUE, "jobDefinition": "train"}


def test_nodes_and_variables_are_overrides_with_the_definitions_own_ranges() -> None:
    ranges = [
        {"targetNodes": "0:0", "container": {"image": "x"}},
        {"targetNodes": "1:", "container": {"image": "x"}},
    ]
    aws = _aws(_definition(nodeProperties={"numNodes": 2, "mainNode": 0, "nodeRangeProperties": ranges}))
    request = prepare(aws, Submission(nodes=4, name="x", environment={"A": "1", "B": ""}))
    pairs = [{"name": "A", "value": "1"}, {"name": "B", "value": ""}]
    assert request == {
        "jobName": "x",
        "jobQueue": QUEUE,
        "jobDefinition": "train",
        "nodeOverrides": {
            "numNodes": 4,
            "nodePropertyOverrides": [
                {"targetNodes": "0:0", "containerOverrides": {"environment": pairs}},
                {"targetNodes": "1:", "containerOverrides": {"environment": pairs}},
            ],
        },
    }
    check_request("batch", "SubmitJob", request)


def test_a_definition_of_several_containers_has_its_own_form_of_overrides() -> None:
    tasks = [{"containers": [{"name": "main", "image": "x"}, {"name": "exporter", "image": "y"}]}]
    ranges = [{"targetNodes": "0:", "ecsProperties": {"taskProperties": tasks}}]
    aws = _aws(_definition(nodeProperties={"numNodes": 2, "mainNode": 0, "nodeRangeProperties": ranges}))
    request = prepare(aws, Submission(environment={"A": "1"}))
    (override,) = request["nodeOverrides"]["nodePropertyOverrides"]
    containers = override["ecsPropertiesOverride"]["taskProperties"][0]["containers"]
    assert containers == [
        {"name": "main", "environment": [{"name": "A", "value": "1"}]},
        {"name": "exporter", "environment": [{"name": "A", "value": "1"}]},
    ]
    check_request("batch", "SubmitJob", request)


def test_names_given_ask_no_stack() -> None:
    request = prepare(_aws(_definition("own"), outputs=[]), Submission(definition="own", queue="gpus"))
    assert (request["jobDefinition"], request["jobQueue"]) == ("own", "gpus")


@pytest.mark.parametrize(
    "name", ["own:3", "arn:aws:batch:us-east-1:123456789012:job-definition/own:3", "own"]
)
def test_a_definition_goes_by_name_revision_or_arn_as_it_was_given(name: str) -> None:
    aws = _aws(_definition("own", 3), _definition("own", 2, type="container"), outputs=[])
    assert prepare(aws, Submission(definition=name, queue="q"))["jobDefinition"] == name


def test_a_definition_alone_takes_the_stacks_only_queue() -> None:
    assert prepare(_aws(_definition("own")), Submission(definition="own"))["jobQueue"] == QUEUE
    with pytest.raises(MusterError, match="stack 'Muster' has several queues; give --queue: "):
        prepare(_aws(_definition("own"), outputs=[*OUTPUTS, *MORE_OUTPUTS]), Submission(definition="own"))


def test_a_queue_alone_takes_the_stacks_definition() -> None:
    request = prepare(_aws(), Submission(queue="other"))
    assert (request["jobDefinition"], request["jobQueue"]) == ("train", "other")


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (
            Submission(definition="none", queue="q"),
            "there is no active job definition 'none' here; check name, region and profile",
        ),
        (
            Submission(definition="single", queue="q"),
            "job definition 'single' is of type 'container'; Muster submits multi-node definitions",
        ),
    ],
)
def test_a_definition_that_cannot_be_submitted_is_a_sentence(wanted: Submission, text: str) -> None:
    with pytest.raises(MusterError) as caught:
        prepare(_aws(_definition(), _definition("single", type="container")), wanted)
    assert caught.value.message == text


def test_a_share_goes_along() -> None:
    request = prepare(_aws(), Submission(name="x", share="teamA"))
    assert request["shareIdentifier"] == "teamA"


def test_what_is_no_share_is_a_sentence() -> None:
    with pytest.raises(MusterError) as caught:
        prepare(_aws(), Submission(share="team-a"))
    assert caught.value.message == "--share must have 1 to 255 letters and digits, got 'team-a'; change it"


def test_a_variable_with_half_a_character_is_a_sentence() -> None:
    with pytest.raises(MusterError) as caught:
        prepare(_aws(), Submission(environment={"A": "caf\udce9"}))  # as Python reads bytes that are no UTF-8
    assert caught.value.message == (
        "--env['A'] holds a character that no process can be given, got '\\udce9'; neither NUL nor half of a surrogate "
        "pair can be; remove it"
    )


def test_all_problems_come_at_once() -> None:
    wanted = Submission(name="a b", environment={"AWS_BATCH_X": "1", "RANK": "0", "BIG": "x" * 9000})
    with pytest.raises(MusterError) as caught:
        prepare(_aws(), wanted)
    for part in ("--name is not a name", "'AWS_BATCH_X'", "'RANK'", "8192"):
        assert part in caught.value.message


def test_no_more_nodes_than_batch_starts() -> None:
    assert prepare(_aws(), Submission(nodes=1000))["nodeOverrides"] == {"numNodes": 1000}
    with pytest.raises(MusterError) as caught:
        prepare(_aws(), Submission(nodes=1001))
    assert caught.value.message == (
        "--nodes must be at most 1000, got 1001; AWS Batch starts no larger multi-node job"
    )


def test_a_long_name_of_a_definition_leaves_room_for_the_time() -> None:
    request = prepare(_aws(_definition("x" * 128), outputs=[]), Submission(definition="x" * 128, queue="q"))
    assert len(request["jobName"]) <= 128


def test_it_is_sent_as_it_was_prepared() -> None:
    batch = FakeBatch()
    request = {"jobName": "x", "jobQueue": "q", "jobDefinition": "d"}
    assert submit(batch, request) == "3e5c7fd1-6c0f-4b6a-9a0a-1d4c8d3f2b11"  # type: ignore[arg-type]
    assert batch.submitted == [request]
