"""The contract: what the constructs, the in-image runtime and the command line agree on.

Every name of a variable, every exit code, port, path and marker that crosses from one
distribution to another is written here, once. The module is baked into the training image, so
it imports nothing but ``typing`` and runs on Python 3.9.

Constants are followed by a docstring with meaning, unit and default.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple, TypedDict

CONTRACT_VERSION = 1
"""Version of this contract. A definition states the one it was written for in
``MUSTER_CONTRACT``; a runtime of another version ends with :data:`EXIT_CONFIG`."""

# --- AWS Batch's variables ------------------------------------------------------------------
# Source: AWS Batch user guide, "Job environment variables" and "Multi-node parallel jobs".

BATCH_JOB_ID = "AWS_BATCH_JOB_ID"
"""The job's id; on a node it may carry ``#<node index>``."""
BATCH_JOB_ATTEMPT = "AWS_BATCH_JOB_ATTEMPT"
"""Attempt, from 1."""
BATCH_NODE_INDEX = "AWS_BATCH_JOB_NODE_INDEX"
"""Index of this node, from 0."""
BATCH_MAIN_NODE_INDEX = "AWS_BATCH_JOB_MAIN_NODE_INDEX"
"""Index of the main node. The main node is rank 0 whatever its index."""
BATCH_NUM_NODES = "AWS_BATCH_JOB_NUM_NODES"
"""Number of nodes of this submission."""
BATCH_MAIN_NODE_ADDRESS = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"
"""Private IPv4 address of the main node; set on child nodes only."""
BATCH_CE_NAME = "AWS_BATCH_CE_NAME"
"""Name of the compute environment."""
BATCH_JQ_NAME = "AWS_BATCH_JQ_NAME"
"""Name of the job queue."""

BATCH_ID_SEPARATOR = "#"
"""Between a job's id and a node's index, as in ``<job id>#3``."""

OPEN_NODE_RANGE = "0:"
"""The node range of every definition: open, so that a submission may set the number of nodes."""

RESERVED_PREFIXES = ("AWS_BATCH", "MUSTER_")
"""A user's environment may not set a variable whose name begins with one of these."""

# --- Muster's variables ---------------------------------------------------------------------

ENV_CONTRACT = "MUSTER_CONTRACT"
"""The contract version of the job definition. Default: this runtime's own."""
ENV_JOB_SECRET = "MUSTER_JOB_SECRET"  # noqa: S105  the variable's name, not a secret
"""The rendezvous secret, injected from Secrets Manager by the definition's ``secrets``.
Default: the key is derived from job id and attempt, which keeps out other jobs, not attackers."""
ENV_ACCELERATORS = "MUSTER_ACCELERATORS_PER_NODE"
"""Accelerators (GPUs or Neuron devices) that the job declares per node: the default number of
processes per node. Default: 0, which means one process."""
ENV_RENDEZVOUS_PORT = "MUSTER_RENDEZVOUS_PORT"
"""TCP port of the coordinator on the main node. Default: :data:`RENDEZVOUS_PORT`."""
ENV_RENDEZVOUS_TIMEOUT = "MUSTER_RENDEZVOUS_TIMEOUT"
"""Seconds from the start of a node until every node must have joined. Default: 1800."""
ENV_PEER_TIMEOUT = "MUSTER_PEER_TIMEOUT"
"""Seconds without a heartbeat after which a peer counts as lost. Default: 15."""
ENV_STOP_TIMEOUT = "MUSTER_STOP_TIMEOUT"
"""Seconds between the host's SIGTERM and its SIGKILL (``ECS_CONTAINER_STOP_TIMEOUT``).
Training processes get this less 5 s. Default: 30."""
ENV_FLUSH_TIMEOUT = "MUSTER_FLUSH_TIMEOUT"
"""Seconds that the main node waits at the exit barrier for the other nodes. Default: 600."""
ENV_LOCAL = "MUSTER_LOCAL"
"""Set by the local cloud alone: the node's own IPv4 address, or ``address/low-high`` where
nodes share an address and each may listen on these ports only. Permits loopback; the verdict
then says ``simulated``. Default: unset, on AWS."""

RUNTIME_VARIABLES = (
    ENV_CONTRACT,
    ENV_JOB_SECRET,
    ENV_ACCELERATORS,
    ENV_RENDEZVOUS_PORT,
    ENV_RENDEZVOUS_TIMEOUT,
    ENV_PEER_TIMEOUT,
    ENV_STOP_TIMEOUT,
    ENV_FLUSH_TIMEOUT,
    ENV_LOCAL,
)
"""Every variable that the runtime reads; another name that begins with ``MUSTER_`` gets a warning."""

# --- exit codes (sysexits(3)) ---------------------------------------------------------------

EXIT_UNAVAILABLE = 69
"""A client found no exit code at all: the job never ran, or its host was lost."""
EXIT_SOFTWARE = 70
"""A fault in Muster itself."""
EXIT_TEMPFAIL = 75
"""A node, its accelerator or its network failed: worth a retry."""
EXIT_CONFIG = 78
"""Configuration: no retry would help."""
SIGNAL_BASE = 128
"""A process that died by signal N has exit code 128 + N."""

# --- ports, paths ---------------------------------------------------------------------------

RENDEZVOUS_PORT = 28800
"""Default TCP port of the coordinator: outside Linux's ephemeral range (32768-60999)."""
MASTER_PORT = 29500
"""Default MASTER_PORT of torch jobs (PyTorch's own default)."""
RUNTIME_PATH = "/opt/muster/muster-node"
"""Where the runtime lies in the training image."""
RUNTIME_COMMAND = ("python3", RUNTIME_PATH)
"""How a job's command begins: by the interpreter, as distroless images have no ``env``."""
RUN = "run"
"""The runtime's subcommand that takes a node through a job: the launcher's options, ``--``, the program."""
LAUNCHER_FLAG = "--launcher"
"""Its option that names the launcher."""

# --- records in a node's log ----------------------------------------------------------------

VERDICT_MARKER = "muster.verdict "
"""The main node's last line: this marker, then a JSON object of the shape :class:`Verdict`."""
VERDICT_LIMIT = 8192
"""Upper bound of the verdict's line in bytes, marker included."""

OUTCOME_SUCCEEDED = "succeeded"
OUTCOME_FAILED = "failed"
OUTCOME_TERMINATED = "terminated"

PHASES = ("identity", "network", "rendezvous", "launch", "supervise", "leave")
"""The phases of a node, in order; keys of the verdict's ``phases``."""


class Failure(TypedDict):
    """The first failure of a job."""

    node: Optional[int]
    """Index of the node, None where no single node is to blame."""
    rank: Optional[int]
    """Global rank of the process, None where the node itself failed."""
    host: str
    """Host name of the node, empty where unknown."""
    code: int
    """Exit code, 128 + N for signal N."""
    reason: str
    """One sentence: lower case, no final period."""
    lines: List[str]
    """The last lines of the failing process."""


class NodeRow(TypedDict):
    """One node, as the verdict tells of it."""

    index: int
    address: str
    host: str
    code: Optional[int]
    """Exit code of the node, None where it is not known."""


class Verdict(TypedDict):
    """The structured record of a job's end."""

    contract: int
    job: str
    """Job id without a node's suffix."""
    attempt: int
    outcome: str
    """One of the ``OUTCOME_*``."""
    code: int
    """Exit code of the job: of the main node's agent."""
    first_failure: Optional[Failure]
    phases: Dict[str, float]
    """Seconds of each phase on the main node."""
    nodes: List[NodeRow]
    launcher: str
    world_size: int
    """Ranks of the job; 0 where it ended before the launch."""
    simulated: bool
    """True in the local cloud."""


# --- launchers ------------------------------------------------------------------------------


class LauncherOption(NamedTuple):
    """An option of a launcher: a flag of ``muster-node run`` and an argument of the construct."""

    flag: str
    """Such as ``--nproc-per-node``; the construct's argument is the same in snake case."""
    kind: str
    """``int`` (a value, at least 1) or ``switch`` (no value)."""
    help: str
    """One line for the help text."""


class LauncherContract(NamedTuple):
    """What both sides know of a launcher."""

    name: str
    options: Tuple[LauncherOption, ...]
    owns: Tuple[str, ...]
    """Variables that the launcher sets for each rank: a job's environment may not set them."""


TORCH = LauncherContract(
    name="torch",
    options=(
        LauncherOption("--nproc-per-node", "int", "processes per node; default: one per accelerator, else 1"),
        LauncherOption("--master-port", "int", "port of the process group's store; default: 29500"),
        LauncherOption("--module", "switch", "run the program as a python module, like python -m"),
        LauncherOption("--no-python", "switch", "run the program directly, not by the python interpreter"),
    ),
    owns=(
        "RANK",
        "LOCAL_RANK",
        "GROUP_RANK",
        "ROLE_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_WORLD_SIZE",
        "ROLE_WORLD_SIZE",
        "ROLE_NAME",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RUN_ID",
        "TORCHELASTIC_RESTART_COUNT",
        "TORCHELASTIC_MAX_RESTARTS",
    ),
)
"""One process per accelerator with torchrun's environment, in ranks that follow the node index."""

LAUNCHERS: Dict[str, LauncherContract] = {TORCH.name: TORCH}
"""Launchers by name. A new one is a row here, a module in the runtime, a method of ``Launcher``."""

# --- outputs of a stack ---------------------------------------------------------------------

OUTPUT_JOB_DEFINITION = "muster:job-definition"
"""The description of a stack's output begins with this, then a space and the job's construct
path within the stack: its value is the *name* of the job definition (submit by name: the latest
active revision)."""
OUTPUT_JOB_QUEUE = "muster:job-queue"
"""The same for the queue that the job is meant for; its value is the queue's ARN."""
OUTPUT_LOG_GROUP = "muster:log-group"
"""The same for the job's log group; its value is the group's name."""
OUTPUT_REPOSITORY = "muster:repository"
"""The same for a repository for images, with its own construct path; its value is the repository's URI."""
OUTPUT_ARTIFACT_BUCKET = "muster:artifact-bucket"
"""The same for a bucket for code, checkpoints and outputs; its value is the bucket's name."""
OUTPUT_QUOTAS = "muster:quotas"
"""The same for the quotas of the account that a full cluster needs, with the cluster's own construct path; its
value is a table: ``<service>/<code> <name>: <number>``, in the quota's own unit, with a semicolon and a space between."""
