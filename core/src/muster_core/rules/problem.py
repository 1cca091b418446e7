"""What a rule says, and what it must not judge.

A rule is a pure function from facts and a request to problems. Its text reads: argument, what is
wrong, what was given; what is allowed; what to change. Lower case, no final period. It does not
repeat where in a program the value stands: whoever asks knows that.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Union


class Problem(NamedTuple):
    """One thing that is certainly wrong."""

    rule: str
    """Id of the rule, such as ``nodes.count``. Ids are API."""
    message: str
    """One sentence for the person who wrote the value."""


Rules = Dict[str, str]
"""Rules of a module: id -> what it holds, in a sentence."""

Number = Union[int, float]

# A CDK token in the shape of a number is a double whose top 16 bits are 0xFBFF.
_TOKEN_LOW, _TOKEN_HIGH = -2.0 * 2.0**960, -1.9375 * 2.0**960


def is_token_number(value: object) -> bool:
    """Whether a value is a number that stands for one that is known at deployment only.

    Such a number is about -1.9e289. No rule judges it.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and _TOKEN_LOW < value <= _TOKEN_HIGH  # type: ignore[operator]


def is_token_text(value: object) -> bool:
    """Whether a text holds a part that is known at deployment only.

    CDK writes ``${Token[...]}`` in a text, and a list of one ``#{Token[...]}`` for a list.
    """
    return isinstance(value, str) and ("${Token[" in value or "#{Token[" in value)


def known(value: Optional[Number]) -> Optional[Number]:
    """The number, or None where there is none to judge: not given, or a token."""
    return None if value is None or is_token_number(value) else value


def is_whole(number: Number) -> bool:
    """Whether a number is whole: 2 and 2.0 are."""
    return isinstance(number, int) or number.is_integer()


def docs_anchor(rule: str) -> str:
    """The anchor of a rule in the documentation's page of rules: ``nodes-count`` of ``nodes.count``."""
    return rule.replace(".", "-").replace("_", "-")
