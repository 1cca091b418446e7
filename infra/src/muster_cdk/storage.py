"""What the hosts mount: file systems that all nodes share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import aws_ec2 as ec2

from muster_cdk.coercion import to_part, to_text
from muster_core.rules import Problem, mounts

if TYPE_CHECKING:
    from aws_cdk import aws_efs as efs
    from aws_cdk import aws_fsx as fsx
    from aws_cdk import aws_iam as iam

SCRATCH = "/scratch"
"""Where the instance store is mounted."""
LUSTRE, EFS = "lustre", "efs"
LUSTRE_OPTIONS = "noatime,flock,_netdev"
EFS_OPTIONS = "tls,iam,_netdev"


@dataclass(frozen=True)
class SharedFileSystem:
    """A file system that every host mounts: made by one of its methods, given to a cluster.

    A host that has not mounted it does not join the cluster.

    Attributes:
        kind: ``lustre`` or ``efs``.
        source: What is mounted, in the client's words.
        mount_point: Where it is mounted on the host.
        options: Options of the mount.
        file_system: The construct, which lets the hosts in; None where only names are known.
    """

    kind: str
    source: str
    mount_point: str
    options: str
    file_system: fsx.LustreFileSystem | efs.IFileSystem | None = None

    @classmethod
    def lustre(
        cls,
        *,
        file_system: fsx.LustreFileSystem | None = None,
        dns_name: str | None = None,
        mount_name: str | None = None,
        mount_point: str = "/fsx",
        options: str = LUSTRE_OPTIONS,
    ) -> SharedFileSystem:
        """A file system of FSx for Lustre.

        Args:
            file_system: The construct; its group then admits the hosts. Default: - ``dns_name`` and
                ``mount_name`` say what to mount, and its group admits the hosts already.
            dns_name: DNS name of the file system. Default: - the construct's.
            mount_name: Mount name of the file system. Default: - the construct's.
            mount_point: Where it is mounted on the host. Default: ``/fsx``.
            options: Options of the mount. Default: ``noatime,flock,_netdev``.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: Neither the construct nor both names are given, or a name is none.
        """
        if file_system is not None:
            to_part(file_system, "mount_name", "file_system", "an fsx.LustreFileSystem")
        dns = file_system.dns_name if file_system is not None else dns_name
        name = file_system.mount_name if file_system is not None else mount_name
        if dns is None or name is None:
            raise ValueError(
                f"file_system is not set, got dns_name {dns_name!r} and mount_name {mount_name!r}; give it, or both names"
            )
        dns, name = to_text(dns, "dns_name"), to_text(name, "mount_name")
        _refuse(mounts.lustre(dns, name))
        return cls(
            LUSTRE,
            f"{dns}@tcp:/{name}",
            to_text(mount_point, "mount_point"),
            to_text(options, "options"),
            file_system,
        )

    @classmethod
    def efs(
        cls,
        file_system: efs.IFileSystem | str,
        *,
        mount_point: str = "/efs",
        options: str = EFS_OPTIONS,
    ) -> SharedFileSystem:
        """A file system of EFS.

        Args:
            file_system: The construct, whose group and policy then admit the hosts, or its id.
            mount_point: Where it is mounted on the host. Default: ``/efs``.
            options: Options of the mount. Default: ``tls,iam,_netdev``.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: The id is none.
        """
        if isinstance(file_system, str):
            identifier, construct = file_system, None
        else:
            to_part(file_system, "file_system_id", "file_system", "an efs.FileSystem or its id")
            identifier, construct = file_system.file_system_id, file_system
        _refuse(mounts.efs(identifier))
        return cls(
            EFS,
            f"{identifier}:/",
            to_text(mount_point, "mount_point"),
            to_text(options, "options"),
            construct,
        )

    @property
    def line(self) -> str:
        """What the hosts read: kind, source, mount point, options."""
        return f"{self.kind} {self.source} {self.mount_point} {self.options}"

    def admit(self, group: ec2.ISecurityGroup, role: iam.IRole) -> None:
        """Let the hosts in, as far as the construct is known.

        Args:
            group: Group of the hosts.
            role: Role of the hosts.
        """
        if self.file_system is None:
            return
        ports = ec2.Port.tcp_range(988, 1023) if self.kind == LUSTRE else ec2.Port.tcp(2049)
        # From the hosts' side: the rules stand in their stack, which may know the file system's, not the reverse.
        group.connections.allow_to(self.file_system, ports, "Hosts of a GPU cluster")
        if self.kind == EFS:
            self.file_system.grant_read_write(role)  # type: ignore[union-attr]


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise ValueError("\n".join(problem.message for problem in problems))
