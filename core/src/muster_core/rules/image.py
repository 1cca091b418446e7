"""Whether the URI of a training image can be one.

Source: ``ContainerProperties.image`` of the Batch API, and the reference grammar of OCI
distribution.
"""

from __future__ import annotations

import re
from typing import List, Optional

from muster_core.rules.problem import Problem, Rules, is_token_text

IMAGE_LIMIT = 255
"""Most characters of an image's URI."""

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d+)?/)?"
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_TAG = r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
_DIGEST = r"(?:@[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-f]{32,})?"
_IMAGE = re.compile(rf"{_HOST}{_PART}(?:/{_PART})*{_TAG}{_DIGEST}")

RULES: Rules = {
    "image.uri": f"an image's URI is repository[:tag][@digest], with at most {IMAGE_LIMIT} characters",
}


def uri(value: Optional[str]) -> List[Problem]:
    """The image's URI has the shape ``registry/repository:tag`` or ``...@sha256:digest``."""
    if value is None or is_token_text(value) or (_IMAGE.fullmatch(value) and len(value) <= IMAGE_LIMIT):
        return []
    return [Problem("image.uri", f"image is not the URI of an image, got {value!r}; {_remedy(value)}")]


def _remedy(value: str) -> str:
    if "://" in value:
        return "it begins with a registry, without a scheme; remove " + repr(
            value.partition("://")[0] + "://"
        )
    if len(value) > IMAGE_LIMIT:
        return f"it has {len(value)} characters, AWS Batch takes {IMAGE_LIMIT}; shorten it"
    return "allowed is registry/repository:tag with a repository in lower case; correct it"
