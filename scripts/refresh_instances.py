"""Make the catalogue of instance types anew.

    python scripts/refresh_instances.py                     # from the dump that moto brings
    python scripts/refresh_instances.py --region us-east-1  # from an account, by boto3

The rows are those of DescribeInstanceTypes that have EFA or an accelerator, with
``instances_overlay.json`` laid over them.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from muster_core.instances.catalogue import DATA, USAGE_CLASSES

OVERLAY = Path(__file__).with_name("instances_overlay.json")
ABOUT = "Written by scripts/refresh_instances.py. Do not edit: change instances_overlay.json and run it."

FIELDS = (
    "arch",
    "vcpus",
    "cores",
    "memory",
    "acc",
    "cards",
    "efa",
    "uverbs",
    "nvme",
    "network",
    "usage",
    "from",
)

Info = Mapping[str, Any]
Row = dict[str, Any]


class Source(NamedTuple):
    """What was read, and when."""

    name: str
    date: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the catalogue."""
    options = _options(arguments)
    infos = describe(options.region) if options.region else read_dump(dump_path())
    text = catalogue(
        infos, source(options.region, options.date), json.loads(OVERLAY.read_text(encoding="utf-8"))
    )
    options.output.write_text(text, encoding="utf-8")
    print(f"{options.output}: {len(json.loads(text)['rows'])} types, {len(text)} bytes")


def catalogue(infos: Iterable[Info], read: Source, overlay: Mapping[str, Any]) -> str:
    """The catalogue's text: one line a type, so that a change shows as a line."""
    rows = {info["InstanceType"]: encode(info) | {"from": [0]} for info in infos if is_wanted(info)}
    for index, layer in enumerate(overlay["sources"], start=1):
        for name, fields in layer["rows"].items():
            below = rows.get(name, {})
            rows[name] = {**below, **fields, "from": [*below.get("from", []), index]}
    sources = [
        read._asdict(),
        *({"name": layer["name"], "date": layer["date"]} for layer in overlay["sources"]),
    ]
    return _render(sources, rows)


def source(region: str | None, date: str) -> Source:
    """The name of what is read: an account in a region, or moto's dump."""
    return Source(
        f"EC2 DescribeInstanceTypes, {region or 'the copy in moto ' + version('moto')}",
        date,
    )


def is_wanted(info: Info) -> bool:
    """Whether the catalogue holds a type: it has EFA or an accelerator."""
    return bool(info["NetworkInfo"].get("EfaSupported")) or _accelerator(info) is not None


def encode(info: Info) -> Row:
    """The catalogue's row of an element of DescribeInstanceTypes."""
    network, cpus = info["NetworkInfo"], info["VCpuInfo"]
    return _without_empty(
        {
            "arch": _architecture(info),
            "vcpus": cpus["DefaultVCpus"],
            "cores": cpus.get("DefaultCores", cpus["DefaultVCpus"]),
            "memory": info["MemoryInfo"]["SizeInMiB"],
            "acc": _accelerator(info),
            "cards": _cards(network["NetworkCards"]),
            "efa": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
            "nvme": _nvme(info),
            "network": network["NetworkPerformance"],
            "usage": "".join(
                key for key, name in USAGE_CLASSES.items() if name in info["SupportedUsageClasses"]
            ),
        }
    )


def _architecture(info: Info) -> str:
    names = [name for name in info["ProcessorInfo"]["SupportedArchitectures"] if name in {"x86_64", "arm64"}]
    return str(names[0])


def _accelerator(info: Info) -> list[Any] | None:
    # Inferentia stands in two places; NeuronInfo has the cores.
    if "NeuronInfo" in info:
        device = info["NeuronInfo"]["NeuronDevices"][0]
        return ["neuron", device["Name"], device["Count"], _memory(device), device["CoreInfo"]["Count"]]
    if "GpuInfo" in info:
        return _device("gpu", info["GpuInfo"]["Gpus"][0])
    if "InferenceAcceleratorInfo" in info:
        return _device("inference", info["InferenceAcceleratorInfo"]["Accelerators"][0])
    if "FpgaInfo" in info:
        return _device("fpga", info["FpgaInfo"]["Fpgas"][0])
    if "MediaAcceleratorInfo" in info:
        return _device("media", info["MediaAcceleratorInfo"]["Accelerators"][0])
    return None


def _device(place: str, device: Info) -> list[Any]:
    kind = device["Manufacturer"].lower() if place in {"gpu", "inference"} else place
    return ["gaudi" if kind == "habana" else kind, device["Name"], device["Count"], _memory(device)]


def _memory(device: Info) -> int:
    return int(device.get("MemoryInfo", {}).get("SizeInMiB", 0))


def _cards(cards: Iterable[Info]) -> list[list[int]]:
    """Runs of ``[how many, interfaces of each, takes EFA]``, in the order of the cards' indexes."""
    ordered = sorted(cards, key=lambda card: int(card["NetworkCardIndex"]))
    if [card["NetworkCardIndex"] for card in ordered] != list(range(len(ordered))):
        raise ValueError(f"network cards are not numbered from 0 without a gap, got {ordered!r}")
    pairs = [(card["MaximumNetworkInterfaces"], int("efa" in card["InterfaceTypes"])) for card in ordered]
    return [[len(list(run)), *pair] for pair, run in itertools.groupby(pairs)]


def _nvme(info: Info) -> list[int] | None:
    disks = info.get("InstanceStorageInfo", {}).get("Disks", [])
    return [disks[0]["Count"], disks[0]["SizeInGB"]] if disks else None


def _without_empty(row: Row) -> Row:
    return {key: value for key, value in row.items() if value not in (None, 0)}


def _render(sources: Sequence[Mapping[str, str]], rows: Mapping[str, Row]) -> str:
    lines = ",\n".join(f"{_compact(name)}:{_compact(_ordered(name, rows[name]))}" for name in sorted(rows))
    listed = ",\n".join(_compact(each) for each in sources)
    return f'{{"about":{_compact(ABOUT)},\n"sources":[\n{listed}\n],\n"rows":{{\n{lines}\n}}}}\n'


def _ordered(name: str, row: Row) -> Row:
    unknown = sorted(set(row) - set(FIELDS))
    if unknown:
        raise ValueError(f"{name} has unknown fields, got {unknown}; allowed: {', '.join(FIELDS)}")
    return {field: row[field] for field in FIELDS if field in row}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def dump_path() -> Path:
    """Where moto keeps its dump; found without importing moto, which takes seconds."""
    spec = find_spec("moto")
    if spec is None or spec.origin is None:
        raise SystemExit("moto is not installed; install muster-cli[local], or give --region")
    return Path(spec.origin).parent / "ec2" / "resources" / "instance_types.json.gz"


def read_dump(path: Path) -> list[Info]:
    """The elements of a dump: a gzipped object of name -> element."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(json.load(file).values())


def describe(region: str) -> list[Info]:
    """The elements that EC2 has in a region, of the account that boto3 finds."""
    import boto3  # noqa: PLC0415  the dump needs no boto3

    pages = boto3.client("ec2", region_name=region).get_paginator("describe_instance_types").paginate()
    return [info for page in pages for info in page["InstanceTypes"]]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the catalogue of instance types anew.")
    parser.add_argument("--region", help="ask EC2 in this region; default: read the dump that moto brings")
    parser.add_argument(
        "--date",
        default=datetime.now(timezone.utc).date().isoformat(),
        help="day of the facts (YYYY-MM-DD); default: today",
    )
    parser.add_argument("--output", type=Path, default=DATA, help="default: the catalogue in core/")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
