"""One version for all four distributions, and one list of pins."""

import importlib
import re
from pathlib import Path

import pytest
import tomllib

DISTRIBUTIONS = {
    "core": "muster_core",
    "runtime": "muster_runtime",
    "infra": "muster_cdk",
    "cli": "muster_cli",
}


def _project(repository: Path, folder: str) -> dict[str, object]:
    return tomllib.loads((repository / folder / "pyproject.toml").read_text())["project"]


def test_the_four_distributions_share_one_version(repository: Path) -> None:
    versions = {folder: _project(repository, folder)["version"] for folder in DISTRIBUTIONS}
    packages = {folder: importlib.import_module(name).__version__ for folder, name in DISTRIBUTIONS.items()}
    assert versions == packages
    assert len(set(versions.values())) == 1


@pytest.mark.parametrize("folder", DISTRIBUTIONS)
def test_they_require_each_other_at_that_version(repository: Path, folder: str) -> None:
    project = _project(repository, folder)
    lists = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    ours = [text for texts in lists for text in texts if text.startswith("muster-")]
    assert all(text.endswith(f"=={project['version']}") for text in ours), ours


def test_the_runtime_and_core_depend_on_nothing_else(repository: Path) -> None:
    assert _project(repository, "core")["dependencies"] == []
    assert [re.split("[=<>]", text)[0] for text in _project(repository, "runtime")["dependencies"]] == [
        "muster-core"
    ]


def test_the_changelog_knows_the_version_or_is_unreleased(repository: Path) -> None:
    text = (repository / "CHANGELOG.md").read_text()
    version = _project(repository, "core")["version"]
    assert "## [Unreleased]" in text or f"## [{version}]" in text


def test_torch_is_not_pinned_as_it_is_the_makefiles_variable(repository: Path) -> None:
    pins = (repository / "constraints.txt").read_text().splitlines()
    assert [pin for pin in pins if pin.startswith("torch")] == []
    assert "TORCH ?= torch==" in (repository / "Makefile").read_text()
