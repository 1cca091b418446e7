"""One attempt of a job: main node first, the others in random order, and everything ends with the main."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from muster_cli.local.executor import nodes as states
from muster_cli.local.executor.environment import NodeIdentity
from muster_cli.local.executor.networks import Network, NetworkError
from muster_cli.local.executor.node import Node, StartError
from muster_cli.local.executor.plan import ECS_STOP_TIMEOUT

if TYPE_CHECKING:
    import random
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from moto.logs.models import LogsBackend

    from muster_cli.local.executor.image import ImageResolver
    from muster_cli.local.executor.networks import NodeNetwork
    from muster_cli.local.executor.nodes import NodeState
    from muster_cli.local.executor.plan import JobPlan
    from muster_cli.local.executor.settings import ExecutorSettings

KILL_SECONDS = 30.0
"""How long nodes may take to be gone after SIGKILL; those that are not are given up, and said so."""
_log = logging.getLogger("muster.local")


class Surroundings(NamedTuple):
    """What every attempt of an executor shares."""

    jobs: Path
    network: Network
    resolve: ImageResolver
    settings: ExecutorSettings
    order: random.Random


class Control(Protocol):
    """What an attempt needs of its job."""

    changed: threading.Condition
    """Held while states change; notified when they have."""
    nodes: list[NodeState]

    def stop_reason(self) -> str:
        """Return why the job is to stop, empty while it is not."""

    def main_runs(self) -> None:
        """Take note that the main node runs."""


class Attempt:
    """One attempt.

    Args:
        job: What is to run.
        number: Of the attempt, from 1.
        environment: Name of the compute environment.
        control: The job.
        logs: Where output goes.
        shared: What every attempt shares.
    """

    def __init__(
        self,
        job: JobPlan,
        number: int,
        *,
        environment: str,
        control: Control,
        logs: LogsBackend,
        shared: Surroundings,
    ) -> None:
        self._job = job
        self._number = number
        self._environment = environment
        self._control = control
        self._logs = logs
        self._shared = shared
        self._stopping = ""
        self.stopped_for = ""
        """Why the attempt was ended from outside; empty where the main node ended it."""
        self._places: dict[int, NodeNetwork] = {}
        self._nodes: dict[int, Node] = {}

    def run(self) -> None:
        """Run the attempt to its end; the states of the nodes tell how it ended."""
        main = self._job.main_node
        try:
            if self._start(main, lambda: states.EXITED):
                self._control.main_runs()
                deadline = self._deadline()
                self._start_children(deadline)
                reason = self._wait_for_end(deadline)
                self._stop_nodes(reason)
        finally:
            self._clear()

    # --- starting ---------------------------------------------------------------------------

    def _deadline(self) -> float | None:
        if not self._job.timeout:
            return None
        return time.monotonic() + self._job.timeout * self._shared.settings.time_scale

    def _start_children(self, deadline: float | None) -> None:
        children = [index for index in range(self._job.num_nodes) if index != self._job.main_node]
        self._shared.order.shuffle(children)
        for index in children:
            if self._is_over() or (deadline is not None and time.monotonic() >= deadline):
                return
            self._start(index, self._child_end)

    def _child_end(self) -> str:
        """Return the ``statusReason`` of a child that ends now."""
        return self._stopping or states.EXITED

    def _start(self, index: int, end_reason: Callable[[], str]) -> bool:
        state = self._control.nodes[index]
        with self._control.changed:
            current = state.begin(self._number)
        try:
            node = self._make(index, lambda code: self._on_end(index, code, end_reason()))
            node.start(self._shared.resolve, self._logs, current)
        except (StartError, NetworkError) as error:
            self._fail(state, str(error))
            return False
        except Exception as error:  # noqa: BLE001  whatever it is, the job is to say it
            _log.exception("node %d of job %s did not start", index, self._job.job_id)
            self._fail(state, f"the local cloud failed: {error!r}")
            return False
        with self._control.changed:
            current.started_at = current.stopped_at or states.now_ms()
            if not current.ended:
                state.status = states.RUNNING
        return True

    def _fail(self, state: NodeState, reason: str) -> None:
        self._change(lambda: state.end(None, states.NOT_STARTED, reason))

    def _make(self, index: int, ended: Callable[[int], None]) -> Node:
        job, main = self._job, self._job.main_node
        self._attach_all()
        identity = NodeIdentity(
            job_id=job.job_id,
            attempt=self._number,
            compute_environment=self._environment,
            job_queue=job.queue_name,
            node=index,
            main_node=main,
            num_nodes=job.num_nodes,
            main_address=self._places[main].address,
            multinode=job.multinode,
        )
        folder = self._shared.jobs / job.job_id[:8] / f"{self._number}.{index}"
        node = Node(job, identity, folder=folder, places=self._places, ended=ended)
        self._nodes[index] = node
        return node

    def _attach_all(self) -> None:
        """Give every node its place before the first one runs: each knows the names of all."""
        for index in range(self._job.num_nodes):
            if index not in self._places:
                self._places[index] = self._shared.network.attach()

    # --- ending -----------------------------------------------------------------------------

    def _change(self, change: Callable[[], None]) -> None:
        with self._control.changed:
            change()
            self._control.changed.notify_all()

    def _on_end(self, index: int, code: int, status_reason: str) -> None:
        self._change(lambda: self._control.nodes[index].end(code, status_reason))

    def _has_ended(self, index: int) -> bool:
        current = self._control.nodes[index].current
        return current is None or current.number != self._number or current.ended

    def _is_over(self) -> bool:
        return self._has_ended(self._job.main_node) or bool(self._control.stop_reason())

    def _wait_for_end(self, deadline: float | None) -> str:
        """Wait until the main node's exit, a request or the deadline; return why the others are stopped."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        with self._control.changed:
            over = self._control.changed.wait_for(self._is_over, left)
            if self._has_ended(self._job.main_node):
                return states.STOPPED_BY_MAIN
            return self._control.stop_reason() if over else states.TIMED_OUT

    def _stop_nodes(self, reason: str) -> None:
        """SIGTERM to every node that runs, SIGKILL to those that are still there after the stop timeout."""
        self._stopping = reason
        self.stopped_for = "" if reason == states.STOPPED_BY_MAIN else reason
        for act, seconds in ((Node.terminate, self._stop_timeout(reason)), (Node.kill, KILL_SECONDS)):
            running = [index for index in self._nodes if not self._has_ended(index)]
            for index in running:
                act(self._nodes[index])
            self._wait_for_nodes(seconds)

    def _stop_timeout(self, reason: str) -> float:
        given = self._shared.settings.stop_timeout
        if given is not None:
            return given
        # Whoever takes the local cloud down does not wait for the minutes that a host would give.
        return (
            min(self._job.stop_timeout, ECS_STOP_TIMEOUT)
            if reason == states.SHUTDOWN
            else self._job.stop_timeout
        )

    def _wait_for_nodes(self, seconds: float) -> None:
        with self._control.changed:
            self._control.changed.wait_for(lambda: all(map(self._has_ended, self._nodes)), seconds)

    def _clear(self) -> None:
        """Remove what is left of the nodes, and give those a state that never came to have one."""
        for node in self._nodes.values():
            node.clear()
        for place in self._places.values():
            self._shared.network.detach(place)
        with contextlib.suppress(OSError):  # not empty, or never made
            (self._shared.jobs / self._job.job_id[:8]).rmdir()
        with self._control.changed:
            for state in self._control.nodes:
                if state.current is None or state.current.number != self._number:
                    state.begin(self._number)
                    state.end(None, self.stopped_for or states.NEVER_STARTED)
                elif not state.current.ended:
                    _log.error("node %d of job %s did not die", state.index, self._job.job_id)
                    state.end(None, "lost: the node did not die of SIGKILL")
