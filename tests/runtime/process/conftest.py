"""Real agents on loopback addresses, with real programs, and a check that nothing is left of them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

import muster_core
import muster_runtime
from muster_core.contract import VERDICT_MARKER

PROGRAMS = Path(__file__).parent.parent / "programs"
SOURCES = os.pathsep.join(
    str(Path(package.__file__).parent.parent) for package in (muster_core, muster_runtime)
)
MARK = "TEST_MARK"
PATIENCE = 30.0  # seconds; for a loaded machine, not a measure


def wait_until(condition, timeout=PATIENCE, message="the condition did not come true"):
    """Give the condition's first true value, or fail at the deadline."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    pytest.fail(f"{message} within {timeout} s")


def marked(mark):
    """Give the process ids that run with this mark in their environment."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                environ = Path(entry.path, "environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}={mark}".encode() in environ.split(b"\0"):
                found.append(int(entry.name))
    return found


class Agent:
    """One node's agent."""

    def __init__(self, index, log, argv, environ, *, cwd, pipe):
        self.index = index
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                argv,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipe else file,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                start_new_session=True,
            )
        self.pid = self.process.pid

    def text(self):
        """Give what it has written so far."""
        return self.log.read_text("utf-8", "replace")

    def lines(self):
        return self.text().splitlines()

    def says(self, words, timeout=PATIENCE):
        """Wait for words in its log."""
        wait_until(lambda: words in self.text(), timeout, f"node {self.index} did not say {words!r}")

    def signal(self, number):
        os.kill(self.pid, number)

    def code(self, timeout=PATIENCE):
        """Wait for its end."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            pytest.fail(f"node {self.index} did not end within {timeout} s:\n{self.text()}")

    def verdict(self):
        """Read the last line of its log."""
        line = self.lines()[-1]
        assert line.startswith(VERDICT_MARKER), line
        return json.loads(line[len(VERDICT_MARKER) :])


class Nodes:
    """Starts agents of one job, each on an address of its own."""

    def __init__(self, folder, python):
        self.folder = folder
        self.python = python
        self.mark = uuid.uuid4().hex
        number = uuid.uuid4().int
        self.network = f"127.{64 + number % 128}.{number // 128 % 250 + 1}"
        self.agents = []
        self.entry = ["-m", "muster_runtime"]

    def address(self, index):
        return f"{self.network}.{index + 1}"

    def environ(self, index, count, main=0, **extra):
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": SOURCES,
            "AWS_BATCH_JOB_ID": f"job-{self.mark[:8]}#{index}",
            "AWS_BATCH_JOB_ATTEMPT": "1",
            "AWS_BATCH_JOB_NODE_INDEX": str(index),
            "AWS_BATCH_JOB_MAIN_NODE_INDEX": str(main),
            "AWS_BATCH_JOB_NUM_NODES": str(count),
            "MUSTER_LOCAL": self.address(index),
            "MUSTER_JOB_SECRET": self.mark,
            MARK: self.mark,
            **{name: value for name, value in os.environ.items() if name.startswith("COV")},
        }
        if index != main:
            environ["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = self.address(main)
        environ.update(extra)
        return {name: value for name, value in environ.items() if value is not None}

    def start(self, index, count, program, *flags, main=0, pipe=False, **extra):
        """Start one node's agent; ``program`` is a file of programs/ and its arguments."""
        name, *arguments = program.split()
        path = name if "/" in name or "--no-python" in flags else str(PROGRAMS / name)
        argv = [self.python, *self.entry, "run", *flags, "--", path, *arguments]
        log = self.folder / f"node-{index}-{len(self.agents)}.log"
        agent = Agent(index, log, argv, self.environ(index, count, main, **extra), cwd=self.folder, pipe=pipe)
        self.agents.append(agent)
        return agent

    def start_all(self, count, program, *flags, main=0, **extra):
        """Start every node, the main one first."""
        order = [main, *(index for index in range(count) if index != main)]
        agents = {index: self.start(index, count, program, *flags, main=main, **extra) for index in order}
        return [agents[index] for index in range(count)]

    def close(self):
        for agent in self.agents:
            if agent.process.poll() is None:
                agent.signal(signal.SIGCONT)
                agent.signal(signal.SIGKILL)
            if agent.process.stdout:
                agent.process.stdout.close()
            agent.process.wait()
        wait_until(lambda: not marked(self.mark), 10, "processes were left behind")


@pytest.fixture
def nodes(tmp_path):
    """Start agents with this interpreter; at the end nothing may be left of them."""
    made = Nodes(tmp_path, sys.executable)
    yield made
    made.close()


def interpreters():
    """Find the interpreters of the oldest and the newest Python that are supported, and this one."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    folders = [
        *os.environ["PATH"].split(os.pathsep),
        *map(str, Path("~/.pyenv/versions").expanduser().glob("*/bin")),
    ]
    for version in ("3.9", "3.13"):
        for folder in folders:
            candidate = Path(folder, f"python{version}")
            if version not in found and "shims" not in folder and os.access(candidate, os.X_OK):
                found[version] = str(candidate)
    return found


@pytest.fixture(params=sorted(interpreters()))
def any_nodes(request, tmp_path):
    """Like ``nodes``, once for each interpreter that was found."""
    made = Nodes(tmp_path, interpreters()[request.param])
    yield made
    made.close()


@pytest.fixture
def eventually():
    """Give :func:`wait_until`."""
    return wait_until


@pytest.fixture
def running():
    """Tell whether a process runs (a zombie does not)."""

    def runs(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return runs


@pytest.fixture
def listener():
    """Listen on a free port of an address; give (address, port)."""
    open_sockets = []

    def listen(address):
        sock = socket.create_server((address, 0))
        open_sockets.append(sock)
        return sock.getsockname()

    yield listen
    for sock in open_sockets:
        sock.close()


@pytest.fixture
def free_range():
    """Find the first of 20 neighbouring ports of 127.0.0.1 that are free, below the ephemeral ones."""
    for low in range(20_000, 32_000, 20):
        try:
            for sock in [socket.create_server(("127.0.0.1", port)) for port in range(low, low + 20)]:
                sock.close()
        except OSError:
            continue
        return low
    raise AssertionError("no 20 free ports")
