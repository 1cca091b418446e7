"""Synthesis in the tests' own process, and ways to look at a template."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk

if TYPE_CHECKING:
    from types import ModuleType

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/digits:1"
ZONE = "us-east-1b"
_HASH = re.compile(r"\b[0-9a-f]{64}\b")

Resource = dict[str, Any]


class Template(dict[str, Any]):
    """A synthesized template."""

    def of(self, kind: str) -> dict[str, Resource]:
        """The resources of a type, by logical id."""
        return {name: each for name, each in self["Resources"].items() if each["Type"] == kind}

    def one(self, kind: str) -> Resource:
        """The properties of the only resource of a type."""
        (found,) = self.of(kind).values()
        return found["Properties"]

    @property
    def container(self) -> Resource:
        """The container of the only node range."""
        (node_range,) = self.one("AWS::Batch::JobDefinition")["NodeProperties"]["NodeRangeProperties"]
        return node_range["Container"]

    @property
    def resources(self) -> Resource:
        """The compute resources of the only environment."""
        return self.one("AWS::Batch::ComputeEnvironment")["ComputeResources"]


def app_module() -> ModuleType:
    """The reference app as a module."""
    spec = importlib.util.spec_from_file_location("reference_app", REPOSITORY / "app.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def context(**more: object) -> dict[str, object]:
    """The context of the reference app's ``cdk.json``."""
    return {**json.loads((REPOSITORY / "cdk.json").read_text())["context"], **more}


def reference_template(outdir: Path, keys: dict[str, object]) -> Template:
    """Synthesize the reference app."""
    app = cdk.App(context=context(**keys), outdir=str(outdir))
    app_module().ReferenceStack(app, "Muster")
    return template_of(app, "Muster")


def stack(outdir: Path, flags: dict[str, object] | None = None, **options: object) -> cdk.Stack:
    """An empty stack named Test in an app of its own."""
    app = cdk.App(context=context(**(flags or {})), outdir=str(outdir))
    return cdk.Stack(app, "Test", **options)


def template_of(scope: cdk.App | cdk.Stack, name: str = "Test") -> Template:
    """Synthesize and read a stack's template."""
    app = scope if isinstance(scope, cdk.App) else scope.node.root
    artifact = app.synth(force=True).get_stack_by_name(name)
    return Template(json.loads(Path(artifact.template_full_path).read_text()))


def problems_of(scope: cdk.Stack) -> list[str]:
    """The problems that the synth reports, each with its construct's path; none where it succeeds."""
    try:
        scope.node.root.synth(force=True)
    except RuntimeError as error:
        return re.findall(r"^  (\[.*)$", str(error), flags=re.MULTILINE)
    return []


def warnings_of(scope: cdk.Stack) -> list[str]:
    """The warnings of the constructs of a stack, but CDK's one on subnets that are imported by id alone."""
    scope.node.root.synth(force=True)
    return [
        entry.data
        for construct in scope.node.find_all()
        for entry in construct.node.metadata
        if entry.type == "aws:cdk:warning" and not entry.data.startswith("No routeTableId")
    ]


def normalise(template: Template) -> Template:
    """The template without what changes from one state of the sources to the next: the assets' hashes."""
    return Template(json.loads(_HASH.sub("<hash>", json.dumps(template))))
