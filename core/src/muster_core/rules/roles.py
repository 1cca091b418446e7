"""Whether what bounds a role is such."""

from __future__ import annotations

import re
from typing import List, Optional

from muster_core.rules.problem import Problem, Rules, is_token_text

_POLICY = re.compile(r"arn:[a-z-]+:iam::([0-9]{12}|aws):policy/.+")

RULES: Rules = {"roles.boundary": "a permissions boundary that is a text is the ARN of a managed policy"}


def boundary(arn: Optional[str]) -> List[Problem]:
    """The permissions boundary is the ARN of a managed policy.

    Args:
        arn: The ARN; None where no text was given.
    """
    if arn is None or is_token_text(arn) or _POLICY.fullmatch(arn):
        return []
    return [
        Problem(
            "roles.boundary",
            f"permissions_boundary is not the ARN of a managed policy, got {arn!r}; it ends like "
            "':iam::123456789012:policy/Boundary'; correct it",
        )
    ]
