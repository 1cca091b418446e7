#!/usr/bin/env python3
"""The reference app: a GPU cluster and a multi-node job that trains on handwritten digits.

It deploys as it stands. Context keys, each as ``-c key=value``:

    muster:instance_type   the type of every node; default g6.8xlarge, an affordable one with EFA
    muster:nodes           nodes of a submission that does not say otherwise; default 2
    muster:max_nodes       nodes that the cluster may have at once; default 4
    muster:zone            a zone that offers the type, such as us-east-1b; default: the first one
"""

from pathlib import Path

import aws_cdk as cdk
from constructs import Construct

from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob, TrainingImage

DIGITS = Path(__file__).resolve().parent / "examples" / "digits"


class ReferenceStack(cdk.Stack):
    """One cluster, one job."""

    def __init__(self, scope: Construct, id: str) -> None:
        """Make the stack out of the context.

        Args:
            scope: The app.
            id: Name of the stack.
        """
        super().__init__(scope, id)
        cluster = GpuCluster(
            self,
            "Cluster",
            instance_type=self.node.try_get_context("muster:instance_type") or "g6.8xlarge",
            max_nodes=self._number("muster:max_nodes", 4),
            availability_zone=self.node.try_get_context("muster:zone"),
        )
        MultiNodeTrainingJob(
            self,
            "Train",
            cluster=cluster,
            nodes=self._number("muster:nodes", 2),
            image=TrainingImage.from_directory(DIGITS),
            launcher=Launcher.torch("train.py"),
            timeout="1h",
        )

    def _number(self, key: str, default: int) -> int:
        text = self.node.try_get_context(key)
        try:
            return default if text is None else int(text)
        except ValueError:
            raise SystemExit(
                f"{key} must be a whole number, got {text!r}; give one by -c {key}={default}"
            ) from None


def main() -> None:
    """Synthesize."""
    app = cdk.App()
    ReferenceStack(app, "Muster")
    app.synth()


if __name__ == "__main__":
    main()
