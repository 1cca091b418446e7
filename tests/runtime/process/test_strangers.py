"""Who does not belong is turned away, and the group goes on."""

import socket
import time

from muster_core.contract import RENDEZVOUS_PORT
from muster_runtime.agent.rendezvous import messages
from muster_runtime.agent.rendezvous.authentication import job_key
from muster_runtime.agent.rendezvous.messages import encode
from muster_runtime.agent.rendezvous.protocol import Claim, MemberSession


def connect(nodes):
    """Connect to the main node's port, once it is open."""
    target = (nodes.address(0), RENDEZVOUS_PORT)
    deadline = time.monotonic() + 30
    probe = socket.socket()
    while probe.connect_ex(target):
        probe.close()
        assert time.monotonic() < deadline
        time.sleep(0.01)
        probe = socket.socket()
    probe.settimeout(30)
    return probe


def read_all(sock):
    return b"".join(iter(lambda: sock.recv(65536), b""))


def join(nodes, claim, secret, *, container="stranger"):
    """Speak the protocol by hand; give the last message's fields."""
    session = MemberSession(job_key(secret, claim.job, claim.attempt), claim)
    said = []
    with connect(nodes) as sock:
        sock.sendall(session.take())
        while True:
            data = sock.recv(65536)
            if not data:
                return said
            for message in session.receive(data):
                said.append(message)
                if message.kind == messages.CHALLENGE:
                    session.send(
                        encode(
                            messages.JOIN,
                            node=claim.node,
                            address="a",
                            host="h",
                            slots=1,
                            container=container,
                        )
                    )
                    sock.sendall(session.take())


def finish(nodes, main):
    child = nodes.start(1, 2, "print_env.py")
    assert (main.code(), child.code()) == (0, 0)
    assert main.verdict()["outcome"] == "succeeded"


def test_garbage_and_half_open_connections_do_not_disturb(nodes):
    main = nodes.start(0, 2, "print_env.py")
    for garbage in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 5000,
        b"MSTR\xff\xff\xff\xff",
        b"MSTR\0\0\0\x30" + b"x" * 48,
    ):
        with connect(nodes) as sock:
            sock.sendall(garbage)
            assert read_all(sock)[:4] == b"MSTR"
    silent = [connect(nodes) for _ in range(150)]
    finish(nodes, main)
    for sock in silent:
        sock.close()
    assert "does not speak muster's protocol" in main.text()
    assert "dropped a connection: too many connections that say nothing" in main.text()


def test_many_strangers_make_few_lines(nodes):
    main = nodes.start(0, 2, "print_env.py")
    for _ in range(300):
        with connect(nodes) as sock:
            sock.sendall(b"x")
    finish(nodes, main)
    assert main.text().count("turned away") <= 6


def test_other_attempts_jobs_and_secrets_are_told_why(nodes):
    main = nodes.start(0, 2, "print_env.py")
    job = f"job-{nodes.mark[:8]}"
    for claim, secret, reason in (
        (Claim(job, 2, 1), nodes.mark, "node of attempt 2, this is attempt 1"),
        (Claim("other", 1, 1), nodes.mark, "node of job 'other', this is another"),
        (Claim(job, 1, 1), "guess", "the job's secret differs"),
        (Claim(job, 1, 1, contract=2), nodes.mark, "node 1 speaks contract 2, the job 1"),
    ):
        session = MemberSession(job_key(secret, claim.job, claim.attempt), claim)
        with connect(nodes) as sock:
            sock.sendall(session.take())
            assert reason.encode() in read_all(sock)
        main.says(reason)
    finish(nodes, main)


def test_duplicates_and_impossible_places_are_refused(nodes):
    main = nodes.start(0, 3, "print_env.py")
    child = nodes.start(1, 3, "print_env.py")
    main.says("address")
    job = f"job-{nodes.mark[:8]}"
    for index, reason in ((0, "is the main node"), (3, "is not of this job of 3 nodes")):
        assert reason in join(nodes, Claim(job, 1, index), nodes.mark)[-1].fields["reason"]
    child.says("joined")
    said = join(nodes, Claim(job, 1, 1), nodes.mark)
    assert (
        said[-1].fields["reason"] == f"h a: node 1 is already here: {socket.gethostname()} {nodes.address(1)}"
    )
    last = nodes.start(2, 3, "print_env.py")
    assert [agent.code() for agent in (main, child, last)] == [0, 0, 0]


def test_a_refused_duplicate_agent_says_why(nodes):
    main = nodes.start(0, 3, "print_env.py")
    child = nodes.start(1, 3, "print_env.py")
    second = nodes.start(1, 3, "print_env.py")
    codes = {}
    deadline = time.monotonic() + 30
    while not codes and time.monotonic() < deadline:
        codes = {agent: agent.process.poll() for agent in (child, second) if agent.process.poll() is not None}
    (refused,) = codes
    assert codes[refused] == 75
    assert "node 1 is already here" in refused.lines()[-1]
    last = nodes.start(2, 3, "print_env.py")
    other = child if refused is second else second
    assert [agent.code() for agent in (main, other, last)] == [0, 0, 0]


def test_another_contract_in_the_child_s_image_ends_that_child_with_78(nodes, tmp_path):
    main = nodes.start(0, 2, "print_env.py", "--rendezvous-timeout", "4")
    job = f"job-{nodes.mark[:8]}"
    session = MemberSession(job_key(nodes.mark, job, 1), Claim(job, 1, 1, contract=2))
    with connect(nodes) as sock:
        sock.sendall(session.take())
        read_all(sock)
    assert main.code() == 75
    assert main.verdict()["first_failure"]["reason"].startswith("node 1 of 2 did not join within 4 s")


def test_the_wrong_secret_is_named_at_the_deadline(nodes):
    main = nodes.start(0, 2, "print_env.py", "--rendezvous-timeout", "2")
    child = nodes.start(1, 2, "print_env.py", "--rendezvous-timeout", "2", MUSTER_JOB_SECRET="other")
    assert (main.code(), child.code()) == (75, 75)
    assert "the job's secret differs" in child.lines()[-1]
    assert main.verdict()["first_failure"]["reason"] == "node 1 of 2 did not join within 2 s"
