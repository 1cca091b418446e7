"""How many nodes a cluster and a job may have."""

from __future__ import annotations

from typing import List, Optional, Sequence

from muster_core.rules.problem import Number, Problem, Rules, is_token_text, is_whole, known

MAX_NODES = 1000
"""Most nodes of a multi-node job (AWS Batch user guide, "Multi-node parallel jobs")."""

RULES: Rules = {
    "nodes.max_nodes": f"a cluster has between 1 and {MAX_NODES} nodes",
    "nodes.count": "a job has at least 1 node and no more than its cluster",
    "nodes.environment": "what uses a cluster is in its account and region",
}


def max_nodes(value: Number) -> List[Problem]:
    """The cluster's ``max_nodes`` is a whole number from 1 to 1000."""
    if known(value) is None or not _max_nodes_wrong(value):
        return []
    return [
        Problem(
            "nodes.max_nodes",
            f"max_nodes must be a whole number from 1 to {MAX_NODES}, got {value!r}; "
            "AWS Batch starts no larger multi-node job",
        )
    ]


def count(nodes: Number, max_nodes: Optional[Number]) -> List[Problem]:
    """The job's ``nodes`` is a whole number from 1 to the cluster's ``max_nodes``.

    Args:
        nodes: Nodes of the job.
        max_nodes: Nodes that the cluster may have; None where that is not known.
    """
    number, limit = known(nodes), known(max_nodes)
    if number is None:
        return []
    if not is_whole(number) or number < 1:
        return [
            Problem(
                "nodes.count", f"nodes must be a whole number of at least 1, got {nodes!r}; give at least 1"
            )
        ]
    if limit is not None and number > limit:
        return [
            Problem(
                "nodes.count",
                f"nodes is more than the cluster can start, got {nodes!r}; the cluster's max_nodes is {max_nodes!r}; "
                "lower nodes or raise max_nodes of the cluster",
            )
        ]
    return []


def environment(own: Sequence[str], cluster: Sequence[str], what: str = "job") -> List[Problem]:
    """The account and the region are those of the cluster, where both are known.

    Args:
        own: Account and region; nothing is judged where there are none.
        cluster: Account and region of the cluster.
        what: What uses the cluster. Default: ``job``.
    """
    for mine, other in zip(own, cluster):
        if mine != other and not is_token_text(mine) and not is_token_text(other):
            return [Problem("nodes.environment", _elsewhere(mine, other, what))]
    return []


def judged(max_nodes: Number) -> Optional[int]:
    """``max_nodes`` for the rules that reckon with it: None where it is a token, or wrong already."""
    return None if known(max_nodes) is None or _max_nodes_wrong(max_nodes) else int(max_nodes)


def _elsewhere(own: str, cluster: str, what: str) -> str:
    return (
        f"cluster is in another account or region than the {what}, got {cluster!r} and {own!r}; AWS Batch knows a queue "
        f"in its own account and region only; give the {what}'s stack the env of the cluster's"
    )


def _max_nodes_wrong(number: Number) -> bool:
    return not (is_whole(number) and 1 <= number <= MAX_NODES)
