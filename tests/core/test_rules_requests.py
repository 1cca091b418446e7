"""All rules at once, what no rule judges, and a property over the whole catalogue."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_core import rules
from muster_core.instances import InstanceType, lookup, names, nics
from muster_core.rules import (
    ClusterRequest,
    JobRequest,
    catalogue,
    cluster,
    is_token_number,
    is_token_text,
    job,
)
from muster_core.rules.problem import is_whole

TOKENS = [-1.8881545897087827e289, -1.8881545897087503e289, -1.8881545897091e289]
"""Numbers as CDK encodes what is known at deployment only."""
TOKEN_TEXT = "${Token[TOKEN.42]}"

TYPES = [
    "g6.8xlarge",
    "p5.48xlarge",
    "p4d.24xlarge",
    "p6-b200.48xlarge",
    "p6-b300.48xlarge",
    "g5.8xlarge",
    "trn1.32xlarge",
]


@pytest.mark.parametrize("name", TYPES)
def test_the_straight_path_is_free_of_problems(name: str) -> None:
    facts = lookup(name)
    request = ClusterRequest(16, "efa-only", "us-east-1a", "10.0.0.0/20", 16 * facts.vcpus)
    assert cluster(facts, request) == []
    assert (
        job(
            facts,
            JobRequest(nodes=2, max_nodes=16, command=["train.py", "--epochs", "5"], timeout_seconds=86400),
        )
        == []
    )


def test_a_cluster_s_problems_come_together() -> None:
    found = cluster(
        lookup("p6e-gb200.36xlarge"),
        ClusterRequest(1000, "efa", "us-east-1", "10.0.0.0/24", 100),
    )
    assert [problem.rule for problem in found] == [
        "instance.image",
        "capacity.on_demand",
        "network.interfaces",
        "capacity.max_vcpus",
        "network.zone",
    ]


def test_a_job_s_problems_come_together() -> None:
    found = job(
        lookup("g6.8xlarge"),
        JobRequest(
            nodes=3,
            max_nodes=2,
            launcher_options={"nproc": 1},
            command=["$X"],
            environment={"RANK": "0", "TOKEN": "a"},
            secrets=["TOKEN", "MUSTER_JOB_SECRET"],
            image="https://x",
            memory_mib=131072,
            shared_memory_mib=200000,
            timeout_seconds=1,
            attempts=11,
            evaluate_on_exit=[{"action": "EXIT"}],
        ),
    )
    assert [problem.rule for problem in found] == [
        "nodes.count",
        "image.uri",
        "launcher.option",
        "environment.command_variable",
        "environment.launcher",
        "environment.reserved",
        "environment.duplicate",
        "memory.size",
        "memory.shared",
        "retry.timeout",
        "retry.attempts",
        "retry.condition",
    ]
    assert {problem.rule for problem in found} <= set(catalogue())


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_pass_every_rule(token: float) -> None:
    facts = lookup("p5.48xlarge")
    assert is_token_number(token) is True
    assert cluster(facts, ClusterRequest(token, "efa-only", TOKEN_TEXT, TOKEN_TEXT, token)) == []
    request = JobRequest(
        nodes=token,
        max_nodes=token,
        launcher_options={"nproc_per_node": token, "master_port": token},
        command=[TOKEN_TEXT, f"--out={TOKEN_TEXT}"],
        environment={TOKEN_TEXT: TOKEN_TEXT},
        secrets=[f"{TOKEN_TEXT}_2"],
        image=TOKEN_TEXT,
        memory_mib=token,
        shared_memory_mib=token,
        timeout_seconds=token,
        attempts=token,
        evaluate_on_exit=[{"onReason": TOKEN_TEXT, "action": "EXIT"}],
    )
    assert job(facts, request) == []


@pytest.mark.parametrize(
    "value", [0, -1, 1.5, -1e289, -2e289, 1.8881545897087827e289, float("-inf"), "-1.9e289", None, True]
)
def test_what_is_no_token(value: object) -> None:
    assert is_token_number(value) is False


def test_token_texts() -> None:
    assert is_token_text(f"a{TOKEN_TEXT}b") is True
    assert is_token_text("#{Token[TOKEN.7]}") is True
    assert is_token_text("${TOKEN}") is False
    assert is_token_text(3) is False


def test_whole_numbers() -> None:
    assert [is_whole(value) for value in (2, 2.0, 2.5, float("inf"), float("nan"))] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("number", [-1e300, 1e308, float("inf"), float("nan"), float("-inf")])
def test_no_number_breaks_a_rule(number: float) -> None:
    facts = lookup("p5.48xlarge")
    found = cluster(facts, ClusterRequest(number, "efa-only", None, "10.0.0.0/24", number))
    assert found[0].rule == "nodes.max_nodes"
    found = job(facts, JobRequest(nodes=number, max_nodes=2, memory_mib=number, attempts=number))
    assert {problem.rule for problem in found} == {"nodes.count", "memory.size", "retry.attempts"}


def test_every_id_in_the_rules_is_in_the_catalogue_and_the_reverse() -> None:
    folder = Path(rules.__file__).parent
    used = {
        node.value
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_id(node.value, path.stem)
    }
    assert used == set(catalogue())


def _is_id(text: str, module: str) -> bool:
    return text.startswith(f"{module}.") and " " not in text


def test_every_rule_says_what_it_holds() -> None:
    assert all(text and not text.endswith(".") for text in catalogue().values())


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(names()),
    max_nodes=st.integers(-2, 1200),
    kind=st.sampled_from(["efa-only", "efa"]),
    prefix=st.integers(16, 28),
    spare=st.integers(-200, 200),
)
def test_a_cluster_is_refused_exactly_when_it_cannot_run(
    name: str, max_nodes: int, kind: str, prefix: int, spare: int
) -> None:
    facts = lookup(name)
    cidr = f"10.1.0.0/{prefix}"
    max_vcpus = max_nodes * facts.vcpus + spare
    found = cluster(facts, ClusterRequest(max_nodes, kind, "us-east-1a", cidr, max_vcpus))
    assert (found == []) == _can_run(facts, max_nodes, kind, cidr, max_vcpus)


def _can_run(facts: InstanceType, max_nodes: int, kind: str, cidr: str, max_vcpus: int) -> bool:
    """The rules of EC2 and Batch, written a second time and differently."""
    if facts.family.startswith(("p3", "g3", "g5g", "g6f", "gr6f", "p6e")):
        return False
    if not facts.family.startswith(("p", "g", "trn", "inf")):
        return False
    if facts.name == "p6-b300.48xlarge" and kind == "efa":
        return False
    addresses = 2 if kind == "efa-only" else max(2, facts.max_efa + 1)
    free = 2 ** (32 - int(cidr.partition("/")[2])) - 5
    return 1 <= max_nodes <= 1000 and max_vcpus >= max_nodes * facts.vcpus and free >= addresses * max_nodes


@settings(max_examples=300, deadline=None, derandomize=True)
@given(name=st.sampled_from(names()), kind=st.sampled_from(["efa-only", "efa"]))
def test_what_is_not_refused_has_a_layout(name: str, kind: str) -> None:
    facts = lookup(name)
    if not cluster(facts, ClusterRequest(1, kind)):
        assert nics(facts, kind)[0].device_index == 0


@settings(max_examples=300, deadline=None, derandomize=True)
@given(text=st.text(alphabet="abc$({})[]-= /\"'_1", max_size=12))
def test_a_command_is_refused_exactly_for_a_dollar_before_a_name_or_a_parenthesis(text: str) -> None:
    found = job(lookup("g6.8xlarge"), JobRequest(nodes=1, command=["train.py", text or "x"]))
    assert bool(found) == _has_variable(text)


def _has_variable(text: str) -> bool:
    for index, sign in enumerate(text):
        if sign != "$" or (index and text[index - 1] == "$"):
            continue
        after = text[index + 1 :]
        if after[:1].isalpha() or after[:1] == "_" or (after[:1] == "(" and ")" in after):
            return True
        if after[:1] == "{" and (after[1:2].isalpha() or after[1:2] == "_") and "}" in after:
            return True
    return False
