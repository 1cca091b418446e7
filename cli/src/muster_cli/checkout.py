"""A checkout of Muster, or any CDK app: its folder, its CDK CLI, and what a demo leaves in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from muster_cli.errors import MusterError
from muster_core.contract import EXIT_CONFIG

APP_FILE = "cdk.json"
CDK = Path("node_modules", ".bin", "cdk")


@dataclass(frozen=True)
class Checkout:
    """A folder with ``cdk.json``."""

    root: Path

    @property
    def cdk(self) -> Path:
        """The CDK CLI."""
        return self.root / CDK

    @property
    def state(self) -> Path:
        """The state folder of the checkout's local cloud."""
        return self.root / ".muster" / "local"

    @property
    def logs(self) -> Path:
        """The full output of each step of the demo."""
        return self.root / ".muster" / "demo" / "logs"

    @property
    def assembly(self) -> Path:
        """What the demo's synth writes."""
        return self.root / ".muster" / "demo" / "cdk.out"


def find_checkout(start: Path) -> Checkout:
    """Return the nearest checkout at or above a folder.

    Args:
        start: Where to begin.

    Raises:
        MusterError: There is none, or its CDK CLI is not installed.
    """
    roots = [folder for folder in (start, *start.parents) if (folder / APP_FILE).is_file()]
    if not roots:
        raise MusterError(f"no {APP_FILE} in {start} or above; run this in a checkout of Muster", EXIT_CONFIG)
    checkout = Checkout(roots[0])
    if not checkout.cdk.exists():
        raise MusterError(
            f"the CDK CLI is missing: no {CDK} in {checkout.root}; run `make demo` there, or `npm ci`",
            EXIT_CONFIG,
        )
    return checkout
