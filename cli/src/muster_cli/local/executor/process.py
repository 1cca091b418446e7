"""One running node, as the executor holds it: a process of ``node_init`` and its socket."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader

    from muster_cli.local.executor.node_init import Plan

HOLDER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("node_init.py")))
"""The command of a node's first process: isolated, and quick to start for want of site-packages."""
START_SECONDS = 60.0
"""How long a node may take until its program runs: two interpreters' starts, on a busy machine."""
KILL_SECONDS = 20.0
"""How long a node may take to be gone after SIGKILL: then its holder is killed too."""


class NodeError(Exception):
    """A node's program could not be started; the text is worded as container engines do."""


class NodeProcess:
    """A node's processes.

    Args:
        plan: What to run.
        ended: Called once with the exit code, from a thread of this object.
    """

    def __init__(self, plan: Plan, ended: Callable[[int], None]) -> None:
        self._ended = ended
        self._socket, theirs = socket.socketpair()
        try:
            self._holder = subprocess.Popen(
                [*HOLDER, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                env={},
                start_new_session=True,
            )
        finally:
            theirs.close()
        self._messages = self._socket.makefile("r", encoding="utf-8")
        self._plan = plan
        self._watcher = threading.Thread(target=self._watch, name=f"node-{self.pid}", daemon=True)

    @property
    def pid(self) -> int:
        """The process that holds the node; it leads a session of its own."""
        return self._holder.pid

    @property
    def output(self) -> BufferedReader:
        """Standard output and error of the node, merged as they come."""
        return cast("BufferedReader", self._holder.stdout)

    def start(self) -> None:
        """Run the program.

        Raises:
            NodeError: It could not be started.
        """
        self._socket.settimeout(START_SECONDS)
        try:
            self._socket.sendall(json.dumps(self._plan).encode() + b"\n")
            said = json.loads(self._messages.readline() or "{}")
        except TimeoutError:
            said = {"failed": f"no answer from the node's first process within {START_SECONDS:g} s"}
        except OSError:
            said = {}  # it is gone
        self._socket.settimeout(None)
        if not said.get("started"):
            self._abandon()
            raise NodeError(said.get("failed") or "the node's first process ended before its program ran")
        self._watcher.start()

    def _abandon(self) -> None:
        self._hang_up()
        self._kill_holder()
        self._reap()

    def _kill_holder(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _reap(self) -> None:
        try:
            self._holder.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill_holder()
            self._holder.wait()

    def _watch(self) -> None:
        """Wait for the node's end; without a word of it (somebody killed the holder) it was SIGKILL."""
        code = 128 + signal.SIGKILL
        with contextlib.suppress(OSError, ValueError):
            code = int(json.loads(self._messages.readline())["exited"])
        self._reap()
        self._ended(code)

    def _say(self, command: bytes) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendall(command)

    def terminate(self) -> None:
        """Send SIGTERM to the program."""
        self._say(b"T")

    def kill(self) -> None:
        """Kill the node with everything in it."""
        self._say(b"K")

    def close(self) -> None:
        """Let go of the node; one that still runs dies of it."""
        self._hang_up()
        if self._watcher.ident is not None:
            self._watcher.join(KILL_SECONDS)
        self._messages.close()
        self._socket.close()

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
