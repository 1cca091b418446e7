"""Torchrun's environment, without torchrun."""

import os
import socket
import sys

import pytest

from muster_core.contract import TORCH
from muster_runtime.agent.config import Config, Local
from muster_runtime.agent.errors import LaunchError, NetworkError
from muster_runtime.agent.network import Network
from muster_runtime.agent.rendezvous.roster import Facts, make_roster
from muster_runtime.launchers import load, torch
from muster_runtime.launchers.base import Job

NETWORK = Network("10.0.0.2", "ens5")
OWN = {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "OMP_NUM_THREADS", "PYTHONUNBUFFERED"}


@pytest.fixture
def log():
    return []


@pytest.fixture
def make(log):
    def launcher(options=None, environ=None, config=None, program=("train.py", "--epochs", "5")):
        return load("torch")(
            Job("0d1f", options or {}, program, environ or {}, config or Config(), log.append)
        )

    return launcher


def roster(slots=2):
    nodes = {index: Facts(index, f"10.0.0.{index}", "h", slots) for index in range(3)}
    return make_roster(nodes, 2, {"master_port": 29500})


def test_every_variable_of_the_contract_and_no_other_is_set(make):
    programs = make({"nproc_per_node": 2}).programs(roster(), 1, NETWORK)
    assert [program.rank for program in programs] == [2, 3]
    assert {name: programs[1].environ[name] for name in TORCH.owns} == {
        "RANK": "3",
        "LOCAL_RANK": "1",
        "GROUP_RANK": "1",
        "ROLE_RANK": "3",
        "WORLD_SIZE": "6",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_WORLD_SIZE": "3",
        "ROLE_WORLD_SIZE": "6",
        "ROLE_NAME": "default",
        "MASTER_ADDR": "10.0.0.2",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "0d1f",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
    }
    assert set(programs[1].environ) == {*TORCH.owns, *OWN}


def test_gloo_gets_the_name_and_nccl_exactly_the_name(make, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(9)))
    environ = make({"nproc_per_node": 2}).programs(roster(), 0, NETWORK)[0].environ
    assert {name: environ[name] for name in OWN} == {
        "GLOO_SOCKET_IFNAME": "ens5",
        "NCCL_SOCKET_IFNAME": "=ens5",
        "OMP_NUM_THREADS": "4",
        "PYTHONUNBUFFERED": "1",
    }


def test_threads_never_fall_below_one(make, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    environ = make({"nproc_per_node": 2}).programs(roster(), 0, NETWORK)[0].environ
    assert environ["OMP_NUM_THREADS"] == "1"


def test_a_user_s_own_values_win_and_are_told(make, log):
    own = {"GLOO_SOCKET_IFNAME": "eth1", "NCCL_SOCKET_IFNAME": "eth", "OMP_NUM_THREADS": "3", "PATH": "/bin"}
    environ = make(environ=own).programs(roster(1), 0, NETWORK)[0].environ
    assert {name: environ[name] for name in own} == own
    assert log[:2] == [
        "GLOO_SOCKET_IFNAME stays 'eth1' as the environment sets it; muster would set 'ens5'",
        "NCCL_SOCKET_IFNAME stays 'eth' as the environment sets it; muster would set '=ens5'",
    ]


def test_threads_that_the_local_cloud_sets_are_not_told_but_a_user_s_own_values_are(make, log, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    environ = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    make(environ=environ).programs(roster(1), 0, NETWORK)
    told = [
        "GLOO_SOCKET_IFNAME stays 'lo' as the environment sets it; muster would set 'ens5'",
        "OMP_NUM_THREADS stays '1' as the environment sets it; muster would set '2'",
    ]
    assert log == told
    log.clear()
    make(environ=environ, config=Config(local=Local("127.1.0.2", None))).programs(roster(1), 0, NETWORK)
    assert log == told[:1]


def test_the_secret_and_the_agent_store_are_not_passed_on(make):
    environ = {"MUSTER_JOB_SECRET": "s", "TORCHELASTIC_USE_AGENT_STORE": "True", "HOME": "/root"}
    given = make(environ=environ).programs(roster(1), 0, NETWORK)[0].environ
    assert set(environ) & set(given) == {"HOME"}


def test_contradictions_are_named_with_both_values(make):
    with pytest.raises(LaunchError) as caught:
        make(environ={"RANK": "9", "MASTER_ADDR": "localhost", "WORLD_SIZE": "3"}).programs(
            roster(1), 1, NETWORK
        )
    assert list(caught.value.problems) == [
        "RANK is set to '9' in the job's environment, this process needs '1'; remove it from the image or the definition",
        (
            "MASTER_ADDR is set to 'localhost' in the job's environment, this process needs '10.0.0.2'; "
            "remove it from the image or the definition"
        ),
    ]
    assert caught.value.exit_code == 78


@pytest.mark.parametrize(
    ("options", "argv"),
    [
        ({}, [sys.executable, "train.py", "--epochs", "5"]),
        ({"module": True}, [sys.executable, "-m", "train.py", "--epochs", "5"]),
        ({"no_python": True}, ["train.py", "--epochs", "5"]),
    ],
)
def test_commands(make, options, argv):
    assert list(make(options).programs(roster(1), 0, NETWORK)[0].argv) == argv


def test_slots_by_flag_by_accelerators_or_one(make):
    assert make().slots == 1
    assert make(config=Config(accelerators=8)).slots == 8
    assert make({"nproc_per_node": 3}, config=Config(accelerators=8)).slots == 3


def test_a_missing_program_is_found_early(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LaunchError) as caught:
        make().check()
    assert str(caught.value) == f"program 'train.py' does not exist in {tmp_path}"
    (tmp_path / "train.py").touch()
    make().check()
    make({"module": True}, program=("pkg.train",)).check()


def test_a_missing_executable_is_found_early(make):
    with pytest.raises(
        LaunchError, match=r"program 'train\.py' is not in the image's PATH, or is not executable"
    ):
        make({"no_python": True}, environ={"PATH": "/nowhere"}).check()
    make({"no_python": True}, program=("/bin/sh",)).check()
    with pytest.raises(LaunchError, match="--module and --no-python exclude each other"):
        make({"no_python": True, "module": True}).check()


HERE = Network("127.0.0.1", "lo")


@pytest.fixture
def taken():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_the_port_that_was_asked_for_must_be_free(make, taken):
    with pytest.raises(NetworkError) as caught:
        make({"master_port": taken}).share(HERE)
    assert str(caught.value) == (
        f"port {taken} of 127.0.0.1 is taken; end what holds it or choose another by --master-port"
    )
    assert make({"master_port": taken}).share(Network("127.0.0.2", "lo")) == {"master_port": taken}


def test_the_local_cloud_s_range_is_kept_and_the_rendezvous_port_spared(make, taken):
    config = Config(rendezvous_port=taken - 1, local=Local("127.0.0.1", (taken - 1, taken + 50)))
    assert taken < make(config=config).share(HERE)["master_port"] <= taken + 50
    free = Config(rendezvous_port=1, local=Local("127.0.77.1", (1, 3)))
    assert make(config=free).share(Network("127.0.77.1", "lo")) == {"master_port": 2}


def test_the_default_is_torch_s_or_a_neighbour(make, monkeypatch):
    taken = set()
    monkeypatch.setattr(torch, "_is_free", lambda _, port: port not in taken)
    assert make().share(HERE) == {"master_port": 29500}
    taken.update({29500, 29501})
    assert make().share(HERE) == {"master_port": 29502}
    taken.update(range(29500, 29600))
    with pytest.raises(NetworkError, match=r"port 29500 of 127\.0\.0\.1 is taken"):
        make().share(HERE)
