"""From the start of two agents to the first line of both trainers: Muster beside torchrun (c10d).

Both start the same two-line program on this machine in the same run, taking turns; medians of
``ROUNDS``. Writes ``bench/out/runtime_start.json``.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from muster_core import contract

ROUNDS = 5
NODES = 2
PROGRAM = "import os, time\nprint('first-line', os.environ['RANK'], time.time(), flush=True)\n"
OUT = Path(__file__).resolve().parent / "out" / "runtime_start.json"


def free_port() -> int:
    """Return a TCP port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def muster(program: Path) -> list[subprocess.Popen[str]]:
    """Start one ``muster-node run`` for each node, each on a loopback address of its own."""
    port = free_port()
    return [_muster_node(program, index, port) for index in range(NODES)]


def _muster_node(program: Path, index: int, port: int) -> subprocess.Popen[str]:
    environment = os.environ | {
        contract.BATCH_JOB_ID: "bench" if index == 0 else f"bench{contract.BATCH_ID_SEPARATOR}{index}",
        contract.BATCH_JOB_ATTEMPT: "1",
        contract.BATCH_NODE_INDEX: str(index),
        contract.BATCH_MAIN_NODE_INDEX: "0",
        contract.BATCH_NUM_NODES: str(NODES),
        contract.ENV_LOCAL: f"127.0.9.{index + 1}",
        contract.ENV_RENDEZVOUS_PORT: str(port),
    }
    if index != 0:
        environment[contract.BATCH_MAIN_NODE_ADDRESS] = "127.0.9.1"
    command = [sys.executable, "-m", "muster_runtime", "run", "--launcher", "torch", "--", str(program)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def torchrun(program: Path) -> list[subprocess.Popen[str]]:
    """Start one ``torchrun`` with the c10d rendezvous for each node."""
    port = free_port()
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes", str(NODES), "--nproc-per-node", "1"]
    command += [
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        f"127.0.0.1:{port}",
        "--rdzv-id",
        "bench",
        str(program),
    ]
    return [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(NODES)
    ]


def seconds_to_first_lines(start: float, agents: list[subprocess.Popen[str]]) -> float:
    """Return seconds from ``start`` to the last trainer's first line; raises when one did not come."""
    last = 0.0
    for agent in agents:
        output, _ = agent.communicate(timeout=120)
        lines = [line for line in output.splitlines() if "first-line" in line]
        if not lines:
            raise RuntimeError(f"{agent.args!r} printed no first line, exit code {agent.returncode}")
        last = max(last, float(lines[0].split()[-1]))
    return last - start


def main() -> None:
    """Measure, print and write."""
    times: dict[str, list[float]] = {"muster": [], "torchrun": []}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "first_line.py"
        program.write_text(PROGRAM)
        for _ in range(ROUNDS):
            for name, launch in (("muster", muster), ("torchrun", torchrun)):
                start = time.time()
                times[name].append(seconds_to_first_lines(start, launch(program)))
    medians = {name: statistics.median(values) for name, values in times.items()}
    result = {
        "nodes": NODES,
        "rounds": ROUNDS,
        "muster_first_line_s": round(medians["muster"], 3),
        "torchrun_first_line_s": round(medians["torchrun"], 3),
        "ratio": round(medians["torchrun"] / medians["muster"], 1),
    }
    OUT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
