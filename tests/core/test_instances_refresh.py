"""The catalogue is what its script makes of the dump and the overlay."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber

from muster_core.instances import sources
from muster_core.instances.catalogue import DATA

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "scripts" / "refresh_instances.py"
    spec = importlib.util.spec_from_file_location("refresh_instances", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def p5(script: ModuleType) -> dict[str, Any]:
    return next(
        info for info in script.read_dump(script.dump_path()) if info["InstanceType"] == "p5.48xlarge"
    )


def test_the_catalogue_in_the_repository_is_the_script_s(script: ModuleType, tmp_path: Path) -> None:
    made = tmp_path / "catalogue.json"
    script.main(["--date", sources()[0].date, "--output", str(made)])
    assert made.read_text(encoding="utf-8") == DATA.read_text(encoding="utf-8")


def test_an_account_is_asked_through_boto3(
    script: ModuleType, p5: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = boto3.client("ec2", region_name="us-west-2")
    plain = {**{key: value for key, value in p5.items() if key != "GpuInfo"}, "InstanceType": "m5.large"}
    plain["NetworkInfo"] = {**p5["NetworkInfo"], "EfaSupported": False}
    made = tmp_path / "catalogue.json"
    with Stubber(client) as stub:  # it holds requests and answers against EC2's model
        stub.add_response("describe_instance_types", {"InstanceTypes": [plain], "NextToken": "2"}, {})
        stub.add_response("describe_instance_types", {"InstanceTypes": [p5]}, {"NextToken": "2"})
        monkeypatch.setattr(boto3, "client", lambda service, region_name: (service, region_name) and client)
        script.main(["--region", "us-west-2", "--date", "2026-12-01", "--output", str(made)])
        stub.assert_no_pending_responses()
    document = json.loads(made.read_text(encoding="utf-8"))
    assert document["sources"][0] == {"name": "EC2 DescribeInstanceTypes, us-west-2", "date": "2026-12-01"}
    assert (
        document["rows"]["p5.48xlarge"] == json.loads(DATA.read_text(encoding="utf-8"))["rows"]["p5.48xlarge"]
    )
    assert "m5.large" not in document["rows"]


def test_a_type_with_neither_is_left_out(script: ModuleType, p5: dict[str, Any]) -> None:
    plain = {**p5, "NetworkInfo": {**p5["NetworkInfo"], "EfaSupported": False}}
    assert script.is_wanted(p5) is True
    assert script.is_wanted(plain) is True
    assert script.is_wanted({key: value for key, value in plain.items() if key != "GpuInfo"}) is False


def test_a_habana_device_of_a_real_account_is_gaudi(script: ModuleType, p5: dict[str, Any]) -> None:
    gpus = [
        {"Manufacturer": "Habana", "Name": "Gaudi HL-205", "Count": 8, "MemoryInfo": {"SizeInMiB": 32768}}
    ]
    row = script.encode({**p5, "GpuInfo": {"Gpus": gpus}})
    assert row["acc"] == ["gaudi", "Gaudi HL-205", 8, 32768]


def test_a_gap_in_the_cards_is_refused(script: ModuleType, p5: dict[str, Any]) -> None:
    cards = p5["NetworkInfo"]["NetworkCards"][::2]
    with pytest.raises(ValueError, match="network cards are not numbered from 0 without a gap"):
        script.encode({**p5, "NetworkInfo": {**p5["NetworkInfo"], "NetworkCards": cards}})


def test_an_overlay_lies_over_a_row_and_adds_new_ones(script: ModuleType, p5: dict[str, Any]) -> None:
    layer = {
        "name": "a page",
        "date": "2026-01-02",
        "rows": {"p5.48xlarge": {"efa": 1}, "new.large": {"vcpus": 2}},
    }
    text = script.catalogue([p5], script.Source("dump", "2026-01-01"), {"sources": [layer]})
    document = json.loads(text)
    assert document["rows"]["p5.48xlarge"]["efa"] == 1
    assert document["rows"]["p5.48xlarge"]["vcpus"] == 192
    assert document["rows"]["p5.48xlarge"]["from"] == [0, 1]
    assert document["rows"]["new.large"] == {"vcpus": 2, "from": [1]}
    assert document["sources"] == [
        {"name": "dump", "date": "2026-01-01"},
        {"name": "a page", "date": "2026-01-02"},
    ]


def test_a_field_that_nobody_reads_is_refused(script: ModuleType) -> None:
    layer = {"name": "a page", "date": "2026-01-02", "rows": {"new.large": {"vcpu": 2}}}
    with pytest.raises(
        ValueError, match=r"new\.large has unknown fields, got \['vcpu'\]; allowed: arch, vcpus"
    ):
        script.catalogue([], script.Source("dump", "2026-01-01"), {"sources": [layer]})


def test_a_dump_is_read(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "dump.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"a": {"InstanceType": "a"}}).encode()))
    assert script.read_dump(path) == [{"InstanceType": "a"}]


def test_without_moto_the_script_says_what_to_do(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="moto is not installed"):
        script.dump_path()
