"""``secrets`` of a container, resolved from the cloud's Secrets Manager and Systems Manager."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from moto.secretsmanager.models import secretsmanager_backends
from moto.ssm.models import ssm_backends

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ARN_PARTS = 7
"""``arn:partition:secretsmanager:region:account:secret:name``: after these may come key, stage, version."""


class SecretError(Exception):
    """A secret could not be resolved; the text is worded as the container agent does."""


def resolve(secrets: Sequence[Mapping[str, str]], account: str, region: str) -> dict[str, str]:
    """Return the variables that ``secrets`` stand for.

    Args:
        secrets: ``name`` and ``valueFrom`` each: a secret's ARN (with ``:key:stage:version`` after it,
            each may be empty), a parameter's ARN or a parameter's name.
        account: The cloud's account.
        region: The job's region.

    Raises:
        SecretError: One of them does not exist, or has no such key.
    """
    return {item["name"]: _value(item["valueFrom"], account, region) for item in secrets}


def _value(source: str, account: str, region: str) -> str:
    try:
        if ":secretsmanager:" in source:
            return _secret(source, account)
        return _parameter(source, account, region)
    except Exception as error:  # moto's errors have no common base that says "not found"
        said = getattr(error, "message", None) or str(error)
        raise SecretError(
            "ResourceInitializationError: unable to pull secrets or registry auth:"
            f" unable to retrieve secret {source}: {said}"
        ) from error


def _secret(source: str, account: str) -> str:
    parts = source.split(":")
    key, stage, version = [*parts[_ARN_PARTS:], "", "", ""][:3]
    backend = secretsmanager_backends[account][parts[3]]
    found = backend.get_secret_value(":".join(parts[:_ARN_PARTS]), version, stage)
    text = str(found["SecretString"])
    if not key:
        return text
    values = json.loads(text)
    if key not in values:
        raise KeyError(f"retrieved secret did not contain json key {key}")
    return str(values[key])


def _parameter(source: str, account: str, region: str) -> str:
    if source.startswith("arn:"):
        region = source.split(":")[3]
    parameter = ssm_backends[account][region].get_parameter(source)
    if parameter is None:
        raise LookupError("ParameterNotFound")
    return str(parameter.response_object(decrypt=True, region=region)["Value"])
