"""A subnet's addresses are counted once: endpoints and other clusters in it take theirs."""

import pytest
from aws_cdk import aws_ec2 as ec2
from infra_synth import ZONE, problems_of, stack

from muster_cdk import GpuCluster, NetworkEndpoints


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def isolated(scope):
    """A VPC with a subnet of 27 addresses to give."""
    nodes = ec2.SubnetConfiguration(name="Nodes", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=27)
    return ec2.Vpc(scope, "Vpc", availability_zones=[ZONE], nat_gateways=0, subnet_configuration=[nodes])


def cluster(scope, vpc, max_nodes, id="Cluster"):
    return GpuCluster(scope, id, instance_type="p5.48xlarge", max_nodes=max_nodes, vpc=vpc)


@pytest.mark.parametrize(("max_nodes", "wrong"), [(10, False), (11, True)])
def test_endpoints_in_the_subnet(scope, max_nodes, wrong):
    vpc = isolated(scope)
    NetworkEndpoints(scope, "Endpoints", vpc=vpc, subnet=vpc.isolated_subnets[0])
    cluster(scope, vpc, max_nodes)
    said = (
        "[Test/Cluster] max_nodes needs more addresses than the subnet has, got 11; each node takes 2, together 22, and "
        "10.0.0.0/27 has 20 to give beside 7 for endpoints and other clusters; use a larger subnet or lower max_nodes"
    )
    assert problems_of(scope) == ([said] if wrong else [])


@pytest.mark.parametrize(("max_nodes", "wrong"), [(5, False), (6, True)])
def test_two_clusters_in_one_subnet(scope, max_nodes, wrong):
    vpc = isolated(scope)
    NetworkEndpoints(scope, "Endpoints", vpc=vpc, subnet=vpc.isolated_subnets[0])
    cluster(scope, vpc, 5)
    cluster(scope, vpc, max_nodes, "Second")
    said = (
        "[Test/Second] max_nodes needs more addresses than the subnet has, got 6; each node takes 2, together 12, and "
        "10.0.0.0/27 has 10 to give beside 17 for endpoints and other clusters; use a larger subnet or lower max_nodes"
    )
    assert problems_of(scope) == ([said] if wrong else [])
