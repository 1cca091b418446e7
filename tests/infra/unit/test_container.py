"""The container as plain data, per type: nothing of it needs CDK."""

import dataclasses

import pytest

from muster_cdk import retry
from muster_cdk.container import ContainerSpec, container, devices, environment, resources, ulimits
from muster_cdk.launcher import Launcher
from muster_core.contract import CONTRACT_VERSION, EXIT_TEMPFAIL, RUNTIME_COMMAND, TORCH
from muster_core.instances import efa_devices, lookup, usable_memory
from muster_core.rules.launcher import argument_of

pytestmark = pytest.mark.unit


def spec(name, **more):
    instance = lookup(name)
    return ContainerSpec(
        instance=instance,
        image="image",
        command=("a", "b"),
        environment=more.pop("environment", {}),
        secrets={"MUSTER_JOB_SECRET": "secret-arn"},
        efa_devices=efa_devices(instance),
        job_role_arn="job-role",
        execution_role_arn="execution-role",
        log_options={"awslogs-group": "group"},
        **more,
    )


@pytest.mark.parametrize(
    ("name", "vcpus", "gpus", "memory"),
    [
        ("g6.8xlarge", "32", "1", "124518"),
        ("p4d.24xlarge", "96", "8", "1120665"),
        ("p5.48xlarge", "192", "8", "1992294"),
        ("p6-b300.48xlarge", "192", "8", "3984588"),
    ],
)
def test_a_node_takes_the_whole_instance(name, vcpus, gpus, memory):
    assert resources(spec(name)) == [
        {"type": "VCPU", "value": vcpus},
        {"type": "MEMORY", "value": memory},
        {"type": "GPU", "value": gpus},
    ]


def test_neuron_devices_are_no_gpu():
    trainium = spec("trn1.32xlarge")
    assert [each["type"] for each in resources(trainium)] == ["VCPU", "MEMORY"]
    neuron = [each for each in devices(trainium) if each["hostPath"].startswith("/dev/neuron")]
    assert neuron == [
        {"hostPath": f"/dev/neuron{n}", "containerPath": f"/dev/neuron{n}", "permissions": ["READ", "WRITE"]}
        for n in range(16)
    ]


@pytest.mark.parametrize(("name", "count"), [("g6.8xlarge", 1), ("p4d.24xlarge", 4), ("p5.48xlarge", 32)])
def test_each_efa_device_has_path_and_permissions_spelled_out(name, count):
    assert devices(spec(name)) == [
        {
            "hostPath": f"/dev/infiniband/uverbs{n}",
            "containerPath": f"/dev/infiniband/uverbs{n}",
            "permissions": ["READ", "WRITE", "MKNOD"],
        }
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("name", "accelerators"), [("p5.48xlarge", "8"), ("g6.8xlarge", "1"), ("trn1.32xlarge", "16")]
)
def test_the_runtime_is_told_contract_accelerators_and_stop_timeout(name, accelerators):
    assert environment(spec(name, environment={"DATA": "s3://x"})) == {
        "DATA": "s3://x",
        "MUSTER_CONTRACT": str(CONTRACT_VERSION),
        "MUSTER_ACCELERATORS_PER_NODE": accelerators,
        "MUSTER_STOP_TIMEOUT": "120",
    }


def test_memory_and_shared_memory_follow_the_type_or_the_user():
    given = spec("p5.48xlarge")
    assert (given.memory, given.shared_memory) == (
        usable_memory(given.instance),
        usable_memory(given.instance) // 2,
    )
    smaller = dataclasses.replace(given, memory_mib=1000)
    assert (smaller.memory, smaller.shared_memory) == (1000, 500)
    assert dataclasses.replace(smaller, shared_memory_mib=64).shared_memory == 64


def test_the_limits_that_efa_and_mpi_need():
    assert ulimits() == [
        {"name": "memlock", "softLimit": -1, "hardLimit": -1},
        {"name": "stack", "softLimit": 67108864, "hardLimit": 67108864},
        {"name": "nofile", "softLimit": 1048576, "hardLimit": 1048576},
    ]


def test_the_container_has_exactly_these_parts():
    whole = container(spec("g6.8xlarge"))
    assert set(whole) == {
        *("image", "command", "instanceType", "resourceRequirements", "environment", "secrets", "jobRoleArn"),
        *("executionRoleArn", "linuxParameters", "ulimits", "logConfiguration"),
    }
    assert whole["secrets"] == [{"name": "MUSTER_JOB_SECRET", "valueFrom": "secret-arn"}]
    assert whole["linuxParameters"]["initProcessEnabled"] is True
    assert whole["logConfiguration"] == {"logDriver": "awslogs", "options": {"awslogs-group": "group"}}


def test_the_retry_rules_in_order():
    assert retry.default_rules() == [
        {"onStatusReason": "Host EC2*", "action": "RETRY"},
        {"onStatusReason": "Task failed to start*", "action": "RETRY"},
        {"onStatusReason": "Timeout waiting for network interface provisioning*", "action": "RETRY"},
        {"onExitCode": "75", "action": "RETRY"},
        {"onReason": "*", "action": "EXIT"},
    ]
    assert EXIT_TEMPFAIL == 75


def test_the_least_command():
    assert Launcher.torch("train.py", "--epochs", "5").command == (
        *RUNTIME_COMMAND,
        *("run", "--launcher", "torch", "--", "train.py", "--epochs", "5"),
    )


def test_every_option_of_the_launcher_reaches_the_command():
    command = Launcher.torch(
        "pkg.train", nproc_per_node=4, master_port=29600, module=True, no_python=True
    ).command
    options = command[len(RUNTIME_COMMAND) :]
    assert options == (
        *("run", "--launcher", "torch", "--nproc-per-node", "4", "--master-port", "29600"),
        *("--module", "--no-python", "--", "pkg.train"),
    )


def test_the_method_has_the_contracts_options():
    launcher = Launcher.torch("train.py")
    assert set(launcher.options) == {argument_of(option) for option in TORCH.options}


def test_arguments_are_texts():
    with pytest.raises(TypeError, match=r"^args\[1\] must be a str, got int 5; change it$"):
        Launcher.torch("train.py", "--epochs", 5)
    with pytest.raises(TypeError, match=r"^program must be a str, got NoneType None; change it$"):
        Launcher.torch(None)
