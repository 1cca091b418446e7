"""GpuComputeEnvironment and TrainingQueue without a GpuCluster: every option is in the template, every mistake is said."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from infra_synth import IMAGE, ZONE, problems_of, stack, template_of, warnings_of

from muster_cdk import (
    EfaLaunchTemplate,
    EfaSecurityGroup,
    FairShare,
    GpuCluster,
    GpuComputeEnvironment,
    Launcher,
    MultiNodeTrainingJob,
    TrainingNetwork,
    TrainingQueue,
)
from muster_core.instances import lookup

AMI = "ami-0123456789abcdef0"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


@pytest.fixture
def parts(scope):
    return Parts(scope)


class Parts:
    """What an environment needs, each part made by itself."""

    def __init__(self, scope):
        self.scope = scope
        self.network = TrainingNetwork(scope, "Network", availability_zone=ZONE)
        self.group = EfaSecurityGroup(scope, "Group", vpc=self.network.vpc)

    def template(self, name="p5.48xlarge", id="Template", **more):
        return EfaLaunchTemplate(self.scope, id, instance=lookup(name), security_group=self.group, **more)

    def environment(self, name="p5.48xlarge", id="Environment", **more):
        options = {"instance_type": name, "max_nodes": 4, "subnet": self.network.subnet, **more}
        if "launch_template" not in options:
            options["launch_template"] = self.template(name, f"{id}Template")
        return GpuComputeEnvironment(self.scope, id, **options)

    def queue(self, id="Queue", **more):
        if "compute_environment" not in more:
            more["compute_environment"] = self.environment()
        return TrainingQueue(self.scope, id, **more)


def test_the_parts_make_an_environment_and_a_queue_without_a_cluster(scope, parts):
    environment = parts.environment()
    queue = parts.queue(compute_environment=environment)
    assert problems_of(scope) == []
    template = template_of(scope)
    (made,) = template.of("AWS::Batch::ComputeEnvironment")
    (group,) = template.of("AWS::EC2::PlacementGroup")
    (profile,) = template.of("AWS::IAM::InstanceProfile")
    assert template.resources == {
        "Type": "EC2",
        "AllocationStrategy": "BEST_FIT_PROGRESSIVE",
        "MinvCpus": 0,
        "MaxvCpus": 4 * 192,
        "InstanceTypes": ["p5.48xlarge"],
        "Ec2Configuration": [{"ImageType": "ECS_AL2023_NVIDIA"}],
        "InstanceRole": {"Fn::GetAtt": [profile, "Arn"]},
        "PlacementGroup": {"Fn::GetAtt": [group, "GroupName"]},
        "Subnets": template.resources["Subnets"],
        "LaunchTemplate": template.resources["LaunchTemplate"],
    }
    assert template.resources["LaunchTemplate"]["Version"]["Fn::GetAtt"][1] == "LatestVersionNumber"
    (order,) = template.one("AWS::Batch::JobQueue")["ComputeEnvironmentOrder"]
    assert order["ComputeEnvironment"] == {"Fn::GetAtt": [made, "ComputeEnvironmentArn"]}
    assert environment.node.default_child is environment.compute_environment
    assert queue.node.default_child is queue.job_queue
    assert (environment.instance, environment.max_nodes) == (lookup("p5.48xlarge"), 4)
    assert not queue.needs_share_identifier


def test_every_option_of_an_environment_is_in_the_template(scope, parts):
    role = iam.Role(scope, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    group = ec2.PlacementGroup(scope, "Own", strategy=ec2.PlacementGroupStrategy.CLUSTER)
    environment = parts.environment(
        instance_type=ec2.InstanceType("p5.48xlarge"),
        placement_group=group,
        instance_role=role,
        allocation_strategy="BEST_FIT_PROGRESSIVE_ORDERED",
        min_nodes=2,
        acknowledge_idle_cost=True,
        scale_down_delay="1h",
        image_id=AMI,
        container_insights=ecs.ContainerInsights.ENHANCED,
        other_types={"p4d.24xlarge": parts.template("p4d.24xlarge", "P4d")},
    )
    template = template_of(scope)
    resources = template.resources
    assert (resources["MinvCpus"], resources["MaxvCpus"]) == (2 * 192, 4 * 192)
    assert resources["ScalingPolicy"] == {"MinScaleDownDelayMinutes": 60}
    assert resources["Ec2Configuration"] == [{"ImageType": "ECS_AL2023_NVIDIA", "ImageIdOverride": AMI}]
    assert resources["AllocationStrategy"] == "BEST_FIT_PROGRESSIVE_ORDERED"
    assert resources["InstanceTypes"] == ["p5.48xlarge", "p4d.24xlarge"]
    (override,) = resources["LaunchTemplate"]["Overrides"]
    assert override["TargetInstanceTypes"] == ["p4d.24xlarge"]
    assert override["LaunchTemplateId"]["Ref"] != resources["LaunchTemplate"]["LaunchTemplateId"]["Ref"]
    assert override["Version"] == {"Fn::GetAtt": [override["LaunchTemplateId"]["Ref"], "LatestVersionNumber"]}
    assert resources["PlacementGroup"] == scope.resolve(group.placement_group_name)
    assert environment.placement_group is group
    assert template.one("AWS::IAM::InstanceProfile")["Roles"] == [scope.resolve(role.role_name)]
    made = template.one("AWS::Batch::ComputeEnvironment")
    assert made["EcsSettings"] == {"ContainerInsights": "ENHANCED"}
    assert "Tags" not in made
    assert problems_of(scope) == []


def test_an_image_by_a_parameter_and_its_version(scope, parts):
    parts.environment("trn1.32xlarge", image_parameter="/images/training:3")
    assert template_of(scope).resources["Ec2Configuration"] == [
        {"ImageType": "ECS_AL2023", "ImageIdOverride": "{{resolve:ssm:/images/training:3}}"}
    ]


def test_an_arm_type_with_gpus_is_possible_with_an_own_image(scope, parts):
    parts.environment("g5g.16xlarge", image_id=AMI)
    assert problems_of(scope) == []
    assert template_of(scope).resources["Ec2Configuration"] == [
        {"ImageType": "ECS_AL2023", "ImageIdOverride": AMI}
    ]
    with pytest.raises(ValueError, match=r"arm64 host; .*, or bring a machine image by image_id$"):
        parts.environment("g5g.16xlarge", "Without")


def test_a_profile_of_the_users(scope, parts):
    profile = iam.InstanceProfile(scope, "Profile")
    parts.environment(instance_profile=profile)
    template = template_of(scope)
    (name,) = template.of("AWS::IAM::InstanceProfile")
    assert template.resources["InstanceRole"] == {"Fn::GetAtt": [name, "Arn"]}


OWN = (
    "launch_template is one of yours, and its network cards are not judged; it must have an interface for each network "
    "card of the type, with its security groups on each; use an EfaLaunchTemplate to have them made "
    "[ack: muster-cdk:ownLaunchTemplate]"
)


def test_a_launch_template_of_the_users_is_taken_in_its_newest_version(scope, parts):
    own = ec2.CfnLaunchTemplate(scope, "Own", launch_template_data={})
    parts.environment(launch_template=own)
    assert warnings_of(scope) == [OWN]
    assert template_of(scope).resources["LaunchTemplate"] == {
        "LaunchTemplateId": {"Ref": "Own"},
        "Version": {"Fn::GetAtt": ["Own", "LatestVersionNumber"]},
    }


def test_a_launch_template_of_cdks_kind_is_taken_too(scope, parts):
    own = ec2.LaunchTemplate(scope, "Own")
    parts.environment(launch_template=own)
    assert problems_of(scope) == []
    used = template_of(scope).resources["LaunchTemplate"]
    assert used["LaunchTemplateId"] == scope.resolve(own.launch_template_id)
    assert used["Version"]["Fn::GetAtt"][1] == "LatestVersionNumber"


def test_an_imported_launch_template_is_taken_by_name_and_version(scope, parts):
    own = ec2.LaunchTemplate.from_launch_template_attributes(
        scope, "Own", launch_template_name="theirs", version_number="3"
    )
    parts.environment(launch_template=own)
    assert problems_of(scope) == []
    assert template_of(scope).resources["LaunchTemplate"] == {
        "LaunchTemplateName": "theirs",
        "Version": "3",
    }


def test_environments_of_two_architectures_share_no_queue(scope, parts):
    first, second = parts.environment(), parts.environment("g5g.16xlarge", "Arm", image_id=AMI)
    parts.queue(compute_environment=first, more_environments=[second])
    assert problems_of(scope) == [
        (
            "[Test/Queue] more_environments has hosts of another architecture, got 'g5g.16xlarge' with arm64 beside "
            "'p5.48xlarge' with x86_64; AWS Batch refuses both in one queue; make another queue"
        )
    ]


def test_a_changed_app_tag_reaches_no_environment(scope, parts):
    parts.queue()
    cdk.Tags.of(scope).add("team", "a")
    template = template_of(scope)
    assert "Tags" not in template.one("AWS::Batch::ComputeEnvironment")
    assert template.one("AWS::Batch::JobQueue")["Tags"] == {"team": "a"}


def test_every_option_of_a_queue_is_in_the_template(scope, parts):
    queue = parts.queue(
        priority=7,
        misconfiguration_limit="2h",
        capacity_limit=cdk.Duration.minutes(30),
        unsupported_limit="3h",
        fair_share=FairShare(weights={"teamA": 0.5, "b*": 2}, decay="1h", reservation=10),
    )
    template = template_of(scope)
    made = template.one("AWS::Batch::JobQueue")
    assert made["Priority"] == 7
    assert [(each["Reason"], each["MaxTimeSeconds"]) for each in made["JobStateTimeLimitActions"]] == [
        ("MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE", 7200),
        ("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", 7200),
        ("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY", 1800),
        ("MISCONFIGURATION:EC2_INSTANCE_CONFIGURATION_UNSUPPORTED", 10800),
    ]
    assert {(each["State"], each["Action"]) for each in made["JobStateTimeLimitActions"]} == {
        ("RUNNABLE", "CANCEL")
    }
    assert template.one("AWS::Batch::SchedulingPolicy") == {
        "FairsharePolicy": {
            "ShareDecaySeconds": 3600,
            "ComputeReservation": 10,
            "ShareDistribution": [
                {"ShareIdentifier": "teamA", "WeightFactor": 0.5},
                {"ShareIdentifier": "b*", "WeightFactor": 2},
            ],
        }
    }
    (policy,) = template.of("AWS::Batch::SchedulingPolicy")
    assert made["SchedulingPolicyArn"] == {"Fn::GetAtt": [policy, "Arn"]}
    assert queue.needs_share_identifier
    assert problems_of(scope) == []


def test_limits_may_be_off(scope, parts):
    parts.queue(misconfiguration_limit=None)
    assert "JobStateTimeLimitActions" not in template_of(scope).one("AWS::Batch::JobQueue")


def test_a_second_environment_is_taken_with_a_warning(scope, parts):
    first, second = parts.environment(), parts.environment(id="Second")
    parts.queue(compute_environment=first, more_environments=[second])
    orders = template_of(scope).one("AWS::Batch::JobQueue")["ComputeEnvironmentOrder"]
    assert [each["Order"] for each in orders] == [1, 2]
    (warning,) = warnings_of(scope)
    assert warning == (
        "more_environments does not help the job at the head of the queue, got 2 environments; a multi-node job that waits "
        "for capacity in the first one blocks the queue, whatever the others have free; give each environment a queue of "
        "its own [ack: muster-cdk:secondEnvironment]"
    )


def test_an_imported_environment_is_taken(scope, parts):
    arn = "arn:aws:batch:us-east-1:123456789012:compute-environment/mine"
    given = batch.ManagedEc2EcsComputeEnvironment.from_managed_ec2_ecs_compute_environment_arn(
        scope, "Given", arn
    )
    parts.queue(compute_environment=given)
    (order,) = template_of(scope).one("AWS::Batch::JobQueue")["ComputeEnvironmentOrder"]
    assert order["ComputeEnvironment"] == arn


def test_tokens_pass_every_rule(scope, parts):
    number = cdk.CfnParameter(scope, "Number", type="Number").value_as_number
    text = cdk.CfnParameter(scope, "Text").value_as_string
    environment = parts.environment(
        scale_down_delay=cdk.Duration.minutes(number), image_id=text, container_insights=text
    )
    parts.queue(
        compute_environment=environment,
        priority=number,
        misconfiguration_limit=cdk.Duration.seconds(number),
        capacity_limit=cdk.Duration.seconds(number),
        fair_share=FairShare(weights={"a": number}, decay=cdk.Duration.seconds(number), reservation=number),
    )
    assert problems_of(scope) == []
    assert template_of(scope).resources["ScalingPolicy"] == {"MinScaleDownDelayMinutes": {"Ref": "Number"}}


def test_a_cluster_passes_the_options_on(scope):
    cluster = GpuCluster(
        scope,
        "Cluster",
        instance_type="p5.48xlarge",
        max_nodes=4,
        availability_zone=ZONE,
        min_nodes=1,
        acknowledge_idle_cost=True,
        scale_down_delay=cdk.Duration.hours(2),
        image_parameter="/images/training:3",
        container_insights="enabled",
        priority=5,
        misconfiguration_limit="4h",
        capacity_limit="10m",
        unsupported_limit="1h",
        fair_share=FairShare(),
    )
    assert problems_of(scope) == []
    template = template_of(scope)
    assert template.resources["MinvCpus"] == 192
    assert template.resources["ScalingPolicy"] == {"MinScaleDownDelayMinutes": 120}
    (image,) = template.resources["Ec2Configuration"]
    assert image["ImageIdOverride"] == "{{resolve:ssm:/images/training:3}}"
    assert template.one("AWS::Batch::ComputeEnvironment")["EcsSettings"] == {"ContainerInsights": "ENABLED"}
    queue = template.one("AWS::Batch::JobQueue")
    assert queue["Priority"] == 5
    assert [each["MaxTimeSeconds"] for each in queue["JobStateTimeLimitActions"]] == [14400, 14400, 600, 3600]
    assert template.one("AWS::Batch::SchedulingPolicy") == {"FairsharePolicy": {"ShareDistribution": []}}
    assert cluster.job_queue.needs_share_identifier


@pytest.mark.parametrize("fair_share", [None, FairShare()])
def test_a_job_behind_a_fair_share_has_the_priority_that_batch_wants(scope, fair_share):
    options = {"instance_type": "g6.8xlarge", "max_nodes": 2, "availability_zone": ZONE}
    cluster = GpuCluster(scope, "Cluster", **options, fair_share=fair_share)
    launcher = Launcher.torch("train.py")
    MultiNodeTrainingJob(scope, "Train", cluster=cluster, nodes=2, image=IMAGE, launcher=launcher)
    definition = template_of(scope).one("AWS::Batch::JobDefinition")
    assert definition.get("SchedulingPriority") == (None if fair_share is None else 0)


def test_a_cluster_takes_an_arm_type_with_an_own_image(scope):
    GpuCluster(
        scope, "Cluster", instance_type="g5g.16xlarge", max_nodes=2, availability_zone=ZONE, image_id=AMI
    )
    assert problems_of(scope) == []


def test_all_problems_of_an_environment_and_a_queue_alone_are_said_at_once(scope, parts):
    environment = parts.environment(
        max_nodes=0,
        subnet=parts.network.vpc.public_subnets[0],
        launch_template=parts.template("p4d.24xlarge"),
        allocation_strategy="SPOT_CAPACITY_OPTIMIZED",
        min_nodes=-1,
        scale_down_delay="19m",
        image_id="mine",
        image_parameter="/a",
        container_insights="on",
        other_types={
            "p5.48xlarge": parts.template("p5.48xlarge", "Again"),
            "trn1.32xlarge": parts.template("trn1.32xlarge", "Neuron"),
        },
    )
    parts.queue(
        compute_environment=environment,
        more_environments=[environment],
        priority=1001,
        misconfiguration_limit="10m",
        capacity_limit="5m",
        unsupported_limit="10m",
        fair_share=FairShare(weights={"a b": 0}, decay="8d", reservation=100),
    )
    found = problems_of(scope)
    assert [each.split("]")[0] for each in found].count("[Test/Environment") == len(found) - 9
    for part in (
        "max_nodes must be a whole number from 1 to 1000, got 0",
        "subnet is public, got 'Test/Network/Vpc/PublicSubnet1'",
        "launch_template is made for another instance type, got one for 'p4d.24xlarge'",
        "allocation_strategy is none for instances on demand",
        "min_nodes must be a whole number from 0 to max_nodes, got -1",
        "scale_down_delay must be a whole number of minutes from 20 to 10080, got 19 minutes",
        "image_id is not the id of a machine image, got 'mine'",
        "image_parameter has no version, got '/a'",
        "image_parameter and image_id both name the machine image",
        "container_insights is no mode of ECS, got 'ON'",
        "other_types names the environment's own instance type, got 'p5.48xlarge'",
        "priority must be a whole number from 0 to 1000, got 1001",
        "more_environments names an environment again, got 'Test/Environment'",
        "misconfiguration_limit must be a whole number from 3600 to 86400 s, got 600 s",
        "capacity_limit must be a whole number from 600 to 86400 s, got 300 s",
        "unsupported_limit must be a whole number from 3600 to 86400 s, got 600 s",
        "weights has no share identifier, got 'a b'",
        "weights['a b'] must be from 0.0001 to 999.9999, got 0",
        "decay must be a whole number from 0 to 604800 s, got 691200 s",
        "reservation must be a whole number from 0 to 99, got 100",
    ):
        assert sum(part in each for each in found) == 1, part


def test_types_with_another_image_share_no_environment(scope, parts):
    parts.environment(other_types={"trn1.32xlarge": parts.template("trn1.32xlarge", "Neuron")})
    (found,) = problems_of(scope)
    assert found.startswith(
        "[Test/Environment] other_types has an instance type with another machine image, got 'trn1.32xlarge' with /aws/"
    )


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda parts: parts.environment(launch_template=parts.group),
            "launch_template must be an EfaLaunchTemplate or a launch template of CDK's, got EfaSecurityGroup ",
        ),
        (
            lambda parts: parts.environment(subnet="subnet-1"),
            "subnet must be an ec2.ISubnet such as one of vpc.private_subnets, got str 'subnet-1'; change it",
        ),
        (
            lambda parts: parts.environment(placement_group="close"),
            "placement_group must be an ec2.PlacementGroup, got str 'close'; change it",
        ),
        (
            lambda parts: parts.environment(instance_role="role"),
            "instance_role must be an iam.Role, got str 'role'; change it",
        ),
        (
            lambda parts: parts.environment(instance_profile="profile"),
            "instance_profile must be an iam.InstanceProfile, got str 'profile'; change it",
        ),
        (
            lambda parts: parts.environment(other_types=["p4d.24xlarge"]),
            "other_types must be a dict of instance type to EfaLaunchTemplate, got list ['p4d.24xlarge']; change it",
        ),
        (
            lambda parts: parts.environment(other_types={"p4d.24xlarge": None}),
            (
                "other_types['p4d.24xlarge'] must be an EfaLaunchTemplate or a launch template of CDK's, got NoneType None; "
            ),
        ),
        (
            lambda parts: parts.queue(more_environments="mine"),
            "more_environments must be a list of environments, got str 'mine'; change it",
        ),
        (
            lambda parts: parts.environment(acknowledge_idle_cost="yes"),
            "acknowledge_idle_cost must be True or False, got str 'yes'; change it",
        ),
        (
            lambda parts: parts.environment(scale_down_delay=30),
            "scale_down_delay must be a Duration or a str such as '24h', got int 30; change it",
        ),
        (
            lambda parts: parts.environment(container_insights=True),
            "container_insights must be a str, got bool True; change it",
        ),
        (
            lambda parts: parts.environment(image_id=5),
            "image_id must be a str, got int 5; change it",
        ),
        (
            lambda parts: parts.queue(compute_environment="mine"),
            "compute_environment must be a GpuComputeEnvironment or one of CDK's environments, got str 'mine'; change it",
        ),
        (
            lambda parts: parts.queue(fair_share={"teamA": 1}),
            ("fair_share must be a FairShare, got dict {'teamA': 1}; use FairShare(weights={'teamA': 0.5})"),
        ),
        (
            lambda parts: parts.queue(fair_share=FairShare(weights=["teamA"])),
            "weights must be a dict of str to a number, got list ['teamA']; change it",
        ),
        (
            lambda parts: parts.queue(fair_share=FairShare(weights={"teamA": "1"})),
            "weights['teamA'] must be a number, got str '1'; change it",
        ),
        (
            lambda parts: parts.queue(fair_share=FairShare(weights={1: 1})),
            "a name in weights must be a str, got int 1; change it",
        ),
        (lambda parts: parts.queue(priority="1"), "priority must be an int, got str '1'; change it"),
    ],
)
def test_a_wrong_type_is_our_own_sentence(parts, make, sentence):
    with pytest.raises(TypeError) as caught:
        make(parts)
    assert str(caught.value).startswith(sentence)


def test_a_token_in_another_unit_is_our_own_sentence(scope, parts):
    number = cdk.CfnParameter(scope, "Number", type="Number").value_as_number
    with pytest.raises(
        ValueError, match=r"^scale_down_delay is a token in another unit than minutes; use Duration\.minutes$"
    ):
        parts.environment(scale_down_delay=cdk.Duration.hours(number))
