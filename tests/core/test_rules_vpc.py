"""Rules about a VPC's groups and endpoints, and about whom roles trust: what is given -> the exact sentence."""

from __future__ import annotations

import pytest

from muster_core.rules import Problem, trust, vpc

TOKEN = "${Token[TOKEN.42]}"


@pytest.mark.parametrize(
    ("own", "other"),
    [("vpc-1", "vpc-1"), (None, "vpc-1"), ("vpc-1", None), (TOKEN, "vpc-1"), ("vpc-1", TOKEN)],
)
def test_parts_of_the_same_vpc_or_of_one_that_is_not_known(own: str | None, other: str | None) -> None:
    assert vpc.same("subnet", "Test/Subnet", own, other) == []


@pytest.mark.parametrize("argument", ["subnet", "security_group"])
def test_a_part_of_another_vpc(argument: str) -> None:
    assert vpc.same(argument, "Test/Part", "vpc-2", "vpc-1") == [
        Problem(
            "vpc.same",
            f"{argument} is in another vpc than the cluster, got 'Test/Part' of 'vpc-2' beside 'vpc-1'; EC2 starts no "
            f"instance across two; give vpc and {argument} of the same",
        )
    ]


@pytest.mark.parametrize(("given", "own"), [(None, TOKEN), (TOKEN, TOKEN), ("sg-1", None), (TOKEN, None)])
def test_default_groups_that_may_be_the_vpcs(given: str | None, own: str | None) -> None:
    assert vpc.default_group(given, own) == []


@pytest.mark.parametrize("given", ["default", "", "SG-1", "vpc-1"])
def test_what_is_no_id_of_a_default_group(given: str) -> None:
    assert vpc.default_group(given, None) == [
        Problem(
            "vpc.default_group",
            f"default_security_group is no id of a group, got {given!r}; an id is such as 'sg-0123456789abcdef0'; give "
            "the id of the vpc's group named 'default'",
        )
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [("sg-2", "'sg-2'"), ("${Token[TOKEN.7]}", "an id that is known at deployment only")],
)
def test_another_group_than_the_default_one_of_a_vpc_of_the_app(given: str, said: str) -> None:
    assert vpc.default_group(given, TOKEN) == [
        Problem(
            "vpc.default_group",
            f"default_security_group is not the vpc's, got {said}; the vpc is made in this app and its default group is "
            "known; leave default_security_group out",
        )
    ]


@pytest.mark.parametrize("own", [None, TOKEN])
def test_a_group_that_is_made_is_no_default_group(own: str | None) -> None:
    assert vpc.default_group(TOKEN, own, "Test/Group") == [
        Problem(
            "vpc.default_group",
            "default_security_group is made in this app, got 'Test/Group'; a job's containers are in the group that came "
            "with the vpc; leave it out for a vpc of this app, and give the id of the group named 'default' for an "
            "imported one",
        )
    ]


@pytest.mark.parametrize(
    ("hostnames", "support", "off"),
    [
        (True, True, []),
        (False, True, ["enable_dns_hostnames"]),
        (False, False, ["enable_dns_hostnames", "enable_dns_support"]),
    ],
)
def test_names_of_a_vpcs_addresses(hostnames: bool, support: bool, off: list[str]) -> None:
    assert vpc.dns("Test/Vpc", hostnames=hostnames, support=support) == [
        Problem(
            "vpc.dns",
            f"vpc has {name} off, got 'Test/Vpc'; the private names of interface endpoints need it; turn it on",
        )
        for name in off
    ]


def _allow(principal: object, **more: object) -> dict[str, object]:
    return {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal, **more}


EC2, TASKS = _allow({"Service": "ec2.amazonaws.com"}), _allow({"Service": "ecs-tasks.amazonaws.com"})


@pytest.mark.parametrize(
    "statements",
    [
        [EC2],
        [TASKS, EC2],
        [_allow({"Service": ["ecs-tasks.amazonaws.com", "ec2.amazonaws.com.cn"]})],
        [_allow({"Service": {"Fn::Join": []}})],
        [_allow({"Service": TOKEN})],
        [_allow("*")],
    ],
)
def test_roles_that_the_service_may_take(statements: list[dict[str, object]]) -> None:
    assert trust.service("instance_role", "Test/Role", statements, "ec2") == []


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ([TASKS], "ecs-tasks.amazonaws.com"),
        ([TASKS, {**EC2, "Effect": "Deny"}], "ecs-tasks.amazonaws.com"),
        ([_allow({"AWS": {"Fn::Join": []}})], "no service"),
        ([], "no service"),
    ],
)
def test_a_role_that_the_service_may_not_take(statements: list[dict[str, object]], said: str) -> None:
    assert trust.service("instance_role", "Test/Role", statements, "ec2") == [
        Problem(
            "trust.service",
            f"instance_role does not trust ec2.amazonaws.com, got 'Test/Role', which trusts {said}; the service could "
            "not take it; make it with iam.ServicePrincipal('ec2.amazonaws.com')",
        )
    ]


@pytest.mark.parametrize(
    "statements",
    [
        [],
        [EC2],
        [_allow({"AWS": "arn:aws:iam::123456789012:root"})],
        [_allow({"AWS": "*"}, Condition={"StringEquals": {"aws:PrincipalOrgID": "o-1"}})],
        [{**_allow("*"), "Effect": "Deny"}],
    ],
)
def test_roles_that_not_everybody_may_take(statements: list[dict[str, object]]) -> None:
    assert trust.anyone("assumed_by", statements) == []


@pytest.mark.parametrize("principal", ["*", {"AWS": "*"}, {"AWS": ["arn:aws:iam::1:root", "*"]}])
def test_a_role_that_everybody_may_take(principal: object) -> None:
    assert trust.anyone("assumed_by", [EC2, _allow(principal)]) == [
        Problem(
            "trust.anyone",
            "assumed_by is everybody, got the principal '*' without a condition; any account of AWS could take the role "
            "and submit jobs; name an account or a role, or add a condition on aws:PrincipalOrgID",
        )
    ]
