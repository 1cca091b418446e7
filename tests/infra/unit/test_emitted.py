"""Over types, nodes and options: what the rules take is valid, what they refuse is not.

The judge is ``batch_checker``: the rules of EC2 and Batch written a second time, on the data that is
emitted. It shares no code with Muster and takes its facts from elsewhere.
"""

from __future__ import annotations

import dataclasses

import pytest
from batch_checker import Emitted, complaints, types
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muster_cdk import retry
from muster_cdk.container import ContainerSpec, container
from muster_cdk.launcher import Launcher
from muster_core import rules
from muster_core.contract import ENV_JOB_SECRET, OPEN_NODE_RANGE
from muster_core.instances import InstanceType, efa_devices, lookup, names, nics, usable_memory
from muster_core.rules import ClusterRequest, JobRequest, sizes

pytestmark = pytest.mark.unit

RUNNABLE = [name for name in names() if not rules.cluster(lookup(name), ClusterRequest(1))]


@dataclasses.dataclass(frozen=True)
class Options:
    """What a person may ask for."""

    name: str
    max_nodes: int
    nodes: int
    interface_type: str
    prefix: int
    memory: float | None
    shared: float | None
    timeout: int
    attempts: int
    variables: dict[str, str]
    args: list[str]

    @property
    def instance(self) -> InstanceType:
        return lookup(self.name)

    @property
    def cidr(self) -> str:
        return f"10.0.0.0/{self.prefix}"

    @property
    def spec(self) -> ContainerSpec:
        memory = None if self.memory is None else int(self.memory * self.instance.memory_mib)
        usable = usable_memory(self.instance) if memory is None else memory
        return ContainerSpec(
            instance=self.instance,
            image="registry/digits:1",
            command=Launcher.torch("train.py", *self.args).command,
            environment=self.variables,
            secrets={ENV_JOB_SECRET: "arn"},
            efa_devices=efa_devices(self.instance),
            memory_mib=memory,
            shared_memory_mib=None if self.shared is None else int(self.shared * usable),
            job_role_arn="arn",
            execution_role_arn="arn",
            log_options={"awslogs-group": "group"},
        )


def mostly(right, wide):
    """Nine right values for each out of the wide range, so that requests with no and with one fault are many."""
    return st.integers(0, 9).flatmap(lambda number: right if number else wide)


def options(kinds):
    return st.builds(
        Options,
        name=st.sampled_from(kinds),
        max_nodes=mostly(st.integers(4, 64), st.integers(-1, 1010)),
        nodes=mostly(st.integers(1, 4), st.integers(-1, 70)),
        interface_type=st.sampled_from(["efa-only", "efa"]),
        prefix=mostly(st.integers(16, 20), st.integers(21, 28)),
        memory=mostly(st.none() | st.floats(0.01, 0.95), st.floats(0, 1)),
        shared=mostly(st.none() | st.floats(0.01, 1), st.floats(0, 1.1)),
        timeout=mostly(st.integers(60, 86400), st.integers(0, 70)),
        attempts=mostly(st.integers(1, 10), st.integers(0, 11)),
        variables=mostly(
            st.dictionaries(st.sampled_from(["NCCL_DEBUG", "DATA", "AWS_REGION"]), st.just("x" * 100)),
            st.dictionaries(
                st.sampled_from(["A=B", "", "AWS_BATCH_JOB_ID", "AWS_BATCH"]), st.just("1"), min_size=1
            ),
        ),
        args=mostly(
            st.lists(st.sampled_from(["--epochs", "5"])), st.lists(st.sampled_from(["a", ""]), max_size=3)
        ),
    )


def problems(given):
    spec = given.spec
    asked = ClusterRequest(given.max_nodes, given.interface_type, "us-east-1a", given.cidr)
    job = JobRequest(
        nodes=given.nodes,
        max_nodes=given.max_nodes,
        command=["train.py", *given.args],
        environment=given.variables,
        image=spec.image,
        memory_mib=spec.memory,
        shared_memory_mib=spec.shared_memory,
        timeout_seconds=given.timeout,
        attempts=given.attempts,
        evaluate_on_exit=retry.default_rules(),
    )
    definition = {"nodeProperties": node_properties(given)}
    return [
        *rules.cluster(given.instance, asked),
        *rules.job(given.instance, job),
        *sizes.definition(definition),
    ]


def node_properties(given):
    return {
        "numNodes": given.nodes,
        "mainNode": 0,
        "nodeRangeProperties": [{"targetNodes": OPEN_NODE_RANGE, "container": container(given.spec)}],
    }


def emitted(given):
    image = given.instance.batch_image
    return Emitted(
        interfaces=[
            {
                "networkCardIndex": nic.network_card_index,
                "deviceIndex": nic.device_index,
                "interfaceType": nic.interface_type,
                "groups": ["sg"],
            }
            for nic in nics(given.instance, given.interface_type)
        ],
        compute={
            "type": "EC2",
            "minvCpus": 0,
            "maxvCpus": given.max_nodes * given.instance.vcpus,
            "instanceTypes": [given.name],
            "subnets": ["subnet"],
            "launchTemplate": {"version": "1"},
            "ec2Configuration": [
                {"imageType": image.image_type, "imageIdOverride": image.ssm_parameter}
                if image
                else {"imageType": "none"}
            ],
        },
        job={
            "type": "multinode",
            "nodeProperties": node_properties(given),
            "timeout": {"attemptDurationSeconds": given.timeout},
            "retryStrategy": {"attempts": given.attempts, "evaluateOnExit": retry.default_rules()},
        },
        cidr=given.cidr,
    )


def layout_is_impossible(given):
    """Whether EC2 has no layout for it: no slot for the task, or addresses beside an ENA-only card 0."""
    kind = types()[given.name]
    slots, takes_efa = kind.cards[0]
    return slots < 2 or (given.interface_type == "efa" and kind.efa > 0 and not takes_efa)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(given=mostly(options(RUNNABLE), options(names())))
def test_the_rules_take_a_request_exactly_when_what_is_emitted_is_valid(given):
    found = problems(given)
    try:
        data = emitted(given)
    except ValueError:
        assert layout_is_impossible(given)
        assert "network.interfaces" in {problem.rule for problem in found}
        return
    wrong = complaints(data)
    assert bool(found) == bool(wrong), (found, wrong)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(given=options(RUNNABLE))
def test_no_valid_request_is_refused(given):
    nodes = min(max(given.max_nodes, 1), 64)
    right = dataclasses.replace(
        given,
        max_nodes=nodes,
        nodes=min(max(given.nodes, 1), nodes),
        prefix=16,
        memory=None if given.memory is None else max(given.memory * 0.95, 0.01),
        shared=None if given.shared is None else min(max(given.shared, 0.01), 1),
        timeout=max(given.timeout, 60),
        attempts=min(max(given.attempts, 1), 10),
        variables={"NCCL_DEBUG": "INFO"},
        args=["--epochs"],
    )
    assume(not layout_is_impossible(right))
    assert problems(right) == []
    assert complaints(emitted(right)) == []


@pytest.mark.parametrize("name", names())
def test_the_checker_s_facts_are_not_the_catalogue_s_and_agree(name):
    ours, theirs = lookup(name), types()[name]
    assert (ours.vcpus, ours.memory_mib, ours.max_efa) == (theirs.vcpus, theirs.memory, theirs.efa)
    assert (ours.gpus, ours.neuron_devices) == (theirs.gpus, theirs.neuron)
    assert {card.index: (card.max_interfaces, card.efa) for card in ours.network_cards} == theirs.cards


RIGHT = Options(
    "p5.48xlarge", 4, 2, "efa-only", 24, None, None, 3600, 3, {"DATA": "/data"}, ["--epochs", "5"]
)


def changed(part, **more):
    data = emitted(RIGHT)
    {
        "interface": data.interfaces[1],
        "primary": data.interfaces[0],
        "compute": data.compute,
        "job": data.job,
    }[part].update(more)
    return data


def in_container(**more):
    data = emitted(RIGHT)
    data.job["nodeProperties"]["nodeRangeProperties"][0]["container"].update(more)
    return data


def in_nodes(**more):
    data = emitted(RIGHT)
    data.job["nodeProperties"].update(more)
    return data


@pytest.mark.parametrize(
    "data",
    [
        changed("interface", deviceIndex=0, networkCardIndex=0),
        changed("interface", deviceIndex=2),
        changed("interface", networkCardIndex=32),
        changed("interface", networkCardIndex=2),
        changed("interface", interfaceType="interface"),
        changed("interface", interfaceType="ena"),
        changed("interface", groups=[]),
        changed("interface", associatePublicIpAddress=True),
        changed("primary", interfaceType="efa-only"),
        changed("primary", deviceIndex=1),
        changed("compute", type="SPOT"),
        changed("compute", allocationStrategy="SPOT_CAPACITY_OPTIMIZED"),
        changed("compute", securityGroupIds=["sg"]),
        changed("compute", subnets=["a", "b"]),
        changed("compute", minvCpus=769),
        changed("compute", maxvCpus=767),
        changed("compute", maxvCpus=192),
        changed("compute", instanceTypes=["optimal"]),
        changed("compute", instanceTypes=["p5"]),
        changed("compute", instanceTypes=["p4d.24xlarge"]),
        changed("compute", launchTemplate={"version": "$Latest"}),
        changed("compute", ec2Configuration=[{"imageType": "ECS_AL2023"}]),
        changed("job", type="container"),
        changed("job", timeout={"attemptDurationSeconds": 59}),
        changed("job", retryStrategy={"attempts": 11, "evaluateOnExit": []}),
        changed(
            "job", retryStrategy={"attempts": 1, "evaluateOnExit": [{"onReason": "a*b", "action": "EXIT"}]}
        ),
        in_nodes(numNodes=5),
        in_nodes(mainNode=2),
        in_nodes(
            nodeRangeProperties=[{**node_properties(RIGHT)["nodeRangeProperties"][0], "targetNodes": "0:0"}]
        ),
        in_container(instanceType="p5e.48xlarge"),
        in_container(privileged=True),
        in_container(ulimits=[]),
        in_container(command=["a", ""]),
        in_container(environment=[{"name": "AWS_BATCH_X", "value": "1"}]),
        in_container(environment=[{"name": "X", "value": "x" * 24000}]),
        in_container(resourceRequirements=[{"type": "VCPU", "value": "192"}]),
        in_container(linuxParameters={"devices": [], "sharedMemorySize": 1}),
    ],
)
def test_the_checker_sees_what_is_wrong(data):
    assert complaints(emitted(RIGHT)) == []
    assert complaints(data) != []
