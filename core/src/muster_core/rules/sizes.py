"""Limits of AWS Batch on the size and the names of what is registered.

Source: AWS Batch user guide, "AWS Batch service quotas".
"""

from __future__ import annotations

import json
import re
from typing import List, Mapping, Optional

from muster_core.rules.problem import Problem, Rules, is_token_text

DEFINITION_LIMIT = 24 * 1024
"""Most bytes of a job definition."""
SUBMISSION_LIMIT = 30 * 1024
"""Most bytes of a submission."""
OVERRIDES_LIMIT = 8192
"""Most characters of the overrides of a container (a limit of ECS)."""
NAME_LIMIT = 128

# What is known at deployment only counts as nothing: what is left is certain.
_TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}|-1\.[89]\d*e\+289")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

RULES: Rules = {
    "sizes.definition": f"a job definition has at most {DEFINITION_LIMIT} bytes",
    "sizes.submission": f"a submission has at most {SUBMISSION_LIMIT} bytes",
    "sizes.overrides": f"the overrides of a container have at most {OVERRIDES_LIMIT} characters",
    "sizes.name": f"a name has at most {NAME_LIMIT} letters, digits, hyphens and underscores",
}


def definition(request: Mapping[str, object]) -> List[Problem]:
    """A job definition, as ``RegisterJobDefinition`` takes it, is within Batch's limit."""
    return _bytes("sizes.definition", "the job definition is", _length(request), DEFINITION_LIMIT)


def submission(request: Mapping[str, object]) -> List[Problem]:
    """A submission, as ``SubmitJob`` takes it, is within Batch's limit."""
    return _bytes("sizes.submission", "the submission is", _length(request), SUBMISSION_LIMIT)


def overrides(request: Mapping[str, object]) -> List[Problem]:
    """The overrides of one container, as ``containerOverrides``, are within ECS's limit."""
    return _bytes("sizes.overrides", "the overrides of a node are", _length(request), OVERRIDES_LIMIT)


def name(value: Optional[str], argument: str = "job_name") -> List[Problem]:
    """A name of a job, queue or definition has the shape that Batch takes."""
    if value is None or is_token_text(value) or (_NAME.fullmatch(value) and len(value) <= NAME_LIMIT):
        return []
    return [
        Problem(
            "sizes.name",
            f"{argument} is not a name that AWS Batch takes, got {value!r}; allowed are up to {NAME_LIMIT} letters, "
            "digits, hyphens and underscores, first a letter or digit; rename it",
        )
    ]


def _length(request: Mapping[str, object]) -> int:
    text = json.dumps(request, separators=(",", ":"), ensure_ascii=False, default=lambda _: "")
    return len(_TOKEN.sub("", text).encode(errors="surrogatepass"))


def _bytes(rule: str, what: str, length: int, limit: int) -> List[Problem]:
    if length <= limit:
        return []
    return [
        Problem(
            rule,
            f"{what} too large, got {length} bytes; AWS allows {limit}; "
            "shorten environment and command, or read long settings from a file or from S3",
        )
    ]
