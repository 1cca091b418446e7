"""The rules of EC2 and AWS Batch for a multi-node job with EFA, written a second time.

It shares no code and no data with Muster: facts come straight from the dump of DescribeInstanceTypes,
rules from the EC2 user guide (network interfaces, EFA), the Batch API and the Batch user guide. It
judges what is emitted, in the services' own spelling, and knows nothing of how it was made.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Any

Json = Any

# Not in the dump, or not with these parts: the EC2 user guide's pages of accelerated types.
BY_HAND: dict[str, Json] = {
    "p6e-gb200.36xlarge": {
        "arch": ["arm64"],
        "vcpus": 144,
        "memory": 983040,
        "gpus": 4,
        "cards": {index: (2, index % 2 == 1) for index in range(17)},
        "efa": 8,
        "sold": ["capacity-block"],
    },
    "dl1.24xlarge": {
        "arch": ["x86_64"],
        "vcpus": 96,
        "memory": 786432,
        "cards": dict.fromkeys(range(4), (15, True)),
        "efa": 4,
        "sold": ["on-demand", "spot"],
    },
}
NEURON_BY_HAND = {"trn2u.48xlarge": 16}
OLD_GPUS = ("p2", "p3", "g3")


@dataclass(frozen=True)
class Type:
    """What EC2 says of a type."""

    name: str
    arch: list[str]
    vcpus: int
    memory: int
    cards: dict[int, tuple[int, bool]]
    efa: int
    sold: list[str]
    gpus: int = 0
    neuron: int = 0


@dataclass(frozen=True)
class Emitted:
    """A cluster and a job as the services get them.

    Attributes:
        interfaces: ``NetworkInterfaces`` of the launch template.
        compute: ``computeResources`` of the environment.
        job: ``RegisterJobDefinition``.
        cidr: Block of the subnet.
    """

    interfaces: list[Json]
    compute: Json
    job: Json
    cidr: str


@cache
def types() -> dict[str, Type]:
    """Every type of EC2 that the dump has, and those by hand."""
    path = Path(find_spec("moto").origin).parent / "ec2" / "resources" / "instance_types.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        dump = json.load(file)
    found = {name: _type(name, info) for name, info in dump.items()}
    return found | {name: Type(name=name, **facts) for name, facts in BY_HAND.items()}


def _type(name: str, info: Json) -> Type:
    gpus = info.get("GpuInfo", {}).get("Gpus", [])
    nvidia = sum(gpu["Count"] for gpu in gpus if gpu["Manufacturer"] == "NVIDIA")
    neuron = sum(device["Count"] for device in info.get("NeuronInfo", {}).get("NeuronDevices", []))
    network = info["NetworkInfo"]
    return Type(
        name=name,
        arch=info["ProcessorInfo"]["SupportedArchitectures"],
        vcpus=info["VCpuInfo"]["DefaultVCpus"],
        memory=info["MemoryInfo"]["SizeInMiB"],
        cards={
            card["NetworkCardIndex"]: (card["MaximumNetworkInterfaces"], "efa-only" in card["InterfaceTypes"])
            for card in network["NetworkCards"]
        },
        efa=network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        sold=info["SupportedUsageClasses"],
        gpus=nvidia,
        neuron=neuron or NEURON_BY_HAND.get(name, 0),
    )


def camel(value: Json) -> Json:
    """CloudFormation's spelling of keys turned into the API's."""
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: camel(each) for key, each in value.items()}
    return [camel(each) for each in value] if isinstance(value, list) else value


def complaints(emitted: Emitted) -> list[str]:
    """Everything that EC2 or Batch would refuse, or that would leave the job RUNNABLE or without EFA."""
    kinds = emitted.compute["instanceTypes"]
    if len(kinds) != 1 or "." not in kinds[0]:
        return [f"not one concrete type: {kinds}"]
    kind = types()[kinds[0]]
    return [
        *_sold(kind),
        *_interfaces(kind, emitted.interfaces),
        *_environment(kind, emitted),
        *_job(kind, emitted),
    ]


def _sold(kind: Type) -> list[str]:
    family = kind.name.split(".")[0]
    wrong = []
    if not kind.gpus and not kind.neuron:
        wrong.append("nothing to train on")
    if kind.gpus and kind.arch != ["x86_64"]:
        wrong.append("no image with a driver for this architecture")
    if family.startswith(OLD_GPUS):
        wrong.append("no driver for GPUs this old")
    if "on-demand" not in kind.sold:
        wrong.append("not sold on demand")
    return wrong


def _interfaces(kind: Type, interfaces: list[Json]) -> list[str]:
    slots = [(each.get("networkCardIndex", 0), each["deviceIndex"]) for each in interfaces]
    wrong = []
    if slots.count((0, 0)) != 1:
        wrong.append("no primary interface, or two")
    if len(set(slots)) < len(slots):
        wrong.append("two interfaces in a slot")
    for (card, device), each in zip(slots, interfaces, strict=True):
        wrong += _interface(kind, card, device, each)
    on_first = sum(card == 0 for card, _ in slots)
    if on_first + 1 > kind.cards[0][0]:
        wrong.append("no slot on card 0 for the interface of the task")
    with_efa = [
        card for (card, _), each in zip(slots, interfaces, strict=True) if "efa" in each["interfaceType"]
    ]
    if len(with_efa) != kind.efa or len(set(with_efa)) < len(with_efa):
        wrong.append(f"{len(with_efa)} interfaces with EFA, {kind.efa} are possible, one a card")
    return wrong


def _interface(kind: Type, card: int, device: int, each: Json) -> list[str]:
    wrong = []
    limit, takes_efa = kind.cards.get(card, (0, False))
    if device >= limit:
        wrong.append(f"card {card} has no slot {device}")
    if each["interfaceType"] not in {"interface", "efa", "efa-only"}:
        wrong.append(f"unknown kind {each['interfaceType']}")
    if "efa" in each["interfaceType"] and not takes_efa:
        wrong.append(f"card {card} takes no EFA")
    if (card, device) == (0, 0) and each["interfaceType"] == "efa-only":
        wrong.append("the primary interface has no address")
    if card and each["interfaceType"] != "efa-only" and not kind.cards[0][1]:
        wrong.append(f"card {card} may have no address beside an ENA-only card 0")
    if each.get("associatePublicIpAddress"):
        wrong.append("a public address")
    if not each.get("groups"):
        wrong.append("no security group")
    return wrong


def _environment(kind: Type, emitted: Emitted) -> list[str]:
    compute, wrong = emitted.compute, []
    if compute["type"] != "EC2" or "SPOT" in compute.get("allocationStrategy", ""):
        wrong.append("multi-node jobs run on EC2 on demand alone")
    if "securityGroupIds" in compute:
        wrong.append("security groups beside network interfaces")
    if len(compute["subnets"]) != 1:
        wrong.append("EFA stays in one subnet's zone")
    if not 0 <= compute["minvCpus"] <= compute["maxvCpus"]:
        wrong.append("minvCpus above maxvCpus")
    if compute["launchTemplate"].get("version") in (None, "$Latest", "$Default"):
        wrong.append("a floating version never reaches the environment")
    images = {each["imageType"] for each in compute["ec2Configuration"]}
    override = all(each.get("imageIdOverride") for each in compute["ec2Configuration"])
    if kind.gpus and images != {"ECS_AL2023_NVIDIA"}:
        wrong.append(f"images {images} have no NVIDIA driver")
    if kind.neuron and not override:
        wrong.append("no image has the Neuron driver by itself")
    return wrong + _room(kind, emitted)


def _room(kind: Type, emitted: Emitted) -> list[str]:
    nodes, left = divmod(emitted.compute["maxvCpus"], kind.vcpus)
    wrong = []
    if left or not 1 <= nodes <= 1000:
        wrong.append(f"maxvCpus holds {nodes} nodes and {left} vCPUs")
    addresses = 1 + sum(each["interfaceType"] != "efa-only" for each in emitted.interfaces)
    network = ip_network(emitted.cidr)
    if nodes * addresses > network.num_addresses - 5:
        wrong.append(f"{nodes} nodes with {addresses} addresses each do not fit into {network}")
    return wrong


def _job(kind: Type, emitted: Emitted) -> list[str]:
    job, wrong = emitted.job, []
    if job["type"] != "multinode":
        wrong.append("not a multi-node job")
    if len(json.dumps(job, separators=(",", ":")).encode()) > 24 * 1024:
        wrong.append("more than 24 KiB")
    nodes, ranges = job["nodeProperties"], job["nodeProperties"]["nodeRangeProperties"]
    if isinstance(nodes["numNodes"], int):
        wrong += _nodes(kind, emitted, nodes["numNodes"], nodes["mainNode"])
    if [each["targetNodes"] for each in ranges] != ["0:"]:
        wrong.append("not the one open range")
    seconds = job["timeout"]["attemptDurationSeconds"]
    if isinstance(seconds, int) and seconds < 60:
        wrong.append("a timeout below 60 s")
    for each in ranges:
        wrong += _container(kind, emitted, each["container"])
    return wrong + _retry(job["retryStrategy"])


def _nodes(kind: Type, emitted: Emitted, number: int, main: int) -> list[str]:
    if not 0 <= main < number:
        return [f"main node {main} of {number}"]
    return [] if number * kind.vcpus <= emitted.compute["maxvCpus"] else ["more nodes than maxvCpus"]


def _container(kind: Type, emitted: Emitted, container: Json) -> list[str]:
    amounts = {each["type"]: int(each["value"]) for each in container["resourceRequirements"]}
    wrong = []
    if container["instanceType"] != kind.name or amounts["VCPU"] != kind.vcpus:
        wrong.append("not the whole instance")
    memory = amounts.get("MEMORY", 0)
    if not 4 <= memory <= kind.memory * 0.95:
        wrong.append(f"{memory} MiB of {kind.memory}")
    if amounts.get("GPU", 0) != kind.gpus:
        wrong.append(f"{amounts.get('GPU')} GPUs of {kind.gpus}")
    linux = container["linuxParameters"]
    if not 1 <= linux["sharedMemorySize"] <= memory:
        wrong.append(f"shared memory of {linux['sharedMemorySize']} MiB in {memory}")
    if container.get("privileged"):
        wrong.append("privileged")
    if kind.efa and {"name": "memlock", "softLimit": -1, "hardLimit": -1} not in container["ulimits"]:
        wrong.append("EFA registers memory without limit")
    return wrong + _devices(kind, emitted, linux["devices"]) + _text(container)


def _devices(kind: Type, emitted: Emitted, devices: list[Json]) -> list[str]:
    paths = [each["hostPath"] for each in devices]
    efa = sum("efa" in each["interfaceType"] for each in emitted.interfaces)
    expected = [f"/dev/infiniband/uverbs{number}" for number in range(efa)]
    expected += [f"/dev/neuron{number}" for number in range(kind.neuron)]
    return [] if paths == expected else [f"devices {paths}, interfaces and accelerators give {expected}"]


def _text(container: Json) -> list[str]:
    names = [each["name"] for each in [*container["environment"], *container["secrets"]]]
    wrong = [f"variable {name}" for name in names if not name or "=" in name or name.startswith("AWS_BATCH")]
    if len(set(names)) < len(names):
        wrong.append("a variable twice")
    if "" in container["command"]:
        wrong.append("an empty element of the command")
    if isinstance(container["image"], str) and not 1 <= len(container["image"]) <= 255:
        wrong.append("the image's length")
    return wrong


def _retry(strategy: Json) -> list[str]:
    wrong = []
    if isinstance(strategy["attempts"], int) and not 1 <= strategy["attempts"] <= 10:
        wrong.append(f"{strategy['attempts']} attempts")
    if len(strategy["evaluateOnExit"]) > 5:
        wrong.append("more than 5 rules")
    for rule in strategy["evaluateOnExit"]:
        for key, pattern in rule.items():
            shape = r"[0-9]*\*?" if key == "onExitCode" else r"[A-Za-z0-9.:\s]*\*?"
            if key != "action" and not re.fullmatch(shape, pattern):
                wrong.append(f"pattern {pattern}")
    return wrong
