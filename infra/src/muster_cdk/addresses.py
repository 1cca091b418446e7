"""What is seen in a stack to take addresses of a subnet: endpoints, and the nodes of clusters that were made before."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from muster_cdk.paths import stack_of

if TYPE_CHECKING:
    import aws_cdk as cdk
    from aws_cdk import aws_ec2 as ec2
    from constructs import Construct

_TAKEN: WeakKeyDictionary[cdk.Stack, Counter[str]] = WeakKeyDictionary()


def taken(scope: Construct, subnet: ec2.ISubnet) -> int:
    """Addresses of a subnet that are spoken for in the stack.

    Args:
        scope: A construct of the stack.
        subnet: The subnet.
    """
    return _TAKEN.get(stack_of(scope), Counter())[subnet.subnet_id]


def take(scope: Construct, subnet: ec2.ISubnet, count: int) -> None:
    """Count addresses of a subnet as taken.

    Args:
        scope: A construct of the stack.
        subnet: The subnet.
        count: How many.
    """
    _TAKEN.setdefault(stack_of(scope), Counter())[subnet.subnet_id] += count
