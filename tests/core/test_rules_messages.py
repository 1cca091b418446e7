"""Each rule as a table: what is given -> the exact sentence, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muster_core.contract import TORCH
from muster_core.instances import lookup
from muster_core.rules import (
    Problem,
    capacity,
    catalogue,
    docs_anchor,
    environment,
    image,
    instance,
    launcher,
    memory,
    network,
    nodes,
    retry,
    sizes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

G6 = lookup("g6.8xlarge")
P5 = lookup("p5.48xlarge")


def _is(found: Sequence[Problem], rule: str, *messages: str) -> None:
    assert list(found) == [Problem(rule, message) for message in messages]


@pytest.mark.parametrize(
    "name",
    [
        *("g6.8xlarge", "p5.48xlarge", "p4d.24xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge", "g5.8xlarge"),
        *("trn1.32xlarge", "g5.xlarge", "inf2.48xlarge", "trn2.48xlarge"),
    ],
)
def test_types_that_run(name: str) -> None:
    assert instance.check(lookup(name)) == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("hpc7a.96xlarge", "it has no accelerator"),
        ("dl1.24xlarge", "it has Gaudi HL-205"),
        ("dl2q.24xlarge", "it has Qualcomm AI100"),
        ("f2.48xlarge", "it has Virtex UltraScale+ (VU47P)"),
        ("vt1.24xlarge", "it has U30"),
    ],
)
def test_types_without_an_accelerator_that_runs(name: str, found: str) -> None:
    _is(
        instance.check(lookup(name)),
        "instance.accelerator",
        f"instance_type has no accelerator that muster runs, got {name!r}, {found}; allowed are types with NVIDIA "
        "GPUs or Neuron devices, such as 'g6.8xlarge', 'p5.48xlarge' or 'trn1.32xlarge'",
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("g5g.16xlarge", "its GPUs sit in an arm64 host"),
        ("p6e-gb200.36xlarge", "its GPUs sit in an arm64 host"),
        ("g6f.4xlarge", "it has a fraction of a GPU"),
        ("p3dn.24xlarge", "the image's driver does not know the GPUs of p3dn"),
    ],
)
def test_types_without_an_image(name: str, why: str) -> None:
    _is(
        instance.check(lookup(name)),
        "instance.image",
        f"instance_type has no machine image in AWS Batch, got {name!r}, {why}; use an x86_64 type with whole GPUs "
        "of a current family, such as 'g6.8xlarge' or 'p5.48xlarge'"
        + ("" if name == "g6f.4xlarge" else ", or bring a machine image by image_id"),
    )


@pytest.mark.parametrize("name", ["g5g.16xlarge", "p6e-gb200.36xlarge", "p3dn.24xlarge"])
def test_an_own_image_makes_them_possible(name: str) -> None:
    assert instance.check(lookup(name), own_image=True) == []


def test_no_image_makes_a_fraction_whole() -> None:
    assert instance.check(lookup("g6f.4xlarge"), own_image=True) == instance.check(lookup("g6f.4xlarge"))


@pytest.mark.parametrize("value", [1, 2, 1000, 2.0])
def test_max_nodes_that_is_right(value: float) -> None:
    assert nodes.max_nodes(value) == []


@pytest.mark.parametrize("value", [0, -1, 1001, 1.5, float("inf"), float("nan"), -1e200])
def test_max_nodes_that_is_wrong(value: float) -> None:
    _is(
        nodes.max_nodes(value),
        "nodes.max_nodes",
        f"max_nodes must be a whole number from 1 to 1000, got {value!r}; AWS Batch starts no larger multi-node job",
    )


@pytest.mark.parametrize(("value", "limit"), [(1, 1), (2, 16), (16, 16), (16, None)])
def test_nodes_that_fit(value: int, limit: int | None) -> None:
    assert nodes.count(value, limit) == []


@pytest.mark.parametrize(
    ("value", "limit", "message"),
    [
        (0, 16, "nodes must be a whole number of at least 1, got 0; give at least 1"),
        (-3, None, "nodes must be a whole number of at least 1, got -3; give at least 1"),
        (1.5, 16, "nodes must be a whole number of at least 1, got 1.5; give at least 1"),
        (
            17,
            16,
            (
                "nodes is more than the cluster can start, got 17; the cluster's max_nodes is 16; lower nodes or raise "
                "max_nodes of the cluster"
            ),
        ),
    ],
)
def test_nodes_that_do_not(value: float, limit: int | None, message: str) -> None:
    _is(nodes.count(value, limit), "nodes.count", message)


@pytest.mark.parametrize(("max_nodes", "value"), [(16, 3072), (16, 4000), (16, None), (0, 1)])
def test_max_vcpus_that_hold(max_nodes: int, value: int | None) -> None:
    assert capacity.max_vcpus(P5, max_nodes, value) == []


def test_max_vcpus_that_do_not() -> None:
    _is(
        capacity.max_vcpus(P5, 16, 3071),
        "capacity.max_vcpus",
        "max_vcpus is too small for max_nodes, got 3071; 16 nodes of p5.48xlarge have 3072 vCPUs; raise max_vcpus "
        "to that, or lower max_nodes",
    )


def test_on_demand() -> None:
    assert capacity.on_demand(P5) == []
    _is(
        capacity.on_demand(lookup("p6e-gb200.36xlarge")),
        "capacity.on_demand",
        "instance_type is not sold on demand, got 'p6e-gb200.36xlarge'; it is sold in Capacity Blocks only; "
        "give capacity=Capacity.block(...), or use another type",
    )


def test_interfaces() -> None:
    assert network.interfaces(P5) == []
    _is(
        network.interfaces(lookup("hpc6id.32xlarge")),
        "network.interfaces",
        "instance_type cannot run multi-node jobs, got 'hpc6id.32xlarge'; its network card 0 holds 1 interface and "
        "the primary one takes it, the job's container needs another; use another type",
    )
    _is(
        network.interfaces(P5, "ena"),
        "network.interfaces",
        "interface_type is unknown, got 'ena'; allowed: 'efa-only', 'efa'",
    )


@pytest.mark.parametrize(
    ("max_nodes", "cidr", "kind"),
    [
        (5, "10.0.0.0/28", "efa-only"),
        (1000, "10.0.0.0/20", "efa-only"),
        (1000, None, "efa"),
        (1000, "${Token[TOKEN.12]}", "efa"),
        (1000, "10.0.0.0/28", "ena"),
        (0, "10.0.0.0/28", "efa"),
        (7, "10.0.0.77/24", "efa"),
    ],
)
def test_subnets_that_are_large_enough_or_not_judged(max_nodes: int, cidr: str | None, kind: str) -> None:
    assert network.subnet_size(P5, max_nodes, cidr, kind) == []


@pytest.mark.parametrize(
    ("max_nodes", "cidr", "kind", "message"),
    [
        (
            6,
            "10.0.0.0/28",
            "efa-only",
            (
                "max_nodes needs more addresses than the subnet has, got 6; each node takes 2, together 12, and "
                "10.0.0.0/28 has 11 to give; use a larger subnet or lower max_nodes"
            ),
        ),
        (
            8,
            "10.0.0.0/24",
            "efa",
            (
                "max_nodes needs more addresses than the subnet has, got 8; each node takes 33, together 264, and "
                "10.0.0.0/24 has 251 to give; use a larger subnet or lower max_nodes"
            ),
        ),
    ],
)
def test_subnets_that_are_too_small(max_nodes: int, cidr: str, kind: str, message: str) -> None:
    _is(network.subnet_size(P5, max_nodes, cidr, kind), "network.subnet_size", message)


@pytest.mark.parametrize("cidr", ["10.0.0.0/33", "ten", "2001:db8::/64", ""])
def test_a_subnet_without_an_ipv4_block(cidr: str) -> None:
    _is(
        network.subnet_size(P5, 2, cidr),
        "network.cidr",
        f"subnet has no IPv4 block, got {cidr!r}; a block is such as '10.0.0.0/20'; correct it",
    )


@pytest.mark.parametrize(
    "name",
    [
        *(
            "us-east-1a",
            "ap-southeast-2c",
            "us-gov-west-1b",
            "cn-northwest-1c",
            "eusc-de-east-1a",
            "us-isob-east-1a",
        ),
        *("us-east-1-dfw-2a", "us-west-2-lax-1b", "us-east-1-wl1-bos-wlz-1", None, "${Token[AZ.3]}"),
    ],
)
def test_zones(name: str | None) -> None:
    assert network.zone(name) == []


@pytest.mark.parametrize(
    "name", ["us-east-1", "use1-az4", "US-EAST-1A", "us-east-1a,us-east-1b", "a", "", "us-east-1ab"]
)
def test_what_is_no_zone(name: str) -> None:
    _is(
        network.zone(name),
        "network.zone",
        f"availability_zone is not the name of a zone, got {name!r}; a zone is a region and a letter such as "
        "'us-east-1a'; give the zone that offers the instance type",
    )


@pytest.mark.parametrize("value", [4, 60000, 124518, None])
def test_memory_that_fits(value: int | None) -> None:
    assert memory.size(G6, value) == []


@pytest.mark.parametrize("value", [3, 0, -1, 124519, 131072])
def test_memory_that_does_not(value: int) -> None:
    _is(
        memory.size(G6, value),
        "memory.size",
        f"memory must be from 4 to 124518 MiB on g6.8xlarge, got {value!r} MiB; of the advertised 131072 MiB the host "
        "keeps some, and a job that asks for more never starts; lower memory, or leave it out to get all that is "
        "usable",
    )


@pytest.mark.parametrize(("total", "value"), [(1000, 1000), (1000, 1), (None, 5), (1000, None)])
def test_shared_memory_that_fits(total: int | None, value: int | None) -> None:
    assert memory.shared(total, value) == []


def test_shared_memory_that_does_not() -> None:
    _is(
        memory.shared(1000, 1001),
        "memory.shared",
        "shared_memory must be at least 1 MiB and at most the job's memory of 1000 MiB, which holds it, got 1001 MiB; "
        "change shared_memory",
    )
    _is(
        memory.shared(None, 0),
        "memory.shared",
        "shared_memory must be at least 1 MiB, got 0 MiB; change shared_memory",
    )


@pytest.mark.parametrize(
    "name", ["HOME", "NCCL_DEBUG", "my.setting", "_x", "AWS_REGION", "RANKS", "${Token[NAME]}"]
)
def test_variables_that_a_job_may_set(name: str) -> None:
    assert environment.names([name], "torch") == []


@pytest.mark.parametrize("name", TORCH.owns)
def test_variables_of_the_launcher(name: str) -> None:
    _is(
        environment.names([name], "torch"),
        "environment.launcher",
        f"environment sets a variable that the launcher torch sets for each process, got {name!r}; its value would be "
        "lost; remove it",
    )


def test_a_variable_of_another_launcher_is_free() -> None:
    assert environment.names(["RANK"], "no such launcher") == []


@pytest.mark.parametrize(
    ("name", "prefix", "owner"),
    [
        ("AWS_BATCH_JOB_ID", "AWS_BATCH", "aws batch"),
        ("AWS_BATCHES", "AWS_BATCH", "aws batch"),
        ("MUSTER_JOB_SECRET", "MUSTER_", "muster"),
    ],
)
def test_reserved_variables(name: str, prefix: str, owner: str) -> None:
    _is(
        environment.names([name], "torch", "secrets"),
        "environment.reserved",
        f"secrets has a reserved name, got {name!r}; names that begin with {prefix} are {owner}'s; rename it",
    )


@pytest.mark.parametrize("name", ["", "A=B", "="])
def test_names_that_no_variable_can_have(name: str) -> None:
    _is(
        environment.names([name], "torch"),
        "environment.name",
        f"environment has a name that no variable can have, got {name!r}; a name is not empty and has no '=', "
        "white space or control character; rename it",
    )


def test_all_names_are_judged_at_once() -> None:
    found = environment.names(["RANK", "OK", "", "MUSTER_X"], "torch")
    assert [problem.rule for problem in found] == [
        "environment.launcher",
        "environment.name",
        "environment.reserved",
    ]


def test_a_variable_has_one_source() -> None:
    assert environment.secrets(["A"], ["B"]) == []
    _is(
        environment.secrets(["B", "A", "C"], ["A", "B"]),
        "environment.duplicate",
        "environment sets a variable that secrets sets too, got 'A'; one variable has one source; remove it from one "
        "of the two",
        "environment sets a variable that secrets sets too, got 'B'; one variable has one source; remove it from one "
        "of the two",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["train.py", "--epochs", "5"],
        ["sh", "-c", "echo $HOME $(hostname)"],
        ["/bin/bash", "-e", "-uxc", "echo ${RANK}"],
        ["env", "A=1", "bash", "-lc", "echo $A"],
        ["train.py", "--pattern", "^a$", "--price", "5$", "$"],
        ["train.py", "--literal", "$$HOME"],
        ["train.py", "${Token[TOKEN.5]}"],
        ["train.py", "Ref::epochs", "$5"],
    ],
)
def test_commands_that_need_no_shell(arguments: list[str]) -> None:
    assert environment.command(arguments) == []


@pytest.mark.parametrize(
    ("arguments", "text", "variable"),
    [
        (
            ["train.py", "--rank", "$AWS_BATCH_JOB_NODE_INDEX"],
            "$AWS_BATCH_JOB_NODE_INDEX",
            "$AWS_BATCH_JOB_NODE_INDEX",
        ),
        (["train.py", "--out=/x/${RUN}/y"], "--out=/x/${RUN}/y", "${RUN}"),
        (["train.py", "--out=${RUN:-none}"], "--out=${RUN:-none}", "${RUN:-none}"),
        (["train.py", "$(hostname)"], "$(hostname)", "$(hostname)"),
        (["bash", "train.sh", "$HOME"], "$HOME", "$HOME"),
        (["python", "-c", "print('$A')"], "print('$A')", "$A"),
        (["sh", "-c", "echo hi", "$A"], "$A", "$A"),
        (["-c", "$A"], "$A", "$A"),
    ],
)
def test_commands_with_a_variable_that_nobody_expands(arguments: list[str], text: str, variable: str) -> None:
    _is(
        environment.command(arguments),
        "environment.command_variable",
        f"command holds a variable that nobody expands, got {text!r}; AWS Batch runs the command without a shell, so "
        f"the program would see the literal {variable}; read the variable in the program, or put the text after "
        "'sh', '-c'",
    )


def test_an_empty_element_of_the_command() -> None:
    _is(
        environment.command(["train.py", "", ""], "launcher"),
        "environment.command_empty",
        "launcher has an empty element, got ''; AWS Batch refuses it; remove the element",
    )


def test_sizes_at_and_above_the_limit() -> None:
    fits = {"x": "y" * (24 * 1024 - len('{"x":""}'))}
    assert sizes.definition(fits) == []
    _is(
        sizes.definition({"x": fits["x"] + "y"}),
        "sizes.definition",
        "the job definition is too large, got 24577 bytes; AWS allows 24576; shorten environment and command, or read "
        "long settings from a file or from S3",
    )
    assert sizes.submission({"x": fits["x"] + "y"}) == []
    _is(
        sizes.submission({"x": "y" * 30 * 1024}),
        "sizes.submission",
        "the submission is too large, got 30728 bytes; AWS allows 30720; shorten environment and command, or read "
        "long settings from a file or from S3",
    )
    _is(
        sizes.overrides({"x": "y" * 8192}),
        "sizes.overrides",
        "the overrides of a node are too large, got 8200 bytes; AWS allows 8192; shorten environment and command, or "
        "read long settings from a file or from S3",
    )


def test_a_size_counts_bytes_and_no_tokens() -> None:
    assert sizes.definition({"x": "ä" * 12_284}) == []
    assert len(sizes.definition({"x": "ä" * 12_285})) == 1
    assert sizes.definition({"x": object()}) == []
    assert sizes.definition({"x": "${Token[TOKEN.123]}" * 2000, "y": [-1.8881545897087827e289] * 10}) == []


@pytest.mark.parametrize("name", ["train", "a-b_C9", "x" * 128, None, "${Token[N]}-a"])
def test_names(name: str | None) -> None:
    assert sizes.name(name) == []


@pytest.mark.parametrize("name", ["", "-a", "a b", "a.b", "x" * 129])
def test_what_is_no_name(name: str) -> None:
    _is(
        sizes.name(name, "job_name"),
        "sizes.name",
        f"job_name is not a name that AWS Batch takes, got {name!r}; allowed are up to 128 letters, digits, hyphens "
        "and underscores, first a letter or digit; rename it",
    )


@pytest.mark.parametrize("value", [60, 86400, 2147483647, None])
def test_timeouts(value: int | None) -> None:
    assert retry.timeout(value) == []


@pytest.mark.parametrize("value", [59, 0, -1])
def test_timeouts_that_are_too_short(value: int) -> None:
    _is(
        retry.timeout(value),
        "retry.timeout",
        f"timeout must be at least 60 s, got {value} s; give a longer timeout",
    )


@pytest.mark.parametrize("value", [2147483648, 1e300])
def test_timeouts_that_are_too_long(value: float) -> None:
    _is(
        retry.timeout(value),
        "retry.timeout",
        f"timeout must be at most 2147483647 s, got {value!r} s; AWS Batch takes no longer one; give less",
    )


@pytest.mark.parametrize("value", [1, 10, None])
def test_attempts(value: int | None) -> None:
    assert retry.attempts(value) == []


@pytest.mark.parametrize("value", [0, 11, 1.5, -1])
def test_attempts_that_are_wrong(value: float) -> None:
    _is(
        retry.attempts(value),
        "retry.attempts",
        f"retry_attempts must be a whole number from 1 to 10, got {value!r}; 1 means that nothing is tried again",
    )


DEFAULT_RULES = [
    {"onStatusReason": "Host EC2*", "action": "RETRY"},
    {"onStatusReason": "Task failed to start*", "action": "RETRY"},
    {"onStatusReason": "Timeout waiting for network interface provisioning*", "action": "RETRY"},
    {"onExitCode": "75", "action": "RETRY"},
    {"onReason": "*", "action": "EXIT"},
]


def test_the_default_retry_rules_are_right() -> None:
    assert retry.rules(DEFAULT_RULES) == []
    assert retry.rules([{"onExitCode": "1*", "onReason": "${Token[R]}", "action": "exit"}]) == []


def test_too_many_retry_rules() -> None:
    _is(
        retry.rules([*DEFAULT_RULES, *DEFAULT_RULES[:2]]),
        "retry.count",
        "retry rules are too many, got 7; AWS Batch takes 5; remove 2",
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            {"action": "EXIT"},
            "retry rule 1 has no condition; give one of onStatusReason, onReason, onExitCode",
        ),
        (
            {"onExit": "1", "action": "EXIT"},
            (
                "retry rule 1 has an unknown condition, got 'onExit'; allowed: onStatusReason, onReason, onExitCode; "
                "change the condition"
            ),
        ),
        (
            {"onExitCode": "1"},
            "retry rule 1 has an unknown action, got None; allowed: RETRY, EXIT; change the action",
        ),
        (
            {"onExitCode": "1", "action": "STOP"},
            "retry rule 1 has an unknown action, got 'STOP'; allowed: RETRY, EXIT; change the action",
        ),
    ],
)
def test_retry_rules_that_batch_does_not_know(rule: dict[str, str], message: str) -> None:
    _is(retry.rules([rule]), "retry.condition", message)


@pytest.mark.parametrize(
    ("key", "pattern", "allowed"),
    [
        ("onReason", "Host (EC2)*", "letters, digits, '.', ':' and spaces"),
        ("onReason", "*EC2", "letters, digits, '.', ':' and spaces"),
        ("onStatusReason", "", "letters, digits, '.', ':' and spaces"),
        ("onStatusReason", "x" * 513, "letters, digits, '.', ':' and spaces"),
        ("onExitCode", "7a", "digits"),
        ("onExitCode", "-1", "digits"),
    ],
)
def test_patterns_that_batch_refuses(key: str, pattern: str, allowed: str) -> None:
    _is(
        retry.rules([DEFAULT_RULES[0], {key: pattern, "action": "EXIT"}]),
        "retry.pattern",
        f"retry rule 2 has a pattern that AWS Batch refuses, {key} got {pattern!r}; allowed are 1 to 512 {allowed}, "
        "and '*' at the end only; change the pattern",
    )


@pytest.mark.parametrize(
    "uri",
    [
        "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:v1",
        "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/a/b_c/d-e.f@sha256:" + "0" * 64,
        "nvcr.io/nvidia/pytorch:24.10-py3",
        "localhost:5000/train",
        "python:3.11-slim",
        "train",
        "${Token[TOKEN.1]}.dkr.ecr.${Token[AWS.Region]}.${Token[AWS.URLSuffix]}/x:y",
        None,
    ],
)
def test_uris_of_images(uri: str | None) -> None:
    assert image.uri(uri) == []


@pytest.mark.parametrize(
    ("uri", "remedy"),
    [
        ("https://nvcr.io/x", "it begins with a registry, without a scheme; remove 'https://'"),
        (
            "nvcr.io/NVIDIA/PyTorch",
            "allowed is registry/repository:tag with a repository in lower case; correct it",
        ),
        (
            "examples/digits/",
            "allowed is registry/repository:tag with a repository in lower case; correct it",
        ),
        ("./digits", "allowed is registry/repository:tag with a repository in lower case; correct it"),
        ("a b", "allowed is registry/repository:tag with a repository in lower case; correct it"),
        ("x:", "allowed is registry/repository:tag with a repository in lower case; correct it"),
        ("", "allowed is registry/repository:tag with a repository in lower case; correct it"),
        ("x" * 256, "it has 256 characters, AWS Batch takes 255; shorten it"),
    ],
)
def test_what_is_no_uri_of_an_image(uri: str, remedy: str) -> None:
    _is(image.uri(uri), "image.uri", f"image is not the URI of an image, got {uri!r}; {remedy}")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nproc_per_node": 8, "master_port": 29500, "module": True, "no_python": False},
        {"nproc_per_node": None, "unheard_of": None},
    ],
)
def test_options_of_the_launcher(options: dict[str, object]) -> None:
    assert launcher.check("torch", options) == []


@pytest.mark.parametrize(
    ("options", "rule", "message"),
    [
        (
            {"nproc": 8},
            "launcher.option",
            "launcher torch has no option 'nproc'; allowed: master_port, module, no_python, nproc_per_node",
        ),
        (
            {"nproc_per_node": 0},
            "launcher.option",
            "nproc_per_node must be a whole number of at least 1, got 0; change it",
        ),
        (
            {"nproc_per_node": "8"},
            "launcher.option",
            "nproc_per_node must be a whole number of at least 1, got '8'; change it",
        ),
        (
            {"nproc_per_node": True},
            "launcher.option",
            "nproc_per_node must be a whole number of at least 1, got True; change it",
        ),
        ({"module": 1}, "launcher.option", "module must be True or False, got 1; change it"),
        (
            {"master_port": 65536},
            "launcher.port",
            "master_port must be from 1 to 65535, got 65536; change it",
        ),
        (
            {"master_port": 28800},
            "launcher.port",
            "master_port is the port of muster's rendezvous, got 28800; give another port",
        ),
    ],
)
def test_options_that_the_launcher_has_not(options: dict[str, object], rule: str, message: str) -> None:
    _is(launcher.check("torch", options), rule, message)


def test_an_unknown_launcher() -> None:
    _is(launcher.check("horovod", {}), "launcher.name", "launcher is unknown, got 'horovod'; allowed: torch")


def test_every_option_of_the_contract_is_an_argument() -> None:
    arguments = [launcher.argument_of(option) for option in TORCH.options]
    assert arguments == ["nproc_per_node", "master_port", "module", "no_python"]


def test_every_rule_has_an_anchor_of_its_own() -> None:
    anchors = [docs_anchor(rule) for rule in catalogue()]
    assert docs_anchor("nodes.max_nodes") == "nodes-max-nodes"
    assert len(set(anchors)) == len(anchors) >= 30
