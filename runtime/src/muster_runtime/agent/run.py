"""A node's life, phase by phase."""

from __future__ import annotations

import contextlib
import signal

from muster_core.contract import EXIT_SOFTWARE
from muster_runtime.agent.config import Config, resolve, unknown_variables
from muster_runtime.agent.errors import ConfigError, MusterError
from muster_runtime.agent.identity import Node, identify
from muster_runtime.agent.life import ENDING, PASSED_ON, Life, trace
from muster_runtime.agent.loop import Loop, Signals
from muster_runtime.agent.network import Network, find_network
from muster_runtime.agent.output import Writer
from muster_runtime.agent.record import Record, Request
from muster_runtime.agent.rendezvous.group import End, Group, Place, failed, node_failure
from muster_runtime.agent.rendezvous.roster import Facts
from muster_runtime.agent.supervisor import Supervisor
from muster_runtime.agent.verdict import verdict_line
from muster_runtime.launchers import load
from muster_runtime.launchers.base import Job, Launcher

_FLUSH = 5.0  # seconds for the log's reader to take what is left


def run(request: Request, fd: int) -> int:
    """Be this node of the job, from its identity to its verdict.

    Args:
        request: what to run, and how.
        fd: where the log goes.

    Returns:
        The exit code: on the main node the job's.
    """
    record = Record(request.launcher)
    with Loop() as loop, Signals(loop, (signal.SIGCHLD, *ENDING, *PASSED_ON)) as signals:
        writer = Writer(loop, fd)
        try:
            end = _phases(request, record, loop, signals, writer)
        except Exception as error:  # noqa: BLE001  whatever it is, the log says it and the exit code too
            end = _early(error, record, writer)
        _conclude(end, record, writer)
        writer.flush(_FLUSH)
    return end.code


def _phases(request: Request, record: Record, loop: Loop, signals: Signals, writer: Writer) -> End:
    with record.phase("identity"):
        node = record.node = identify(request.environ)
        config = record.config = resolve(request.environ, request.timeouts)
        launcher = _make_launcher(request, node, config, writer)
        _introduce(request, node, config, writer)
    with record.phase("network"):
        network = find_network(node, config)
        me = record.me = Facts(node.node_index, network.address, record.host, launcher.slots)
        writer.log(f"address {network.address} on {network.interface}")
    group = _open_group(Place(node, config, me), launcher, network, loop, writer)
    with contextlib.closing(group), Supervisor(loop, writer) as ranks:
        life = Life(node, record.host, group, ranks, writer)
        signals.tell(life.take_signal)
        with record.phase("rendezvous"), life.guarded():
            launcher.check()
        with record.phase("rendezvous"), life.guarded():
            group.join()
        with record.phase("launch"), life.guarded():
            if group.roster is not None and group.end is None:
                position = group.roster.position(node.node_index)
                ranks.launch(launcher.programs(group.roster, position, network), life.take_exit)
        with record.phase("supervise"), life.guarded():
            life.supervise(loop)
        with record.phase("leave"):
            ranks.sweep()
            group.done(life.code or ranks.code)
            end = group.leave()
        record.take(group)
    return end


def _make_launcher(request: Request, node: Node, config: Config, writer: Writer) -> Launcher:
    job = Job(node.job, request.options, request.program, request.environ, config, writer.log)
    return load(request.launcher)(job)


def _introduce(request: Request, node: Node, config: Config, writer: Writer) -> None:
    kind = "main node" if node.is_main else "node"
    writer.log(f"{kind} {node.node_index} of {node.nodes}, job {node.job}, attempt {node.attempt}")
    writer.log(f"config: launcher {request.launcher}, {config.describe()}")
    for warning in unknown_variables(request.environ):
        writer.log(f"warning: {warning}")


def _open_group(place: Place, launcher: Launcher, network: Network, loop: Loop, writer: Writer) -> Group:
    if place.node.is_main:
        from muster_runtime.agent.rendezvous.coordinator import Coordinator  # noqa: PLC0415  one side a node

        return Coordinator(loop, writer.log, place, launcher.share(network))
    from muster_runtime.agent.rendezvous.member import Membership  # noqa: PLC0415

    return Membership(loop, writer.log, place)


def _early(error: Exception, record: Record, writer: Writer) -> End:
    """End before there was a group, or by a fault of the agent's own."""
    if isinstance(error, ConfigError):
        for problem in error.problems:
            writer.log(f"error: {problem}")
    code = error.exit_code if isinstance(error, MusterError) else EXIT_SOFTWARE
    if not isinstance(error, MusterError):
        writer.log(trace(error))
    index = None if record.node is None else record.node.node_index
    return failed(node_failure(index, record.host, code, str(error) or type(error).__name__), 0.0)


def _conclude(end: End, record: Record, writer: Writer) -> None:
    reason = f": {end.failure['reason']}" if end.failure else ""
    if record.node is None:
        writer.log(f"exit code {end.code}{reason}")
    elif record.node.is_main:
        writer.log(f"job {end.outcome} with exit code {end.code}{reason}")
        writer.write(verdict_line(record.verdict(end)))
    else:
        writer.log(
            f"node {record.node.node_index} leaves with exit code {end.code}, job {end.outcome}{reason}"
        )
