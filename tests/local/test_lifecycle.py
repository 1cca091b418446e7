"""Up and down: a real server in a process of its own, and nothing of it left."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import boto3
import pytest

from muster_cli.local import lifecycle, server
from muster_cli.local.errors import LocalCloudError
from muster_cli.local.guard import client_environment
from muster_cli.local.settings import HEALTH_PATH, HOST
from muster_cli.local.state import Record, StateFolder


@pytest.fixture
def state(tmp_path):
    folder = StateFolder(tmp_path / "local")
    yield folder
    lifecycle.down(folder)


def files(state):
    """What a cloud may leave: its log, its locks, its cache."""
    return {path.relative_to(state.root).as_posix() for path in state.root.rglob("*")}


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) != 0


def until(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_up_answers_and_down_leaves_nothing(state, monkeypatch):
    cloud = lifecycle.up(state)
    assert lifecycle.status(state) == cloud
    for name, value in client_environment(cloud.endpoint).items():
        monkeypatch.setenv(name, value)
    assert boto3.client("sts").get_caller_identity()["Account"] == "123456789012"
    ec2 = boto3.client("ec2")
    ec2.create_placement_group(GroupName="filled", Strategy="cluster")
    assert ec2.describe_placement_groups()["PlacementGroups"][0]["GroupName"] == "filled"
    lifecycle.down(state)
    assert lifecycle.status(state) is None
    assert is_free(cloud.port)
    assert not lifecycle._exists(cloud.pid)
    assert files(state) == {"cache", "lock", "server.lock", "server.log"}
    lifecycle.down(state)


def test_a_second_up_and_a_taken_port_are_sentences(state, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    cloud = lifecycle.up(state)
    with pytest.raises(LocalCloudError) as caught:
        lifecycle.up(state)
    assert str(caught.value) == (
        f"a local cloud is running already at {cloud.endpoint} in {state.root}; end it first: muster local down"
    )
    other = StateFolder(tmp_path / "other")
    with pytest.raises(LocalCloudError) as caught:
        lifecycle.up(other, port=cloud.port)
    assert str(caught.value) == (
        f"the local cloud did not start: port {cloud.port} of 127.0.0.1 cannot be used (address already in use); "
        "name another one, or none for a free one"
    )
    assert files(other) == {"cache", "lock", "server.lock", "server.log"}


def test_a_crash_is_cleared_by_the_next_up(state):
    first = lifecycle.up(state)
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: not state.server_alive(), "the killed server is gone")
    (state.jobs / "left").mkdir()
    assert lifecycle.status(state) is None
    second = lifecycle.up(state)
    assert second.pid != first.pid
    assert not (state.jobs / "left").exists()


def test_a_server_that_hangs_is_told_of_and_ended_by_force(state, monkeypatch):
    monkeypatch.setattr(lifecycle, "STOP_TIMEOUT", 0.2)
    monkeypatch.setattr(lifecycle, "_HEALTH_TIMEOUT", 0.2)
    cloud = lifecycle.up(state)
    os.kill(cloud.pid, signal.SIGSTOP)
    with pytest.raises(LocalCloudError, match="is running but does not answer"):
        lifecycle.status(state)
    lifecycle.down(state)
    assert lifecycle.status(state) is None


def test_an_interrupt_during_up_leaves_nothing(state, monkeypatch):
    seen = []

    def interrupted(folder, process):
        seen.append(process.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(lifecycle, "_wait_until_up", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lifecycle.up(state)
    assert not lifecycle._exists(seen[0])
    assert not state.server_alive()
    assert "server.json" not in files(state)


def test_a_server_that_never_answers_is_given_up(state, monkeypatch):
    monkeypatch.setattr(lifecycle, "START_TIMEOUT", 0.1)
    with pytest.raises(LocalCloudError, match=r"did not answer within 0\.1 s; its log is .*server\.log"):
        lifecycle.up(state)
    assert not state.server_alive()


def test_down_of_nothing_makes_no_folder(tmp_path):
    lifecycle.down(StateFolder(tmp_path / "never"))
    assert not (tmp_path / "never").exists()


def test_a_process_that_cannot_be_ended_is_named(state, monkeypatch):
    descriptor = state.hold_for_server()
    monkeypatch.setattr(lifecycle, "_end", lambda _pid: None)
    with pytest.raises(LocalCloudError, match=f"process {os.getpid()} cannot be ended"):
        lifecycle.down(state)
    os.close(descriptor)


# --- the server's own process -------------------------------------------------------------------


@pytest.fixture
def environment():
    """The server changes its process's environment: put it back."""
    kept = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(kept)


def test_the_server_answers_in_this_process_and_is_guarded(state, environment, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "production")
    with server.running(state, 0, {}) as record:
        assert "AWS_PROFILE" not in os.environ
        assert os.environ["AWS_ENDPOINT_URL"] == record.endpoint
        assert state.read_record() == record
        with urllib.request.urlopen(f"{record.endpoint}{HEALTH_PATH}", timeout=10) as answer:  # noqa: S310
            assert json.load(answer) == {"pid": os.getpid(), "tag": state.tag}
        assert boto3.client("sts", region_name="us-east-1").get_caller_identity()["Account"] == "123456789012"
    assert state.read_record() is None
    assert is_free(record.port)


def test_main_ends_by_a_signal_with_0(state, environment):
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    stopper = subprocess.Popen([sys.executable, "-c", STOP, str(state.root), str(os.getpid())])
    try:
        assert server.main(["--state", str(state.root)]) == 0
    finally:
        stopper.wait(30)
        for number, handler in handlers.items():
            signal.signal(number, handler)


STOP = """
import os, signal, sys, time
from muster_cli.local.state import StateFolder
state, pid = StateFolder(sys.argv[1]), int(sys.argv[2])
deadline = time.monotonic() + 20
while state.read_record() is None and time.monotonic() < deadline:
    time.sleep(0.02)
os.kill(pid, signal.SIGTERM)
"""


def test_main_says_why_it_cannot_start(state, environment, capfd):
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        assert server.main(["--state", str(state.root), "--port", str(port)]) == 1
    for number, handler in handlers.items():
        signal.signal(number, handler)
    assert capfd.readouterr().err.strip().endswith("name another one, or none for a free one")


def test_an_image_map_is_read(capsys):
    options = server._parser().parse_args(["--state", "s", "--image-map", "repo/image:1=folder"])
    assert dict(options.image_map)["repo/image:1"].name == "folder"
    with pytest.raises(SystemExit):
        server._parser().parse_args(["--state", "s", "--image-map", "nonsense"])
    assert "must be URI=FOLDER, got 'nonsense'" in capsys.readouterr().err


def test_an_image_map_reaches_the_server(state, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(lifecycle.subprocess, "Popen", lambda command, **_more: seen.extend(command))
    state.create()
    lifecycle._spawn(state, 5, {"repo:1": tmp_path})
    assert seen[-4:] == ["--port", "5", "--image-map", f"repo:1={tmp_path}"]


def test_another_server_on_the_port_is_not_taken_for_ours(state, environment):
    with server.running(state, 0, {}) as record:
        assert lifecycle._answers(record)
        assert not lifecycle._answers(Record(1, record.port, record.endpoint, 0.0, ""))
    assert not lifecycle._answers(record)


def test_folders_of_images_that_are_missing_are_told_all_at_once(tmp_path):
    state = StateFolder(tmp_path / "never")
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(LocalCloudError) as caught:
        lifecycle.up(state, image_map={"foo": tmp_path / "none", "here": tmp_path, "repo/bar:1": file})
    assert str(caught.value) == (
        f"image foo is mapped to '{tmp_path / 'none'}', which is no folder; "
        f"image repo/bar:1 is mapped to '{file}', which is no folder; correct --image-map"
    )
    assert not state.root.exists()
