"""How the hosts start: metadata service, stop timeout, what is mounted, and the user data.

Source of the user data's rules: AWS Batch user guide, "Use Amazon EC2 launch templates with AWS
Batch"; of its limit: Amazon EC2 user guide, "Run commands when you launch an EC2 instance".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional, Sequence

from muster_core.rules import mounts, volume
from muster_core.rules.problem import Number, Problem, Rules, is_token_text, is_whole, known

if TYPE_CHECKING:
    from muster_core.instances import InstanceType

MAX_HOPS = 64
"""Most network hops of an answer of the metadata service (``HttpPutResponseHopLimit`` of EC2)."""
MAX_STOP_SECONDS = 3600
"""An hour: a host that is about to end gives minutes, and a job that hangs holds its nodes so long."""
DEFAULT_STOP_SECONDS = 120
"""ECS's own 30 s save no checkpoint."""
USER_DATA_LIMIT = 16 * 1024
"""Most bytes of user data, before base64."""
BOUNDARY = "+AWS+CDK+User+Data+Separator=="
"""What separates the parts of the archive."""
PART_STARTS = ("#!", "#cloud-boothook", "#cloud-config")
"""First characters of a part of user data: a program, one for every boot, a configuration."""

_MIME = re.compile(r"^content-type:\s*multipart/", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"(?m)^\s*#.*$")
_BATCHS = re.compile(r"\bECS_(?:CLUSTER|INSTANCE_ATTRIBUTES)=")
_CONFIG = r"[\"']?/etc/ecs/ecs\.config\b"
_OVERWRITES = re.compile(
    rf"(?<!>)>\|?\s*{_CONFIG}"
    rf"|\btee\s+(?!(?:[^;&|\n]*\s)?(?:-a|--append)\s)[^;&|\n]*{_CONFIG}"
    rf"|\b(?:cp|mv|install)\s[^;&|\n]*\s{_CONFIG}[\"']?[ \t]*(?=$|[\r\n;&|#])"
    rf"|(?:-[oO]|--output)[\s=]*{_CONFIG}"
)
_WRITES_FILE = re.compile(rf"\bpath:\s*{_CONFIG}")
_APPENDS = re.compile(r"\bappend:\s*(?i:true|yes|on)\b")
_NO_TASK_NETWORK = re.compile(
    r"\bECS_ENABLE_TASK_ENI=[\"']?false\b|\bECS_AVAILABLE_LOGGING_DRIVERS=(?![^\r\n]*awslogs)[^\r\n]*"
)
_STOP = re.compile(r"\bECS_CONTAINER_STOP_TIMEOUT=")
_SYSTEMCTL = r"systemctl\s+(?:-\S+\s+)*"
_DISABLES = re.compile(_SYSTEMCTL + r"(?:disable|mask)\s+[^;&|\n]*\b(?:ecs|docker)\b")
_WAITS = re.compile(
    r"\b(?:systemctl\s+(?!(?:[^;&|\n]*\s)?--no-block\b)(?:-\S+\s+)*"
    r"(?:enable\s+--now|start|(?:try-)?(?:reload-or-)?restart|stop)"
    r"\s+(?![^;&|\n]*--no-block)[^;&|\n]*\b(?:ecs|docker)\b|service\s+(?:ecs|docker)\s+(?:start|restart|stop)\b)"
)
_LIST = re.compile(r"[\[\],\"' \t]+")

RULES: Rules = {
    "host.hop_limit": f"answers of the metadata service travel 1 to {MAX_HOPS} hops",
    "host.stop_timeout": f"the stop timeout is from 1 to {MAX_STOP_SECONDS} whole seconds",
    "host.mount_point": "a file system is mounted at a folder of its own that the system does not use",
    "host.file_system": "a file system is named so that it can be mounted",
    "host.multipart": "user data of a launch template for AWS Batch is a MIME multi-part archive",
    "host.part": "a part of the user data says by its first line what it is",
    "host.batch_settings": "user data leaves to AWS Batch the agent's settings that are its own",
    "host.agent": "user data leaves the ECS agent as multi-node jobs need it",
    "host.deadlock": "user data does not wait for docker or the ECS agent",
    "host.user_data_size": f"user data has at most {USER_DATA_LIMIT} bytes",
}


@dataclass(frozen=True)
class HostRequest:
    """How the hosts of a cluster start. A token, or None, is not judged.

    Attributes:
        root_volume_mib: Size of the root volume in MiB. Default: None.
        root_volume_type: Its kind. Default: ``gp3``.
        root_volume_iops: Its IOPS. Default: None.
        root_volume_throughput: Its throughput in MiB per second. Default: None.
        hop_limit: Hops of an answer of the metadata service. Default: None.
        stop_timeout_seconds: Seconds between SIGTERM and SIGKILL. Default: None.
        scratch: Whether the instance store is to be a file system. Default: False.
        docker_on_scratch: Whether docker's data are to lie on it. Default: False.
        mount_points: Where file systems are mounted. Default: none.
        user_data_parts: Parts of the user data that are not Muster's. Default: none.
    """

    root_volume_mib: Optional[Number] = None
    root_volume_type: str = "gp3"
    root_volume_iops: Optional[Number] = None
    root_volume_throughput: Optional[Number] = None
    hop_limit: Optional[Number] = None
    stop_timeout_seconds: Optional[Number] = None
    scratch: bool = False
    docker_on_scratch: bool = False
    mount_points: Sequence[str] = ()
    user_data_parts: Sequence[str] = ()


def check(instance: InstanceType, request: HostRequest) -> List[Problem]:
    """Everything that is certainly wrong with how the hosts start."""
    return [
        *volume.performance(
            request.root_volume_type,
            request.root_volume_mib,
            request.root_volume_iops,
            request.root_volume_throughput,
        ),
        *volume.instance_store(instance, scratch=request.scratch, docker=request.docker_on_scratch),
        *hop_limit(request.hop_limit),
        *stop_timeout(request.stop_timeout_seconds),
        *mounts.mount_points(request.mount_points),
        *(problem for text in request.user_data_parts for problem in [*part(text), *stop_setting(text)]),
    ]


def hop_limit(value: Optional[Number]) -> List[Problem]:
    """The hop limit of the metadata service is a whole number from 1 to 64."""
    number = known(value)
    if number is None or (is_whole(number) and 1 <= number <= MAX_HOPS):
        return []
    return [
        Problem(
            "host.hop_limit",
            f"metadata_hop_limit must be a whole number from 1 to {MAX_HOPS}, got {value!r}; 1 reaches the host alone, "
            "2 its containers too",
        )
    ]


def stop_timeout(seconds: Optional[Number]) -> List[Problem]:
    """The time between SIGTERM and SIGKILL is from 1 s to an hour."""
    number = known(seconds)
    if number is None or (is_whole(number) and 1 <= number <= MAX_STOP_SECONDS):
        return []
    return [
        Problem(
            "host.stop_timeout",
            f"stop_timeout must be from 1 to {MAX_STOP_SECONDS} s, got {seconds!r} s; a container that is told to end is "
            "killed after it; give what a checkpoint takes",
        )
    ]


def multipart(body: Optional[str]) -> List[Problem]:
    """The user data of a template that was made elsewhere; None, or a token, where it cannot be seen."""
    if not body or (is_token_text(body) and not body.startswith(PART_STARTS)) or _MIME.search(body):
        return []
    return [Problem("host.multipart", _no_mime(body))]


def part(text: str, where: str = "user_data_parts") -> List[Problem]:
    """A part of the user data is one of its kinds, and leaves the agent and its settings alone."""
    if is_token_text(text) and not text.startswith(PART_STARTS):
        return []
    found = [] if text.startswith(PART_STARTS) else [Problem("host.part", _no_part(where, text))]
    if text.startswith("#!") and text.partition("\n")[0].endswith("\r"):
        found.append(Problem("host.part", _windows(where, text)))
    if any(line.startswith(f"--{BOUNDARY}") for line in text.splitlines()):
        found.append(Problem("host.part", _boundary(where)))
    return found + code(text, where)


def code(text: str, where: str) -> List[Problem]:
    """What a program or configuration does leaves the agent, its settings and its start alone.

    Args:
        text: The program, or all of them in one text.
        where: What the person wrote it in.
    """
    text = _COMMENT.sub("", text)
    plain = _LIST.sub(" ", text)  # ["systemctl", "restart", "ecs"] of a configuration or a program
    writes = None if _APPENDS.search(text) else _WRITES_FILE.search(text)
    checks = (
        ("host.batch_settings", _BATCHS.search(text), _batchs),
        ("host.batch_settings", _OVERWRITES.search(text) or writes, _batchs),
        ("host.agent", _NO_TASK_NETWORK.search(text), _agent),
        ("host.agent", _DISABLES.search(plain), _disables),
        ("host.deadlock", _WAITS.search(text) or _WAITS.search(plain), _waits),
    )
    return [Problem(rule, say(where, match.group(0))) for rule, match, say in checks if match]


def stop_setting(text: str, where: str = "user_data_parts") -> List[Problem]:
    """A part beside Muster's own leaves the stop timeout to it, which tells the job's runtime the same.

    Args:
        text: The part.
        where: What the person wrote it in. Default: ``user_data_parts``.
    """
    match = _STOP.search(_COMMENT.sub("", text))
    return [Problem("host.agent", _stop(where, match.group(0)))] if match else []


def size(body: str) -> List[Problem]:
    """The whole user data, parts and all, is within EC2's limit; what is known at deployment counts as it stands."""
    length = len(body.encode())
    if length <= USER_DATA_LIMIT:
        return []
    return [
        Problem(
            "host.user_data_size",
            f"user data is too large, got {length} bytes; EC2 takes {USER_DATA_LIMIT}; shorten user_data_parts, or "
            "fetch long programs from S3",
        )
    ]


def _no_mime(body: str) -> str:
    return (
        f"user data of the launch template is no MIME multi-part archive, got {_line(body)!r}; AWS Batch merges its own "
        "part in, and the environment would become INVALID; use ec2.MultipartUserData"
    )


def _no_part(where: str, text: str) -> str:
    return (
        f"{where} has a part of no known kind, got {_line(text)!r}; the first line begins with one of "
        f"{', '.join(PART_STARTS)}; add it"
    )


def _batchs(where: str, text: str) -> str:
    return (
        f"{where} has a part that takes AWS Batch's settings from it, got {text!r}; the host would not join the "
        "environment; remove it, and append other settings to /etc/ecs/ecs.config by >>"
    )


def _agent(where: str, text: str) -> str:
    return (
        f"{where} has a part that takes from the ECS agent what multi-node jobs need, got {text!r}; no job would start; "
        "remove it"
    )


def _stop(where: str, text: str) -> str:
    return (
        f"{where} has a part that sets the time between SIGTERM and SIGKILL, got {text!r}; the job's runtime would count by "
        "another; remove it, and give stop_timeout"
    )


def _disables(where: str, text: str) -> str:
    return (
        f"{where} has a part that keeps docker or the ECS agent from starting, got {text!r}; the host would not join the "
        "environment; remove it"
    )


def _windows(where: str, text: str) -> str:
    return (
        f"{where} has a program whose first line ends as on Windows, got {_line(text)!r}; the host would look for a program "
        "of that name; end lines by a line feed alone"
    )


def _boundary(where: str) -> str:
    return (
        f"{where} has a part with a line that ends parts of the archive, got '--{BOUNDARY}'; the rest of it would be lost; "
        "change the line"
    )


def _waits(where: str, text: str) -> str:
    return (
        f"{where} has a part that waits for docker or the ECS agent, got {text!r}; both start after the user data, and "
        "waiting for them can deadlock the boot; remove it, or add --no-block"
    )


def _line(text: str) -> str:
    return text.lstrip().partition("\n")[0][:80]
