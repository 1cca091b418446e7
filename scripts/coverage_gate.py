"""Fail when the tests cover less of a distribution than its floor."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FLOORS = {"muster_core": 90.0, "muster_runtime": 90.0, "muster_cdk": 90.0, "muster_cli": 80.0}
"""Percent of lines and branches."""


def measured() -> dict[str, tuple[int, int]]:
    """Return covered and possible lines and branches of each distribution."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        subprocess.run([sys.executable, "-m", "coverage", "combine", "-q"], check=False)
        subprocess.run([sys.executable, "-m", "coverage", "json", "-q", "-o", str(report)], check=True)
        files = json.loads(report.read_text())["files"]
    totals = dict.fromkeys(FLOORS, (0, 0))
    for name, entry in files.items():
        package = next((package for package in FLOORS if f"/{package}/" in f"/{name}"), None)
        if package is not None:
            covered, possible = totals[package]
            summary = entry["summary"]
            totals[package] = (
                covered + summary["covered_lines"] + summary["covered_branches"],
                possible + summary["num_statements"] + summary["num_branches"],
            )
    return totals


def main() -> int:
    """Print a line for each distribution; return 1 when one is below its floor."""
    failed = 0
    for package, (covered, possible) in measured().items():
        percent = 100.0 * covered / possible if possible else 0.0
        low = percent < FLOORS[package]
        failed |= low
        print(
            f"coverage of {package}: {percent:.1f} %" + (f", the floor is {FLOORS[package]} %" if low else "")
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
