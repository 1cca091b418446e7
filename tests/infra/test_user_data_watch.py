"""The watcher really runs, against a fake metadata service and a fake docker: who is told, when, and who is not."""

import json
import subprocess
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from host_fakes import Host

from muster_cdk.user_data import HostSettings

JOB = {"1f": "default", "2e": "default", "3d": "~internal~ecs~pause"}
TOKEN = "AQ-token"


class Metadata(BaseHTTPRequestHandler):
    """IMDSv2: a token first, then what is planned; 404 where nothing is."""

    said: dict
    unanswered = False

    def do_PUT(self):
        assert self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        self.answer(200, TOKEN) if self.path == "/latest/api/token" else self.answer(404)

    def do_GET(self):
        if self.headers["X-aws-ec2-metadata-token"] != TOKEN:
            self.answer(401)
            return
        text = self.said.get(self.path.removeprefix("/latest/meta-data/"))
        self.answer(404) if text is None else self.answer(200, text)

    def answer(self, code, text=""):
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def said():
    """What the metadata service says, by path."""
    return {}


@pytest.fixture
def imds(said):
    handler = type("Handler", (Metadata,), {"said": said})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Watch:
    """The unit as systemd would run it."""

    def __init__(self, host, imds, settings):
        host.boot(settings)
        host.change(containers=JOB)
        self.host = host
        (line,) = [
            each
            for each in host.read("etc/systemd/system/muster-watch.service").splitlines()
            if "ExecStart" in each
        ]
        environment = {**host.environment, "HOST_IMDS": imds, "HOST_POLL": "0.1"}
        self.process = subprocess.Popen(
            line.removeprefix("ExecStart=").split(), env=environment, stderr=subprocess.PIPE, text=True
        )

    def told(self):
        return [call[-1] for call in self.host.calls() if call[:4] == ["docker", "kill", "--signal", "TERM"]]

    def wait_until_told(self, *names):
        deadline = time.monotonic() + 20
        while self.told() != list(names):
            assert time.monotonic() < deadline, (self.told(), self.process.poll())
            time.sleep(0.05)

    def end(self):
        self.process.terminate()
        return self.process.communicate(timeout=10)[1]


@pytest.fixture
def watch(tmp_path, imds):
    made = []

    def start(**more):
        made.append(Watch(Host(tmp_path), imds, HostSettings(stop_timeout=120, **more)))
        return made[-1]

    yield start
    for each in made:
        if each.process.poll() is None:
            each.end()


def event(seconds, state="active"):
    """A scheduled event in so many seconds, as EC2 writes it."""
    text = formatdate(time.time() + seconds, usegmt=True).partition(", ")[2]
    return {"NotBefore": text, "Code": "instance-retirement", "EventId": "instance-event-1", "State": state}


SCHEDULED, ACTION = "events/maintenance/scheduled", "spot/instance-action"


@pytest.mark.parametrize(
    "words",
    [
        lambda: {ACTION: '{"action": "terminate", "time": "2026-12-01T08:22:00Z"}'},
        lambda: {SCHEDULED: json.dumps([event(100)])},
        lambda: {SCHEDULED: json.dumps([event(90000), event(-5)])},
    ],
)
def test_the_job_s_containers_are_told_once_when_the_instance_is_about_to_end(watch, said, words):
    said.update(words())
    running = watch()
    running.wait_until_told("1f", "2e")
    time.sleep(0.5)
    assert running.told() == ["1f", "2e"]  # once each, and never the pause container
    lines = [line for line in running.end().splitlines() if line.startswith("muster: ")]
    assert lines == [f"muster: the instance is about to end: SIGTERM to {name}" for name in ("1f", "2e")]


def test_a_container_that_starts_later_is_told_too(watch, said):
    said[ACTION] = "{}"
    running = watch()
    running.wait_until_told("1f", "2e")
    running.host.change(containers={"4c": "default"})
    running.wait_until_told("1f", "2e", "4c")


def test_a_notice_that_comes_later_is_heard(watch, said):
    running = watch()
    time.sleep(0.5)
    assert running.told() == []
    said[ACTION] = "{}"
    running.wait_until_told("1f", "2e")


@pytest.mark.parametrize(
    "words",
    [
        {},
        {SCHEDULED: "[]"},
        {SCHEDULED: json.dumps([event(3600)])},
        {SCHEDULED: json.dumps([event(10, "completed"), event(10, "canceled")])},
    ],
)
def test_nobody_is_told_of_what_is_far_away_or_over(watch, said, words):
    said.update(words)
    running = watch()
    time.sleep(1)
    assert running.told() == []
    assert "muster: " not in running.end()


def test_a_block_s_end_is_known_without_the_metadata_service(watch):
    running = watch(ending=int(time.time()) + 150)  # 120 s of stop timeout, and a minute to spare
    running.wait_until_told("1f", "2e")


def test_a_block_that_lasts_is_left_alone(watch):
    running = watch(ending=int(time.time()) + 600)
    time.sleep(0.7)
    assert running.told() == []


@pytest.mark.parametrize(
    "text", ["no json", '{"a": 1}', '[{"State": "active"}]', '[{"State": "active", "NotBefore": "x"}]']
)
def test_what_nobody_understands_ends_neither_the_job_nor_the_watch(watch, said, text):
    said[SCHEDULED] = text
    running = watch()
    time.sleep(0.7)
    assert running.told() == []
    assert running.process.poll() is None
    assert "muster: the metadata service says what nobody understands: " in running.end()


def test_the_unit_is_kept_running_and_started_without_waiting(tmp_path):
    host = Host(tmp_path)
    calls, _ = host.boot(HostSettings(stop_timeout=120))
    unit = host.read("etc/systemd/system/muster-watch.service")
    assert "Restart=always\n" in unit
    assert "ExecStart=/usr/bin/python3 " in unit
    assert [call for call in calls if call[0] == "systemctl"] == [
        ["systemctl", "daemon-reload"],
        ["systemctl", "start", "--no-block", "muster-watch.service"],
    ]
