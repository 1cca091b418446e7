"""User data of the hosts: MIME parts out of the files beside this module, as Batch merges its own part in.

Each file runs as it stands; what differs from cluster to cluster is handed to it by variables, which are
written after its first line. Boothooks run at every boot before docker, shell parts once after all else.
"""

from __future__ import annotations

import base64
import re
import shlex
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from muster_cdk.storage import SCRATCH, SharedFileSystem
from muster_core.rules import Problem, host
from muster_core.rules.host import BOUNDARY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BOOTHOOK = 'text/cloud-boothook; charset="us-ascii"'
SHELL = 'text/x-shellscript; charset="us-ascii"'
CLOUD_CONFIG = 'text/cloud-config; charset="us-ascii"'
DOCKER_ROOT = f"{SCRATCH}/docker"
SPARE_SECONDS = 60
"""What the watcher adds to the stop timeout before a known end: the job's last words, and the polling."""

_COMMENT = re.compile(r"(?m)^[ \t]*#(?!!).*\n")


@dataclass(frozen=True, kw_only=True)
class HostSettings:
    """What the hosts of a cluster are told.

    Attributes:
        stop_timeout: Whole seconds between SIGTERM and SIGKILL of a container.
        scratch: Whether the instance store is a file system. Default: False.
        docker_on_scratch: Whether docker's data lie on it. Default: False.
        file_systems: File systems to mount. Default: none.
        ending: When the instances end, in seconds since 1970. Default: None.
        parts: Parts that are not Muster's. Default: none.
    """

    stop_timeout: int
    scratch: bool = False
    docker_on_scratch: bool = False
    file_systems: Sequence[SharedFileSystem] = ()
    ending: int | None = None
    parts: Sequence[str] = field(default=())

    @property
    def mount_points(self) -> list[str]:
        """Everything that must be mounted before the host joins."""
        return [*([SCRATCH] if self.scratch else []), *(each.mount_point for each in self.file_systems)]


def render(settings: HostSettings) -> str:
    """The MIME archive. Batch would make an environment with a bare script INVALID.

    Args:
        settings: What the hosts are told.
    """
    return archive(parts(settings))


def archive(bodies: Sequence[tuple[str, str]]) -> str:
    """Bodies as a MIME archive: as ``ec2.MultipartUserData`` renders it, without a message to CDK for each.

    Args:
        bodies: Content type and body of each part.
    """
    head = [f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"', "MIME-Version: 1.0", ""]
    lines = [line for kind, body in bodies for line in (f"--{BOUNDARY}", f"Content-Type: {kind}", "", body)]
    return "\n".join([*head, *lines, f"--{BOUNDARY}--", ""])


def parts(settings: HostSettings) -> list[tuple[str, str]]:
    """The parts: content type and body, in their order.

    The gates come before what they wait for: a part that fails leaves the host outside.

    Args:
        settings: What the hosts are told.
    """
    stop = str(settings.stop_timeout)
    boothooks = [_part("ecs_config.sh", {"HOST_STOP_TIMEOUT": stop})]
    if settings.mount_points:
        boothooks.append(_part("gates.sh", _gates(settings)))
    if settings.scratch:
        boothooks.append(_part("scratch.sh", {"HOST_SCRATCH": SCRATCH}))
    if settings.docker_on_scratch:
        boothooks.append(_part("docker_root.sh", {"HOST_DOCKER_ROOT": DOCKER_ROOT}))
    if settings.file_systems:
        boothooks.append(
            _part("mounts.sh", {"HOST_MOUNTS": "\n".join(each.line for each in settings.file_systems)})
        )
    end = {} if settings.ending is None else {"HOST_END": str(settings.ending)}
    boothooks.append(_part("watch.py", {"HOST_LEAD": str(settings.stop_timeout + SPARE_SECONDS), **end}))
    return [
        *((BOOTHOOK, body) for body in boothooks),
        (SHELL, _part("host_log.sh", {})),
        *((_kind(text), text) for text in settings.parts),
    ]


def to_parts(values: Sequence[str | ec2.UserData]) -> list[str]:
    """Parts of the user's as texts.

    Args:
        values: Texts, or user data of CDK for Linux.

    Raises:
        TypeError: A value is neither.
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise TypeError(
            f"user_data_parts must be a list of str or ec2.UserData, got {type(values).__name__} {values!r}; change it"
        )
    return [_text(value, index) for index, value in enumerate(values)]


def to_file_systems(values: Sequence[SharedFileSystem]) -> list[SharedFileSystem]:
    """File systems of the user's as a list.

    Args:
        values: The file systems.

    Raises:
        TypeError: A value is none.
    """
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if not isinstance(value, SharedFileSystem):
            raise TypeError(
                f"file_systems must be a list of SharedFileSystem, got {type(value).__name__} {value!r}; "
                "use SharedFileSystem.lustre(...) or .efs(...)"
            )
    return list(values)


def check_imported(template: ec2.ILaunchTemplate | ec2.CfnLaunchTemplate) -> list[Problem]:
    """What is wrong with the user data of a template that was made elsewhere, as far as it can be seen.

    Args:
        template: The template, made in this app or imported.
    """
    body = _body(template)
    return [*host.multipart(body), *host.code(body or "", "user data of the launch template")]


def _body(template: ec2.ILaunchTemplate | ec2.CfnLaunchTemplate) -> str | None:
    if isinstance(template, ec2.LaunchTemplate):
        return template.user_data.render() if template.user_data is not None else None
    if not isinstance(template, ec2.CfnLaunchTemplate):
        return None
    data = cdk.Stack.of(template).resolve(template.launch_template_data)
    found = data.get("userData")
    if isinstance(found, dict):
        found = found.get("Fn::Base64")
        if isinstance(found, dict):  # a text with values of the deployment in it
            found = found.get("Fn::Sub")
            found = found[0] if isinstance(found, list) else found
        return found if isinstance(found, str) else None
    return _decoded(found) if isinstance(found, str) else None


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        return None


def _text(value: str | ec2.UserData, index: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, ec2.UserData):
        return value.render()
    raise TypeError(
        f"user_data_parts[{index}] must be a str or an ec2.UserData, got {type(value).__name__} {value!r}; change it"
    )


def _gates(settings: HostSettings) -> dict[str, str]:
    docker = {"HOST_DOCKER_GATE": SCRATCH} if settings.docker_on_scratch else {}
    return {"HOST_GATES": " ".join(settings.mount_points), **docker}


def _part(name: str, variables: Mapping[str, str]) -> str:
    """A file without its comments, as user data has little room, and with its variables."""
    text = files("muster_cdk").joinpath(f"files/{name}").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    setting = _python_setting if name.endswith(".py") else _shell_setting
    return "\n".join([first, *setting(variables), _COMMENT.sub("", rest)])


def _shell_setting(variables: Mapping[str, str]) -> list[str]:
    return [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]


def _python_setting(variables: Mapping[str, str]) -> list[str]:
    return [f"import os; os.environ.update({dict(variables)!r})"] if variables else []


def _kind(text: str) -> str:
    if text.startswith("#cloud-boothook"):
        return BOOTHOOK
    return CLOUD_CONFIG if text.startswith("#cloud-config") else SHELL
