"""Whether the roles of hosts, jobs and people trust who is to take them, and not everybody."""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

from muster_core.rules.problem import Problem, Rules, is_token_text

RULES: Rules = {
    "trust.service": "a role trusts the service that is to take it",
    "trust.anyone": "a role of people does not trust everybody",
}

Statement = Mapping[str, object]
"""A statement of a trust policy, as IAM writes it."""
_UNKNOWN = "${Token[unknown]}"


def service(argument: str, name: str, statements: Sequence[Statement], taker: str) -> List[Problem]:
    """A role trusts the service that takes it.

    Args:
        argument: The argument that the role was given by.
        name: What the problem calls the role.
        statements: Its trust policy; nothing is judged where a principal is known at deployment only.
        taker: The service's short name, such as ``ec2``.
    """
    found = list(_principals(statements))
    services = sorted({value for kind, value in found if kind == "Service"})
    hidden = any(value == "*" or (kind == "Service" and is_token_text(value)) for kind, value in found)
    if hidden or any(value.partition(".")[0] == taker for value in services):
        return []
    return [
        Problem(
            "trust.service",
            f"{argument} does not trust {taker}.amazonaws.com, got {name!r}, which trusts "
            f"{', '.join(services) or 'no service'}; the service could not take it; make it with "
            f"iam.ServicePrincipal('{taker}.amazonaws.com')",
        )
    ]


def anyone(argument: str, statements: Sequence[Statement]) -> List[Problem]:
    """No statement without a condition trusts everybody.

    Args:
        argument: The argument that says who is trusted.
        statements: The trust policy.
    """
    if ("AWS", "*") not in _principals([each for each in statements if not each.get("Condition")]):
        return []
    return [
        Problem(
            "trust.anyone",
            f"{argument} is everybody, got the principal '*' without a condition; any account of AWS could take the role "
            "and submit jobs; name an account or a role, or add a condition on aws:PrincipalOrgID",
        )
    ]


def _principals(statements: Sequence[Statement]) -> Iterator[Tuple[str, str]]:
    """Kind and value of each principal that is allowed; what is no text is known at deployment only."""
    for statement in statements:
        principal = statement.get("Principal")
        if statement.get("Effect") == "Allow":
            parts: Dict[str, object] = principal if isinstance(principal, dict) else {"AWS": principal}
            for kind, given in parts.items():
                for value in given if isinstance(given, list) else [given]:
                    yield kind, value if isinstance(value, str) else _UNKNOWN
