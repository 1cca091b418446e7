#!/usr/bin/env -S python3 -IS
"""A host's programs, by the name that each is called by: disks, arrays and mounts are a file of JSON."""

import json
import os
import sys
from pathlib import Path

STATE = Path(os.environ["FAKE_STATE"])
EPHEMERAL = "Amazon EC2 NVMe Instance Storage"


def lsblk(host, arguments):
    if "--nodeps" in arguments:
        return "".join(f"{name} {disk['model']}\n" for name, disk in host["disks"].items())
    disk = arguments[-1]
    active = [name for name, disks in host["active"].items() if disk in disks]
    return "".join([f"{disk} disk\n", *(f"{name} raid0\n" for name in active)])


def mdadm(host, arguments):
    device = arguments[arguments.index("--assemble" if "--assemble" in arguments else "--create") + 1]
    disks = [each for each in arguments if each in host["disks"]]
    assert all(host["disks"][each]["model"] == EPHEMERAL for each in disks)
    if "--create" in arguments:
        for each in disks:
            host["disks"][each].update(array=disks, label=None)
    elif any(host["disks"][each]["array"] != disks for each in disks):
        sys.exit(1)
    host["active"][device] = disks


def disk_of(host, device):
    """The disk that holds what is known of a device: an array's first, else itself."""
    return host["disks"][host["active"].get(device, [device])[0]]


def blkid(host, arguments):
    label = disk_of(host, arguments[-1])["label"]
    return f"{label}\n" if label else sys.exit(2)


def mkfs(host, arguments):
    disk = disk_of(host, arguments[-1])
    assert disk["model"] == EPHEMERAL
    disk["label"] = arguments[arguments.index("-L") + 1]


def mount(host, arguments):
    if arguments[arguments.index("-t") + 1 if "-t" in arguments else 0] in host["unreachable"].split():
        sys.exit(32)
    host["mounts"][arguments[-1]] = arguments[-2]


def mountpoint(host, arguments):
    sys.exit(arguments[-1] not in host["mounts"])


def modprobe(host, arguments):
    sys.exit(arguments[0] not in host["modules"])


def dnf(host, arguments):
    host["modules"].append(arguments[-1].removesuffix("-client"))


def docker(host, arguments):
    if arguments[0] == "ps":
        assert "label=com.amazonaws.ecs.task-arn" in arguments
        return "".join(f"{name} {label}\n" for name, label in host["containers"].items())
    return None


def nothing(host, arguments):
    return None


PROGRAMS = {
    "lsblk": lsblk,
    "mdadm": mdadm,
    "blkid": blkid,
    "mkfs.xfs": mkfs,
    "mount": mount,
    "mountpoint": mountpoint,
    "modprobe": modprobe,
    "dnf": dnf,
    "docker": docker,
    "systemctl": nothing,
    "udevadm": nothing,
}


def main():
    name, arguments = Path(sys.argv[0]).name, sys.argv[1:]
    before = STATE.read_text()
    host = json.loads(before)
    with STATE.with_suffix(".calls").open("a") as calls:
        calls.write(json.dumps([name, *arguments]) + "\n")
    try:
        sys.stdout.write(PROGRAMS[name](host, arguments) or "")
    finally:
        if json.dumps(host) != before:  # a test may have written meanwhile
            STATE.write_text(json.dumps(host))


if __name__ == "__main__":
    main()
