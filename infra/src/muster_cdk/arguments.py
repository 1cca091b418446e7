"""The types of a constructor's arguments: what cannot be taken is refused in our own sentence, all at once.

Texts, sizes, durations and the like that are turned into something else have their sentences in
``coercion``; here are constructs, flags and enumerations, which would else fail somewhere in CDK.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

import aws_cdk as cdk
from aws_cdk import aws_logs as logs

from muster_core.instances import InstanceType
from muster_core.rules import is_token_number

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


class _Kind(NamedTuple):
    """What an annotation allows: in words, and as a question."""

    words: str
    allows: Callable[[object], bool]


def checked(init: Callable[P, R]) -> Callable[P, R]:
    """Decorate a constructor, or a grant: arguments of a wrong type raise before anything is made.

    The annotations say what is right. One with a part that is not in the table is left to the
    constructor.

    Args:
        init: The constructor.

    Returns:
        The constructor, which raises ``TypeError`` with a line for each wrong argument.
    """
    names = list(inspect.signature(init).parameters)
    kinds = {name: kind for name, text in init.__annotations__.items() if (kind := _kinds(str(text)))}

    @functools.wraps(init)
    def wrapper(*args: P.args, **arguments: P.kwargs) -> R:
        wrong = [
            f"{name} must be {_words(kinds[name])}, got {type(value).__name__} {value!r}; change it"
            for name, value in {**dict(zip(names, args, strict=False)), **arguments}.items()
            if name in kinds and not any(kind.allows(value) for kind in kinds[name])
        ]
        if wrong:
            raise TypeError("\n".join(wrong))
        return init(*args, **arguments)

    return wrapper


def _kinds(annotation: str) -> list[_Kind]:
    """The kinds of an annotation, none where one of its parts is not in the table."""
    parts = annotation.split(" | ")
    return [_KINDS[part] for part in parts] if all(part in _KINDS for part in parts) else []


def _words(kinds: list[_Kind]) -> str:
    return " or ".join(kind.words for kind in kinds if kind.words)


def _has(attribute: str) -> Callable[[object], bool]:
    # Looked at before it is read, which would ask Node; jsii's dynamic proxies have it only when they are asked.
    return lambda value: (
        inspect.getattr_static(value, attribute, None) is not None or hasattr(value, attribute)
    )


def _is(*classes: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, classes)


def _jobs(value: object) -> bool:
    is_job = _has("job_definition")
    return isinstance(value, Sequence) and all(is_job(each) for each in value)


def _number(value: object) -> bool:
    return is_token_number(value) or (isinstance(value, int) and not isinstance(value, bool))


_KINDS = {
    "None": _Kind("", lambda value: value is None),
    "bool": _Kind("True or False", _is(bool)),
    "int": _Kind("an int", _number),
    "str": _Kind("a str", _is(str)),
    "cdk.RemovalPolicy": _Kind("a cdk.RemovalPolicy", _is(cdk.RemovalPolicy)),
    "logs.RetentionDays": _Kind("a logs.RetentionDays", _is(logs.RetentionDays)),
    "ec2.IVpc": _Kind("an ec2.IVpc such as ec2.Vpc", _has("vpc_id")),
    "ec2.ISubnet": _Kind("an ec2.ISubnet such as ec2.Subnet", _has("subnet_id")),
    "ec2.ISecurityGroup": _Kind("an ec2.ISecurityGroup such as ec2.SecurityGroup", _has("security_group_id")),
    "ec2.IPlacementGroup": _Kind(
        "an ec2.IPlacementGroup such as ec2.PlacementGroup", _has("placement_group_name")
    ),
    "iam.IRole": _Kind("an iam.IRole such as iam.Role", _has("role_arn")),
    "iam.IManagedPolicy": _Kind(
        "an iam.IManagedPolicy such as iam.ManagedPolicy", _has("managed_policy_arn")
    ),
    "ecr.IRepository": _Kind("an ecr.IRepository such as TrainingRepository", _has("repository_uri")),
    "logs.ILogGroup": _Kind("a logs.ILogGroup such as logs.LogGroup", _has("log_group_arn")),
    "iam.IGrantable": _Kind("an iam.IGrantable such as iam.Role", _has("grant_principal")),
    "iam.IPrincipal": _Kind("an iam.IPrincipal such as iam.AccountPrincipal", _has("assume_role_action")),
    "sns.ITopic": _Kind("an sns.ITopic such as sns.Topic", _has("topic_arn")),
    "kms.IKey": _Kind("a kms.IKey such as kms.Key", _has("key_arn")),
    "s3.IBucket": _Kind("an s3.IBucket such as s3.Bucket", _has("bucket_arn")),
    "InstanceType": _Kind(
        "the facts of an instance type, by InstanceType.custom or a cluster's instance", _is(InstanceType)
    ),
    "Mapping[str, str]": _Kind("a dict of str to str", _is(Mapping)),
    "Sequence[MultiNodeTrainingJob]": _Kind("a list of MultiNodeTrainingJob", _jobs),
    "GpuCluster": _Kind("a GpuCluster", _has("job_queue")),
}
