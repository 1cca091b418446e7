"""Nodes reach one another and the endpoint, in each of the three networks."""

import http.server
import ipaddress
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from muster_cli.local.executor import Executor, ExecutorSettings, networks
from muster_cli.local.executor.networks import NetworkError, namespaces
from muster_cli.local.executor.networks.base import NodeNetwork, rendezvous_variables
from muster_cli.local.executor.networks.forwarder import Forwarder
from muster_cli.local.executor.networks.loopback import LoopbackNetwork
from muster_cli.local.executor.networks.ports import FIRST_PORT, PORTS, PortNetwork

TALK = """
import urllib.request
local = os.environ["MUSTER_LOCAL"]
address, _, ports = local.partition("/")
port = int(os.environ.get("MUSTER_RENDEZVOUS_PORT", 28800))
answer = urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"], timeout=10).read().decode()
if main:
    server = socket.create_server((address, port))
    mark("listening", port)
    peers = []
    for _ in range(2):
        connection, peer = server.accept()
        connection.sendall(b"hello")
        peers.append(peer[0])
    say(json.dumps([address, sorted(peers), ports, answer]))
    wait("done1"), wait("done2")
else:
    wait("listening")
    target = (os.environ["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"], port)
    with socket.create_connection(target, 10, (address, 0)) as connection:
        said = connection.recv(5).decode()
    say(json.dumps([address, said, ports, answer]))
    mark(f"done{node}")
    hang()
"""


@pytest.fixture(params=networks.MODES)
def mode(request):
    return request.param


@pytest.fixture
def settings(mode):
    return ExecutorSettings(mode=mode, stop_timeout=5.0, seed=1)


@pytest.fixture
def port():
    """A server on 127.0.0.1 that says where it is."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"the cloud")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def _said(cloud, job_id, index):
    import json

    (line,) = cloud.lines(job_id, index)
    return json.loads(line)


def test_three_nodes_talk(cloud, mode):
    job_id = cloud.start(TALK, nodes=3)
    job = cloud.wait(job_id)
    said = [_said(cloud, job_id, index) for index in range(3)]
    assert job["status"] == "SUCCEEDED"
    addresses = [item[0] for item in said]
    described = [
        cloud.node(job_id, index)["container"]["networkInterfaces"][0]["privateIpv4Address"]
        for index in range(3)
    ]
    assert addresses == described
    assert [item[3] for item in said] == ["the cloud"] * 3
    assert [item[1] for item in said[1:]] == ["hello"] * 2
    if mode == "ports":
        assert addresses == ["127.0.0.1"] * 3
        assert len({item[2] for item in said}) == 3
        first = int(said[0][2].partition("-")[0])
        assert int((cloud.shared / "listening").read_text()) == first
    else:
        assert len(set(addresses)) == 3
        assert said[0][1] == sorted(addresses[1:])
        assert {item[2] for item in said} == {""}
        assert ipaddress.ip_address(addresses[0]).is_loopback is (mode == "loopback")


class TestNamespaces:
    """What a node in a namespace sees of itself."""

    @pytest.fixture
    def mode(self):
        return "namespaces"

    def test_its_own_machine(self, cloud):
        program = """
addresses = socket.gethostbyname_ex(socket.gethostname())[2]
say(json.dumps({
    "interfaces": sorted(name for _, name in socket.if_nameindex()),
    "sys": sorted(os.listdir("/sys/class/net")),
    "hostname": socket.gethostname(),
    "HOSTNAME": os.environ["HOSTNAME"],
    "addresses": addresses,
    "local": os.environ["MUSTER_LOCAL"],
    "pids": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    "shm": os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize,
    "groups": bool(os.listdir("/sys/fs/cgroup")),
    "name": socket.getnameinfo(("::ffff:" + addresses[0], 1), socket.NI_NAMEREQD)[0],
    "families": sorted({int(item[0]) for item in socket.getaddrinfo(socket.gethostname(), 1)}),
    "main": socket.gethostbyname("ip-" + os.environ.get(
        "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", addresses[0]).replace(".", "-")),
}))
pathlib.Path("/dev/shm/mine").touch()
mark(f"up{node}"), wait("up0"), wait("up1")
"""
        job_id = cloud.start(program, linuxParameters={"initProcessEnabled": True, "sharedMemorySize": 16})
        cloud.wait(job_id)
        for index in (0, 1):
            seen = _said(cloud, job_id, index)
            address = cloud.node(job_id, index)["container"]["networkInterfaces"][0]["privateIpv4Address"]
            assert seen["interfaces"] == seen["sys"] == ["eth0", "lo"]
            assert seen["hostname"] == seen["HOSTNAME"] == f"ip-{address.replace('.', '-')}"
            assert seen["addresses"] == [address]
            assert seen["name"] == f"{seen['hostname']}.ec2.internal"
            assert seen["families"] == [socket.AF_INET]
            assert seen["local"] == address
            assert seen["pids"] == [1, 2], "an init and the program"
            assert seen["shm"] == 16 * 1024 * 1024
            assert seen["groups"] is True
        assert _said(cloud, job_id, 1)["main"] == _said(cloud, job_id, 0)["local"]
        assert not Path("/dev/shm/mine").exists()

    def test_without_an_init_the_program_is_process_1(self, cloud):
        job_id = cloud.start("say(os.getpid())", nodes=1, init=False)
        cloud.wait(job_id)
        assert cloud.lines(job_id, 0) == ["1"]

    def test_nothing_is_left(self, cloud, state):
        job_id = cloud.start("mark('up'); wait('go')", nodes=1)
        cloud.marked("up")
        assert _ours(state.tag) == [f"muster-{state.tag}-0", f"muster-{state.tag}-switch"]
        cloud.mark("go")
        cloud.wait(job_id)
        cloud.executor.shutdown()
        assert _ours(state.tag) == []

    def test_the_host_sees_nothing_of_it(self, cloud):
        job_id = cloud.start("mark('up'); wait('go')", nodes=1)
        cloud.marked("up")
        host = {item["ifname"] for item in namespaces.listed("link", "show")}
        assert not host & {"bridge", "node0"}
        inside = namespaces.listed("-netns", f"muster-{cloud.executor.tag}-switch", "link", "show")
        assert {item["ifname"] for item in inside} >= {"bridge", "node0", "lo"}
        cloud.mark("go")
        cloud.wait(job_id)

    def test_places_are_used_again(self, cloud):
        addresses = set()
        job_id = cloud.start("pass", nodes=1)
        for _ in range(3):
            cloud.wait(job_id)
            addresses.add(cloud.node(job_id, 0)["container"]["networkInterfaces"][0]["privateIpv4Address"])
            cloud.until(lambda: not cloud.executor.running(), "the job's end")
            job_id = cloud.submit()
        cloud.wait(job_id)
        assert len(addresses) == 1

    def test_a_namespace_that_is_gone(self, cloud, monkeypatch):
        original = cloud.executor.network.attach

        def attach():
            place = original()
            namespaces.run_ip("netns", "del", place.namespace)
            return place

        monkeypatch.setattr(cloud.executor.network, "attach", attach)
        job_id = cloud.start("pass", nodes=1)
        assert cloud.wait(job_id)["status"] == "FAILED"
        reason = cloud.node(job_id, 0)["container"]["reason"]
        assert reason.startswith(
            "CannotStartContainerError: [Errno 2] No such file or directory: '/run/netns/"
        )


def _ours(tag):
    return sorted(item["name"] for item in namespaces.listed("netns", "list") if tag in item["name"])


# --- without nodes ----------------------------------------------------------------------------


def test_rendezvous_variables():
    alone = NodeNetwork("10.0.0.2", "10.0.0.2", "http://x", "h")
    main = NodeNetwork("127.0.0.1", "127.0.0.1/20000-20031", "http://x", "h", ports=range(20000, 20032))
    child = NodeNetwork("127.0.0.1", "127.0.0.1/20032-20063", "http://x", "h", ports=range(20032, 20064))
    assert rendezvous_variables(alone, alone) == {"MUSTER_LOCAL": "10.0.0.2"}
    assert rendezvous_variables(main, child) == {
        "MUSTER_LOCAL": "127.0.0.1/20032-20063",
        "MUSTER_RENDEZVOUS_PORT": "20000",
    }


def test_loopback_addresses_are_not_given_twice():
    network = LoopbackNetwork("00000000", 1)
    places = [network.attach() for _ in range(300)]
    assert len({place.address for place in places}) == 300
    assert (places[0].address, places[255].address) == ("127.16.0.1", "127.16.1.0")
    assert LoopbackNetwork("00010005", 1).attach().address == "127.17.0.6"
    network.detach(places[0])
    assert network.attach().address == "127.16.1.45", "the least recently used comes first"


def test_loopback_addresses_end(monkeypatch):
    monkeypatch.setattr("muster_cli.local.executor.networks.loopback._HOSTS", 2)
    network = LoopbackNetwork("ffffffff", 1)
    network.attach()
    network.attach()
    with pytest.raises(NetworkError, match="all 2 loopback addresses of this cloud are taken; end some jobs"):
        network.attach()


def test_a_range_in_use_is_passed_over():
    network = PortNetwork("00000000", 1)
    with socket.socket() as taken:
        for place in range(50):
            try:
                taken.bind(("127.0.0.1", FIRST_PORT + place * PORTS + 5))
            except OSError:
                continue
            break
        taken.listen()
        got = [network.attach() for _ in range(place + 1)]
        assert all(taken.getsockname()[1] not in item.ports for item in got)
    assert len(got[0].ports) == PORTS - 1
    network.close()


def test_another_cloud_passes_over_a_range_that_is_held():
    one, two = PortNetwork("00000040", 1), PortNetwork("00000040", 1)
    first = one.attach()
    assert two.attach().ports[0] > first.ports[0]
    one.detach(first)
    one.detach(first)
    for network in (one, two):
        network.close()


def test_ranges_end(monkeypatch):
    monkeypatch.setattr("muster_cli.local.executor.networks.ports.LAST_PORT", FIRST_PORT + PORTS - 1)
    monkeypatch.setattr("muster_cli.local.executor.networks.ports._hold", lambda _: socket.socket())
    network = PortNetwork("00000001", 1)
    network.attach()
    with pytest.raises(NetworkError, match="no range of 32 free ports is left between 20000 and"):
        network.attach()
    network.close()


def test_addresses_of_a_bridge_end(monkeypatch):
    monkeypatch.setattr(namespaces, "NETWORK", ipaddress.ip_network("10.0.0.0/29"))
    network = namespaces.NamespaceNetwork("0abcdef0", 1)
    monkeypatch.setattr(network, "_make_switch", lambda: True)
    monkeypatch.setattr(network, "_make", lambda *_: None)
    assert [network.attach().address for _ in range(3)] == ["10.0.0.4", "10.0.0.5", "10.0.0.6"]
    with pytest.raises(NetworkError, match=r"all addresses of 10.0.0.0/29 are taken; end some jobs"):
        network.attach()


def test_two_clouds_do_not_see_one_another(port):
    one, two = namespaces.NamespaceNetwork("0000000a", port), namespaces.NamespaceNetwork("0000000b", port)
    try:
        assert one.attach().address == two.attach().address == "10.0.0.4"
        assert _ours("0000000a") == ["muster-0000000a-0", "muster-0000000a-switch"]
    finally:
        one.close()
        two.close()
    assert _ours("0000000a") == _ours("0000000b") == []


def test_leftovers_of_an_earlier_cloud_are_removed(port):
    for name in ("muster-0000000c-switch", "muster-0000000c-7"):
        namespaces.run_ip("netns", "add", name)
    network = namespaces.NamespaceNetwork("0000000c", port)
    try:
        network.attach()
        assert _ours("0000000c") == ["muster-0000000c-0", "muster-0000000c-switch"]
    finally:
        network.close()


def test_a_forwarder_whose_cloud_is_gone():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    listener = socket.create_server(("127.0.0.2", 0))
    name = listener.getsockname()
    forwarder = Forwarder(listener, port)
    with socket.create_connection(name, 5) as client:
        assert client.recv(1) == b""
    forwarder.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(name, 5)


def test_a_namespace_that_cannot_be_entered(monkeypatch):
    monkeypatch.setattr(namespaces, "namespace_path", lambda _: "/dev/null")
    with pytest.raises(OSError, match="setns"):
        namespaces.listen_in("x", "127.0.0.1", 0)


def test_ip_says_what_failed():
    with pytest.raises(NetworkError, match=r"`ip link show no-such-link` failed: .*no-such-link"):
        namespaces.run_ip("link", "show", "no-such-link")


def test_no_ip(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NetworkError, match="no program `ip`; install iproute2"):
        namespaces.run_ip("link")


# --- the choice -------------------------------------------------------------------------------


def test_root_on_linux():
    assert os.geteuid() == 0, "these tests need root"
    assert networks.choose_mode() == "namespaces"


def test_not_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert networks.choose_mode() == "loopback"


def test_root_without_rights(monkeypatch):
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    assert networks.choose_mode() == "loopback"


def test_no_unshare(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert networks.choose_mode() == "loopback"


def test_macos(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert networks.choose_mode() == "ports"


def test_the_executor_chooses(state):
    made = Executor(state, 1, lambda _: None)
    assert made.mode == networks.choose_mode()
    made.shutdown()


def test_the_tools_are_here():
    assert shutil.which("ip"), "these tests need iproute2"
