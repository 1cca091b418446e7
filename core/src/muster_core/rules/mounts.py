"""What the hosts mount, and where: rules of ``host``.

Source of the shapes: ``FileSystemId`` of the Amazon EFS API, ``MountName`` of the Amazon FSx API.
"""

from __future__ import annotations

import re
from typing import List, Sequence

from muster_core.rules.problem import Problem, is_token_text

TAKEN_PATHS = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/opt/amazon",
    "/opt/aws",
    "/opt/muster",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/run",
)
"""Folders of the host, or of a job's container, where what is mounted would hide what must be there."""

_PATH = re.compile(r"(/[A-Za-z0-9._-]+)+")
_DOTS = re.compile(r"/\.{1,2}(?:/|$)")
_EFS = re.compile(r"fs-[0-9a-f]{8,40}")
_DNS = re.compile(r"[A-Za-z0-9.-]+")
_MOUNT_NAME = re.compile(r"[A-Za-z0-9_-]{1,8}")


def mount_points(paths: Sequence[str]) -> List[Problem]:
    """Each mount point is an absolute path of its own, and hides no folder of the system."""
    found = []
    for index, path in enumerate(paths):
        if is_token_text(path):
            continue
        taken = next((each for each in TAKEN_PATHS if _within(path, each) or _within(each, path)), None)
        if (not _PATH.fullmatch(path) and path != "/") or _DOTS.search(path):
            found.append(Problem("host.mount_point", _no_mount_point(path)))
        elif taken is not None:
            found.append(Problem("host.mount_point", _hides(path, taken)))
        elif path in paths[:index]:
            found.append(Problem("host.mount_point", _twice(path)))
    return found


def efs(identifier: str) -> List[Problem]:
    """A file system of EFS goes by its id."""
    if is_token_text(identifier) or _EFS.fullmatch(identifier):
        return []
    text = (
        f"file_system is not the id of an EFS file system, got {identifier!r}; an id is such as "
        "'fs-0123456789abcdef0'; correct it, or give the construct"
    )
    return [Problem("host.file_system", text)]


def lustre(dns_name: str, mount_name: str) -> List[Problem]:
    """A file system of FSx for Lustre goes by its DNS name and its mount name."""
    return [
        *_named("dns_name", dns_name, _DNS, "'fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com'"),
        *_named("mount_name", mount_name, _MOUNT_NAME, "'abcdefgh'"),
    ]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _named(argument: str, value: str, shape: re.Pattern[str], such_as: str) -> List[Problem]:
    if is_token_text(value) or shape.fullmatch(value):
        return []
    text = f"{argument} is none of an FSx for Lustre file system, got {value!r}; one is such as {such_as}; correct it"
    return [Problem("host.file_system", text)]


def _no_mount_point(path: str) -> str:
    return (
        f"mount point is no folder of its own, got {path!r}; allowed is an absolute path of letters, digits, '.', '_' "
        "and '-' that the system does not use, such as '/fsx'; change it"
    )


def _hides(path: str, taken: str) -> str:
    return (
        f"mount point is where the system has its own files, got {path!r}; hosts and containers do not work without what "
        f"is in {taken!r}; use a folder such as '/fsx'"
    )


def _twice(path: str) -> str:
    return f"mount point is given twice, got {path!r}; each file system has its own; change one"
