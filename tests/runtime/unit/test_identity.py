"""AWS Batch's variables -> Node."""

import pytest

from muster_runtime.agent.errors import IdentityError
from muster_runtime.agent.identity import Node, identify, is_ipv4, node_order

MAIN = {
    "AWS_BATCH_JOB_ID": "0d1f",
    "AWS_BATCH_JOB_ATTEMPT": "1",
    "AWS_BATCH_JOB_NODE_INDEX": "0",
    "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
    "AWS_BATCH_JOB_NUM_NODES": "3",
}
CHILD = {
    **MAIN,
    "AWS_BATCH_JOB_ID": "0d1f#2",
    "AWS_BATCH_JOB_NODE_INDEX": "2",
    "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "10.0.0.4",
}


def test_main_node_has_no_address_and_is_rank_0():
    assert identify(MAIN) == Node("0d1f", 1, 0, 0, 3, None)
    assert identify(MAIN).is_main


def test_child_id_loses_its_suffix():
    node = identify(CHILD)
    assert node == Node("0d1f", 1, 2, 0, 3, "10.0.0.4")
    assert not node.is_main


def test_main_node_may_carry_a_suffix_and_another_index():
    environ = {
        **MAIN,
        "AWS_BATCH_JOB_ID": "0d1f#2",
        "AWS_BATCH_JOB_NODE_INDEX": "2",
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": "2",
    }
    assert identify(environ) == Node("0d1f", 1, 2, 2, 3, None)


def test_an_address_on_the_main_node_tells_nothing_new():
    assert identify({**MAIN, "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "10.0.0.9"}).main_address is None


def test_ten_times_as_many_nodes_as_batch_allows_are_believed():
    assert identify({**MAIN, "AWS_BATCH_JOB_NUM_NODES": "10000"}).nodes == 10_000


def test_later_attempt_and_one_node():
    assert identify({**MAIN, "AWS_BATCH_JOB_ATTEMPT": "4", "AWS_BATCH_JOB_NUM_NODES": "1"}).attempt == 4


@pytest.mark.parametrize(
    ("count", "main", "order"),
    [(1, 0, [0]), (3, 0, [0, 1, 2]), (3, 2, [2, 0, 1]), (4, 1, [1, 0, 2, 3])],
)
def test_node_order_puts_the_main_node_first(count, main, order):
    assert node_order(count, main) == order


def test_outside_batch_is_one_sentence():
    with pytest.raises(IdentityError) as caught:
        identify({"PATH": "/bin"})
    assert str(caught.value) == (
        "none of aws batch's variables is set (AWS_BATCH_JOB_ID, AWS_BATCH_JOB_ATTEMPT, AWS_BATCH_JOB_NODE_INDEX, "
        "AWS_BATCH_JOB_MAIN_NODE_INDEX, AWS_BATCH_JOB_NUM_NODES): this is not a node of a multi-node parallel job; "
        "submit the job, or try it with muster local"
    )
    assert caught.value.exit_code == 78


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({"AWS_BATCH_JOB_ID": None}, ["AWS_BATCH_JOB_ID is missing: aws batch sets it on every node"]),
        (
            {"AWS_BATCH_JOB_NODE_INDEX": None},
            ["AWS_BATCH_JOB_NODE_INDEX is missing: the job is not a multi-node parallel job"],
        ),
        (
            {"AWS_BATCH_JOB_NUM_NODES": "x", "AWS_BATCH_JOB_ATTEMPT": "0"},
            [
                "AWS_BATCH_JOB_ATTEMPT must be a whole number of at least 1, got '0'",
                "AWS_BATCH_JOB_NUM_NODES must be a whole number of at least 1, got 'x'",
            ],
        ),
        *(
            (
                {"AWS_BATCH_JOB_NUM_NODES": count},
                [
                    (
                        "AWS_BATCH_JOB_NUM_NODES must be at most 10000 (aws batch allows 1000 nodes, "
                        f"and more on request), got '{count}'"
                    )
                ],
            )
            for count in ("10001", "99999999999", "9" * 5000)
        ),
        (
            {"AWS_BATCH_JOB_NODE_INDEX": "-1"},
            ["AWS_BATCH_JOB_NODE_INDEX must be a whole number of at least 0, got '-1'"],
        ),
        (
            {"AWS_BATCH_JOB_NODE_INDEX": "3", "AWS_BATCH_JOB_ID": "0d1f"},
            ["AWS_BATCH_JOB_NODE_INDEX must be below AWS_BATCH_JOB_NUM_NODES, which is 3, got 3"],
        ),
        (
            {"AWS_BATCH_JOB_MAIN_NODE_INDEX": "7"},
            ["AWS_BATCH_JOB_MAIN_NODE_INDEX must be below AWS_BATCH_JOB_NUM_NODES, which is 3, got 7"],
        ),
        (
            {"AWS_BATCH_JOB_ID": "0d1f#1"},
            ["AWS_BATCH_JOB_ID ends with #1 but AWS_BATCH_JOB_NODE_INDEX is 2"],
        ),
        (
            {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": ""},
            [
                "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS is missing: aws batch sets it on every node but the main one"
            ],
        ),
        (
            {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "fd00::1"},
            [
                (
                    "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS must be an ipv4 address, got 'fd00::1'; "
                    "networks with ipv6 alone are not supported"
                )
            ],
        ),
    ],
)
def test_problems_are_told_all_at_once(change, problems):
    environ = {**CHILD, **change}
    with pytest.raises(IdentityError) as caught:
        identify({name: value for name, value in environ.items() if value is not None})
    assert list(caught.value.problems) == problems


def test_every_missing_variable_is_named():
    with pytest.raises(IdentityError) as caught:
        identify({"AWS_BATCH_JOB_ID": "x"})
    assert [problem.split()[0] for problem in caught.value.problems] == [
        "AWS_BATCH_JOB_ATTEMPT",
        "AWS_BATCH_JOB_NODE_INDEX",
        "AWS_BATCH_JOB_MAIN_NODE_INDEX",
        "AWS_BATCH_JOB_NUM_NODES",
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("10.0.0.1", True), ("10.1", False), ("", False), ("1.2.3.4.5", False), ("ä", False), ("a\0", False)],
)
def test_is_ipv4(text, answer):
    assert is_ipv4(text) is answer
