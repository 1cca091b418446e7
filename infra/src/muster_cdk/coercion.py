"""Plain Python at the edge: what a person may write, turned into what the constructs hold.

Every wrong type gets our own sentence with the argument's name, never jsii's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from muster_core.instances import InstanceType, lookup
from muster_core.rules import is_token_number, is_token_text

if TYPE_CHECKING:
    from collections.abc import Callable

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", flags=re.ASCII)
_SECONDS = (86400, 3600, 60, 1)
_SIZE = re.compile(r"(\d+) ?(MiB|GiB|TiB)", flags=re.ASCII)
MAX_DIGITS = 24
"""Most digits of a number in a text: what is larger is no amount of anything, and CDK's numbers end somewhere."""
_MEBIBYTES = {"MiB": 1, "GiB": 1024, "TiB": 1024 * 1024}


def to_instance_name(value: str | ec2.InstanceType, argument: str = "instance_type") -> str:
    """The name of an instance type.

    Raises:
        TypeError: The value is neither a str nor an ``ec2.InstanceType``.
        ValueError: It is a token: everything follows from the type.
    """
    name = value.to_string() if isinstance(value, ec2.InstanceType) else value
    if is_token_text(name):
        raise ValueError(f"{argument} must be known at synth, got a token; give a name such as 'p5.48xlarge'")
    if isinstance(name, str):
        return name
    raise _wrong(argument, "a str such as 'p5.48xlarge' or an ec2.InstanceType", value)


def to_instance(
    value: str | ec2.InstanceType | InstanceType, argument: str = "instance_type"
) -> InstanceType:
    """The facts of an instance type, given by its name or as they are.

    Raises:
        TypeError: The value is none of these.
        UnknownInstanceTypeError: The catalogue has no such type.
    """
    return value if isinstance(value, InstanceType) else lookup(to_instance_name(value, argument))


def to_duration(value: str | cdk.Duration, argument: str) -> cdk.Duration:
    """A duration in whole seconds out of ``"24h"``, ``"1d12h"``, ``"90m"``, ``"3600s"`` or a ``Duration``.

    Raises:
        TypeError: The value is neither a str nor a ``Duration``.
        ValueError: The text is no duration, or the value is not in whole seconds or is a token in another unit.
    """
    seconds = to_amount(value, argument, cdk.Duration.to_seconds)
    if seconds is not None and not is_token_number(seconds) and seconds != int(seconds):
        raise ValueError(f"{argument} must be in whole seconds, got {seconds:g} s; round it")
    return _duration(value, argument)


def _duration(value: str | cdk.Duration, argument: str) -> cdk.Duration:
    if isinstance(value, cdk.Duration):
        return value
    if not isinstance(value, str):
        raise _wrong(argument, "a Duration or a str such as '24h'", value)
    match = _DURATION.fullmatch(value)
    if match is None or not value:
        raise ValueError(
            f"{argument} is no duration, got {value!r}; allowed are days, hours, minutes and seconds in this order, "
            "such as '24h', '1d12h' or '90m'; correct it"
        )
    amounts = zip(match.groups(), _SECONDS, strict=True)
    return _of_seconds(sum(_whole(amount, argument) * unit for amount, unit in amounts if amount))


@functools.cache
def _of_seconds(seconds: int) -> cdk.Duration:
    return cdk.Duration.seconds(seconds)  # a value that never changes: CDK's process is asked once


def to_amount(value: str | cdk.Duration | None, argument: str, unit: Callable[..., float]) -> float | None:
    """A duration in a unit, None for None; it need not be whole, and may be a token in that unit.

    Args:
        value: What was given.
        argument: Its name.
        unit: The method that reads it, such as ``Duration.to_minutes``.

    Raises:
        TypeError: The value is neither a str nor a ``Duration``.
        ValueError: The text is no duration, or the value is a token in another unit.
    """
    if value is None:
        return None
    try:
        return unit(_duration(value, argument), integral=False)
    except RuntimeError:  # jsii's form of CDK's refusal to convert a token
        name = unit.__name__.removeprefix("to_")
        raise ValueError(f"{argument} is a token in another unit than {name}; use Duration.{name}") from None


def to_mebibytes(value: str | cdk.Size, argument: str) -> int:
    """Mebibytes out of ``"64GiB"`` or a ``Size``.

    Raises:
        TypeError: The value is neither a str nor a ``Size``.
        ValueError: The text is no size, or the value is not in whole mebibytes or is a token.
    """
    if isinstance(value, cdk.Size):
        return _whole_mebibytes(value, argument)
    if not isinstance(value, str):
        raise _wrong(argument, "a Size or a str such as '200GiB'", value)
    match = _SIZE.fullmatch(value)
    if match is None:
        raise ValueError(
            f"{argument} is no size, got {value!r}; allowed is a whole number of MiB, GiB or TiB, such as '200GiB'; "
            "correct it"
        )
    return _whole(match.group(1), argument) * _MEBIBYTES[match.group(2)]


def _whole(digits: str, argument: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(
            f"{argument} has a number of {len(digits)} digits; at most {MAX_DIGITS} are read; correct it"
        )
    return int(digits)


def _whole_mebibytes(size: cdk.Size, argument: str) -> int:
    if size.is_unresolved():
        raise ValueError(f"{argument} must be known at synth, got a token; give a size such as '200GiB'")
    amount = size.to_mebibytes(rounding=cdk.SizeRoundingBehavior.NONE)
    if amount != int(amount):
        raise ValueError(f"{argument} must be in whole mebibytes, got {amount:g} MiB; round it")
    return int(amount)


def to_count(value: float, argument: str, *, token: bool = True) -> float:
    """A whole number; a token of CDK passes as it is.

    Args:
        value: What was given.
        argument: Its name.
        token: Whether a token is allowed. Default: True.

    Raises:
        TypeError: The value is not a whole number.
        ValueError: The value is a token and none is allowed.
    """
    if is_token_number(value):
        if not token:
            raise ValueError(f"{argument} must be known at synth, got a token; give a number")
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(argument, "an int", value)
    return value


def to_strings(values: Sequence[str], argument: str) -> list[str]:
    """A list of str out of any sequence of them but a str itself.

    Raises:
        TypeError: The value is a str or no sequence, or an element is not a str.
    """
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise _wrong(argument, "a list of str", values)
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise _wrong(f"{argument}[{index}]", "a str", value)
    return list(values)


def to_variables(values: Mapping[str, str] | None, argument: str = "environment") -> dict[str, str]:
    """A dict of variables, empty for None.

    Raises:
        TypeError: The value is no mapping, or a name or a value is not a str.
    """
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise _wrong(argument, "a dict of str to str", values)
    for name, value in values.items():
        if not isinstance(name, str):
            raise _wrong(f"a name in {argument}", "a str", name)
        if not isinstance(value, str):
            raise _wrong(f"{argument}[{name!r}]", "a str", value)
    return dict(values)


def to_numbers(values: Mapping[str, float], argument: str) -> dict[str, float]:
    """A dict of numbers by name.

    Raises:
        TypeError: The value is no mapping, a name is not a str, or a value is no number.
    """
    if not isinstance(values, Mapping):
        raise _wrong(argument, "a dict of str to a number", values)
    for name, value in values.items():
        if not isinstance(name, str):
            raise _wrong(f"a name in {argument}", "a str", name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _wrong(f"{argument}[{name!r}]", "a number", value)
    return dict(values)


def to_part(value: object, attribute: str, argument: str, allowed: str) -> None:
    """Refuse what is no construct of a kind, told by the attribute that is read of it.

    Args:
        value: What was given.
        attribute: Such as ``subnet_id``.
        argument: Its name.
        allowed: What it may be, in words.

    Raises:
        TypeError: The value has no such attribute.
    """
    # The class first, as an attribute may ask CDK for what an import lacks; what jsii hands out as an
    # interface alone has it on the object.
    if not (hasattr(type(value), attribute) or hasattr(value, attribute)):
        raise _wrong(argument, allowed, value)


def to_flag(value: bool, argument: str) -> bool:
    """A bool, and nothing that merely counts as one.

    Raises:
        TypeError: The value is no bool.
    """
    if isinstance(value, bool):
        return value
    raise _wrong(argument, "True or False", value)


def to_mode(value: str | Enum | None, argument: str) -> str | None:
    """A mode in capitals, out of a str or one of CDK's enumerations; None for None.

    Raises:
        TypeError: The value is neither.
    """
    if value is None:
        return None
    text = to_text(value.value if isinstance(value, Enum) else value, argument)
    return text if is_token_text(text) else text.upper()


def to_text(value: str | PurePath, argument: str) -> str:
    """A str out of a str or a path.

    Raises:
        TypeError: The value is neither.
    """
    if isinstance(value, (str, PurePath)):
        return str(value)
    raise _wrong(argument, "a str", value)


def _wrong(argument: str, allowed: str, value: object) -> TypeError:
    return TypeError(f"{argument} must be {allowed}, got {type(value).__name__} {value!r}; change it")
