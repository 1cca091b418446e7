"""Where a construct stands. Each question to CDK is a message to its Node process: they are asked once."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import aws_cdk as cdk

if TYPE_CHECKING:
    from constructs import IConstruct

_PATHS: WeakKeyDictionary[IConstruct, str] = WeakKeyDictionary()
_STACKS: WeakKeyDictionary[IConstruct, cdk.Stack] = WeakKeyDictionary()


def path_of(construct: IConstruct) -> str:
    """The path of a construct in its app, which never changes."""
    if construct not in _PATHS:
        _PATHS[construct] = construct.node.path
    return _PATHS[construct]


def stack_of(construct: IConstruct) -> cdk.Stack:
    """The stack of a construct, which never changes."""
    if construct not in _STACKS:
        _STACKS[construct] = cdk.Stack.of(construct)
    return _STACKS[construct]


def path_within_stack(construct: IConstruct) -> str:
    """The path of a construct without that of its stack."""
    return path_of(construct).removeprefix(f"{path_of(stack_of(construct))}/")


def account_and_region(construct: IConstruct) -> tuple[str, str]:
    """The account and the region of a construct's stack; tokens where they are not known."""
    stack = stack_of(construct)
    return stack.account, stack.region
