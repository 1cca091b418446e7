"""What is known at deployment only passes every rule unharmed: in every field of every request, also of later ones."""

from __future__ import annotations

import dataclasses
import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_core import rules
from muster_core.instances import lookup
from muster_core.rules import ClusterRequest, JobRequest, capacity
from muster_core.rules.problem import is_token_number

NUMBER = -1.8881545897087827e289
TEXT = "${Token[TOKEN.42]}"
FACTS = lookup("p5.48xlarge")

MODES = {"launcher", "kind"}
"""Words of Muster's own that are never known at deployment only."""
ONE_OF_TWO = {"image_parameter", "resource_group_arn"}
"""Given beside another, they are a problem whatever they hold."""


BY_ANNOTATION = {
    "Number": NUMBER,
    "Optional[Number]": NUMBER,
    "int": NUMBER,
    "str": TEXT,
    "Optional[str]": TEXT,
    "Sequence[str]": [TEXT],
    "Optional[Sequence[str]]": [TEXT],
    "Mapping[str, str]": {TEXT: TEXT},
    "Mapping[str, object]": {"nproc_per_node": NUMBER, "master_port": NUMBER},
    "Sequence[Mapping[str, str]]": [{"onReason": TEXT, "action": "EXIT"}],
    "bool": False,
}


def tokens(made: type, /, **fixed: object) -> typing.Any:
    """A request with a token in each field that can hold one."""
    values = {
        field.name: tokens(field.default_factory)
        if field.type.endswith("Request")
        else BY_ANNOTATION[field.type]
        for field in dataclasses.fields(made)
        if field.name not in MODES | ONE_OF_TWO
    }
    return made(**{**values, **fixed})


@pytest.mark.parametrize("name", ["p5.48xlarge", "trn1.32xlarge", "g6.8xlarge"])
@pytest.mark.parametrize("kind", [capacity.ON_DEMAND, capacity.RESERVATION])
def test_a_cluster_of_tokens_has_no_problem(name: str, kind: str) -> None:
    request = tokens(ClusterRequest, interface_type="efa-only", acknowledge_idle_cost=True)
    request = dataclasses.replace(request, capacity=dataclasses.replace(request.capacity, kind=kind))
    assert rules.cluster(lookup(name), request) == []


def test_a_block_of_tokens_has_no_problem_and_no_known_length() -> None:
    block = tokens(capacity.CapacityRequest, kind=capacity.BLOCK)
    request = tokens(ClusterRequest, interface_type="efa-only", acknowledge_idle_cost=True, capacity=block)
    assert rules.cluster(FACTS, request) == []
    assert block.usable_seconds is None or is_token_number(block.usable_seconds)


def test_a_job_of_tokens_has_no_problem() -> None:
    request = tokens(JobRequest, secrets=[f"{TEXT}_2"], rendezvous_port=28800)
    assert rules.job(FACTS, request) == []


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_token_beside_known_values_adds_no_problem(data: st.DataObject) -> None:
    right = {
        "max_nodes": 4,
        "availability_zone": "us-east-1a",
        "subnet_cidr": "10.0.0.0/20",
        "max_vcpus": 768,
    }
    right |= {"root_volume_mib": 204800, "allocation_strategy": "BEST_FIT", "min_nodes": 0, "image_id": None}
    token = tokens(ClusterRequest, interface_type="efa-only")
    names = data.draw(st.sets(st.sampled_from(sorted(right))))
    mixed = {**right, **{name: getattr(token, name) for name in names}}
    assert rules.cluster(FACTS, ClusterRequest(**mixed, acknowledge_idle_cost=True)) == []
