"""Print constraints.txt from what is installed, without torch and without our own four."""

from __future__ import annotations

from importlib import metadata

HEADER = """\
# The versions that Muster's own tests run with. `make lock` writes this file again.
# torch is not here: it is the Makefile's TORCH, so that one can name a CPU or a CUDA build.
"""
OURS = {"muster-core", "muster-runtime", "muster-cdk", "muster-cli"}


def pins() -> list[str]:
    """Return ``name==version`` of each installed distribution, sorted by name."""
    found = {dist.metadata["Name"]: dist.version for dist in metadata.distributions()}
    names = sorted(found, key=str.lower)
    return [f"{name}=={found[name]}" for name in names if name.lower() not in {"torch", *OURS}]


if __name__ == "__main__":
    print(HEADER + "\n".join(pins()))
