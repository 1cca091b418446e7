"""Rules about a launch template of the user's own: what is given -> the exact sentence, or none."""

from __future__ import annotations

import pytest

from muster_core.rules import Problem, template

TOKEN_NUMBER = -1.8881545897087827e289
TOKEN_TEXT = "${Token[TOKEN.42]}"
GROUPS = ["sg-0123456789abcdef0"]


def nic(card: object = 0, device: object = 0, **more: object) -> dict[str, object]:
    return {"networkCardIndex": card, "deviceIndex": device, "groups": GROUPS, **more}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"instanceMarketOptions": {"Fn::If": ["A", {}, {}]}},
        {"instanceMarketOptions": {"marketType": TOKEN_TEXT}},
        {"networkInterfaces": {"Fn::If": ["A", [], []]}},
        {"networkInterfaces": [{"Fn::If": ["A", {}, {}], "groups": GROUPS}]},
        {"networkInterfaces": [nic(associatePublicIpAddress=True)]},
        {"networkInterfaces": [nic(interfaceType="efa"), nic(1, 1, interfaceType="efa-only")]},
        {"networkInterfaces": [nic(interfaceType=TOKEN_TEXT), nic(0, TOKEN_NUMBER), nic(0, TOKEN_NUMBER)]},
        {"networkInterfaces": [nic(), nic({"Ref": "A"}), nic({"Ref": "A"}), nic(1, {"Ref": "B"})]},
        {"networkInterfaces": [{"deviceIndex": 0, "networkInterfaceId": "eni-0123456789abcdef0"}]},
    ],
)
def test_templates_that_are_right_or_not_known(data: dict[str, object]) -> None:
    assert template.check("launch_template", data) == []


@pytest.mark.parametrize(
    ("data", "rule", "sentence"),
    [
        (
            {"instanceMarketOptions": {"marketType": "spot"}},
            "template.market",
            (
                "launch_template has another market than on demand, got 'spot'; multi-node jobs do not run on Spot; take "
                "the market options out of it"
            ),
        ),
        (
            {"instanceMarketOptions": {"marketType": "capacity-block"}},
            "template.market",
            (
                "launch_template has another market than on demand, got 'capacity-block'; the environment would put a "
                "placement group beside the Capacity Block, and not know its end; use an EfaLaunchTemplate with "
                "Capacity.block(...)"
            ),
        ),
        (
            {"networkInterfaces": [nic(), nic(1, 1), {"deviceIndex": 0, "groups": GROUPS}]},
            "template.slot",
            (
                "launch_template has two network interfaces in one slot, got network card 0 and device 0 twice; EC2 starts "
                "no such instance; give each its own"
            ),
        ),
        (
            {"networkInterfaces": [nic(), nic(1, 1, groups=[])]},
            "template.groups",
            (
                "launch_template has a network interface without a security group, got none at networkInterfaces[1]; it "
                "would be in the vpc's default group, which EFA's traffic does not pass; give each interface the hosts' "
                "group"
            ),
        ),
        (
            {"networkInterfaces": [nic(associatePublicIpAddress=True), nic(1, 1)]},
            "template.public_address",
            (
                "launch_template has a public address beside several network interfaces, got one at networkInterfaces[0]; "
                "EC2 refuses it; say associatePublicIpAddress=False"
            ),
        ),
        (
            {"networkInterfaces": [nic(interfaceType="ena")]},
            "template.interface_type",
            (
                "launch_template has a network interface of no known type, got 'ena' at networkInterfaces[0]; allowed: "
                "interface, efa, efa-only; change it"
            ),
        ),
    ],
)
def test_templates_by_which_no_host_starts(data: dict[str, object], rule: str, sentence: str) -> None:
    assert template.check("launch_template", data) == [Problem(rule, sentence)]
