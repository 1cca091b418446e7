"""What is certainly wrong, as pure functions: the constructs and the command line ask the same.

One module a concept; :func:`cluster` and :func:`job` ask all that concern one object. Each rule
has an id, such as ``nodes.count``, and says its problem in one sentence.
"""

from muster_core.rules.problem import Problem, docs_anchor, is_token_number, is_token_text
from muster_core.rules.requests import ClusterRequest, JobRequest, catalogue, cluster, job

__all__ = [
    "ClusterRequest",
    "JobRequest",
    "Problem",
    "catalogue",
    "cluster",
    "docs_anchor",
    "is_token_number",
    "is_token_text",
    "job",
]
