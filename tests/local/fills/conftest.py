"""An account in this process: moto with the fills."""

from __future__ import annotations

from typing import TYPE_CHECKING

import local_deploy
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def account() -> Iterator[None]:
    """A fresh account, bootstrapped."""
    with local_deploy.local_account():
        yield
