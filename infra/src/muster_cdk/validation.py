"""All problems of one construct in one report, through the construct tree's own validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsii
from constructs import Construct, IValidation

from muster_core.rules import ClusterRequest, Problem, cluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muster_core.instances import InstanceType

_FATAL = ("instance.accelerator", "instance.image", "network.interfaces")
"""Rules without which no launch template can be written: the constructor raises."""


@jsii.implements(IValidation)
class Report:
    """The problems of one construct. CDK shows them at the synth, with the construct's path."""

    def __init__(self, construct: Construct) -> None:
        self._construct = construct
        self._problems: list[Problem] = []

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems; one that is there already is not said twice."""
        new = [problem for problem in problems if problem not in self._problems]
        if new and not self._problems:  # a right construct costs no message to CDK's process
            self._construct.node.add_validation(self)
        self._problems += new

    def validate(self) -> list[str]:
        """The sentences, for CDK."""
        return [problem.message for problem in self._problems]


def report_of(construct: Construct, scope: Construct) -> Report:
    """The report for a construct that may be a part: the whole's, where it has one, else its own.

    Args:
        construct: The construct.
        scope: Its parent: both judge some of the same values, and a problem is said once.
    """
    report = getattr(scope, "_report", None)
    return report if isinstance(report, Report) else Report(construct)


def is_part(scope: Construct) -> bool:
    """Whether a construct below this one is a part of a whole, which has a report for all of them.

    Args:
        scope: The construct's parent.
    """
    return isinstance(getattr(scope, "_report", None), Report)


def refuse_impossible(instance: InstanceType, request: ClusterRequest) -> None:
    """Stop where the instance type leaves nothing to build.

    Raises:
        ValueError: The type cannot run multi-node jobs; the text says all that is wrong with the request.
    """
    problems = cluster(instance, request)
    if any(problem.rule in _FATAL for problem in problems):
        raise ValueError("\n".join(problem.message for problem in problems))
