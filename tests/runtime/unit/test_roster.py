"""Order of nodes and ranks."""

import pytest

from muster_runtime.agent.errors import ProtocolError
from muster_runtime.agent.rendezvous.roster import Facts, Roster, compact, make_roster, nodes_text, roster_of


def facts(node, slots=2):
    return Facts(node, f"10.0.0.{node}", f"host{node}", slots)


def test_main_node_is_first_whatever_its_index():
    roster = make_roster({0: facts(0), 1: facts(1, slots=3), 2: facts(2)}, 1, {"port": 1})
    assert [node.node for node in roster.nodes] == [1, 0, 2]
    assert roster.main == facts(1, slots=3)
    assert roster.world_size == 7
    assert [roster.position(index) for index in (0, 1, 2)] == [1, 0, 2]
    assert [roster.first_rank(position) for position in (0, 1, 2)] == [0, 3, 5]


def test_a_roster_survives_the_wire():
    roster = make_roster({0: facts(0), 1: facts(1)}, 0, {"port": 5})
    assert roster_of([node._asdict() for node in roster.nodes], {"port": 5}) == roster
    assert isinstance(roster, Roster)


@pytest.mark.parametrize(
    ("nodes", "shared"),
    [
        ([], {}),
        ([1], {}),
        ([{"node": 0}], {}),
        ([facts(0)._asdict()], {"port": "5"}),
        ([facts(0)._asdict()], {"port": True}),
        ([{**facts(0)._asdict(), "slots": True}], {}),
    ],
)
def test_other_shapes_are_refused(nodes, shared):
    with pytest.raises(ProtocolError):
        roster_of(nodes, shared)


@pytest.mark.parametrize(
    ("indexes", "text"),
    [([], ""), ([3], "3"), ([3, 4], "3-4"), ([31, 3, *range(17, 31)], "3, 17-31"), ([0, 2, 4], "0, 2, 4")],
)
def test_compact(indexes, text):
    assert compact(indexes) == text


def test_nodes_text():
    assert nodes_text([3]) == "node 3"
    assert nodes_text(iter([5, 3, 4])) == "nodes 3-5"
