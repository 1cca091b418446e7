"""Room in a queue's compute environments, asked before a job is sent."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from cli_fakes import FakeAws, FakeBatch

from muster_cli.errors import MusterError
from muster_cli.room import vcpus
from muster_cli.submission import Submission, prepare

pytestmark = pytest.mark.unit


def _range(nodes: str, count: int) -> dict[str, Any]:
    return {
        "targetNodes": nodes,
        "container": {"resourceRequirements": [{"type": "VCPU", "value": str(count)}]},
    }


def _prepare(batch: FakeBatch, nodes: int | None, *ranges: dict[str, Any]) -> Any:
    properties = {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": list(ranges) or [_range("0:", 32)]}
    batch.definitions = [
        {
            "jobDefinitionName": "train",
            "revision": 1,
            "type": "multinode",
            "nodeProperties": properties,
        }
    ]
    return prepare(FakeAws(batch), Submission(definition="train", queue="arn:aws:x/gpus", nodes=nodes))


def test_too_many_nodes_are_refused_with_all_four_numbers() -> None:
    with pytest.raises(MusterError) as caught:
        _prepare(FakeBatch(limits={"gpus": 128}), 9)
    assert caught.value.message == (
        "--nodes asks for too many nodes for queue 'gpus', got 9; 9 nodes need 288 vCPUs, and maxvCpus of its"
        " compute environment is 128; give at most --nodes 4, or raise maxvCpus (max_nodes of the cluster)"
    )


def test_a_definition_that_alone_is_too_large_is_refused_too() -> None:
    with pytest.raises(MusterError) as caught:
        _prepare(FakeBatch(limits={"gpus": 16}), None)
    assert caught.value.message == (
        "the definition asks for too many nodes for queue 'gpus', got 2; 2 nodes need 64 vCPUs, and maxvCpus of"
        " its compute environment is 16; raise maxvCpus (max_nodes of the cluster)"
    )


@pytest.mark.parametrize(
    "limits", [{"gpus": 128}, {"small": 1, "gpus": 128}, {}, {"gpus": 1, "unmanaged": None}]
)
def test_what_fits_or_is_not_said_is_taken(limits: dict[str, int | None]) -> None:
    assert _prepare(FakeBatch(limits=limits), 4)["nodeOverrides"] == {"numNodes": 4}


def test_who_may_not_look_may_submit_all_the_same_and_other_errors_are_told() -> None:
    assert _prepare(FakeBatch(limits={"gpus": 1}, denied="AccessDeniedException"), 4)
    with pytest.raises(ClientError):
        _prepare(FakeBatch(limits={"gpus": 1}, denied="ServerException"), 4)


@pytest.mark.parametrize(
    ("ranges", "nodes", "total"),
    [
        ([_range("0:", 8)], 3, 24),
        ([_range("0:0", 2), _range("1:", 8)], 3, 18),
        ([_range("0", 2), _range("1:1", 8)], 2, 10),
        ([_range("0:9", 8), _range("4:5", 2)], 10, 68),
        ([_range(":1", 8)], 2, 16),
        ([{"targetNodes": "0:", "container": {"vcpus": 4}}], 2, 8),
        ([{"targetNodes": "0:", "container": {}}], 2, 0),
        (
            [
                {
                    "targetNodes": "0:",
                    "ecsProperties": {
                        "taskProperties": [
                            {"containers": [_range("", 3)["container"], _range("", 1)["container"]]}
                        ]
                    },
                }
            ],
            2,
            8,
        ),
    ],
)
def test_vcpus_of_a_definition(ranges: list[dict[str, Any]], nodes: int, total: int) -> None:
    assert vcpus({"nodeRangeProperties": ranges}, nodes) == total
