"""A template's values with every function carried out, or a sentence that says which one was not."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from moto.cloudformation.parsing import clean_json
from moto.secretsmanager.models import secretsmanager_backends
from moto.ssm.models import ssm_backends

if TYPE_CHECKING:
    from moto.cloudformation.parsing import ResourceMap

_DYNAMIC = re.compile(r"\{\{resolve:(ssm|ssm-secure|secretsmanager):([^}]+)\}\}")
_SECRET = re.compile(
    r"^(?P<id>arn:[^:]*:secretsmanager:[^:]*:[^:]*:secret:[^:]*|[^:]+)(:SecretString(:(?P<key>[^:]*))?)?"
)


class UnresolvedError(ValueError):
    """A function of a template that gave no value."""


def resolve(value: Any, resources: ResourceMap) -> Any:  # noqa: ANN401
    """Carry out the functions in a part of a template.

    Args:
        value: Any part of a template.
        resources: The resources that exist, the parameters and the mappings.

    Returns:
        The same without functions; what refers to ``AWS::NoValue`` is gone.

    Raises:
        UnresolvedError: A function without a value, such as an attribute that a resource lacks.
    """
    try:
        cleaned = clean_json(value, resources)
    except KeyError as error:
        raise UnresolvedError(f"Template error: {error.args[0]} does not exist") from None
    return _finish(cleaned, _Dynamic(resources["AWS::AccountId"], resources["AWS::Region"]))


def _finish(value: Any, dynamic: _Dynamic) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_finish(item, dynamic) for item in value if item is not None]
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith("Fn::"):
            raise UnresolvedError(f"Template error: the local cloud cannot carry out {json.dumps(value)}")
        return {key: _finish(item, dynamic) for key, item in value.items()}
    return _DYNAMIC.sub(dynamic.value, value) if isinstance(value, str) else value


class _Dynamic(NamedTuple):
    """Dynamic references, looked up in one account and region."""

    account: Any
    region: Any

    def value(self, match: re.Match[str]) -> str:
        service, reference = match.groups()
        return self._secret(reference) if service == "secretsmanager" else self._parameter(reference)

    def _parameter(self, reference: str) -> str:
        parameter = ssm_backends[self.account][self.region].get_parameter(reference)
        if parameter is None:
            raise UnresolvedError(f"Parameters: [{reference}] cannot be found.")
        return str(parameter.value)

    def _secret(self, reference: str) -> str:
        match = _SECRET.match(reference)
        if match is None:
            raise UnresolvedError(f"Template error: {reference} is not a reference to a secret")
        secret = secretsmanager_backends[self.account][self.region].get_secret_value(match["id"], "", "")
        text = str(secret["SecretString"])
        return str(json.loads(text)[match["key"]]) if match["key"] else text
