"""One node of one attempt, from its network and image to its end."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from muster_cli.local.executor import environment, plan, records, secrets
from muster_cli.local.executor.logs import LogError, LogWriter, log_target
from muster_cli.local.executor.networks import NetworkError, NodeNetwork
from muster_cli.local.executor.networks.base import rendezvous_variables
from muster_cli.local.executor.process import NodeError, NodeProcess
from muster_cli.local.executor.secrets import SecretError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from moto.logs.models import LogsBackend

    from muster_cli.local.executor.environment import NodeIdentity
    from muster_cli.local.executor.image import ImageResolver, Root
    from muster_cli.local.executor.node_init import Plan
    from muster_cli.local.executor.nodes import NodeAttempt
    from muster_cli.local.executor.plan import JobPlan

SOCKET_ROOM = 70
"""Characters of TMPDIR: the path of a socket ends at 104 on macOS, 108 on Linux, and Python's own names take 31."""
_log = logging.getLogger("muster.local")
LOG_SECONDS = 5.0
"""How long output may still come after a node's end: only somebody outside it could hold the pipe."""


class StartError(Exception):
    """A node could not start; the text is the container's ``reason``."""


class Node:
    """A node that is to run.

    Args:
        job: Its job.
        identity: What Batch tells it.
        folder: A folder of its own in the state folder.
        places: Every node's place in the network, by index.
        ended: Called with the exit code, from another thread.
    """

    def __init__(
        self,
        job: JobPlan,
        identity: NodeIdentity,
        *,
        folder: Path,
        places: Mapping[int, NodeNetwork],
        ended: Callable[[int], None],
    ) -> None:
        self.identity = identity
        self._job = job
        self._container: dict[str, Any] = job.container(identity.node)
        self._folder = folder
        self.place = places[identity.node]
        self._places = places
        self._ended = ended
        self._process: NodeProcess | None = None
        self._reader: threading.Thread | None = None
        self._outside: Path | None = None

    def start(self, resolve: ImageResolver, logs: LogsBackend, attempt: NodeAttempt) -> None:
        """Start the node.

        Args:
            resolve: Finds its image.
            logs: Where its output goes.
            attempt: Takes note of address and log stream.

        Raises:
            StartError: It could not.
        """
        attempt.address = self.place.address
        try:
            target = log_target(self._container, self._job.definition_name, attempt.task_id)
            writer = LogWriter(logs, target)
            self._process = NodeProcess(self._plan(resolve), self._on_end)
            records.write(self._folder, self._process.pid, self._outside)
            self._reader = threading.Thread(
                target=writer.follow, args=(self._process.output,), name=f"log-{target.stream}", daemon=True
            )
            self._reader.start()
            attempt.log_stream = target.stream
            self._process.start()
        except (SecretError, NetworkError) as error:
            raise StartError(str(error)) from error
        except (NodeError, LogError) as error:
            raise StartError(f"CannotStartContainerError: {error}") from error

    def _on_end(self, code: int) -> None:
        """Tell of the end when all output is in the log: a verdict must not come after the status."""
        assert self._reader is not None  # noqa: S101  started before the process
        self._reader.join(LOG_SECONDS)
        self._ended(code)

    def _plan(self, resolve: ImageResolver) -> Plan:
        root = self._root(resolve)
        argv = root.argv(plan.command(self._container, self._job.parameters))
        if not argv:
            raise NodeError("no command specified, neither by the job nor by the image")
        return {
            "argv": argv,
            "cwd": str(root.cwd),
            "env": self._environment(root),
            "user": self._container.get("user") or root.user or "",
            "namespace": self.place.namespace_path,
            "hostname": self.place.hostname,
            "hosts": str(self._hosts()) if self.place.namespace else "",
            "shm_mib": plan.shared_memory(self._container),
            "stop_signal": plan.stop_signal(root.stop_signal),
            "init": plan.has_init(self._container),
        }

    def _root(self, resolve: ImageResolver) -> Root:
        uri = self._container.get("image", "")
        try:
            root = resolve(uri).materialise(self._folder / "root")
        except Exception as error:
            raise StartError(f"CannotPullContainerError: {uri}: {error}") from error
        if self.identity.is_main:
            for note in root.notes:
                _log.info("image %s: %s", uri, note)
        return root

    def _environment(self, root: Root) -> dict[str, str]:
        home, temporary = self._folder / "home", self._temporary()
        home.mkdir(parents=True, exist_ok=True)
        hostname = self.place.hostname if self.place.namespace else ""
        return plan.with_interpreter(
            environment.node_environment(
                base=plan.base_environment(home, temporary, hostname, self._threads()),
                image=root.environment,
                user=plan.user_environment(self._container),
                secrets=secrets.resolve(
                    self._container.get("secrets") or (), self._job.account, self._job.region
                ),
                cloud=environment.cloud_variables(
                    self.place.endpoint, self._job.region, str(self._folder / "no-aws-configuration")
                ),
                own={
                    **environment.batch_variables(self.identity),
                    **rendezvous_variables(self._places[self.identity.main_node], self.place),
                },
            )
        )

    def _threads(self) -> int:
        return plan.thread_share(self._job.num_nodes, plan.resources(self._container)["GPU"])

    def _temporary(self) -> Path:
        """TMPDIR, in the node's folder if its path leaves room for the sockets that programs make there."""
        folder = self._folder / "tmp"
        if len(str(folder)) > SOCKET_ROOM:
            folder = self._outside = Path(tempfile.mkdtemp(prefix="muster-", dir="/tmp"))
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _hosts(self) -> Path:
        """The node's /etc/hosts: the names of all nodes, which a VPC's name server would know."""
        path = self._folder / "hosts"
        lines = ["127.0.0.1 localhost"]
        for place in self._places.values():
            full = f"{place.hostname}.ec2.internal"
            # sockets for both families ask for the mapped address; its short name stays an IPv4 one
            lines += [f"{place.address} {place.hostname} {full}", f"::ffff:{place.address} {full}"]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def terminate(self) -> None:
        """Send SIGTERM to the program."""
        if self._process:
            self._process.terminate()

    def kill(self) -> None:
        """Kill the node with everything in it."""
        if self._process:
            self._process.kill()

    def clear(self) -> None:
        """Remove what is left when the node has ended; one that still runs dies."""
        if self._process:
            self._process.close()
        if self._reader:
            self._reader.join(LOG_SECONDS)
        for folder in (self._folder, self._outside):
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
