"""What a crash leaves behind, and that the next cloud removes it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from muster_cli.local import lifecycle
from muster_cli.local.executor import cleanup, records
from muster_cli.local.executor.networks import namespaces
from muster_cli.local.state import StateFolder

SERVER = """
import sys
from pathlib import Path
from muster_cli.local.executor.networks import make_network
from muster_cli.local.executor import records
from muster_cli.local.executor.process import NodeProcess
from muster_cli.local.state import StateFolder

state = StateFolder(sys.argv[1])
state.create()
network = make_network(sys.argv[2], state.tag, 1)
place = network.attach()
program = "import time; print('up', flush=True); time.sleep(1000)"
node = NodeProcess({
    "argv": [sys.executable, "-c", program, str(state.root)], "cwd": "/", "env": {}, "user": "",
    "namespace": place.namespace_path, "hostname": "x", "hosts": "", "shm_mib": 8, "stop_signal": 15, "init": True,
}, lambda code: None)
node.start()
records.write(state.jobs / "job" / "1.0", node.pid)
node.output.readline()
print(node.pid, flush=True)
sys.stdin.read()
"""


def _until(condition, deadline=10.0):
    end = time.monotonic() + deadline
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(params=["namespaces", "loopback"])
def crashed(request, tmp_path):
    """A state folder whose server was killed."""
    state = StateFolder(tmp_path / "state")
    server = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SERVER), str(state.root), request.param],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout.readline().strip().isdigit()
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdin.close()
    server.stdout.close()
    return state


def _ours(tag):
    return [item["name"] for item in namespaces.listed("netns", "list") if tag in item["name"]]


def test_processes_die_with_the_server_and_cleanup_does_the_rest(crashed, request, processes):
    _until(lambda: not processes(str(crashed.root)))
    (record,) = records.read_all(crashed.jobs)
    _until(lambda: not records.is_alive(record.process))
    mode = request.node.callspec.params["crashed"]
    left = _ours(crashed.tag)
    assert bool(left) is (mode == "namespaces")
    found = cleanup(crashed)
    assert found == [f"network {name}" for name in left]
    assert _ours(crashed.tag) == []
    assert list(crashed.jobs.iterdir()) == []
    assert cleanup(crashed) == []


def test_a_process_that_is_still_there_is_ended_with_all_below(tmp_path, processes):
    state = StateFolder(tmp_path / "state")
    program = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0: os.setsid()\n"
        "    print('up', flush=True); time.sleep(1000)\n"
        "print('up', flush=True); time.sleep(1000)\n"
    )
    left = subprocess.Popen(
        [sys.executable, "-c", program, str(state.root)], stdout=subprocess.PIPE, start_new_session=True
    )
    for _ in range(3):
        left.stdout.readline()
    assert len(processes(str(state.root))) == 3
    outside = tmp_path / "outside"
    outside.mkdir()
    records.write(state.jobs / "job" / "1.0", left.pid, outside)
    assert cleanup(state) == [f"process {left.pid}"]
    assert not outside.exists()
    assert processes(str(state.root)) == []
    assert left.wait() == -signal.SIGKILL
    left.stdout.close()


def test_another_process_of_the_same_number_is_left_alone(tmp_path):
    state = StateFolder(tmp_path / "state")
    stranger = subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
    folder = state.jobs / "job" / "1.0"
    records.write(folder, stranger.pid)
    path = folder / records.RECORD
    path.write_text(json.dumps({"pid": stranger.pid, "started": "1"}))
    assert cleanup(state) == []
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_records_that_make_no_sense_are_passed_over(tmp_path):
    state = StateFolder(tmp_path / "state")
    for number, text in enumerate(["", "[]", "{}", '{"pid": 1}', '{"pid": 999999999, "started": "5"}']):
        path = state.jobs / "job" / f"{number}" / records.RECORD
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert cleanup(state) == []
    assert not (state.jobs / "job").exists()


def test_no_folder_no_ip(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cleanup(StateFolder(tmp_path / "none")) == []


def test_elsewhere_the_folders_alone_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    state = StateFolder(tmp_path / "state")
    records.write(state.jobs / "job" / "1.0", os.getpid())
    assert cleanup(state) == []
    assert list(state.jobs.iterdir()) == []


@pytest.mark.parametrize("command", ["up", "down"])
@pytest.mark.parametrize("crashed", ["namespaces"], indirect=True)
def test_namespaces_are_found_when_the_folder_was_removed_after_a_crash(crashed, command):
    assert _ours(crashed.tag)
    shutil.rmtree(crashed.root)
    getattr(lifecycle, command)(crashed)
    assert _ours(crashed.tag) == []
    lifecycle.down(crashed)
