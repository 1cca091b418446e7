"""The contract's own invariants."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from muster_core import contract

CONSTANTS = {name: value for name, value in vars(contract).items() if name.isupper()}
OURS = {name: value for name, value in CONSTANTS.items() if name.startswith("ENV_")}
BATCHS = {
    name: value
    for name, value in CONSTANTS.items()
    if isinstance(value, str) and value.startswith("AWS_BATCH_")
}


def _repeated(values: list[object]) -> list[object]:
    return [value for value, count in Counter(values).items() if count > 1]


def test_no_variable_has_two_constants() -> None:
    assert _repeated([*OURS.values(), *BATCHS.values()]) == []


def test_no_exit_code_has_two_meanings() -> None:
    codes = [value for name, value in CONSTANTS.items() if name.startswith("EXIT_")]
    assert _repeated(codes) == []
    assert all(0 < code < contract.SIGNAL_BASE for code in codes)


def test_no_output_has_two_meanings() -> None:
    outputs = [value for name, value in CONSTANTS.items() if name.startswith("OUTPUT_")]
    assert _repeated(outputs) == []


def test_no_outcome_has_two_meanings() -> None:
    assert _repeated([value for name, value in CONSTANTS.items() if name.startswith("OUTCOME_")]) == []


@pytest.mark.parametrize("variable", sorted([*OURS.values(), *BATCHS.values()]))
def test_every_variable_is_reserved(variable: str) -> None:
    assert variable.startswith(contract.RESERVED_PREFIXES)


def test_runtime_variables_are_all_of_musters_variables() -> None:
    assert set(contract.RUNTIME_VARIABLES) == set(OURS.values())
    assert _repeated(list(contract.RUNTIME_VARIABLES)) == []


def test_a_variable_of_muster_is_named_after_its_constant_s_prefix() -> None:
    assert all(value.startswith("MUSTER_") for value in OURS.values())


def test_ports_are_below_linux_s_ephemeral_range_and_differ() -> None:
    ports = (contract.RENDEZVOUS_PORT, contract.MASTER_PORT)
    assert all(1024 <= port < 32768 for port in ports)
    assert _repeated(list(ports)) == []


def test_the_runtime_s_command_starts_the_runtime() -> None:
    assert contract.RUNTIME_COMMAND == ("python3", "/opt/muster/muster-node")


def test_verdict_s_marker_is_one_word_and_a_space() -> None:
    marker = contract.VERDICT_MARKER
    assert marker.split() == [marker[:-1]]
    assert len(marker) < contract.VERDICT_LIMIT


def test_phases_are_named_once() -> None:
    assert _repeated(list(contract.PHASES)) == []


@pytest.mark.parametrize("name", sorted(contract.LAUNCHERS))
def test_a_launcher_is_well_formed(name: str) -> None:
    launcher = contract.LAUNCHERS[name]
    assert launcher.name == name
    assert _repeated([option.flag for option in launcher.options]) == []
    assert all(
        option.flag.startswith("--") and option.kind in {"int", "switch"} for option in launcher.options
    )
    assert all(option.help and not option.help.endswith(".") for option in launcher.options)
    assert _repeated(list(launcher.owns)) == []
    assert not any(owned.startswith(contract.RESERVED_PREFIXES) for owned in launcher.owns)


def test_torch_owns_what_torchrun_sets() -> None:
    torchrun = {
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "GROUP_RANK",
    }
    assert torchrun <= set(contract.TORCH.owns)


def test_every_variable_and_exit_code_says_what_it_means() -> None:
    body = ast.parse(Path(contract.__file__).read_text(encoding="utf-8")).body
    silent = [
        statement.targets[0].id
        for statement, after in zip(body, [*body[1:], None])
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id.startswith(("ENV_", "BATCH_", "EXIT_", "OUTPUT_"))
        and not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
    ]
    assert silent == []


LOADS = """
import sys
before = set(sys.modules)
import {module}
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(sorted(loaded - set(sys.stdlib_module_names) - {{"muster_core"}}))
"""


@pytest.mark.parametrize("module", ["muster_core.contract", "muster_core.instances", "muster_core.rules"])
def test_core_loads_the_standard_library_alone(module: str) -> None:
    command = [sys.executable, "-I", "-c", LOADS.format(module=module)]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == "[]\n"


def test_the_contract_loads_nothing_else_of_core() -> None:
    code = "import sys, muster_core.contract; print(sorted(n for n in sys.modules if n.startswith('muster_core')))"
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert loaded.stdout == "['muster_core', 'muster_core.contract']\n"
