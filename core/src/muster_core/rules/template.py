"""Whether hosts can start by a launch template of the user's own, as far as it can be seen.

Source: ``LaunchTemplateInstanceNetworkInterfaceSpecificationRequest`` and
``LaunchTemplateInstanceMarketOptionsRequest`` of the EC2 API.
"""

from __future__ import annotations

from typing import List, Mapping, Sequence, Tuple

from muster_core.instances import EFA, EFA_ONLY
from muster_core.rules.problem import Problem, Rules, is_token_number, is_token_text

INTERFACE_TYPES = ("interface", EFA, EFA_ONLY)
SPOT, BLOCK = "spot", "capacity-block"

RULES: Rules = {
    "template.market": "a launch template starts instances on demand; a Capacity Block is named by a capacity",
    "template.interface_type": "the network interfaces of a launch template are of a type that EC2 knows",
    "template.slot": "each network interface of a launch template has a slot of its own",
    "template.groups": "each network interface of a launch template has its security groups",
    "template.public_address": "no network interface of several has a public address",
}

Data = Mapping[str, object]


def check(argument: str, data: Data) -> List[Problem]:
    """Everything that is certainly wrong with a launch template's data.

    Args:
        argument: What the person passed it by.
        data: The data in CloudFormation's form with camelCase names; what is no plain value is not judged.
    """
    found = data.get("networkInterfaces")
    interfaces = [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    return [
        *market(argument, data.get("instanceMarketOptions")),
        *(
            problem
            for number, each in enumerate(interfaces)
            for problem in _interface(argument, number, each)
        ),
        *slots(argument, [_slot(each) for each in interfaces]),
        *_public(argument, interfaces),
    ]


def market(argument: str, options: object) -> List[Problem]:
    """The instances are neither Spot, nor of a Capacity Block that the environment does not know of."""
    kind = options.get("marketType") if isinstance(options, Mapping) else None
    said = {
        SPOT: "multi-node jobs do not run on Spot; take the market options out of it",
        BLOCK: "the environment would put a placement group beside the Capacity Block, and not know its end; use an "
        "EfaLaunchTemplate with Capacity.block(...)",
    }
    if kind not in said:
        return []
    return [
        Problem(
            "template.market", f"{argument} has another market than on demand, got {kind!r}; {said[kind]}"
        )
    ]


def slots(argument: str, taken: Sequence[Tuple[object, object]]) -> List[Problem]:
    """No two interfaces are in one slot: network card and device.

    Args:
        argument: What the person passed the template by.
        taken: Index of the card and of the device, of each interface.
    """
    known = [slot for slot in taken if all(_is_plain_number(index) for index in slot)]
    twice = sorted({slot for slot in known if known.count(slot) > 1}, key=str)
    return [
        Problem(
            "template.slot",
            f"{argument} has two network interfaces in one slot, got network card {card} and device {device} twice; EC2 "
            "starts no such instance; give each its own",
        )
        for card, device in twice
    ]


def _interface(argument: str, number: int, interface: Data) -> List[Problem]:
    found, kind = [], interface.get("interfaceType")
    if isinstance(kind, str) and not is_token_text(kind) and kind not in INTERFACE_TYPES:
        found.append(Problem("template.interface_type", _no_type(argument, number, kind)))
    if not interface.get("groups") and not interface.get("networkInterfaceId"):
        found.append(Problem("template.groups", _no_groups(argument, number)))
    return found


def _slot(interface: Data) -> Tuple[object, object]:
    return interface.get("networkCardIndex", 0), interface.get("deviceIndex")


def _public(argument: str, interfaces: Sequence[Data]) -> List[Problem]:
    public = [
        number for number, each in enumerate(interfaces) if each.get("associatePublicIpAddress") is True
    ]
    if len(interfaces) == 1 or not public:
        return []
    return [
        Problem(
            "template.public_address",
            f"{argument} has a public address beside several network interfaces, got one at networkInterfaces[{public[0]}]; "
            "EC2 refuses it; say associatePublicIpAddress=False",
        )
    ]


def _is_plain_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not is_token_number(value)


def _no_type(argument: str, number: int, kind: str) -> str:
    return (
        f"{argument} has a network interface of no known type, got {kind!r} at networkInterfaces[{number}]; allowed: "
        f"{', '.join(INTERFACE_TYPES)}; change it"
    )


def _no_groups(argument: str, number: int) -> str:
    return (
        f"{argument} has a network interface without a security group, got none at networkInterfaces[{number}]; it would be "
        "in the vpc's default group, which EFA's traffic does not pass; give each interface the hosts' group"
    )
