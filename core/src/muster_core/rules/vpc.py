"""Whether the subnet, the security groups and the endpoints of the nodes fit the VPC that they are in."""

from __future__ import annotations

import re
from typing import List, Optional

from muster_core.rules.problem import Problem, Rules, is_token_text

_GROUP = re.compile(r"sg-[a-z0-9-]+")

RULES: Rules = {
    "vpc.same": "the nodes' subnet and the group of their network cards are in the cluster's vpc",
    "vpc.default_group": "the default security group is the one that came with the vpc, by its id",
    "vpc.dns": "a vpc with interface endpoints gives names to its addresses",
}


def same(argument: str, name: str, own: Optional[str], vpc: Optional[str]) -> List[Problem]:
    """A subnet or a group is in the cluster's VPC.

    Args:
        argument: The argument that it was given by.
        name: What the problem calls it.
        own: Its VPC, by the id or the path; None where it is not known.
        vpc: The cluster's VPC, likewise.
    """
    if own is None or vpc is None or is_token_text(own) or is_token_text(vpc) or own == vpc:
        return []
    return [
        Problem(
            "vpc.same",
            f"{argument} is in another vpc than the cluster, got {name!r} of {own!r} beside {vpc!r}; EC2 starts no "
            f"instance across two; give vpc and {argument} of the same",
        )
    ]


def default_group(given: Optional[str], own: Optional[str], made: Optional[str] = None) -> List[Problem]:
    """The default security group that is named is the VPC's.

    Args:
        given: Its id; None where none was given.
        own: Id of the default group of a VPC that is made in the same app; None for an imported one.
        made: Path of the group where it is made in the same app: no such group is a default one.
    """
    if made is not None:
        return [Problem("vpc.default_group", _made(made))]
    if own is None:
        wrong = given is not None and not is_token_text(given) and not _GROUP.fullmatch(given)
        return [Problem("vpc.default_group", _no_id(given))] if wrong else []
    if given in (None, own):
        return []
    said = "an id that is known at deployment only" if is_token_text(given) else repr(given)
    return [
        Problem(
            "vpc.default_group",
            f"default_security_group is not the vpc's, got {said}; the vpc is made in this app and its default group is "
            "known; leave default_security_group out",
        )
    ]


def dns(vpc: str, *, hostnames: bool, support: bool) -> List[Problem]:
    """The VPC gives names to its addresses, which the private names of its interface endpoints need.

    Args:
        vpc: What the problem calls the VPC.
        hostnames: Whether its DNS hostnames are on.
        support: Whether its DNS support is on.
    """
    flags = (("enable_dns_hostnames", hostnames), ("enable_dns_support", support))
    return [
        Problem(
            "vpc.dns",
            f"vpc has {name} off, got {vpc!r}; the private names of interface endpoints need it; turn it on",
        )
        for name, on in flags
        if not on
    ]


def _made(path: str) -> str:
    return (
        f"default_security_group is made in this app, got {path!r}; a job's containers are in the group that came with the "
        "vpc; leave it out for a vpc of this app, and give the id of the group named 'default' for an imported one"
    )


def _no_id(given: Optional[str]) -> str:
    return (
        f"default_security_group is no id of a group, got {given!r}; an id is such as 'sg-0123456789abcdef0'; give the id "
        "of the vpc's group named 'default'"
    )
