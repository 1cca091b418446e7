"""Deploys a synthesized template in this process: moto with the fills, no server, about 0.6 s."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import zipfile
from typing import TYPE_CHECKING, Any
from unittest import mock

import boto3
from moto import mock_aws

from muster_cli.local import fills
from muster_cli.local.fills import patching
from muster_cli.local.settings import REGION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"


@functools.cache
def client(service: str) -> Any:
    """Clients are made once: reading a service's model takes long."""
    return boto3.client(service, region_name=REGION)  # type: ignore[call-overload]


@contextlib.contextmanager
def local_account() -> Iterator[None]:
    """moto in this process with the fills, as a fresh account."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    with patching.temporary(), mock.patch.dict(os.environ, clean, clear=True), mock_aws():
        fills.install()
        yield


def load(path: Path) -> dict[str, Any]:
    template: dict[str, Any] = json.loads(path.read_text())
    return template


def upload_assets(template: dict[str, Any]) -> None:
    """Put an empty archive where a function of the template expects its code."""
    for resource in template["Resources"].values():
        code = resource.get("Properties", {}).get("Code", {})
        if isinstance(code, dict) and "S3Key" in code:
            bucket = code["S3Bucket"]
            name = bucket["Fn::Sub"] if isinstance(bucket, dict) else bucket
            name = name.replace("${AWS::AccountId}", "123456789012").replace("${AWS::Region}", REGION)
            with contextlib.suppress(client("s3").exceptions.BucketAlreadyOwnedByYou):
                client("s3").create_bucket(Bucket=name)
            client("s3").put_object(Bucket=name, Key=code["S3Key"], Body=_empty_archive())


def _empty_archive() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("index.js", "")
    return data.getvalue()


def deploy(template: dict[str, Any], name: str = "Muster", **more: Any) -> dict[str, Any]:
    """Create or update a stack; return it as DescribeStacks shows it, whatever came of it."""
    upload_assets(template)
    if "BootstrapVersion" in template.get("Parameters", {}):
        client("ssm").put_parameter(Name=BOOTSTRAP_PARAMETER, Value="30", Type="String", Overwrite=True)
    cloudformation = client("cloudformation")
    existing = {s["StackName"] for s in cloudformation.describe_stacks()["Stacks"]}
    act = cloudformation.update_stack if name in existing else cloudformation.create_stack
    act(StackName=name, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_NAMED_IAM"], **more)
    return describe(name)


def describe(name: str = "Muster") -> dict[str, Any]:
    stack: dict[str, Any] = client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    return stack


def reasons(name: str = "Muster") -> list[str]:
    """What the events of a stack say of failures, first things first."""
    events = client("cloudformation").describe_stack_events(StackName=name)["StackEvents"]
    failed = [e for e in reversed(events) if e["ResourceStatus"].endswith("FAILED")]
    return [
        f"{e['LogicalResourceId']} {e['ResourceStatus']}: {e.get('ResourceStatusReason')}" for e in failed
    ]


def resources(name: str = "Muster") -> dict[str, tuple[str, str]]:
    """Type and physical id of each resource, by logical id."""
    found = client("cloudformation").describe_stack_resources(StackName=name)["StackResources"]
    return {r["LogicalResourceId"]: (r["ResourceType"], r["PhysicalResourceId"]) for r in found}


def delete(name: str = "Muster") -> None:
    client("cloudformation").delete_stack(StackName=name)


def one(resource_type: str, attributes: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """A template of one resource, ``It``, with outputs for some of its attributes."""
    outputs = {name: {"Value": {"Fn::GetAtt": ["It", name]}} for name in attributes}
    resource = {"It": {"Type": resource_type, "Properties": properties}}
    return {"Resources": resource, "Outputs": {"Id": {"Value": {"Ref": "It"}}, **outputs}}


def outputs(stack: dict[str, Any]) -> dict[str, str]:
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def deploy_well(template: dict[str, Any], name: str = "Muster") -> dict[str, str]:
    """Deploy, and return the outputs; fails with the reasons where it failed."""
    stack = deploy(template, name)
    assert stack["StackStatus"] in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}, reasons(name)
    return outputs(stack)
