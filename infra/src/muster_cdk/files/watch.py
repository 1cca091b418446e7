#!/usr/bin/python3
"""Ends the job on a host before EC2 ends the host.

As a boothook this installs itself as a unit and starts that without waiting. As the unit (`run`) it
asks the metadata service whether the instance is about to end, and then sends SIGTERM to the job's
containers: once to each, also to those that start later.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path

ROOT = os.environ.get("HOST_ROOT", "")
IMDS = os.environ.get("HOST_IMDS", "http://169.254.169.254") + "/latest/"
LEAD = float(os.environ.get("HOST_LEAD", "180"))
"""Seconds before a known end at which the job is told: its stop timeout, and some to spare."""
END = float(os.environ.get("HOST_END", "inf"))
"""When EC2 begins to end the instances of a Capacity Block, in seconds since 1970; no metadata says it."""
POLL = float(os.environ.get("HOST_POLL", "5"))

PROGRAM = Path(ROOT + "/usr/local/libexec/muster/watch")
UNIT = Path(ROOT + "/etc/systemd/system/muster-watch.service")
UNIT_TEXT = f"""[Unit]
Description=Tells a job of Muster that its host is about to end
After=docker.service

[Service]
ExecStart=/usr/bin/python3 {PROGRAM} run
Restart=always
RestartSec=5
"""
TASK = "com.amazonaws.ecs.task-arn"
NAME = "com.amazonaws.ecs.container-name"
# Never by a proxy: the metadata service is on the host's own link.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def install() -> None:
    """Install the unit and start it without waiting."""
    for path in (PROGRAM, UNIT):
        path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(__file__, PROGRAM)
    UNIT.write_text(UNIT_TEXT)
    for command in (["daemon-reload"], ["start", "--no-block", UNIT.name]):
        subprocess.run(["systemctl", *command], check=True)


def ask(path: str, header: str, value: str, method: str = "GET") -> str:
    """What the metadata service says; nothing where it has nothing to say."""
    headers = {f"X-aws-ec2-metadata-{header}": value}
    request = urllib.request.Request(IMDS + path, method=method, headers=headers)  # noqa: S310  a constant or a test's
    try:
        with OPENER.open(request, timeout=3) as reply:
            return str(reply.read().decode())
    except OSError:  # also urllib's errors: 404 where nothing is planned
        return ""


def end_of_instance() -> float:
    """When the instance ends, as far as is known: the earliest of what is planned."""
    token = ask("api/token", "token-ttl-seconds", "60", "PUT")
    notice = ask("meta-data/spot/instance-action", "token", token)  # two minutes at most: now
    events = json.loads(ask("meta-data/events/maintenance/scheduled", "token", token) or "[]")
    active = [event["NotBefore"] for event in events if event.get("State") == "active"]
    times: list[float] = [parsedate_to_datetime(text).timestamp() for text in active]
    return 0.0 if notice else min([END, *times])


def containers() -> set[str]:
    """The job's containers; the agent's own and its pause containers are none."""
    form = f'{{{{.ID}}}} {{{{.Label "{NAME}"}}}}'
    command = ["docker", "ps", "--no-trunc", "--filter", f"label={TASK}", "--format", form]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True).stdout
    rows = [line.partition(" ") for line in found.splitlines()]
    return {identifier for identifier, _, name in rows if not name.startswith("~internal~")}


def run() -> None:
    """Watch until the host ends."""
    told: set[str] = set()
    while True:
        try:
            end = end_of_instance()
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            say(f"the metadata service says what nobody understands: {error!r}")
            end = END
        if end - time.time() <= LEAD:
            for container in sorted(containers() - told):
                say(f"the instance is about to end: SIGTERM to {container[:12]}")
                subprocess.run(["docker", "kill", "--signal", "TERM", container], check=False)
                told.add(container)
        time.sleep(POLL)


def say(text: str) -> None:
    """A line for the journal."""
    sys.stderr.write(f"muster: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    run() if sys.argv[1:] == ["run"] else install()
