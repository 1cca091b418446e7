"""The types of arguments: what an annotation allows, and the sentence for what it does not."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from muster_cdk import arguments
from muster_core.instances import lookup

pytestmark = pytest.mark.unit


class Thing:
    @arguments.checked
    def __init__(
        self,
        scope: "object",
        id: "str",
        *,
        vpc: "ec2.IVpc | None" = None,
        bucket: "s3.IBucket | bool" = True,
        policy: "cdk.RemovalPolicy" = cdk.RemovalPolicy.RETAIN,
        boundary: "iam.IManagedPolicy | str | None" = None,
        count: "int" = 1,
        instance: "InstanceType | None" = None,  # noqa: F821  a name of the table
        size: "str | cdk.Size" = "1GiB",
    ) -> None:
        """Make it."""
        self.given = (scope, id, vpc, bucket, policy, boundary, count, instance, size)


def test_what_is_right_arrives():
    stack = cdk.Stack()
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-1", availability_zones=["a"])
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "name")
    policy = iam.ManagedPolicy(stack, "Policy")
    token = cdk.Token.as_number({"Ref": "X"})
    facts = lookup("p5.48xlarge")
    made = Thing(stack, "Id", vpc=vpc, bucket=bucket, boundary=policy, count=token, instance=facts, size=5)
    assert made.given == (stack, "Id", vpc, bucket, cdk.RemovalPolicy.RETAIN, policy, token, facts, 5)
    assert Thing(stack, "Id", vpc=None, bucket=False, boundary="arn").given[2:6] == (
        None,
        False,
        cdk.RemovalPolicy.RETAIN,
        "arn",
    )
    assert Thing.__init__.__doc__ == "Make it."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"vpc": "vpc-1"}, "vpc must be an ec2.IVpc such as ec2.Vpc, got str 'vpc-1'; change it"),
        (
            {"bucket": "name"},
            "bucket must be an s3.IBucket such as s3.Bucket or True or False, got str 'name'; change it",
        ),
        ({"policy": "retain"}, "policy must be a cdk.RemovalPolicy, got str 'retain'; change it"),
        ({"policy": None}, "policy must be a cdk.RemovalPolicy, got NoneType None; change it"),
        (
            {"boundary": 5},
            "boundary must be an iam.IManagedPolicy such as iam.ManagedPolicy or a str, got int 5; change it",
        ),
        ({"count": True}, "count must be an int, got bool True; change it"),
        ({"count": 1.5}, "count must be an int, got float 1.5; change it"),
        (
            {"instance": "p5.48xlarge"},
            (
                "instance must be the facts of an instance type, by InstanceType.custom or a cluster's instance, got str "
                "'p5.48xlarge'; change it"
            ),
        ),
    ],
)
def test_what_is_wrong_is_said(given, sentence):
    with pytest.raises(TypeError) as caught:
        Thing(None, "Id", **given)
    assert str(caught.value) == sentence


def test_what_is_not_named_is_looked_at_too_and_the_answer_comes_back():
    @arguments.checked
    def ask(count: "int") -> "int":
        return count + 1

    assert ask(1) == ask(count=1) == 2
    with pytest.raises(TypeError, match=r"^count must be an int, got str '1'; change it$"):
        ask("1")


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(TypeError) as caught:
        Thing(None, "Id", vpc=1, count="2", size=object())
    assert str(caught.value).splitlines() == [
        "vpc must be an ec2.IVpc such as ec2.Vpc, got int 1; change it",
        "count must be an int, got str '2'; change it",
    ]
