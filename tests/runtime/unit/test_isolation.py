"""The runtime loads the standard library, the contract, and nothing else."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import muster_core
import muster_runtime

CHECK = """
import importlib, sys
sys.path[:0] = {paths!r}
before = set(sys.modules)
for name in {names!r}:
    importlib.import_module(name)
loaded = {{name.split(".")[0] for name in set(sys.modules) - before}}
own = {{"muster_runtime", "muster_core"}}
print(sorted(loaded - set(sys.stdlib_module_names) - own), sorted(n for n in sys.modules if n.startswith("muster_core")))
print([name for name in ("asyncio", "ssl", "logging", "dataclasses", "inspect") if name in sys.modules])
"""


def test_every_module_loads_the_standard_library_alone():
    paths = [str(Path(package.__file__).parent.parent) for package in (muster_core, muster_runtime)]
    names = [
        module.name
        for module in pkgutil.walk_packages(muster_runtime.__path__, "muster_runtime.")
        if not module.name.endswith("__main__")
    ]
    assert len(names) > 20
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", CHECK.format(paths=paths, names=names)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    foreign, heavy = done.stdout.splitlines()
    assert foreign == "[] ['muster_core', 'muster_core.contract']"
    assert heavy == "[]"
