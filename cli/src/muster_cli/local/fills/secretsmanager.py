"""Secrets of a template, generated or given: moto's CloudFormation has none."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from moto.secretsmanager.models import secretsmanager_backends

from muster_cli.local.fills.cloudformation.resources import (
    Fill,
    Made,
    Properties,
    ReplacementError,
    Site,
    register,
)

if TYPE_CHECKING:
    from moto.secretsmanager.models import SecretsManagerBackend

_DEFAULT_LENGTH = 32
"""Secrets Manager's own."""
_VALUE = ("SecretString", "GenerateSecretString")


def _secrets(site: Site) -> SecretsManagerBackend:
    return secretsmanager_backends[site.account][site.region]


class _Secret(Fill):
    resource_type = "AWS::SecretsManager::Secret"
    name_property = "Name"

    def create(self, site: Site, name: str, properties: Properties) -> Made:
        created = _secrets(site).create_secret(
            name=name,
            secret_string=self._text(site, properties),
            secret_binary=None,
            description=properties.get("Description"),
            tags=properties.get("Tags", []),
            kms_key_id=properties.get("KmsKeyId"),
            client_request_token=None,
            replica_regions=[],
            force_overwrite=False,
        )
        arn = json.loads(created)["ARN"]
        return Made(arn, {"Id": arn})

    def update(self, site: Site, resource: Made, old: Properties, new: Properties) -> Made:
        """Change what is not the secret itself; a new way to generate it gives a new value, as on AWS."""
        if old.get("Name") != new.get("Name"):
            raise ReplacementError
        backend, arn = _secrets(site), resource.physical_resource_id
        if any(old.get(key) != new.get(key) for key in _VALUE):
            token = str(uuid.uuid4())
            backend.put_secret_value(arn, self._text(site, new), None, token, ["AWSCURRENT"])  # type: ignore[arg-type]
        secret: Any = backend.secrets[arn]
        secret.description, secret.kms_key_id = new.get("Description"), new.get("KmsKeyId")
        tags = {tag["Key"]: tag["Value"] for tag in new.get("Tags", [])}
        backend.untag_resource(arn, [tag["Key"] for tag in old.get("Tags", []) if tag["Key"] not in tags])
        backend.tag_resource(arn, tags)
        return resource

    def delete(self, site: Site, resource: Made, properties: Properties) -> None:  # noqa: ARG002
        _secrets(site).delete_secret(
            resource.physical_resource_id, recovery_window_in_days=None, force_delete_without_recovery=True
        )

    @staticmethod
    def _text(site: Site, properties: Properties) -> str | None:
        rule = properties.get("GenerateSecretString")
        if rule is None:
            return str(properties["SecretString"]) if "SecretString" in properties else None
        answer = _secrets(site).get_random_password(
            password_length=int(rule.get("PasswordLength", _DEFAULT_LENGTH)),
            exclude_characters=rule.get("ExcludeCharacters", ""),
            exclude_numbers=_flag(rule, "ExcludeNumbers"),
            exclude_punctuation=_flag(rule, "ExcludePunctuation"),
            exclude_uppercase=_flag(rule, "ExcludeUppercase"),
            exclude_lowercase=_flag(rule, "ExcludeLowercase"),
            include_space=_flag(rule, "IncludeSpace"),
            require_each_included_type=_flag(rule, "RequireEachIncludedType", default=True),
        )
        password = json.loads(answer)["RandomPassword"]
        if "GenerateStringKey" not in rule:
            return str(password)
        return json.dumps({**json.loads(rule["SecretStringTemplate"]), rule["GenerateStringKey"]: password})


def _flag(rule: Properties, name: str, *, default: bool = False) -> bool:
    return str(rule.get(name, default)).lower() == "true"


def install() -> None:
    """Add the fill."""
    register(_Secret())
