"""What ``muster-node env`` tells: who this node is, and what its programs would be given."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Mapping

from muster_runtime.agent.config import resolve, unknown_variables
from muster_runtime.agent.errors import MusterError
from muster_runtime.agent.identity import Node, identify, node_order
from muster_runtime.agent.network import Network, find_network
from muster_runtime.agent.rendezvous.roster import Facts, make_roster
from muster_runtime.launchers import load
from muster_runtime.launchers.base import Job, Launcher

if TYPE_CHECKING:
    from muster_runtime.agent.record import Request

Findings = Mapping[str, Mapping[str, object]]


def find(request: Request) -> Findings:
    """Gather what is known without the other nodes, which are taken to be like this one.

    Args:
        request: as for a run; its program is not looked at.

    Raises:
        ConfigError: variables are missing or contradictory.
    """
    warnings: list[str] = list(unknown_variables(request.environ))
    node = identify(request.environ)
    config = resolve(request.environ, request.timeouts)
    launcher = load(request.launcher)(
        Job(node.job, request.options, request.program, request.environ, config, warnings.append)
    )
    findings: dict[str, Mapping[str, object]] = {
        "node": {**node._asdict(), "is_main": node.is_main, "host": socket.gethostname()},
        "config": {**config._asdict(), "timeouts": config.timeouts._asdict(), "secret": bool(config.secret)},
    }
    try:
        network = find_network(node, config)
        findings["network"] = network._asdict()
        findings["process"] = _first_process(request.environ, node, network, launcher)
    except MusterError as error:
        warnings.append(str(error))
    findings["warnings"] = {str(number): warning for number, warning in enumerate(warnings, 1)}
    return findings


def _first_process(
    environ: Mapping[str, str], node: Node, network: Network, launcher: Launcher
) -> dict[str, str]:
    """Give what the launcher would add to the environment of this node's first process."""
    nodes = {index: Facts(index, "", "", launcher.slots) for index in range(node.nodes)}
    main = network.address if node.is_main else node.main_address or ""
    nodes[node.main_index] = nodes[node.main_index]._replace(address=main)
    roster = make_roster(nodes, node.main_index, launcher.share(network))
    position = node_order(node.nodes, node.main_index).index(node.node_index)
    added = launcher.programs(roster, position, network)[0].environ
    return {name: value for name, value in sorted(added.items()) if environ.get(name) != value}


def describe(findings: Findings, *, as_json: bool) -> str:
    """Write findings as text, one value a line, or as JSON."""
    if as_json:
        return json.dumps(findings, indent=2)
    lines = []
    for title, values in findings.items():
        lines += [title, *(f"  {name} = {value}" for name, value in values.items())]
    return "\n".join(lines)
