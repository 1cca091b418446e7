"""The environment of a node (pure).

Source: AWS Batch user guide, "Job environment variables" and "Environment variables for
multi-node parallel jobs".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muster_cli.local.guard import client_environment
from muster_core import contract

if TYPE_CHECKING:
    from collections.abc import Mapping

_OTHER_ENDPOINTS = "AWS_ENDPOINT_URL_"
_OTHER_ACCOUNTS = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN")


class NodeIdentity(NamedTuple):
    """What Batch tells a container of a job."""

    job_id: str
    """Without a node's suffix."""
    attempt: int
    compute_environment: str
    job_queue: str
    node: int = 0
    main_node: int = 0
    num_nodes: int = 1
    main_address: str = ""
    """Private address of the main node; only children are told it."""
    multinode: bool = True

    @property
    def is_main(self) -> bool:
        """Whether this is the main node."""
        return self.node == self.main_node

    @property
    def node_job_id(self) -> str:
        """The job id that the container sees.

        Whether AWS puts ``#0`` on the main node is not published: here it has the bare id, so
        that a program which strips the suffix and one which does not see it are both tried.
        """
        if not self.multinode or self.is_main:
            return self.job_id
        return f"{self.job_id}{contract.BATCH_ID_SEPARATOR}{self.node}"


def batch_variables(identity: NodeIdentity) -> dict[str, str]:
    """Return Batch's own variables for one node, exactly those."""
    variables = {
        contract.BATCH_JOB_ID: identity.node_job_id,
        contract.BATCH_JOB_ATTEMPT: str(identity.attempt),
        contract.BATCH_CE_NAME: identity.compute_environment,
        contract.BATCH_JQ_NAME: identity.job_queue,
    }
    if not identity.multinode:
        return variables
    variables |= {
        contract.BATCH_NODE_INDEX: str(identity.node),
        contract.BATCH_MAIN_NODE_INDEX: str(identity.main_node),
        contract.BATCH_NUM_NODES: str(identity.num_nodes),
    }
    if not identity.is_main:
        variables[contract.BATCH_MAIN_NODE_ADDRESS] = identity.main_address
    return variables


def cloud_variables(endpoint: str, region: str, account_files: str) -> dict[str, str]:
    """Return what keeps a node's AWS calls in the local cloud.

    Args:
        endpoint: URL of the local cloud as the node reaches it.
        region: Region of the job.
        account_files: A path that does not exist, for the configuration files of AWS tools.
    """
    return {
        **client_environment(endpoint),
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_CONFIG_FILE": account_files,
        "AWS_SHARED_CREDENTIALS_FILE": account_files,
    }


def node_environment(
    *,
    base: Mapping[str, str],
    image: Mapping[str, str],
    user: Mapping[str, str],
    secrets: Mapping[str, str],
    cloud: Mapping[str, str],
    own: Mapping[str, str],
) -> dict[str, str]:
    """Put a node's environment together; later arguments win.

    Args:
        base: PATH, HOME and the like.
        image: ENV of the image.
        user: The definition's and the submission's environment.
        secrets: Resolved ``secrets``.
        cloud: What keeps AWS calls here; a job may choose a region, nothing else of it.
        own: Batch's variables and those of the local cloud.
    """
    merged = {**base, **image, **user, **secrets}
    regions = {name: merged[name] for name in ("AWS_REGION", "AWS_DEFAULT_REGION") if name in merged}
    kept = {name: value for name, value in merged.items() if not _leads_out(name)}
    return {**kept, **cloud, **regions, **own}


def _leads_out(name: str) -> bool:
    return name.startswith(_OTHER_ENDPOINTS) or name in _OTHER_ACCOUNTS
