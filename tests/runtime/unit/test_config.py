"""Flag > variable > default, all problems at once."""

import pytest

from muster_runtime.agent.config import Config, Local, Timeouts, resolve, unknown_variables
from muster_runtime.agent.errors import ConfigError


def test_defaults_are_the_contract_s():
    assert resolve({}, {}) == Config()
    assert Timeouts() == Timeouts(rendezvous=1800.0, peer=15.0, stop=30.0, flush=600.0)


def test_flag_beats_variable_beats_default():
    environ = {"MUSTER_PEER_TIMEOUT": "20", "MUSTER_STOP_TIMEOUT": "90"}
    timeouts = resolve(environ, {"peer": "7.5", "stop": None}).timeouts
    assert (timeouts.peer, timeouts.stop, timeouts.flush) == (7.5, 90.0, 600.0)


def test_every_variable_is_read():
    config = resolve(
        {
            "MUSTER_CONTRACT": "1",
            "MUSTER_JOB_SECRET": "s",
            "MUSTER_ACCELERATORS_PER_NODE": "8",
            "MUSTER_RENDEZVOUS_PORT": "4000",
            "MUSTER_RENDEZVOUS_TIMEOUT": "1",
            "MUSTER_PEER_TIMEOUT": "2",
            "MUSTER_STOP_TIMEOUT": "3",
            "MUSTER_FLUSH_TIMEOUT": "4",
            "MUSTER_LOCAL": "127.0.0.1/4000-4009",
        },
        {},
    )
    assert config == Config(Timeouts(1.0, 2.0, 3.0, 4.0), 4000, 8, "s", Local("127.0.0.1", (4000, 4009)))


def test_grace_is_the_stop_timeout_less_5_seconds():
    assert Timeouts(stop=30.0).grace == 25.0
    assert Timeouts(stop=2.0).grace == 0.0


def test_beats_come_five_times_within_the_peer_timeout():
    assert Timeouts(peer=15.0).beat == 3.0
    assert Timeouts(peer=1.0).beat == 0.2
    assert Timeouts(peer=600.0).beat == 3.0


def test_the_secret_never_reaches_the_log():
    text = resolve({"MUSTER_JOB_SECRET": "hunter2", "MUSTER_LOCAL": "10.0.0.1"}, {}).describe()
    assert "hunter2" not in text
    assert text == (
        "port 28800, accelerators 0, timeouts (rendezvous 1800 s, peer 15 s, stop 30 s, flush 600 s), "
        "secret of the job, local 10.0.0.1"
    )
    assert "secret none" in Config().describe()


def test_problems_are_told_all_at_once():
    with pytest.raises(ConfigError) as caught:
        resolve(
            {
                "MUSTER_CONTRACT": "2",
                "MUSTER_PEER_TIMEOUT": "-1",
                "MUSTER_RENDEZVOUS_PORT": "65536",
                "MUSTER_ACCELERATORS_PER_NODE": "many",
                "MUSTER_LOCAL": "localhost",
            },
            {"flush": "soon", "stop": "nan"},
        )
    assert list(caught.value.problems) == [
        (
            "MUSTER_CONTRACT must be 1, the contract that this runtime speaks; deploy the definition and its image by the "
            "same muster-cdk, got '2'"
        ),
        "MUSTER_PEER_TIMEOUT must be a number of seconds above 0, got '-1'",
        "--stop-timeout must be a number of seconds above 0, got 'nan'",
        "--flush-timeout must be a number of seconds above 0, got 'soon'",
        "MUSTER_RENDEZVOUS_PORT must be a port from 1 to 65535, got '65536'",
        "MUSTER_ACCELERATORS_PER_NODE must be a whole number of at least 0, got 'many'",
        "MUSTER_LOCAL must be an ipv4 address, or address/low-high, got 'localhost'",
    ]
    assert caught.value.exit_code == 78


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("127.0.0.1/", "must end with two ports, as in address/low-high"),
        ("127.0.0.1/4000", "must end with two ports, as in address/low-high"),
        ("127.0.0.1/4000-0", "must end with two ports, as in address/low-high"),
        ("127.0.0.1/4000-4000", "must give at least two ports"),
    ],
)
def test_malformed_ranges(text, problem):
    with pytest.raises(ConfigError, match=problem):
        resolve({"MUSTER_LOCAL": text}, {})


def test_unknown_variables_get_a_warning_with_a_guess():
    assert unknown_variables(
        {"MUSTER_PEER_TIMEOUTS": "1", "MUSTER_STOP_TIMEOUT": "1", "MUSTER_ZZZ": "", "OTHER": ""}
    ) == [
        "MUSTER_PEER_TIMEOUTS is no variable of muster's runtime; did you mean MUSTER_PEER_TIMEOUT?",
        "MUSTER_ZZZ is no variable of muster's runtime",
    ]
