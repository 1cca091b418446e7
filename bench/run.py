"""Run every benchmark of this folder, or the ones that are named: ``python bench/run.py runtime_start``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def benchmarks() -> list[str]:
    """Return the names of the benchmarks here."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.name != "run.py")


def main(names: list[str]) -> int:
    """Run them one after the other, as they measure time; return 1 when one failed."""
    unknown = sorted(set(names) - set(benchmarks()))
    if unknown:
        print(
            f"no such benchmark: {', '.join(unknown)}; there are {', '.join(benchmarks())}", file=sys.stderr
        )
        return 2
    (HERE / "out").mkdir(exist_ok=True)
    done = [
        subprocess.run([sys.executable, HERE / f"{name}.py"], check=False) for name in names or benchmarks()
    ]
    return int(any(result.returncode for result in done))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
