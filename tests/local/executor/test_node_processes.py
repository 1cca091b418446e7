"""A node's processes: signals, what is left behind, users."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster_cli.local.executor import ExecutorSettings, plan
from muster_cli.local.executor.process import NodeError, NodeProcess


@pytest.fixture(params=["namespaces", "loopback"])
def settings(request):
    return ExecutorSettings(mode=request.param, stop_timeout=5.0, seed=1)


# A process of another session that ignores SIGTERM: it holds the node's output open.
DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        mark("daemon", pathlib.Path("/proc/self/stat").read_text())
        hang()
    os._exit(0)
os.wait()
wait("daemon")
"""


def test_nothing_outlives_its_node(cloud, processes):
    job_id = cloud.start(f"# {cloud.shared}" + DAEMON, nodes=1)
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    cloud.until(lambda: not processes(str(cloud.shared)), "the daemon's end")


def test_nothing_outlives_its_node_when_the_job_is_ended(cloud, processes):
    job_id = cloud.start(f"# {cloud.shared}" + DAEMON + "mark('up'); hang()", nodes=1)
    cloud.marked("up")
    assert processes(str(cloud.shared))
    cloud.batch.terminate_job(jobId=job_id, reason="enough")
    cloud.wait(job_id)
    cloud.until(lambda: not processes(str(cloud.shared)), "the daemon's end")


def test_orphans_are_reaped(cloud):
    program = """
for _ in range(5):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
def zombies():
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try: fields = pathlib.Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError: continue
            count += fields[0] == "Z" and fields[1] == str(os.getppid())
    return count
end = time.monotonic() + 5
while zombies() and time.monotonic() < end: time.sleep(0.01)
say(zombies())
"""
    job_id = cloud.start(program, nodes=1)
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["0"]


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_death_by_a_signal_is_128_and_its_number(cloud, number):
    import signal

    job_id = cloud.start(f"os.kill(os.getpid(), signal.{number})", nodes=1)
    cloud.wait(job_id)
    assert cloud.node(job_id, 0)["container"]["exitCode"] == 128 + signal.Signals[number]


def test_a_holder_that_dies_counts_as_sigkill(cloud, processes, monkeypatch):
    started = []
    original = NodeProcess.start

    def start(self):
        started.append(self.pid)
        original(self)

    monkeypatch.setattr(NodeProcess, "start", start)
    job_id = cloud.start(f"# {cloud.shared}\nmark('up'); hang()", nodes=1)
    cloud.marked("up")
    os.kill(started[0], 9)
    assert cloud.wait(job_id)["status"] == "FAILED"
    assert cloud.node(job_id, 0)["container"]["exitCode"] == 137
    cloud.until(lambda: not processes(str(cloud.shared)), "the program's end")


def test_signals_of_the_executor_are_not_inherited(cloud):
    program = "say([int(signal.getsignal(n)) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)])"
    job_id = cloud.start(program, nodes=1)
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["[0, 0, 1]"], "SIGPIPE is ignored by Python itself"


def test_no_descriptor_of_the_server_is_inherited(cloud):
    job_id = cloud.start(
        "say(sorted(map(int, os.listdir('/proc/self/fd')))[:3], len(os.listdir('/proc/self/fd')))", nodes=1
    )
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["[0, 1, 2] 4"], "and the one that lists them"


def test_a_user_reads_everything_and_writes_what_is_its_own(cloud):
    cloud.shared.chmod(0o777)
    program = """
def write(folder):
    try: pathlib.Path(folder, "x").touch()
    except PermissionError: return False
    return True
mark("mine")
say(json.dumps([os.getuid(), os.getgid(), os.getgroups(), write(os.environ["HOME"]), write(os.environ["TMPDIR"]),
    write(os.getcwd()), write("/etc"), os.path.getsize("/etc/shadow") > 0 and bool(open("/etc/shadow").read())]))
"""
    job_id = cloud.start(program, nodes=1, user="65534:65533")
    job = cloud.wait(job_id)
    assert job["status"] == "SUCCEEDED", cloud.node(job_id, 0)
    assert json.loads(cloud.lines(job_id, 0)[0]) == [65534, 65533, [], True, True, False, False, True]
    assert (cloud.shared / "mine").stat().st_uid == 65534


def test_the_images_user(cloud):
    cloud.images["image"].user = "nobody"
    job_id = cloud.start(["/usr/bin/id", "-un"], nodes=1)
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["nobody"]


def test_a_user_is_root(cloud):
    job_id = cloud.start(["/usr/bin/id", "-u"], nodes=1, user="root:root")
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["0"]


def _plan(**more):
    return {
        "argv": ["/bin/true"],
        "cwd": "/",
        "env": {},
        "user": "",
        "namespace": "",
        "hostname": "x",
        "hosts": "",
        "shm_mib": 64,
        "stop_signal": 15,
        "init": True,
        **more,
    }


def test_numbers_without_an_entry():
    codes = []
    argv = ["/bin/sh", "-c", "id -u; id -g"]
    node = NodeProcess(_plan(argv=argv, env={"PATH": "/usr/bin:/bin"}, user="4711"), codes.append)
    node.start()
    assert node.output.read() == b"4711\n0\n"
    node.close()
    node.output.close()
    assert codes == [0]


def test_a_folder_that_does_not_exist():
    node = NodeProcess(_plan(cwd="/no/such/folder"), lambda _: None)
    with pytest.raises(NodeError, match="No such file or directory: '/no/such/folder'"):
        node.start()
    node.close()
    node.output.close()


def test_letting_go_ends_the_node():
    codes = []
    node = NodeProcess(_plan(argv=["/bin/sleep", "1000"]), codes.append)
    node.start()
    node.close()
    node.output.close()
    assert codes == [137]


def test_a_holder_that_cannot_run(monkeypatch):
    monkeypatch.setattr("muster_cli.local.executor.process.HOLDER", (sys.executable, "/no/such/file.py"))
    node = NodeProcess(_plan(), lambda _: None)
    with pytest.raises(NodeError, match="the node's first process ended before its program ran"):
        node.start()
    node.close()
    assert b"No such file" in node.output.read()
    node.output.close()


def test_plans_are_json():
    assert json.loads(json.dumps(_plan())) == _plan()


def test_the_images_stop_signal(cloud):
    cloud.images["image"].stop_signal = "SIGINT"
    program = """
def bye(number, _): say("signal", number); sys.exit(0)
for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, bye)
mark("ready") if node else wait("ready")
main or hang()
"""
    job_id = cloud.start(program)
    cloud.wait(job_id)
    assert cloud.lines(job_id, 1) == ["signal 2"]


@pytest.mark.parametrize(
    ("name", "number"), [(None, 15), ("", 15), ("SIGINT", 2), ("int", 2), ("9", 9), ("SIGWINCH", 28)]
)
def test_names_of_stop_signals(name, number):
    assert plan.stop_signal(name) == number


def test_lines_that_were_passed_over_are_told_once(cloud, caplog):
    caplog.set_level("INFO", "muster.local")
    cloud.images["image"].notes = ("RUN pip install torch: passed over",)
    job_id = cloud.start("mark('up') if node else wait('up')")
    cloud.wait(job_id)
    assert caplog.messages == ["image image: RUN pip install torch: passed over"]


def test_a_long_path_leaves_room_for_sockets(cloud, monkeypatch):
    monkeypatch.setattr("muster_cli.local.executor.node.SOCKET_ROOM", 10)
    job_id = cloud.start(
        "pathlib.Path(os.environ['TMPDIR'], 'x').touch(); say(os.environ['TMPDIR'])", nodes=1
    )
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    (folder,) = cloud.lines(job_id, 0)
    assert folder.startswith("/tmp/muster-")
    assert not Path(folder).exists()


def test_a_holder_that_says_nothing(monkeypatch):
    monkeypatch.setattr("muster_cli.local.executor.process.START_SECONDS", 0.1)
    monkeypatch.setattr("muster_cli.local.executor.process.HOLDER", ("/bin/sh", "-c", "sleep 1000"))
    node = NodeProcess(_plan(), lambda _: None)
    with pytest.raises(NodeError, match=r"no answer from the node's first process within 0\.1 s"):
        node.start()
    node.close()
    node.output.close()


def test_the_interpreters_folder_is_on_the_path():
    programs = str(Path(sys.executable).parent)
    assert plan.with_interpreter({})["PATH"].split(":")[0] == programs
    assert plan.with_interpreter({"PATH": f"/a:{programs}"}) == {"PATH": f"/a:{programs}"}


def test_temporary_files_lie_in_the_nodes_folder(cloud, monkeypatch):
    monkeypatch.setattr("muster_cli.local.executor.node.SOCKET_ROOM", 1000)
    job_id = cloud.start(
        "pathlib.Path(os.environ['TMPDIR'], 'x').touch(); say(os.environ['TMPDIR'])", nodes=1
    )
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    assert cloud.lines(job_id, 0)[0] == str(cloud.executor.shared.jobs / job_id[:8] / "1.0" / "tmp")


def test_no_signal_is_written_to_a_closed_socket_once_the_program_has_ended():
    code = """
import os, signal, socket
from muster_cli.local.executor.node_init import hold
child = os.fork()
if child == 0:
    os._exit(3)
ours, theirs = socket.socketpair()
print(hold(ours, child, {}), signal.set_wakeup_fd(-1))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("3 -1\n", "")
