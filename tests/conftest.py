"""Shared by all tests: no test may meet a real account."""

import os
import signal
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
UNIT = (
    "core",
    "runtime/unit",
    "cli",
    "docs/test_readme.py",
    "docs/test_pages.py",
    "packaging/test_versions.py",
)
"""Folders and files below tests/ that hold unit tests, but for what is marked slow."""


def pytest_configure() -> None:
    """Let tests send Ctrl-C also where the shell started them in the background, with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the unit tests, which ``make check`` runs."""
    folders = [REPOSITORY / "tests" / name for name in UNIT]
    for item in items:
        is_unit = any(item.path.is_relative_to(folder) for folder in folders)
        if is_unit and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.unit)


@pytest.fixture(autouse=True)
def _no_real_account(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_") and name != "AWS_CA_BUNDLE"]:
        monkeypatch.delenv(name)
    nowhere = tmp_path_factory.getbasetemp() / "no-such-file"
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(nowhere),
        "AWS_SHARED_CREDENTIALS_FILE": str(nowhere),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout's root."""
    return REPOSITORY
