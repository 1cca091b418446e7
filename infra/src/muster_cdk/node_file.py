"""The runtime as one file: a zipapp that any Python from 3.9 on runs, without an installation."""

import functools
import importlib.util
import io
import zipfile
from pathlib import Path

_SHEBANG = b"#!/usr/bin/env python3\n"
_MAIN = b"import sys\n\nfrom muster_runtime.cli import main\n\nsys.exit(main())\n"
# The earliest time that a zip archive can hold: the same file on every machine, whenever it is made.
_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_READABLE = 0o100644
_MODE = 0o755


def write_node_file(target: Path) -> None:
    """Write ``muster-node``: the installed ``muster_runtime`` and the contract that it shares.

    The same versions give the same bytes everywhere: members are sorted, stored without
    compression (compressors differ) and carry a fixed time. The packages are found, not imported.

    Args:
        target: The file to write; anybody may read and run it afterwards.

    Raises:
        ModuleNotFoundError: The runtime is not installed beside the constructs.
    """
    runtime, core = _package("muster_runtime"), _package("muster_core")
    members = {
        f"muster_runtime/{path.relative_to(runtime).as_posix()}": path for path in runtime.rglob("*.py")
    }
    members |= {f"muster_core/{name}": core / name for name in ("__init__.py", "contract.py")}
    contents = {name: path.read_bytes() for name, path in members.items()} | {"__main__.py": _MAIN}
    target.write_bytes(_archive(tuple(sorted(contents.items()))))
    target.chmod(_MODE)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"{name} is not installed; install the distribution that muster-cdk depends on"
        )
    return Path(spec.origin).parent


@functools.lru_cache(maxsize=1)
def _archive(contents: tuple[tuple[str, bytes], ...]) -> bytes:
    buffer = io.BytesIO()
    buffer.write(_SHEBANG)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in contents:
            member = zipfile.ZipInfo(name, _TIME)
            member.create_system = _UNIX
            member.external_attr = _READABLE << 16
            archive.writestr(member, content)
    return buffer.getvalue()
