"""The address by the route, the interface by the address."""

import socket

import pytest

from muster_runtime.agent import network
from muster_runtime.agent.config import Config, Local
from muster_runtime.agent.errors import ConfigError, NetworkError
from muster_runtime.agent.identity import Node
from muster_runtime.agent.network import Network, find_network, interface_of, interfaces, is_unusable

MAIN = Node("j", 1, 0, 0, 2, None)
CHILD = Node("j", 1, 1, 0, 2, "10.0.0.4")


@pytest.fixture
def host(monkeypatch):
    """A host with these interfaces, and these source addresses by target."""

    def pretend(found, routes):
        monkeypatch.setattr(network, "interfaces", lambda: found)
        monkeypatch.setattr(network, "_source_address", routes.get)

    return pretend


BATCH = [("lo", "127.0.0.1"), ("ecs-eth0", "169.254.172.2"), ("docker0", "172.17.0.1"), ("ens5", "10.0.0.9")]
DEFAULT = "192.0.2.1"


def test_a_child_takes_the_route_to_the_main_node(host):
    host(BATCH, {"10.0.0.4": "10.0.0.9"})
    assert find_network(CHILD, Config()) == Network("10.0.0.9", "ens5")


def test_the_main_node_takes_the_default_route(host):
    host(BATCH, {DEFAULT: "10.0.0.9"})
    assert find_network(MAIN, Config()) == Network("10.0.0.9", "ens5")


@pytest.mark.parametrize("route", [None, "169.254.172.2", "127.0.0.1"])
def test_the_main_node_of_an_isolated_subnet_takes_its_real_interface(host, route):
    host(BATCH, {DEFAULT: route})
    assert find_network(MAIN, Config()) == Network("10.0.0.9", "ens5")


def test_one_node_needs_no_network(host):
    host(BATCH[:2], {})
    assert find_network(MAIN._replace(nodes=1), Config()) == Network("127.0.0.1", "lo")


def test_no_usable_address_at_all(host):
    host(BATCH[:2], {})
    with pytest.raises(NetworkError) as caught:
        find_network(MAIN, Config())
    assert (
        str(caught.value) == "no address that other hosts reach, found lo 127.0.0.1, ecs-eth0 169.254.172.2"
    )
    assert caught.value.exit_code == 75


@pytest.mark.parametrize("route", [None, "127.0.0.1"])
def test_a_child_without_route(host, route):
    host(BATCH, {"10.0.0.4": route})
    with pytest.raises(
        NetworkError, match=r"no route to the main node 10\.0\.0\.4 from a usable address, found"
    ):
        find_network(CHILD, Config())


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.3.4", "0.0.0.0"])
def test_a_main_node_that_nobody_can_reach_is_a_configuration_error(address):
    assert is_unusable(address)
    with pytest.raises(ConfigError, match="must be an address that other hosts reach"):
        find_network(CHILD._replace(main_address=address), Config())


def test_the_local_cloud_permits_loopback():
    assert find_network(CHILD, Config(local=Local("127.0.44.2", None))) == Network(
        "127.0.44.2", interface_of("127.0.0.1")
    )


def test_an_address_that_no_interface_has(host):
    host(BATCH, {})
    with pytest.raises(NetworkError, match=r"no interface has the address 10\.9\.9\.9"):
        interface_of("10.9.9.9")


def test_real_interfaces_are_found_by_both_ways():
    found = interfaces()
    assert ("127.0.0.1" in dict(found).values()) or any(address == "127.0.0.1" for _, address in found)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        assert set(network._first_addresses(probe)) <= set(found)
    assert network._source_address("127.0.0.1") == "127.0.0.1"


def test_an_unroutable_target_has_no_source_address():
    assert network._source_address("255.255.255.255") is None
