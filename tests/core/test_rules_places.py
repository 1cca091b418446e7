"""Where things stand, and texts that name them: what is given -> the exact sentence, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muster_core.instances import lookup
from muster_core.rules import Problem, capacity, environment, launcher, nodes, roles
from muster_core.rules.capacity import CapacityRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKEN = "${Token[AWS.Region.4]}"


@pytest.mark.parametrize(
    ("own", "cluster"),
    [
        ((), ()),
        (("123456789012", "us-east-1"), ()),
        (("123456789012", "us-east-1"), ("123456789012", "us-east-1")),
        ((TOKEN, "us-east-1"), ("123456789012", TOKEN)),
    ],
)
def test_the_account_and_region_of_a_cluster(own: Sequence[str], cluster: Sequence[str]) -> None:
    assert nodes.environment(own, cluster) == []


@pytest.mark.parametrize(
    ("own", "cluster", "got"),
    [
        (("1", "eu-west-1"), ("1", "us-east-1"), "'us-east-1' and 'eu-west-1'"),
        ((TOKEN, "eu-west-1"), ("1", "us-east-1"), "'us-east-1' and 'eu-west-1'"),
        (("222222222222", "b"), ("111111111111", "a"), "'111111111111' and '222222222222'"),
    ],
)
def test_another_account_or_region(own: Sequence[str], cluster: Sequence[str], got: str) -> None:
    assert nodes.environment(own, cluster) == [
        Problem(
            "nodes.environment",
            f"cluster is in another account or region than the job, got {got}; AWS Batch knows a queue in its own account "
            "and region only; give the job's stack the env of the cluster's",
        )
    ]


@pytest.mark.parametrize("strategy", [None, "cluster", TOKEN])
def test_strategies_of_a_placement_group(strategy: str | None) -> None:
    request = CapacityRequest(group_strategy=strategy)
    assert capacity.check(lookup("p5.48xlarge"), request, 2) == []


@pytest.mark.parametrize("strategy", ["spread", "partition"])
def test_a_placement_group_that_keeps_hosts_apart(strategy: str) -> None:
    request = CapacityRequest(group_strategy=strategy)
    assert capacity.check(lookup("p5.48xlarge"), request, 2) == [
        Problem(
            "capacity.group_strategy",
            f"placement_group is of another strategy than 'cluster', got {strategy!r}; it keeps hosts apart, where "
            "multi-node jobs need them close together, and may refuse them; give a cluster placement group",
        )
    ]


@pytest.mark.parametrize("command", [None, ["train.py"]])
def test_a_program(command: list[str] | None) -> None:
    assert launcher.program(command) == []


def test_no_program() -> None:
    assert launcher.program(()) == [
        Problem(
            "launcher.program",
            "launcher has no program, got (); every node would end at once; give one, such as Launcher.torch('train.py')",
        )
    ]


def test_switches_that_exclude_each_other() -> None:
    assert launcher.check("torch", {"module": True, "no_python": True}) == [
        Problem(
            "launcher.exclusive",
            "module and no_python exclude each other, got True for both; leave one of them out",
        )
    ]


@pytest.mark.parametrize("name", ["A B", "A\t", "A\0", "\x7f", "A\n", "\ud800"])
def test_a_name_with_a_character_that_no_name_has(name: str) -> None:
    assert environment.names([name], "torch") == [
        Problem(
            "environment.name",
            f"environment has a name that no variable can have, got {name!r}; a name is not empty and has no '=', white "
            "space or control character; rename it",
        )
    ]


def test_texts_that_a_process_can_be_given() -> None:
    assert environment.values({"A": "", "B": "ä\n\t\U0001f600", "C": TOKEN}) == []


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_texts_that_no_process_can_be_given(character: str) -> None:
    tail = (
        f" holds a character that no process can be given, got {character!r}; neither NUL nor half of a surrogate pair can "
        "be; remove it"
    )
    expected = [Problem("environment.text", f"environment['A']{tail}")]
    assert environment.values({"A": f"x{character}"}) == expected
    assert environment.command(["t.py", f"x{character}"]) == [Problem("environment.text", f"command{tail}")]


@pytest.mark.parametrize(
    "arn",
    [
        *(None, TOKEN, "arn:aws:iam::123456789012:policy/a/B", "arn:aws-us-gov:iam::aws:policy/B"),
        "arn:aws-cn:iam::123456789012:policy/B",
    ],
)
def test_boundaries_of_permissions(arn: str | None) -> None:
    assert roles.boundary(arn) == []


@pytest.mark.parametrize("arn", ["", "B", "arn:aws:iam::123456789012:role/B", "arn:aws:iam::1:policy/B"])
def test_what_is_no_boundary_of_permissions(arn: str) -> None:
    assert roles.boundary(arn) == [
        Problem(
            "roles.boundary",
            f"permissions_boundary is not the ARN of a managed policy, got {arn!r}; it ends like "
            "':iam::123456789012:policy/Boundary'; correct it",
        )
    ]
