"""Kinds of wrong cluster that deploy without a word or wait for ever elsewhere: each is stopped with its sentence.

Beside each stands the nearest right one, which synthesizes without a problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from infra_synth import ZONE, problems_of, stack, template_of

from muster_cdk import (
    Capacity,
    EfaLaunchTemplate,
    FairShare,
    GpuCluster,
    GpuComputeEnvironment,
    HostOptions,
    TrainingQueue,
)
from muster_core.instances import InstanceType, NetworkCard, lookup

if TYPE_CHECKING:
    from collections.abc import Callable

AMI = "ami-0123456789abcdef0"
RESERVATION = "cr-0123456789abcdef0"


def vpc(scope: cdk.Stack, zones: int = 1, **more: Any) -> ec2.Vpc:
    """A VPC of CDK's own kind: public and private subnets in each zone."""
    return ec2.Vpc(scope, "Vpc", availability_zones=["us-east-1a", "us-east-1b"][:zones], **more)


def cluster(**options: Any) -> Callable[[cdk.Stack], GpuCluster]:
    def make(scope: cdk.Stack) -> GpuCluster:
        given = {"instance_type": "p5.48xlarge", "max_nodes": 4, **options}
        if "vpc" in given:
            given["vpc"] = given["vpc"](scope)
        if "placement_group" in given:
            given["placement_group"] = given["placement_group"](scope)
        if "subnet" in given:
            given["subnet"] = given["subnet"](given["vpc"])
        if "vpc" not in given:
            given.setdefault("availability_zone", ZONE)
        return GpuCluster(scope, "It", **given)

    return make


def environment(template: str = "p5.48xlarge", **options: Any) -> Callable[[cdk.Stack], object]:
    """An environment by itself on the parts of a cluster."""

    def make(scope: cdk.Stack) -> GpuComputeEnvironment:
        base = cluster()(scope)
        made = EfaLaunchTemplate(
            scope, "Template", instance=lookup(template), security_group=base.security_group
        )
        others = {
            name: EfaLaunchTemplate(scope, name, instance=lookup(name), security_group=base.security_group)
            for name in options.pop("others", ())
        }
        given = {"instance_type": "p5.48xlarge", "max_nodes": 4, "subnet": base.subnet, **options}
        return GpuComputeEnvironment(scope, "Alone", launch_template=made, other_types=others, **given)

    return make


def given(template: Callable[[cdk.Stack], object]) -> Callable[[cdk.Stack], object]:
    """An environment with a launch template of the user's."""

    def make(scope: cdk.Stack) -> GpuComputeEnvironment:
        return GpuComputeEnvironment(
            scope,
            "Alone",
            instance_type="p5.48xlarge",
            max_nodes=4,
            subnet=vpc(scope).private_subnets[0],
            launch_template=template(scope),
        )

    return make


def imported(scope: cdk.Stack, **more: Any) -> ec2.ILaunchTemplate:
    return ec2.LaunchTemplate.from_launch_template_attributes(
        scope, "Theirs", launch_template_id="lt-0123456789abcdef0", **more
    )


def own(scope: cdk.Stack, user_data: str) -> ec2.CfnLaunchTemplate:
    data = {"userData": cdk.Fn.base64(user_data)}
    return ec2.CfnLaunchTemplate(scope, "Theirs", launch_template_data=data)


MIME = (
    'Content-Type: multipart/mixed; boundary="=="\nMIME-Version: 1.0\n\n--==\n'
    'Content-Type: text/x-shellscript; charset="us-ascii"\n\n#!/bin/bash\ntrue\n--==--\n'
)


def queue(
    kind: Callable[[cdk.Stack, ec2.IVpc], object], more: int = 0, **options: Any
) -> Callable[..., object]:
    """A queue by itself in front of an environment of CDK's own kind."""

    def make(scope: cdk.Stack) -> TrainingQueue:
        network = vpc(scope)
        first = kind(scope, network)
        return TrainingQueue(
            scope,
            "Alone",
            compute_environment=first,
            more_environments=[on_demand(scope, network, f"More{number}") for number in range(more)],
            **options,
        )

    return make


def on_demand(scope: cdk.Stack, network: ec2.IVpc, id: str = "Env", **more: Any) -> object:
    return batch.ManagedEc2EcsComputeEnvironment(
        scope,
        id,
        vpc=network,
        use_optimal_instance_classes=False,
        instance_types=[ec2.InstanceType("g6.8xlarge")],
        **more,
    )


def spot(scope: cdk.Stack, network: ec2.IVpc) -> object:
    return on_demand(scope, network, spot=True)


def fargate(scope: cdk.Stack, network: ec2.IVpc) -> object:
    return batch.FargateComputeEnvironment(scope, "Env", vpc=network)


def unmanaged(scope: cdk.Stack, network: ec2.IVpc) -> object:
    return batch.UnmanagedComputeEnvironment(scope, "Env")


def block(zone: str = ZONE, size: int = 4) -> Capacity:
    return Capacity.block(RESERVATION, zone=zone, size=size)


def no_place(kind: str) -> str:
    return (
        f"[Test/Alone] compute_environment is {kind}, and no multi-node job ever starts there; use a "
        "GpuComputeEnvironment, or another managed one of instances on demand"
    )


ROWS: dict[str, tuple[Callable[..., object], str, Callable[..., object]]] = {
    "a Spot strategy": (
        cluster(allocation_strategy="SPOT_PRICE_CAPACITY_OPTIMIZED"),
        (
            "[Test/It] allocation_strategy is none for instances on demand, got 'SPOT_PRICE_CAPACITY_OPTIMIZED'; allowed: "
            "BEST_FIT, BEST_FIT_PROGRESSIVE, BEST_FIT_PROGRESSIVE_ORDERED; multi-node jobs do not run on Spot; change it"
        ),
        cluster(allocation_strategy="BEST_FIT_PROGRESSIVE_ORDERED"),
    ),
    "a Spot environment": (queue(spot), no_place("Spot"), queue(on_demand)),
    "a Fargate environment": (queue(fargate), no_place("Fargate"), queue(on_demand)),
    "an unmanaged environment": (queue(unmanaged), no_place("unmanaged"), queue(on_demand)),
    "four environments": (
        queue(on_demand, more=3),
        (
            "[Test/Alone] more_environments makes too many environments of one queue, got 4; AWS Batch takes 3; make "
            "another queue"
        ),
        queue(on_demand, more=2),
    ),
    "two zones": (
        cluster(vpc=lambda scope: vpc(scope, 2)),
        (
            "[Test/It] vpc has private subnets in several zones, got ['us-east-1a', 'us-east-1b']; EFA cannot leave a "
            "zone; choose one by availability_zone or subnet"
        ),
        cluster(vpc=lambda scope: vpc(scope, 2), availability_zone="us-east-1b"),
    ),
    "a public subnet": (
        cluster(vpc=vpc, subnet=lambda network: network.public_subnets[0]),
        (
            "[Test/It] subnet is public, got 'Test/Vpc/PublicSubnet1'; the container of a multi-node job has no public "
            "address and would have no way out; give a private subnet with NAT"
        ),
        cluster(vpc=vpc, subnet=lambda network: network.private_subnets[0]),
    ),
    "a zone that the subnet is not in": (
        cluster(vpc=vpc, subnet=lambda network: network.private_subnets[0], availability_zone="us-east-1c"),
        (
            "[Test/It] subnet is in another zone than availability_zone, got 'us-east-1a' and 'us-east-1c'; leave "
            "availability_zone out, or name the subnet's"
        ),
        cluster(vpc=vpc, subnet=lambda network: network.private_subnets[0], availability_zone="us-east-1a"),
    ),
    "a region for a zone": (
        cluster(availability_zone="us-east-1"),
        (
            "[Test/It] availability_zone is not the name of a zone, got 'us-east-1'; a zone is a region and a letter such "
            "as 'us-east-1a'; give the zone that offers the instance type"
        ),
        cluster(availability_zone="us-east-1a"),
    ),
    "a subnet too small": (
        cluster(
            vpc=lambda scope: vpc(
                scope,
                subnet_configuration=[
                    ec2.SubnetConfiguration(name="P", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=28),
                    ec2.SubnetConfiguration(
                        name="N", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=28
                    ),
                ],
            ),
            max_nodes=6,
        ),
        (
            "[Test/It] max_nodes needs more addresses than the subnet has, got 6; each node takes 2, together 12, and "
            "10.0.0.16/28 has 11 to give; use a larger subnet or lower max_nodes"
        ),
        cluster(vpc=vpc, max_nodes=6),
    ),
    "no node": (
        cluster(max_nodes=0),
        (
            "[Test/It] max_nodes must be a whole number from 1 to 1000, got 0; AWS Batch starts no larger multi-node job"
        ),
        cluster(max_nodes=1),
    ),
    "more nodes than Batch starts": (
        cluster(max_nodes=1001),
        (
            "[Test/It] max_nodes must be a whole number from 1 to 1000, got 1001; AWS Batch starts no larger multi-node "
            "job"
        ),
        cluster(max_nodes=1000),
    ),
    "min above max": (
        cluster(min_nodes=5, acknowledge_idle_cost=True),
        (
            "[Test/It] min_nodes must be a whole number from 0 to max_nodes, got 5 with max_nodes 4; lower min_nodes or "
            "raise max_nodes"
        ),
        cluster(min_nodes=4, acknowledge_idle_cost=True),
    ),
    "hosts that cost without a job": (
        cluster(min_nodes=1),
        (
            "[Test/It] min_nodes keeps hosts that are paid for without any job, got 1; an idle cluster has 0; leave "
            "min_nodes out, or say acknowledge_idle_cost=True beside it"
        ),
        cluster(min_nodes=1, acknowledge_idle_cost=True),
    ),
    "a delay that Batch refuses": (
        cluster(scale_down_delay="10m"),
        (
            "[Test/It] scale_down_delay must be a whole number of minutes from 20 to 10080, got 10 minutes; AWS Batch "
            "keeps idle hosts that long or not at all; change it, or leave it out"
        ),
        cluster(scale_down_delay="20m"),
    ),
    "a root volume below the image": (
        cluster(root_volume_size="20GiB"),
        (
            "[Test/It] root_volume_size must be a whole number of GiB and at least 30, got 20480 MiB; the machine image "
            "alone takes 30 GiB, and training images come on top; give more"
        ),
        cluster(root_volume_size="30GiB"),
    ),
    "an image that is none": (
        cluster(image_id="al2023-gpu"),
        (
            "[Test/It] image_id is not the id of a machine image, got 'al2023-gpu'; an id is such as "
            "'ami-0123456789abcdef0'; correct it, or name a parameter by image_parameter"
        ),
        cluster(image_id=AMI),
    ),
    "a floating image": (
        cluster(image_parameter="/images/training"),
        (
            "[Test/It] image_parameter has no version, got '/images/training'; the image would change under the cluster; "
            "add the version such as '/images/training:3', or take a public parameter that holds a release in its name"
        ),
        cluster(image_parameter="/images/training:3"),
    ),
    "a launch template of another type": (
        environment("p4d.24xlarge"),
        (
            "[Test/Alone] launch_template is made for another instance type, got one for 'p4d.24xlarge'; 'p5.48xlarge' has "
            "other network cards; make a launch template for it"
        ),
        environment("p5.48xlarge"),
    ),
    "a floating version": (
        given(imported),
        (
            "[Test/Alone] launch_template has a floating version, got '$Default'; AWS Batch reads it once, when the "
            "environment is made, and no later change would reach the hosts; name its version by version_number"
        ),
        given(lambda scope: imported(scope, version_number="3")),
    ),
    "user data without MIME": (
        given(lambda scope: own(scope, "#!/bin/bash\nyum install -y htop\n")),
        (
            "[Test/Alone] user data of the launch template is no MIME multi-part archive, got '#!/bin/bash'; AWS Batch "
            "merges its own part in, and the environment would become INVALID; use ec2.MultipartUserData"
        ),
        given(lambda scope: own(scope, MIME)),
    ),
    "user data without MIME, with values in it": (
        given(lambda scope: own(scope, cdk.Fn.sub("#!/bin/bash\necho ${AWS::Region}\n"))),
        (
            "[Test/Alone] user data of the launch template is no MIME multi-part archive, got '#!/bin/bash'; AWS Batch "
            "merges its own part in, and the environment would become INVALID; use ec2.MultipartUserData"
        ),
        given(lambda scope: own(scope, cdk.Fn.sub(MIME))),
    ),
    "own user data that takes Batch's settings": (
        given(lambda scope: own(scope, MIME.replace("true", "echo ECS_CLUSTER=mine >> /etc/ecs/ecs.config"))),
        (
            "[Test/Alone] user data of the launch template has a part that takes AWS Batch's settings from it, got "
            "'ECS_CLUSTER='; the host would not join the environment; remove it, and append other settings to "
            "/etc/ecs/ecs.config by >>"
        ),
        given(lambda scope: own(scope, MIME.replace("true", "echo ECS_A=mine >> /etc/ecs/ecs.config"))),
    ),
    "own user data that waits for the agent": (
        given(lambda scope: own(scope, MIME.replace("true", "systemctl restart ecs"))),
        (
            "[Test/Alone] user data of the launch template has a part that waits for docker or the ECS agent, got 'systemctl "
            "restart ecs'; both start after the user data, and waiting for them can deadlock the boot; remove it, or add "
            "--no-block"
        ),
        given(lambda scope: own(scope, MIME.replace("true", "systemctl restart --no-block ecs"))),
    ),
    "types with different images": (
        environment(others=["trn1.32xlarge"]),
        (
            "[Test/Alone] other_types has an instance type with another machine image, got 'trn1.32xlarge' with "
            "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id; the environment's p5.48xlarge "
            "starts from ECS_AL2023_NVIDIA; make another environment for it"
        ),
        environment(others=["p4d.24xlarge"]),
    ),
    "a limit that cancels a cold boot": (
        cluster(misconfiguration_limit="10m"),
        (
            "[Test/It] misconfiguration_limit must be a whole number from 3600 to 86400 s, got 600 s; the reason may be "
            "given while a host still boots; change it"
        ),
        cluster(misconfiguration_limit="60m"),
    ),
    "a limit below Batch's": (
        cluster(capacity_limit="5m"),
        (
            "[Test/It] capacity_limit must be a whole number from 600 to 86400 s, got 300 s; a wait for capacity is "
            "legitimate; change it, or leave it out"
        ),
        cluster(capacity_limit="10m"),
    ),
    "a block with a placement group": (
        cluster(
            capacity=block(),
            placement_group=lambda scope: ec2.PlacementGroup(
                scope, "Own", strategy=ec2.PlacementGroupStrategy.CLUSTER
            ),
        ),
        (
            "[Test/It] placement_group cannot stand beside a Capacity Block, got both; the block's instances are close "
            "together already, and no instance would start; leave placement_group out"
        ),
        cluster(capacity=block()),
    ),
    "a block smaller than the cluster": (
        cluster(capacity=block(size=3)),
        (
            "[Test/It] max_nodes is more than the Capacity Block has, got 4; the block has 3 instances, and a larger job "
            "would never start; lower max_nodes"
        ),
        cluster(capacity=block(size=3), max_nodes=3),
    ),
    "a block in another zone": (
        cluster(capacity=block(zone="us-east-1c")),
        (
            "[Test/It] the nodes' subnet is in another zone than the Capacity Block, got 'us-east-1b' and 'us-east-1c'; no "
            "instance would start; name the block's zone by availability_zone, or give a subnet there"
        ),
        cluster(capacity=block(zone="us-east-1c"), availability_zone="us-east-1c"),
    ),
    "a block of a type that is sold in none": (
        cluster(capacity=block(), instance_type="g6.8xlarge"),
        (
            "[Test/It] instance_type is not sold in Capacity Blocks, got 'g6.8xlarge'; use Capacity.on_demand() or "
            "Capacity.reservation(...), or another type such as 'p5.48xlarge'"
        ),
        cluster(capacity=Capacity.reservation(RESERVATION), instance_type="g6.8xlarge"),
    ),
    "a wait for a block that is cut short": (
        cluster(capacity=block(), capacity_limit="2h"),
        (
            "[Test/It] capacity_limit is set beside a Capacity Block, got 7200 s; a job that waits for the block to begin "
            "would be cancelled; leave capacity_limit out"
        ),
        cluster(capacity=Capacity.reservation(RESERVATION), capacity_limit="2h"),
    ),
    "a reservation that is none": (
        cluster(capacity=Capacity.reservation("ocdr-1")),
        (
            "[Test/It] id is none of a capacity reservation, got 'ocdr-1'; one is such as 'cr-0123456789abcdef0'; correct "
            "it"
        ),
        cluster(capacity=Capacity.reservation(RESERVATION)),
    ),
    "user data without a kind": (
        cluster(hosts=HostOptions(user_data_parts=["yum install -y htop"])),
        (
            "[Test/It] user_data_parts has a part of no known kind, got 'yum install -y htop'; the first line begins with "
            "one of #!, #cloud-boothook, #cloud-config; add it"
        ),
        cluster(hosts=HostOptions(user_data_parts=["#!/bin/bash\nyum install -y htop\n"])),
    ),
    "user data that waits for the agent": (
        cluster(hosts=HostOptions(user_data_parts=["#!/bin/bash\nsystemctl start ecs\n"])),
        (
            "[Test/It] user_data_parts has a part that waits for docker or the ECS agent, got 'systemctl start ecs'; both "
            "start after the user data, and waiting for them can deadlock the boot; remove it, or add --no-block"
        ),
        cluster(hosts=HostOptions(user_data_parts=["#!/bin/bash\nsystemctl start --no-block ecs\n"])),
    ),
    "a priority above Batch's": (
        cluster(priority=1001),
        "[Test/It] priority must be a whole number from 0 to 1000, got 1001; change it",
        cluster(priority=1000),
    ),
    "shares that overlap": (
        cluster(fair_share=FairShare(weights={"team*": 1, "teamA": 0.5})),
        (
            "[Test/It] weights has a share identifier that another covers, got 'teamA' beside 'team*'; AWS Batch takes "
            "one weight for each; remove one of the two"
        ),
        cluster(fair_share=FairShare(weights={"team*": 1, "guests": 2})),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_it_is_stopped_and_the_nearest_right_one_is_not(tmp_path, name):
    wrong, sentence, right = ROWS[name]
    scope = stack(tmp_path / "wrong")
    wrong(scope)
    assert problems_of(scope) == [sentence]
    scope = stack(tmp_path / "right")
    right(scope)
    assert problems_of(scope) == []


def custom(*cards: NetworkCard, **more: Any) -> InstanceType:
    p5 = lookup("p5.48xlarge")
    return InstanceType.custom(
        "p9.48xlarge",
        vcpus=p5.vcpus,
        cores=p5.cores,
        memory_mib=p5.memory_mib,
        accelerator=p5.accelerator,
        network_cards=cards,
        max_efa=len(cards),
        **more,
    )


def unknown(name: str, nearest: str) -> str:
    return (
        f"instance_type is not in the catalogue, got {name!r}; it holds every type with EFA or an accelerator, the nearest "
        f"are {nearest}; correct the name, or give the type's facts by InstanceType.custom"
    )


CARD = NetworkCard(0, 2, efa=True)
AT_ONCE: dict[str, tuple[Callable[..., object], type[Exception], str, Callable[..., object]]] = {
    "an unknown type": (
        cluster(instance_type="p5.49xlarge"),
        ValueError,
        unknown("p5.49xlarge", "p5.4xlarge, p5.48xlarge, p5e.48xlarge"),
        cluster(instance_type="p5.48xlarge"),
    ),
    "optimal": (
        cluster(instance_type="optimal"),
        ValueError,
        unknown("optimal", "r6i.metal, i4i.metal, c6i.metal"),
        cluster(instance_type="g6.8xlarge"),
    ),
    "a family": (
        cluster(instance_type="p5"),
        ValueError,
        unknown("p5", "p5.4xlarge, p5.48xlarge, p5e.48xlarge"),
        cluster(instance_type="p5.4xlarge"),
    ),
    "a list of types": (
        cluster(instance_type=["p5.48xlarge"]),
        TypeError,
        "instance_type must be a str such as 'p5.48xlarge' or an ec2.InstanceType, got list ['p5.48xlarge']; change it",
        cluster(instance_type=ec2.InstanceType("p5.48xlarge")),
    ),
    "a type without an accelerator": (
        cluster(instance_type="c5n.18xlarge"),
        ValueError,
        (
            "instance_type has no accelerator that muster runs, got 'c5n.18xlarge', it has no accelerator; allowed are "
            "types with NVIDIA GPUs or Neuron devices, such as 'g6.8xlarge', 'p5.48xlarge' or 'trn1.32xlarge'"
        ),
        cluster(instance_type="g5.8xlarge"),
    ),
    "an arm type without an image": (
        cluster(instance_type="g5g.16xlarge"),
        ValueError,
        (
            "instance_type has no machine image in AWS Batch, got 'g5g.16xlarge', its GPUs sit in an arm64 host; use an "
            "x86_64 type with whole GPUs of a current family, such as 'g6.8xlarge' or 'p5.48xlarge', or bring a machine "
            "image by image_id"
        ),
        cluster(instance_type="g5g.16xlarge", image_id=AMI),
    ),
    "an unknown kind of interface": (
        cluster(interface_type="ena"),
        ValueError,
        "interface_type is unknown, got 'ena'; allowed: 'efa-only', 'efa'",
        cluster(interface_type="efa"),
    ),
    "EFA with an address where no card but the first has one": (
        cluster(instance_type="p6-b300.48xlarge", interface_type="efa"),
        ValueError,
        (
            "interface_type is impossible on p6-b300.48xlarge, got 'efa'; its card 0 takes no EFA and EC2 then refuses "
            "interfaces with an address on the other cards; use 'efa-only'"
        ),
        cluster(instance_type="p6-b300.48xlarge", interface_type="efa-only"),
    ),
    "a VPC without a private subnet": (
        cluster(
            vpc=lambda scope: vpc(
                scope,
                nat_gateways=0,
                subnet_configuration=[ec2.SubnetConfiguration(name="P", subnet_type=ec2.SubnetType.PUBLIC)],
            )
        ),
        ValueError,
        (
            "vpc has no private subnet, got 1 public and 0 isolated in ['us-east-1a']; the container of a multi-node job has "
            "no public address and needs a way out by NAT; add a private subnet, or name one by subnet"
        ),
        cluster(vpc=vpc),
    ),
    "two cards on one slot": (
        lambda _scope: custom(CARD, CARD),
        ValueError,
        "network_cards must be numbered from 0 without a gap, got [0, 0]; give every card of the type, in order",
        lambda _scope: custom(CARD, NetworkCard(1, 2, efa=True)),
    ),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_it_is_stopped_at_once_and_the_nearest_right_one_is_not(tmp_path, name):
    wrong, kind, sentence, right = AT_ONCE[name]
    with pytest.raises(kind) as caught:
        wrong(stack(tmp_path / "wrong"))
    assert str(caught.value) == sentence
    scope = stack(tmp_path / "right")
    right(scope)
    assert problems_of(scope) == []


@pytest.mark.parametrize(
    "argument",
    [
        *("security_groups", "security_group_ids", "service_role", "compute_environment_name", "subnets"),
        *("spot", "use_optimal_instance_classes", "desired_vcpus", "launch_template_version", "tags"),
    ],
)
def test_what_would_be_wrong_in_any_value_is_no_argument(tmp_path, argument):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{argument}'"):
        cluster(**{argument: None})(stack(tmp_path))


def test_and_is_not_in_the_template(tmp_path):
    scope = stack(tmp_path)
    cluster()(scope)
    template = template_of(scope)
    assert not {"ServiceRole", "ComputeEnvironmentName", "Tags"} & set(
        template.one("AWS::Batch::ComputeEnvironment")
    )
    absent = {"SecurityGroupIds", "DesiredvCpus", "BidPercentage", "SpotIamFleetRole", "ImageId", "Tags"}
    assert not absent & set(template.resources)
    version = template.resources["LaunchTemplate"]["Version"]
    assert version["Fn::GetAtt"][1] == "LatestVersionNumber"
    data = template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    assert not {"SecurityGroupIds", "SecurityGroups", "InstanceType", "ImageId"} & set(data)
    slots = [(each["NetworkCardIndex"], each["DeviceIndex"]) for each in data["NetworkInterfaces"]]
    assert len(set(slots)) == len(slots) == 32
