"""The state folder: paths, whole files, and one command at a time."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster_cli.local import lifecycle
from muster_cli.local.errors import LocalCloudError
from muster_cli.local.state import Record, StateFolder

RECORD = Record(pid=7, port=8, endpoint="http://127.0.0.1:8", started=1.5, tag="abc")


@pytest.fixture
def state(tmp_path) -> StateFolder:
    return StateFolder(tmp_path / "local")


def test_the_folder_is_below_the_current_one(monkeypatch, tmp_path):
    monkeypatch.delenv("MUSTER_LOCAL_STATE", raising=False)
    monkeypatch.chdir(tmp_path)
    assert StateFolder().root == tmp_path / ".muster" / "local"


def test_a_child_is_told_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("MUSTER_LOCAL_STATE", str(tmp_path / "elsewhere"))
    assert StateFolder().root == tmp_path / "elsewhere"


def test_the_tag_belongs_to_the_folder(tmp_path):
    assert StateFolder(tmp_path).tag == StateFolder(str(tmp_path)).tag
    assert StateFolder(tmp_path).tag != StateFolder(tmp_path / "other").tag
    assert len(StateFolder(tmp_path).tag) == 8


def test_folders_are_made_for_this_user_and_cleared_except_cache_and_log(state):
    state.create()
    assert state.root.stat().st_mode & 0o077 == 0
    state.write_record(RECORD)
    state.write_json(state.images_path, {})
    state.server_log.write_text("log")
    for folder in (state.jobs, state.images, state.home, state.tmp, state.cache):
        (folder / "file").write_text("x")
    state.clear()
    left = {path.relative_to(state.root).as_posix() for path in state.root.rglob("*")}
    assert left == {"cache", "cache/file", "server.log"}


def test_clearing_what_is_not_there_is_no_error(state):
    state.clear()
    assert not state.root.exists()


def test_a_record_is_read_as_it_was_written(state):
    assert state.read_record() is None
    state.write_record(RECORD)
    assert state.read_record() == RECORD


def test_a_record_of_another_version_counts_as_none(state):
    state.write_json(state.record_path, {"pid": 7, "colour": "blue"})
    assert state.read_record() is None


def test_a_file_is_written_whole_or_not_at_all(state):
    state.write_json(state.images_path, {"a": 1})
    with pytest.raises(TypeError):
        state.write_json(state.images_path, {"a": object()})
    assert state.read_json(state.images_path) == {"a": 1}
    assert [path.name for path in state.root.iterdir()] == ["images.json"]


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_broken_file_is_a_sentence(state, text):
    state.create()
    state.images_path.write_text(text)
    with pytest.raises(LocalCloudError, match=r"images\.json is not a JSON object; remove "):
        state.read_json(state.images_path)


ADD = """
import sys
from muster_cli.local.state import StateFolder
state = StateFolder(sys.argv[1])
for number in range(20):
    with state.edit_json(state.images_path) as images:
        images[sys.argv[2] + str(number)] = True
"""


def test_several_processes_may_change_one_file(state):
    writers = [subprocess.Popen([sys.executable, "-c", ADD, str(state.root), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(state.read_json(state.images_path)) == 40


HOLD = """
import sys
from muster_cli.local.state import StateFolder
with StateFolder(sys.argv[1]).exclusive("muster demo"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_command_is_told_who_is_working(state):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LocalCloudError) as caught, state.exclusive("muster local up"):
            pass
        assert str(caught.value) == (
            f"`muster demo` (process {holder.pid}) is working on {state.root}; "
            "wait for its end, or name another folder by MUSTER_LOCAL_STATE"
        )
    finally:
        holder.communicate("", timeout=30)
    with state.exclusive("muster local up"):
        pass


def test_one_command_may_call_another(state):
    with state.exclusive("muster demo"):
        with state.exclusive("muster local up"):
            pass
        other = StateFolder(state.root)
        with pytest.raises(LocalCloudError, match="`muster demo`"), other.exclusive("muster local down"):
            pass


def test_a_server_holds_its_folder_until_it_dies(state):
    assert not state.server_alive()
    descriptor = state.hold_for_server()
    other = StateFolder(state.root)
    assert other.server_alive()
    assert isinstance(other.server_pid(), int)
    with pytest.raises(LocalCloudError, match="a local cloud is running already in"):
        other.hold_for_server()
    import os

    os.close(descriptor)
    assert not other.server_alive()
    assert other.server_pid() is None


def test_a_server_that_wrote_no_pid_has_none(state):
    import os

    descriptor = state.hold_for_server()
    state.server_lock_path.write_text("")
    assert state.server_pid() is None
    os.close(descriptor)


@pytest.mark.parametrize("command", [lifecycle.up, lifecycle.down, lifecycle.status])
def test_a_state_folder_that_is_a_file_is_a_sentence(tmp_path, command):
    root = tmp_path / "local"
    root.touch()
    reason = "file exists" if command is not lifecycle.status else f"not a directory ({root / 'server.lock'})"
    with pytest.raises(LocalCloudError) as caught:
        command(StateFolder(root))
    assert str(caught.value) == (
        f"the state folder {root} cannot be used: {reason}; "
        "mend that, or name another folder by --state or MUSTER_LOCAL_STATE"
    )


@pytest.mark.parametrize("command", [lifecycle.up, lifecycle.down])
@pytest.mark.parametrize("name", ["server.json", "server.lock", "lock"])
def test_a_folder_in_the_place_of_a_file_is_a_sentence(tmp_path, command, name):
    state = StateFolder(tmp_path / "local")
    (state.root / name).mkdir(parents=True)
    with pytest.raises(LocalCloudError) as caught:
        command(state)
    assert str(caught.value) == (
        f"the state folder {state.root} cannot be used: is a directory ({state.root / name}); "
        "mend that, or name another folder by --state or MUSTER_LOCAL_STATE"
    )


def test_a_folder_in_the_place_of_the_servers_log_is_a_sentence(tmp_path):
    state = StateFolder(tmp_path / "local")
    state.server_log.mkdir(parents=True)
    with pytest.raises(LocalCloudError, match=rf"is a directory \({state.server_log}\)"):
        lifecycle.up(state)


def test_a_file_system_that_takes_nothing_is_a_sentence(tmp_path, monkeypatch):
    def refuse(path, *_arguments, **_more):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    state = StateFolder(tmp_path / "local")
    with pytest.raises(LocalCloudError) as caught:
        lifecycle.up(state)
    assert str(caught.value) == (
        f"the state folder {state.root} cannot be used: read-only file system; "
        "mend that, or name another folder by --state or MUSTER_LOCAL_STATE"
    )
