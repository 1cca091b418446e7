"""The launch template's options, each round-tripped into the template; what is wrong stops the synth."""

import email
import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from infra_synth import IMAGE, ZONE, problems_of, stack, template_of, warnings_of

from muster_cdk import (
    Capacity,
    EfaLaunchTemplate,
    EfaSecurityGroup,
    GpuCluster,
    HostOptions,
    Launcher,
    MultiNodeTrainingJob,
    SharedFileSystem,
)
from muster_core.instances import lookup

EFS = "fs-0123456789abcdef1"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, id="Cluster", **more):
    options = {"instance_type": "p5.48xlarge", "max_nodes": 4, "availability_zone": ZONE, **more}
    return GpuCluster(scope, id, **options)


def job(scope, given, **more):
    launcher = Launcher.torch("train.py")
    return MultiNodeTrainingJob(
        scope, "Train", cluster=given, nodes=2, image=IMAGE, launcher=launcher, **more
    )


def data(template):
    return template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]


def user_data(template):
    body = data(template)["UserData"]["Fn::Base64"]
    if isinstance(body, dict):  # values that are known at deployment only
        separator, pieces = body["Fn::Join"]
        body = separator.join(each if isinstance(each, str) else json.dumps(each) for each in pieces)
    return [part.get_payload() for part in email.message_from_string(body).get_payload()]


def test_every_option_of_the_root_volume_and_the_metadata_service(scope):
    hosts = HostOptions(root_volume_iops=16000, root_volume_throughput=1000, metadata_hop_limit=2)
    cluster(scope, root_volume_size="1TiB", hosts=hosts)
    found = data(template_of(scope))
    assert found["BlockDeviceMappings"] == [
        {
            "DeviceName": "/dev/xvda",
            "Ebs": {
                "VolumeSize": 1024,
                "VolumeType": "gp3",
                "Iops": 16000,
                "Throughput": 1000,
                "Encrypted": True,
                "DeleteOnTermination": True,
            },
        }
    ]
    assert found["MetadataOptions"]["HttpPutResponseHopLimit"] == 2


def test_an_io2_volume_under_a_key_that_was_made_here_is_opened_to_ec2(scope):
    key = kms.Key(scope, "Key")
    cluster(scope, hosts=HostOptions(root_volume_type="io2", root_volume_iops=64000, root_volume_key=key))
    template = template_of(scope)
    (volume,) = data(template)["BlockDeviceMappings"]
    (logical_id,) = template.of("AWS::KMS::Key")
    assert volume["Ebs"]["KmsKeyId"] == {"Fn::GetAtt": [logical_id, "Arn"]}
    assert (volume["Ebs"]["VolumeType"], volume["Ebs"]["Iops"]) == ("io2", 64000)
    use, grant = template.one("AWS::KMS::Key")["KeyPolicy"]["Statement"][-2:]
    through = {
        "kms:CallerAccount": {"Ref": "AWS::AccountId"},
        "kms:ViaService": {
            "Fn::Join": ["", ["ec2.", {"Ref": "AWS::Region"}, ".", {"Ref": "AWS::URLSuffix"}]]
        },
    }
    assert use["Condition"] == {"StringEquals": through}
    assert use["Action"] == [
        "kms:Decrypt",
        "kms:DescribeKey",
        "kms:Encrypt",
        "kms:GenerateDataKey*",
        "kms:ReEncrypt*",
    ]
    assert grant["Action"] == "kms:CreateGrant"
    assert grant["Condition"] == {"StringEquals": through, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    assert warnings_of(scope) == []


@pytest.mark.parametrize("imported", [True, False])
def test_a_key_that_was_made_elsewhere_is_taken_with_a_warning(scope, imported):
    arn = "arn:aws:kms:us-east-1:123456789012:key/1"
    key = kms.Key.from_key_arn(scope, "Key", arn) if imported else arn
    cluster(scope, hosts=HostOptions(root_volume_key=key))
    (warning,) = warnings_of(scope)
    assert warning == (
        "root_volume_key is imported, and its policy is left alone; it must let EC2 use the key for this account "
        "(kms:ViaService), CreateGrant too, else no instance starts; pass the kms.Key that was made here to have that "
        "added [ack: muster-cdk:volumeKey]"
    )
    (volume,) = data(template_of(scope))["BlockDeviceMappings"]
    assert volume["Ebs"]["KmsKeyId"] == arn


def test_scratch_docker_and_timeout_reach_hosts_and_jobs(scope):
    given = cluster(scope, scratch=True, stop_timeout="5m", hosts=HostOptions(docker_on_scratch=True))
    job(scope, given)
    template = template_of(scope)
    text = "\n".join(user_data(template))
    for line in (
        "export HOST_STOP_TIMEOUT=300",
        "export HOST_SCRATCH=/scratch",
        "export HOST_DOCKER_ROOT=/scratch/docker",
        "export HOST_GATES=/scratch",
        "export HOST_DOCKER_GATE=/scratch",
        "import os; os.environ.update({'HOST_LEAD': '360'})",
    ):
        assert line in text
    assert {"Name": "MUSTER_STOP_TIMEOUT", "Value": "300"} in template.container["Environment"]
    assert template.container["Volumes"] == [{"Name": "scratch", "Host": {"SourcePath": "/scratch"}}]
    assert template.container["MountPoints"] == [{"SourceVolume": "scratch", "ContainerPath": "/scratch"}]
    assert given.launch_template.mount_points == ("/scratch",)
    assert given.launch_template.stop_timeout.to_seconds() == 300


def test_by_default_a_job_has_no_volumes(scope):
    job(scope, cluster(scope))
    assert not {"Volumes", "MountPoints"} & set(template_of(scope).container)


def test_file_systems_that_are_made_here_let_the_hosts_in(scope):
    vpc = ec2.Vpc(scope, "Vpc", availability_zones=[ZONE])
    lustre = fsx.LustreFileSystem(
        scope,
        "Lustre",
        vpc=vpc,
        vpc_subnet=vpc.private_subnets[0],
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )
    homes = efs.FileSystem(scope, "Homes", vpc=vpc)
    given = cluster(
        scope,
        vpc=vpc,
        hosts=HostOptions(
            file_systems=[
                SharedFileSystem.lustre(file_system=lustre, options="noatime"),
                SharedFileSystem.efs(homes, mount_point="/home.d/users"),
            ]
        ),
    )
    job(scope, given)
    template = template_of(scope)
    assert problems_of(scope) == []
    (file_system,) = template.of("AWS::FSx::FileSystem")
    (homes_id,) = template.of("AWS::EFS::FileSystem")
    (mounts,) = [text for text in user_data(template) if "HOST_MOUNTS" in text]
    assert f'export HOST_MOUNTS=\'lustre {{"Ref": "{file_system}"}}.fsx.' in mounts
    assert (
        f'"LustreMountName"]}} /fsx noatime\nefs {{"Ref": "{homes_id}"}}:/ /home.d/users tls,iam,_netdev\''
        in mounts
    )
    ports = {
        (each["Properties"]["FromPort"], each["Properties"]["ToPort"])
        for each in template.of("AWS::EC2::SecurityGroupIngress").values()
        if each["Properties"].get("Description") == "Hosts of a GPU cluster"
    }
    assert ports == {(988, 1023), (2049, 2049)}
    policies = json.dumps(template.of("AWS::IAM::Policy"))
    assert "elasticfilesystem:ClientWrite" in policies
    assert template.container["Volumes"] == [
        {"Name": "fsx", "Host": {"SourcePath": "/fsx"}},
        {"Name": "home-d-users", "Host": {"SourcePath": "/home.d/users"}},
    ]


def test_file_systems_that_are_known_by_name(scope):
    systems = [SharedFileSystem.lustre(dns_name="fs.example", mount_name="x"), SharedFileSystem.efs(EFS)]
    cluster(scope, hosts=HostOptions(file_systems=systems))
    (mounts,) = [text for text in user_data(template_of(scope)) if "HOST_MOUNTS" in text]
    assert (
        f"export HOST_MOUNTS='lustre fs.example@tcp:/x /fsx noatime,flock,_netdev\nefs {EFS}:/ /efs tls,iam,_netdev'\n"
        in mounts
    )


def test_own_parts_come_last(scope):
    cluster(scope, hosts=HostOptions(user_data_parts=["#!/bin/bash\necho mine\n", ec2.UserData.for_linux()]))
    assert [text.rstrip("\n") for text in user_data(template_of(scope))][-2:] == [
        "#!/bin/bash\necho mine",
        "#!/bin/bash",
    ]


def test_all_problems_of_the_hosts_are_in_the_cluster_s_report(scope):
    hosts = HostOptions(
        root_volume_type="gp2",
        metadata_hop_limit=65,
        docker_on_scratch=True,
        file_systems=[SharedFileSystem.efs(EFS, mount_point="/usr")],
        user_data_parts=["echo", "#!/bin/bash\nsystemctl restart docker\n" + "x" * 16384],
    )
    cluster(scope, instance_type="inf2.48xlarge", stop_timeout="2h", scratch=True, hosts=hosts)
    found = problems_of(scope)
    assert {each.split("]")[0] for each in found} == {"[Test/Cluster"}
    for part in (
        "root_volume_type is none that muster uses, got 'gp2'",
        "metadata_hop_limit must be a whole number from 1 to 64, got 65",
        "scratch needs an instance store, and inf2.48xlarge has none",
        "mount point is where the system has its own files, got '/usr'",
        "user_data_parts has a part of no known kind, got 'echo'",
        "user_data_parts has a part that waits for docker or the ECS agent, got 'systemctl restart docker'",
        "user data is too large, got ",
        "stop_timeout must be from 1 to 3600 s, got 7200 s",
    ):
        assert sum(part in each for each in found) == 1, part


def test_a_template_alone_has_a_report_of_its_own(scope):
    vpc = ec2.Vpc(scope, "Vpc")
    group = EfaSecurityGroup(scope, "Group", vpc=vpc)
    EfaLaunchTemplate(
        scope,
        "Template",
        instance=lookup("g6.8xlarge"),
        security_group=group,
        stop_timeout=cdk.Duration.seconds(0),
    )
    (found,) = problems_of(scope)
    assert found.startswith("[Test/Template] stop_timeout must be from 1 to 3600 s, got 0 s; ")


@pytest.mark.parametrize(
    ("more", "error", "sentence"),
    [
        (
            {"hosts": {"scratch": True}},
            TypeError,
            "hosts must be a HostOptions, got dict {'scratch': True}; use HostOptions(root_volume_throughput=500)",
        ),
        (
            {"hosts": HostOptions(root_volume_iops="3000")},
            TypeError,
            "hosts.root_volume_iops must be an int, got str '3000'; change it",
        ),
        (
            {"hosts": HostOptions(root_volume_key=5)},
            TypeError,
            "hosts.root_volume_key must be a kms.Key or its ARN, got int 5; change it",
        ),
        (
            {"hosts": HostOptions(root_volume_type=3)},
            TypeError,
            "hosts.root_volume_type must be a str, got int 3; change it",
        ),
        (
            {"hosts": HostOptions(file_systems=["fs-1"])},
            TypeError,
            (
                "file_systems must be a list of SharedFileSystem, got str 'fs-1'; use SharedFileSystem.lustre(...) or "
                ".efs(...)"
            ),
        ),
        (
            {"stop_timeout": cdk.Duration.seconds(cdk.Token.as_number({"Ref": "X"}))},
            ValueError,
            "stop_timeout must be known at synth, got a token; give a duration such as '2m'",
        ),
        (
            {"capacity": "on-demand"},
            TypeError,
            "capacity must be a Capacity, got str 'on-demand'; use a method of Capacity such as Capacity.on_demand()",
        ),
    ],
)
def test_what_cannot_be_taken(scope, more, error, sentence):
    with pytest.raises(error) as caught:
        cluster(scope, **more)
    assert str(caught.value) == sentence


def test_lustre_needs_a_construct_or_both_names():
    with pytest.raises(ValueError, match=r"^file_system is not set, got dns_name 'a' and mount_name None; "):
        SharedFileSystem.lustre(dns_name="a")


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (
            lambda: SharedFileSystem.lustre(dns_name="", mount_name=""),
            ValueError,
            (
                "dns_name is none of an FSx for Lustre file system, got ''; one is such as "
                "'fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com'; correct it\n"
                "mount_name is none of an FSx for Lustre file system, got ''; one is such as 'abcdefgh'; correct it"
            ),
        ),
        (
            lambda: SharedFileSystem.efs("my-efs"),
            ValueError,
            (
                "file_system is not the id of an EFS file system, got 'my-efs'; an id is such as "
                "'fs-0123456789abcdef0'; correct it, or give the construct"
            ),
        ),
        (
            lambda: SharedFileSystem.lustre(file_system="fs-1"),
            TypeError,
            "file_system must be an fsx.LustreFileSystem, got str 'fs-1'; change it",
        ),
        (
            lambda: SharedFileSystem.efs(None),
            TypeError,
            "file_system must be an efs.FileSystem or its id, got NoneType None; change it",
        ),
    ],
)
def test_what_is_no_file_system(make, error, sentence):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == sentence


def test_mounts_that_look_alike_are_volumes_of_their_own(scope):
    systems = [SharedFileSystem.efs(EFS, mount_point=path) for path in ("/a-b", "/a/b", "/a.b")]
    given = cluster(scope, hosts=HostOptions(file_systems=systems))
    job(scope, given)
    container = template_of(scope).container
    assert container["Volumes"] == [
        {"Name": name, "Host": {"SourcePath": path}}
        for name, path in (("a-b", "/a-b"), ("a-b_", "/a/b"), ("a-b__", "/a.b"))
    ]
    assert [each["SourceVolume"] for each in container["MountPoints"]] == ["a-b", "a-b_", "a-b__"]


def test_tokens_pass_the_rules_of_hosts(scope):
    number = cdk.CfnParameter(scope, "Number", type="Number", default=3000).value_as_number
    text = cdk.CfnParameter(scope, "Text", default="x").value_as_string
    cluster(
        scope,
        hosts=HostOptions(
            root_volume_iops=number,
            root_volume_throughput=number,
            metadata_hop_limit=number,
            file_systems=[SharedFileSystem.efs(text)],
            user_data_parts=[f"#!/bin/bash\necho {text}\n"],
        ),
        capacity=Capacity.reservation(text),
    )
    assert problems_of(scope) == []
    found = data(template_of(scope))
    assert found["BlockDeviceMappings"][0]["Ebs"]["Iops"] == {"Ref": "Number"}
    assert found["MetadataOptions"]["HttpPutResponseHopLimit"] == {"Ref": "Number"}
