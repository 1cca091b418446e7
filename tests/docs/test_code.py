"""The Python on the pages runs."""

import shutil
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

PAGES = (
    "README.md",
    "docs/index.md",
    "docs/cluster.md",
    "docs/local-cloud.md",
    "docs/architecture.md",
    "docs/verdict.md",
    "docs/instances.md",
    "docs/hosts.md",
    "docs/warnings.md",
    "docs/nag.md",
    "docs/monitoring.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run(
    page: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(repository / "examples" / "digits", tmp_path / "training")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CDK_VALIDATION", "false")
    document = Sybil([PythonCodeBlockParser()]).parse(repository / page)
    for example in document.examples():
        example.evaluate()


def test_the_readme_has_a_job_to_run(repository: Path) -> None:
    document = Sybil([PythonCodeBlockParser()]).parse(repository / "README.md")
    assert len(list(document.examples())) == 1
