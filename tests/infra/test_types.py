"""Every instance type either synthesizes or is refused by name with a reason."""

import dataclasses

import pytest
from infra_synth import IMAGE, ZONE, problems_of, stack, template_of, warnings_of

from muster_cdk import Accelerator, GpuCluster, InstanceType, Launcher, MultiNodeTrainingJob, NetworkCard
from muster_core.instances import lookup, names

NAMED = [
    *("p5.48xlarge", "p4d.24xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge", "g5.8xlarge", "g6.8xlarge"),
    "trn1.32xlarge",
]


def cluster_and_job(scope, name, **options):
    cluster = GpuCluster(scope, "Cluster", instance_type=name, max_nodes=2, availability_zone=ZONE, **options)
    launcher = Launcher.torch("train.py")
    return cluster, MultiNodeTrainingJob(
        scope, "Train", cluster=cluster, nodes=2, image=IMAGE, launcher=launcher
    )


@pytest.mark.parametrize("name", NAMED)
def test_the_named_types_synthesize(tmp_path, name):
    scope = stack(tmp_path)
    cluster_and_job(scope, name)
    template = template_of(scope)
    assert template.resources["InstanceTypes"] == [name]
    assert template.container["InstanceType"] == name


def test_a_type_that_the_catalogue_has_not_is_taken_by_its_facts(tmp_path):
    facts = InstanceType.custom(
        "p7.48xlarge",
        vcpus=256,
        memory_mib=4194304,
        accelerator=Accelerator("nvidia", "H300", 8, 294912),
        network_cards=[NetworkCard(0, 4, efa=False), *(NetworkCard(index, 2, efa=True) for index in (1, 2))],
    )
    scope = stack(tmp_path)
    cluster, _ = cluster_and_job(scope, facts)
    template = template_of(scope)
    assert cluster.instance is facts
    assert template.resources["InstanceTypes"] == ["p7.48xlarge"]
    assert template.resources["MaxvCpus"] == 512
    assert template.resources["Ec2Configuration"] == [{"ImageType": "ECS_AL2023_NVIDIA"}]
    interfaces = template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]["NetworkInterfaces"]
    assert [(nic["NetworkCardIndex"], nic["DeviceIndex"], nic["InterfaceType"]) for nic in interfaces] == [
        (0, 0, "interface"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
    ]
    devices = template.container["LinuxParameters"]["Devices"]
    assert [device["HostPath"] for device in devices] == [
        "/dev/infiniband/uverbs0",
        "/dev/infiniband/uverbs1",
    ]
    amounts = {each["Type"]: each["Value"] for each in template.container["ResourceRequirements"]}
    assert amounts == {"VCPU": "256", "MEMORY": "3984588", "GPU": "8"}


def test_other_facts_than_the_catalogue_s_are_warned_of(tmp_path):
    scope = stack(tmp_path)
    cluster_and_job(scope, dataclasses.replace(lookup("p5.48xlarge"), vcpus=96, memory_mib=1048576))
    assert warnings_of(scope) == [
        (
            "instance_type has other facts than the catalogue's p5.48xlarge, got vcpus, memory_mib; hosts that do not fit "
            "them never run a job; give the name 'p5.48xlarge' alone, unless the catalogue is wrong [ack: "
            "muster-cdk:customFacts]"
        )
    ]


def test_the_same_facts_as_the_catalogue_s_are_taken_without_a_word(tmp_path):
    scope = stack(tmp_path)
    cluster_and_job(scope, dataclasses.replace(lookup("p5.48xlarge"), sources=(), network="fast"))
    assert warnings_of(scope) == []


def test_all_types_of_the_catalogue_are_taken_or_refused_by_name(tmp_path):
    # One app for all: a construct each, and one synth.
    scope = stack(tmp_path)
    vpc = GpuCluster(scope, "First", instance_type="g6.8xlarge", max_nodes=2, availability_zone=ZONE).vpc
    taken, refused = [], {}
    for name in names():
        facts = lookup(name)
        try:
            GpuCluster(scope, name.replace(".", "-"), instance_type=name, max_nodes=2, vpc=vpc)
            taken.append(name)
        except ValueError as error:
            refused[name] = str(error)
        ours = facts.gpus or facts.neuron_devices
        assert (name in taken) <= bool(ours and facts.batch_image), name
    assert set(NAMED) <= set(taken)
    for name, sentence in refused.items():
        assert repr(name) in sentence or name in sentence
    assert not {name for name in taken if lookup(name).architecture == "arm64"}
    for family in ("hpc7a", "c7gn", "dl1", "g5g"):
        assert family in {name.partition(".")[0] for name in refused}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "c5n.18xlarge",
            (
                "instance_type has no accelerator that muster runs, got 'c5n.18xlarge', it has no accelerator; allowed are "
                "types with NVIDIA GPUs or Neuron devices, such as 'g6.8xlarge', 'p5.48xlarge' or 'trn1.32xlarge'"
            ),
        ),
        (
            "p3dn.24xlarge",
            (
                "instance_type has no machine image in AWS Batch, got 'p3dn.24xlarge', the image's driver does not know "
                "the GPUs of p3dn; use an x86_64 type with whole GPUs of a current family, such as 'g6.8xlarge' or "
                "'p5.48xlarge', or bring a machine image by image_id"
            ),
        ),
    ],
)
def test_a_type_that_cannot_work_stops_at_once(tmp_path, name, sentence):
    with pytest.raises(ValueError, match=r"^instance_type has no ") as caught:
        cluster_and_job(stack(tmp_path), name)
    assert str(caught.value) == sentence


def test_an_unknown_type_gets_the_nearest_names(tmp_path):
    with pytest.raises(ValueError, match=r"p5\.49xlarge") as caught:
        cluster_and_job(stack(tmp_path), "p5.49xlarge")
    assert "the nearest are p5.4xlarge, p5.48xlarge, " in str(caught.value)


def test_where_a_type_stops_all_other_problems_are_said_too(tmp_path):
    with pytest.raises(ValueError, match=r"^instance_type has no ") as caught:
        GpuCluster(
            stack(tmp_path), "Cluster", instance_type="c5n.18xlarge", max_nodes=0, availability_zone="b"
        )
    lines = str(caught.value).splitlines()
    assert [line.split()[0] for line in lines] == ["instance_type", "max_nodes", "availability_zone"]


def test_efa_interfaces_with_addresses_as_in_awss_samples(tmp_path):
    scope = stack(tmp_path)
    cluster_and_job(scope, "p5.48xlarge", interface_type="efa")
    template = template_of(scope)
    cards = template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]["NetworkInterfaces"]
    assert [each["InterfaceType"] for each in cards] == ["efa"] * 32


def test_efa_interfaces_with_addresses_are_refused_on_p6_b300(tmp_path):
    with pytest.raises(ValueError, match=r"^interface_type is impossible on p6-b300\.48xlarge, got 'efa'; "):
        cluster_and_job(stack(tmp_path), "p6-b300.48xlarge", interface_type="efa")


def test_own_list_of_efa_devices(tmp_path):
    scope = stack(tmp_path)
    cluster_and_job(
        scope, "p6-b200.48xlarge", efa_devices=["/dev/infiniband/uverbs2", "/dev/infiniband/uverbs3"]
    )
    devices = template_of(scope).container["LinuxParameters"]["Devices"]
    assert [each["HostPath"] for each in devices] == ["/dev/infiniband/uverbs2", "/dev/infiniband/uverbs3"]
    assert warnings_of(scope) == [
        (
            "efa_devices has fewer devices than the type has interfaces with EFA, got 2 of 8; the bandwidth of the others is "
            "not used; leave efa_devices out to map all [ack: muster-cdk:efaDevices]"
        )
    ]


def test_a_right_stack_has_no_problems(tmp_path):
    scope = stack(tmp_path)
    cluster_and_job(scope, "p5.48xlarge")
    assert problems_of(scope) == []


def test_a_list_of_efa_devices_that_cannot_be_is_refused(tmp_path):
    scope = stack(tmp_path)
    cluster_and_job(scope, "g6.8xlarge", efa_devices=["/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"])
    assert problems_of(scope) == [
        (
            "[Test/Cluster] efa_devices has more devices than the type has interfaces with EFA, got 2; g6.8xlarge has 1; a "
            "container does not start with a device that is not there; remove 1"
        )
    ]
