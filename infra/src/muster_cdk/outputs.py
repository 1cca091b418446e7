"""Outputs of a stack that the command line finds by their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk

from muster_cdk.paths import path_within_stack

if TYPE_CHECKING:
    from constructs import Construct


def add_output(construct: Construct, id: str, marker: str, value: str) -> None:
    """Give the stack an output that says what it is, and of which construct.

    Args:
        construct: The construct that it belongs to.
        id: Id of the output within the construct.
        marker: One of the contract's ``OUTPUT_`` constants.
        value: The value.
    """
    cdk.CfnOutput(construct, id, description=f"{marker} {path_within_stack(construct)}", value=value)
