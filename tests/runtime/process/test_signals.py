"""SIGTERM and its kin."""

import signal
import time

import pytest


@pytest.mark.parametrize("asked", [0, 1])
def test_sigterm_reaches_every_rank_and_ends_as_143(any_nodes, asked):
    agents = any_nodes.start_all(2, "save_on_sigterm.py")
    for agent in agents:
        agent.says("ready")
    agents[asked].signal(signal.SIGTERM)
    assert [agent.code() for agent in agents] == [143, 143]
    for agent in agents:
        assert "saved" in agent.lines()
    verdict = agents[0].verdict()
    assert (verdict["outcome"], verdict["code"]) == ("terminated", 143)
    assert verdict["first_failure"]["reason"] == f"node {asked} was asked to end by SIGTERM"
    assert [node["code"] for node in verdict["nodes"]] == [0, 0]


def test_deaf_ranks_are_killed_when_the_grace_is_over(nodes):
    agents = nodes.start_all(2, "ignore_sigterm.py", "--stop-timeout", "6")
    for agent in agents:
        agent.says("deaf")
    begin = time.monotonic()
    agents[0].signal(signal.SIGTERM)
    assert [agent.code() for agent in agents] == [143, 143]
    assert 0.9 < time.monotonic() - begin < 5
    assert [node["code"] for node in agents[0].verdict()["nodes"]] == [137, 137]
    assert "not yet" in agents[1].text()


def test_a_second_sigterm_ends_the_grace(nodes):
    (main,) = nodes.start_all(1, "ignore_sigterm.py")
    main.says("deaf")
    main.signal(signal.SIGTERM)
    main.says("not yet")
    main.signal(signal.SIGTERM)
    assert main.code(10) == 143


def test_a_second_sigterm_on_the_main_node_ends_the_grace_on_all(nodes):
    agents = nodes.start_all(3, "ignore_sigterm.py", main=1)
    for agent in agents:
        agent.says("deaf")
    agents[1].signal(signal.SIGTERM)
    for agent in agents:
        agent.says("not yet")
    agents[1].signal(signal.SIGTERM)
    assert [agent.code(10) for agent in agents] == [143, 143, 143]
    assert [node["code"] for node in agents[1].verdict()["nodes"]] == [137, 137, 137]


def test_a_second_sigterm_ends_the_grace_of_the_others_when_the_main_node_is_done(nodes):
    agents = [nodes.start(0, 2, "hang.py"), nodes.start(1, 2, "ignore_sigterm.py")]
    agents[1].says("deaf")
    agents[0].says("pids")
    agents[0].signal(signal.SIGTERM)
    agents[0].says("rank 0 on node 0 ended by SIGTERM")
    agents[1].says("not yet")
    agents[0].signal(signal.SIGTERM)
    assert [agent.code(10) for agent in agents] == [143, 143]
    assert [node["code"] for node in agents[0].verdict()["nodes"]] == [143, 137]


@pytest.mark.parametrize("asked", [0, 1])
def test_sigterm_while_nodes_are_waited_for(nodes, asked):
    agents = [nodes.start(index, 3, "hang.py") for index in (0, 1)]
    agents[1].says("joined")
    agents[asked].signal(signal.SIGTERM)
    assert [agent.code() for agent in agents] == [143, 143]
    assert agents[0].verdict()["outcome"] == "terminated"


def test_sigint_is_130(nodes):
    (main,) = nodes.start_all(1, "hang.py")
    main.says("pids")
    main.signal(signal.SIGINT)
    assert main.code() == 130
    assert main.verdict()["outcome"] == "terminated"


def test_user_signals_are_passed_on(nodes):
    (main,) = nodes.start_all(1, "save_on_sigterm.py")
    main.says("ready")
    main.signal(signal.SIGUSR1)
    main.says("got SIGUSR1")
    main.signal(signal.SIGTERM)
    assert main.code() == 143
