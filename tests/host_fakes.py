"""A host to try user data on: fake programs on its path, a folder as its root."""

from __future__ import annotations

import email
import json
import shlex
import subprocess
import sys
from pathlib import Path

from infra_synth import REPOSITORY

from muster_cdk.user_data import render

FAKE = REPOSITORY / "tests" / "infra" / "host" / "fake.py"
EPHEMERAL, EBS = "Amazon EC2 NVMe Instance Storage", "Amazon Elastic Block Store"
NAMES = (
    "lsblk",
    "mdadm",
    "blkid",
    "mkfs.xfs",
    "mount",
    "mountpoint",
    "modprobe",
    "dnf",
    "docker",
    "systemctl",
    "udevadm",
)


class Host:
    """A host with disks, and a folder as its root."""

    def __init__(self, folder, disks=4):
        self.root, self.state, self.bin = folder / "root", folder / "state.json", folder / "bin"
        for each in (self.root, self.bin):
            each.mkdir()
        for name in NAMES:
            (self.bin / name).symlink_to(FAKE)
        (self.bin / "mount.efs").write_text("#!/bin/sh\n")
        (self.bin / "mount.efs").chmod(0o755)
        names = ["/dev/nvme0n1", *(f"/dev/nvme{index}n1" for index in range(1, disks + 1)), "/dev/nvme10n1"]
        models = [EBS, *[EPHEMERAL] * disks, EBS]
        blank = {
            name: {"model": model, "array": None, "label": None}
            for name, model in zip(names, models, strict=True)
        }
        self.write(
            {"disks": blank, "active": {}, "mounts": {}, "unreachable": "", "modules": [], "containers": {}}
        )

    @property
    def is_(self):
        return json.loads(self.state.read_text())

    def write(self, state):
        new = self.state.with_suffix(".new")
        new.write_text(json.dumps(state))
        new.replace(self.state)  # a program may be reading it

    def change(self, **more):
        self.write({**self.is_, **more})

    @property
    def environment(self):
        return {
            "PATH": f"{self.bin}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOST_ROOT": str(self.root),
            "FAKE_STATE": str(self.state),
        }

    def run(self, command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)

    def boot(self, settings):
        """Run each part for every boot; return the calls of the host's programs, and the parts' exit codes."""
        self.state.with_suffix(".calls").unlink(missing_ok=True)
        message, codes = email.message_from_string(render(settings)), []
        for index, part in enumerate(message.get_payload()):
            if part.get_content_type() == "text/cloud-boothook":
                program = self.root.parent / f"part-{index}"
                program.write_text(part.get_payload())
                program.chmod(0o755)
                codes.append(self.run([program]).returncode)
        return self.calls(), codes

    def calls(self):
        lines = self.state.with_suffix(".calls").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def reboot(self, array=None):
        """Mounts and arrays are gone; the kernel may have joined an array again under a name of its own."""
        disks = next(iter(self.is_["active"].values()), None)
        self.change(mounts={}, active={array: disks} if array else {})

    def stop_and_start(self):
        blank = {name: {**disk, "array": None, "label": None} for name, disk in self.is_["disks"].items()}
        self.change(mounts={}, active={}, disks=blank)

    def read(self, path):
        return (self.root / path).read_text()

    def start(self, unit):
        """What systemd would do with a unit that was installed."""
        (line,) = [
            each
            for each in self.read(f"etc/systemd/system/{unit}").splitlines()
            if each.startswith("ExecStart=")
        ]
        return self.run(shlex.split(line.removeprefix("ExecStart=")))
