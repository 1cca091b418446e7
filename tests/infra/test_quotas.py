"""The quotas that a full cluster needs, among the outputs of its stack."""

import pytest
from infra_synth import ZONE, stack, template_of

from muster_cdk import Capacity, GpuCluster, HostOptions
from muster_core.contract import OUTPUT_QUOTAS


def table(tmp_path, name="p5.48xlarge", nodes=16, **more):
    scope = stack(tmp_path)
    made = GpuCluster(scope, "Cluster", instance_type=name, max_nodes=nodes, availability_zone=ZONE, **more)
    (output,) = [
        each
        for each in template_of(scope)["Outputs"].values()
        if each["Description"].startswith(OUTPUT_QUOTAS)
    ]
    assert output["Description"] == f"{OUTPUT_QUOTAS} Cluster"
    assert len(output["Value"]) <= 1024
    return made, output["Value"].split("; ")


def test_every_quota_that_max_nodes_need(tmp_path):
    made, rows = table(tmp_path)
    assert rows == [
        "ec2/L-417A185B Running On-Demand P instances: 3072",
        "vpc/L-DF5E4CA3 Network interfaces per Region: 528",
        "ebs/L-7A658B76 Storage for General Purpose SSD (gp3) volumes, in TiB: 4",
    ]
    assert [each.needed for each in made.quotas] == [3072, 528, 4]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("g6.8xlarge", "ec2/L-DB2E81BA Running On-Demand G and VT instances: 64"),
        ("trn1.32xlarge", "ec2/L-2C3B7624 Running On-Demand Trn instances: 256"),
        ("inf2.48xlarge", "ec2/L-1945791B Running On-Demand Inf instances: 384"),
    ],
)
def test_each_family_has_its_own(tmp_path, name, row):
    assert table(tmp_path, name, 2)[1][0] == row


def test_a_capacity_block_is_outside_of_those_on_demand(tmp_path):
    _, rows = table(tmp_path, nodes=2, capacity=Capacity.block("cr-0123456789abcdef0", zone=ZONE, size=2))
    assert [row.partition(" ")[0] for row in rows] == ["vpc/L-DF5E4CA3", "ebs/L-7A658B76"]


def test_a_volume_of_another_kind_is_not_told_of(tmp_path):
    hosts = HostOptions(root_volume_type="io2", root_volume_iops=3000)
    assert [row.partition("/")[0] for row in table(tmp_path, hosts=hosts)[1]] == ["ec2", "vpc"]
