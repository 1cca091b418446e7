"""Names, paths and times of the local cloud."""

from __future__ import annotations

from pathlib import Path

ACCOUNT = "123456789012"
"""The local cloud's only account: moto's default."""
REGION = "us-east-1"
"""The local cloud's region, whatever the caller's own is."""
HOST = "127.0.0.1"
"""The address that the endpoint listens on."""

DUMMY_ACCESS_KEY = "muster-local"
"""Static credentials that no real account knows."""
DUMMY_SECRET_KEY = "muster-local"  # noqa: S105  a dummy, on purpose

STATE_VARIABLE = "MUSTER_LOCAL_STATE"
"""Tells a child process of the local cloud (the image shim) where the state folder is."""
DEFAULT_STATE = (".muster", "local")
"""The state folder, below the current directory."""

NAMESPACES = Path("/run/netns")
"""Where `ip` keeps the names of network namespaces on Linux."""


def namespace_prefix(tag: str) -> str:
    """Return what the names of a cloud's namespaces begin with."""
    return f"muster-{tag}-"


HEALTH_PATH = "/muster/health"
"""Answers 200 and a JSON object once the fills are in and the executor is attached."""

START_TIMEOUT = 60.0
"""Seconds that `up` waits for the endpoint to answer. It takes about 2 on two cores."""
STOP_TIMEOUT = 45.0
"""Seconds that `down` waits for the server to end its jobs (their grace is 30 s), before SIGKILL."""
POLL_INTERVAL = 0.02
"""Seconds between two looks at something that is being waited for."""
