"""Writes ``app.py`` beside this file: the reference app's resources as L1 constructs, as one would by hand.

    python bench/synth_l1/write.py

Logical ids stay, so that the two templates can be compared; the image is an asset in both, and the code of CDK's own
custom resource, which an L1 app would not write, is a literal.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = Path(__file__).resolve().parent / "app.py"
ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "AWS::Batch": "aws_batch",
    "AWS::EC2": "aws_ec2",
    "AWS::ECR": "aws_ecr",
    "AWS::IAM": "aws_iam",
    "AWS::Lambda": "aws_lambda",
    "AWS::Logs": "aws_logs",
    "AWS::SecretsManager": "aws_secretsmanager",
}
DOCUMENTS = {"PolicyDocument", "AssumeRolePolicyDocument"}
"""Properties that are documents of their own: their keys stay."""
MAPS = {"Options", "Variables"}
"""Properties whose keys are data."""
HEAD = '''"""The reference app's resources by hand, as L1 constructs. Written by write.py: run it after a change of the template."""

# ruff: noqa: F841, N806, PLR0915
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import {imports}

if TYPE_CHECKING:
    from constructs import Construct

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"


class L1Stack(cdk.Stack):
    """One cluster, one job."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        image = aws_ecr_assets.DockerImageAsset(self, "Image", directory=str(DIGITS)).image_uri
'''


def main() -> None:
    """Write the app."""
    TARGET.write_text(source(reference()))
    subprocess.run(["ruff", "format", "--quiet", TARGET], check=True)


def reference() -> dict[str, Any]:
    """The reference app's template."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"] | {"muster:zone": "us-east-1b"}
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"CDK_OUTDIR": folder, "CDK_CONTEXT_JSON": json.dumps(context)}
        subprocess.run([sys.executable, ROOT / "app.py"], env=environment, check=True)
        template: dict[str, Any] = json.loads((Path(folder) / "Muster.template.json").read_text())
        return template


def source(template: dict[str, Any]) -> str:
    """The program."""
    resources = template["Resources"]
    names = {
        MODULES[kind] for each in resources.values() if (kind := each["Type"].rpartition("::")[0]) in MODULES
    }
    imports = ", ".join(sorted({*names, "aws_ecr_assets"}))
    body = [_resource(name, resources[name]) for name in _ordered(resources)]
    body += [line for name, each in resources.items() for line in _options(name, each)]
    body += [_output(name, each) for name, each in template["Outputs"].items()]
    return HEAD.format(imports=imports) + "".join(f"        {line}\n" for line in body)


@cache
def _class(kind: str) -> str:
    module = MODULES[kind.rpartition("::")[0]]
    for name, each in vars(importlib.import_module(f"aws_cdk.{module}")).items():
        if getattr(each, "CFN_RESOURCE_TYPE_NAME", None) == kind:
            return f"{module}.{name}"
    raise LookupError(f"no construct of {kind}")


def _ordered(resources: dict[str, Any]) -> list[str]:
    """The logical ids, each after those that it refers to."""
    graph = {name: _references(each) & set(resources) for name, each in resources.items()}
    return list(TopologicalSorter(graph).static_order())


def _references(value: object) -> set[str]:
    if isinstance(value, dict):
        own = (
            {value["Ref"]} if "Ref" in value else {value["Fn::GetAtt"][0]} if "Fn::GetAtt" in value else set()
        )
        return own.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


def _resource(id: str, each: dict[str, Any]) -> str:
    properties = each.get("Properties", {})
    if each["Type"].startswith("Custom::"):
        return f"r{id} = cdk.CfnResource(self, {id!r}, type={each['Type']!r}, properties={_value(properties, keep=True)})"
    arguments = [
        f"{_snake(name)}={_value(value, keep=name in DOCUMENTS, data=name in MAPS)}"
        for name, value in properties.items()
    ]
    return f"r{id} = {_class(each['Type'])}({', '.join(['self', repr(id), *arguments])})"


def _options(id: str, each: dict[str, Any]) -> list[str]:
    lines = [
        f"r{id}.cfn_options.{_snake(name)} = cdk.CfnDeletionPolicy.{each[name].upper()}"
        for name in ("DeletionPolicy", "UpdateReplacePolicy")
        if name in each
    ]
    depends = each.get("DependsOn", [])
    others = [depends] if isinstance(depends, str) else depends
    return [*lines, *(f"r{id}.add_resource_dependency(r{other})" for other in others)]


def _output(id: str, each: dict[str, Any]) -> str:
    return f"cdk.CfnOutput(self, {id!r}, description={each['Description']!r}, value={_value(each['Value'])})"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _value(value: object, *, keep: bool = False, data: bool = False) -> str:
    """A value as code: ``keep`` leaves all keys as they are, ``data`` those of the outermost object."""
    if isinstance(value, dict):
        return _function(value) or _object(value, keep=keep, data=data)
    if isinstance(value, list):
        return "[" + ", ".join(_value(each, keep=keep) for each in value) + "]"
    return repr(value)


def _object(value: dict[str, Any], *, keep: bool, data: bool) -> str:
    pairs = []
    for key, each in value.items():
        code = _value(each, keep=keep or key in DOCUMENTS, data=key in MAPS)
        pairs.append(f"{key if keep or data else key[0].lower() + key[1:]!r}: {code}")
    return "{" + ", ".join(pairs) + "}"


def _function(value: dict[str, object]) -> str | None:
    """An intrinsic function as code, None for an object that is none."""
    ((name, operand), *more) = value.items() or [("", None)]
    if more or name not in FORMS:
        return None
    if name == "Fn::Sub" and ".dkr.ecr." in str(operand):
        return "image"
    return FORMS[name](operand)


def _ref(operand: str) -> str:
    return f"cdk.Aws.{_snake(operand[5:]).upper()}" if operand.startswith("AWS::") else f"r{operand}.ref"


FORMS: dict[str, Callable[..., str]] = {
    "Ref": _ref,
    "Fn::GetAtt": lambda operand: f"r{operand[0]}.attr_{_snake(operand[1])}",
    "Fn::Split": lambda operand: f"cdk.Fn.split({operand[0]!r}, {_value(operand[1])})",
    "Fn::Select": lambda operand: f"cdk.Fn.select({int(operand[0])}, {_value(operand[1])})",
    "Fn::Join": lambda operand: f"cdk.Fn.join({operand[0]!r}, {_value(operand[1])})",
    "Fn::Sub": lambda operand: f"cdk.Fn.sub({operand!r})",
    "Fn::Base64": lambda operand: f"cdk.Fn.base64({_value(operand)})",
}


if __name__ == "__main__":
    main()
