"""Coordinator and members on one loop: what real agents rarely meet."""

import contextlib
import errno
import resource
import signal
import socket
import uuid

import pytest

from muster_core.contract import Failure
from muster_runtime.agent.config import Config, Timeouts
from muster_runtime.agent.errors import NetworkError, ProtocolError
from muster_runtime.agent.identity import Node
from muster_runtime.agent.loop import Loop, now
from muster_runtime.agent.rendezvous import connection as connections
from muster_runtime.agent.rendezvous import coordinator as coordinators
from muster_runtime.agent.rendezvous import door as doors
from muster_runtime.agent.rendezvous import member as memberships
from muster_runtime.agent.rendezvous import messages
from muster_runtime.agent.rendezvous.admission import Member, Rules, sound
from muster_runtime.agent.rendezvous.authentication import job_key
from muster_runtime.agent.rendezvous.connection import Connection
from muster_runtime.agent.rendezvous.coordinator import Coordinator
from muster_runtime.agent.rendezvous.door import Door
from muster_runtime.agent.rendezvous.group import Place
from muster_runtime.agent.rendezvous.member import Membership
from muster_runtime.agent.rendezvous.messages import encode
from muster_runtime.agent.rendezvous.protocol import Claim, CoordinatorSession, MemberSession
from muster_runtime.agent.rendezvous.roster import Facts


def failure(node, code, *lines, rank=0):
    return Failure(node=node, rank=rank, host="h", code=code, reason="r", lines=list(lines))


class Job:
    """A job whose nodes all live on one loop."""

    def __init__(self, loop, nodes, **timeouts):
        number = uuid.uuid4().int
        self.network = f"127.{64 + number % 128}.{number // 128 % 250 + 1}"
        self.loop = loop
        self.nodes = nodes
        self.config = Config(timeouts=Timeouts(**timeouts), secret="s")
        self.told = []
        self.made = []
        self.main = self.keep(Coordinator(loop, self.told.append, self.place(0), {"port": 1}))

    def place(self, index):
        address = f"{self.network}.1"
        node = Node("job", 1, index, 0, self.nodes, address if index else None)
        return Place(node, self.config, Facts(index, f"{self.network}.{index + 1}", f"host{index}", 1))

    def keep(self, group):
        self.made.append(group)
        return group

    def member(self, index):
        """Make a member that tries to join, without waiting for it."""
        member = self.keep(Membership(self.loop, self.told.append, self.place(index)))
        member._deadline = now() + 60
        member._attempt()
        return member

    def wait(self, condition, timeout=20):
        assert self.loop.run(condition, timeout), self.told

    def joined(self):
        members = [self.member(index) for index in range(1, self.nodes)]
        self.main.join()
        self.wait(lambda: all(member.roster for member in members))
        return members

    def raw(self, index, container="raw"):
        """Join as a member of which only the connection lives, give it and what it hears."""
        sock = socket.create_connection((f"{self.network}.1", 28800))
        session = MemberSession(job_key("s", "job", 1), Claim("job", 1, index))
        heard = []

        def hear(message):
            heard.append(message)
            if message.kind == messages.CHALLENGE:
                join = {"node": index, "address": "a", "host": "raw", "slots": 1, "container": container}
                connection.send(encode(messages.JOIN, **join))

        connection = Connection(self.loop, sock, session, hear, heard.append)
        self.keep(connection)
        return connection, heard


@pytest.fixture
def job():
    made = []
    with Loop() as loop:

        def make(nodes=2, **timeouts):
            made.append(Job(loop, nodes, **timeouts))
            return made[-1]

        yield make
        for one in made:
            for group in one.made:
                group.close()


def test_all_join_work_and_leave(job):
    one = job(4)
    members = one.joined()
    assert [member.roster for member in members] == [one.main.roster] * 3
    assert one.main.roster.shared == {"port": 1}
    for index, group in enumerate([one.main, *members]):
        group.done(0)
        assert group.codes() == ({0: 0} if index == 0 else {})
        assert group.facts()[index].host == f"host{index}"
    assert one.main.leave().code == 0
    one.wait(lambda: all(member._left for member in members))
    assert [member.leave().outcome for member in members] == ["succeeded"] * 3
    assert one.main.codes() == {0: 0, 1: 0, 2: 0, 3: 0}


def test_progress_names_the_missing_in_short(job, monkeypatch):
    monkeypatch.setattr(coordinators, "PROGRESS", 0.01)
    one = job(6, rendezvous=0.3)
    one.member(3)
    one.main.join()
    assert "waiting for nodes: 2/6, missing 1-2, 4-5" in one.told
    assert one.main.end.code == 75
    assert one.main.end.failure["reason"] == "nodes 1-2, 4-5 of 6 did not join within 0.3 s"


def test_a_member_s_progress_says_what_is_in_the_way(job, monkeypatch):
    monkeypatch.setattr(memberships, "PROGRESS", 0.01)
    one = job(2, rendezvous=0.3)
    one.main.close()
    member = one.keep(Membership(one.loop, one.told.append, one.place(1)))
    member.join()
    assert f"main node {one.network}.1:28800: cannot join yet: connection refused" in one.told
    assert member.end.failure["reason"].endswith("within 0.3 s: connection refused")


def test_a_member_that_joined_and_lost_the_coordinator_tries_until_the_deadline(job):
    one = job(3)
    member = one.member(1)
    one.wait(lambda: 1 in one.main._members)
    one.main.close()
    one.wait(lambda: not member._joined)
    assert member.end is None
    member._deadline = now()
    one.wait(lambda: member.end is not None)
    assert member.end.code == 75


def test_a_node_that_leaves_before_the_start_may_come_again(job):
    one = job(3)
    connection, _ = one.raw(1)
    one.wait(lambda: 1 in one.main._members)
    connection.close()
    one.wait(lambda: 1 not in one.main._members)
    assert "node 1 left before the start: the connection was closed" in one.told
    one.joined()
    assert one.main.roster.nodes[1].host == "host1"


def test_the_same_container_may_take_its_place_again(job):
    one = job(3)
    first, heard = one.raw(1, "same")
    one.wait(lambda: 1 in one.main._members)
    known = one.main._members[1].connection
    one.raw(1, "same")
    one.wait(lambda: one.main._members[1].connection is not known)
    one.wait(lambda: not first.open)
    assert isinstance(heard[-1], ProtocolError)


def test_a_failure_is_the_sender_s_own(job):
    one = job(2)
    connection, heard = one.raw(1)
    one.main.join()
    connection.send(encode(messages.FAILED, failure=failure(0, 999)))
    one.wait(lambda: one.main.end is not None)
    assert (one.main.end.failure["node"], one.main.end.code) == (1, 70)
    one.wait(lambda: heard[-1].kind == messages.STOP)
    assert sound(failure(3, 7), 1) == failure(1, 7)


def test_a_member_that_speaks_nonsense_is_lost(job):
    one = job(2)
    connection, heard = one.raw(1)
    one.main.join()
    connection.send(encode(messages.FAILED, failure={}))
    one.wait(lambda: one.main.end is not None)
    assert "failure must have exactly the fields" in one.main.end.failure["reason"]
    assert one.main.end.code == 75
    one.wait(lambda: isinstance(heard[-1], ProtocolError))


def test_an_unknown_signal_is_taken_as_sigterm(job):
    one = job(2)
    connection, _ = one.raw(1)
    one.main.join()
    connection.send(encode(messages.TERMINATE, signal=4000))
    one.wait(lambda: one.main.end is not None)
    assert (one.main.end.outcome, one.main.end.code) == ("terminated", 143)
    assert one.main.end.failure["reason"] == "node 1 was asked to end by signal 4000"


def test_a_first_message_other_than_join_is_refused(job):
    one = job(2)
    sock = socket.create_connection((f"{one.network}.1", 28800))
    session = MemberSession(job_key("s", "job", 1), Claim("job", 1, 1))
    heard = []

    def hear(message):
        heard.append(message)
        if message.kind == messages.CHALLENGE:
            connection.send(encode(messages.BEAT))

    connection = one.keep(Connection(one.loop, sock, session, hear, heard.append))
    one.wait(lambda: len(heard) > 1)
    assert heard[1].fields["reason"] == "the first message must be join"


def test_a_symptom_waits_for_a_peer_that_is_overdue(job, monkeypatch):
    monkeypatch.setattr(coordinators, "SETTLE", 0.05)
    one = job(3, peer=1.0)
    one.raw(1)
    healthy = one.member(2)
    one.main.join()
    one.main.report(failure(0, 1, "Connection reset by peer"))
    one.wait(lambda: healthy.end is not None)
    assert healthy.end.failure["node"] in {0, 1}
    one.main.report(failure(0, 3))
    assert one.main.end.code in {1, 75}


def test_silence_is_not_blamed_on_peers_after_a_pause_of_one_s_own(job):
    one = job(2, peer=1.0)
    one.raw(1)
    one.main.join()
    member = one.main._members[1]
    member.connection.heard -= 100
    one.loop.stalled_at = now()
    one.main._tick()
    assert one.main.end is None
    one.loop.stalled_at = 0.0
    one.main._tick()
    assert one.main.end.failure["reason"].startswith("node 1 (raw a) was lost: silent for 10")


def test_a_silent_coordinator_is_lost(job):
    one = job(2)
    (member,) = one.joined()
    member._connection.heard -= 100
    one.loop.stalled_at = 0.0
    member._tick()
    assert member.end.failure["reason"].startswith(f"the main node {one.network}.1 was lost: silent for 1")
    member._tick()


def test_a_node_that_is_done_may_go_without_harm(job):
    one = job(2)
    (member,) = one.joined()
    member.done(0)
    one.wait(lambda: one.main.codes() == {1: 0})
    member.close()
    one.wait(lambda: not one.main._members)
    one.main.done(0)
    assert one.main.leave().code == 0


def test_the_exit_barrier_names_who_is_waited_for(job, monkeypatch):
    monkeypatch.setattr(coordinators, "PROGRESS", 0.01)
    one = job(3, flush=0.2)
    one.joined()
    one.main.done(0)
    assert one.main.leave().code == 75
    assert "waiting at the exit barrier for nodes 1-2" in one.told


def test_a_member_ends_with_the_stop_even_if_nobody_lets_it_go(job, monkeypatch):
    monkeypatch.setattr(memberships, "_LAST_WORDS", 0.05)
    one = job(2)
    (member,) = one.joined()
    one.main.report(failure(0, 7))
    one.wait(lambda: member.end is not None)
    member._end = member.end._replace(grace=0.0)
    assert member.leave().code == 7


def test_terminate_before_the_coordinator_was_reached(job):
    one = job(2)
    member = one.keep(Membership(one.loop, one.told.append, one.place(1)))
    member.terminate(signal.SIGTERM)
    member._attempt()
    assert (member.leave().outcome, member.leave().code) == ("terminated", 143)


def test_a_contract_of_another_version_ends_the_member_with_78(job, monkeypatch):
    one = job(2)
    monkeypatch.setattr(memberships, "Claim", lambda *fields: Claim(*fields, contract=2))
    member = one.member(1)
    one.wait(lambda: member.end is not None)
    assert (member.end.code, member.end.failure["reason"]) == (
        78,
        "turned away by the main node: node 1 speaks contract 2, the job 1",
    )


def test_a_connection_that_never_comes_about_is_given_up(job, monkeypatch):
    monkeypatch.setattr(memberships, "_CONNECT", 0.01)
    one = job(2)
    member = one.keep(Membership(one.loop, one.told.append, one.place(1)))
    member._deadline = now() + 60
    member._target = ("192.0.2.77", 9)  # routed, and nobody answers
    member._attempt()
    one.wait(lambda: member._obstacle != "not tried yet")
    assert member._obstacle in {"no answer", "network is unreachable", "no route to host"}
    member._target = ("255.255.255.255", 9)
    member._attempt()
    assert member._obstacle in {"network is unreachable", "permission denied"}


# --- the open port ----------------------------------------------------------------------------


@pytest.fixture
def door(job):
    """A door of its own, and what came of it."""
    one = job(2)
    joined = []
    made = Door(
        one.loop,
        one.told.append,
        (f"{one.network}.9", 28800),
        lambda: CoordinatorSession(b"k" * 32, "job", 1),
        lambda *both: joined.append(both),
        room=4,
    )
    one.keep(made)
    return one, made


def test_silent_connections_are_dropped_in_time(door, monkeypatch):
    one, made = door
    monkeypatch.setattr(doors, "_HANDSHAKE", 0.0)
    sock = socket.create_connection((f"{one.network}.9", 28800))
    one.wait(lambda: bool(made._greeting))
    made._sweep()
    assert sock.recv(1) == b""
    assert one.told[-1] == "dropped a connection: no greeting came"
    sock.close()


def test_refusals_beyond_a_few_are_counted(door, monkeypatch):
    one, made = door
    for _ in range(9):
        made.tell("no")
    assert one.told == ["no"] * 5
    monkeypatch.setattr(doors, "_QUIET", -1.0)
    made.tell("again")
    assert one.told[5:] == ["turned away 4 more connections", "again"]


class NoDescriptors:
    """A listening socket whose accept fails."""

    def __init__(self, *codes):
        self.codes = list(codes)

    def accept(self):
        if not self.codes:
            raise BlockingIOError
        raise OSError(self.codes.pop(0), "x")


def test_without_descriptors_the_oldest_connection_gives_way(door, monkeypatch):
    one, made = door
    sock = socket.create_connection((f"{one.network}.9", 28800))
    one.wait(lambda: bool(made._greeting))
    real = made._socket
    made._socket = NoDescriptors(errno.ECONNABORTED, errno.EMFILE, errno.EMFILE)
    made._accept(0)
    assert not made._greeting
    assert one.told[-1] == "dropped a connection: no descriptor is left"
    made._socket = real
    sock.close()


def test_the_descriptor_limit_is_raised_as_far_as_allowed(monkeypatch):
    told = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: told.append(limits))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    doors._raise_descriptor_limit(2000)
    doors._raise_descriptor_limit(8000)
    doors._raise_descriptor_limit(100)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, resource.RLIM_INFINITY))
    doors._raise_descriptor_limit(8000)
    assert told == [(2000, 4096), (4096, 4096), (8000, resource.RLIM_INFINITY)]


def test_an_address_that_cannot_be_had(job):
    with Loop() as loop, pytest.raises(NetworkError, match=r"cannot listen on 192\.0\.2\.99:28800"):
        Door(loop, print, ("192.0.2.99", 28800), None, None, room=1)


class _Session:
    def __init__(self, claimed):
        self.claimed = claimed


class _Connection:
    def __init__(self, claimed):
        self.session = _Session(claimed)


@pytest.mark.parametrize(
    ("node", "claimed", "slots", "started", "problem"),
    [
        (1, 1, 1, False, None),
        (1, 1, 1, True, "the job has started, node 1 comes too late"),
        (0, 0, 1, False, "node 0 is the main node h0 a0 itself"),
        (-1, -1, 1, False, "node -1 is not of this job of 3 nodes"),
        (1, 2, 1, False, "node 1 is not of this job of 3 nodes"),
        (1, 1, 0, False, "node 1 has no process to run"),
        (2, 2, 1, False, "node 2 is already here: h2 a2"),
    ],
)
def test_who_may_join(node, claimed, slots, started, problem):
    rules = Rules(Facts(0, "a0", "h0", 1), 3)
    known = {2: Member(_Connection(2), Facts(2, "a2", "h2", 1), "here")}
    candidate = Member(_Connection(claimed), Facts(node, "a", "h", slots), "new")
    assert rules.problem_of(candidate, known, started=started) == problem


# --- a connection -----------------------------------------------------------------------------


@pytest.fixture
def pair():
    """A connection of a coordinator's, its end, and the bare socket of its peer."""
    near, far = socket.socketpair()
    ends = []
    with Loop() as loop:
        connection = Connection(loop, near, CoordinatorSession(b"k" * 32, "job", 1), ends.append, ends.append)
        yield loop, connection, ends, far
        connection.close()
    far.close()


def test_a_peer_that_is_refused_and_stays_is_closed_in_time(pair, monkeypatch):
    monkeypatch.setattr(connections, "_LINGER", 0.02)
    loop, connection, ends, far = pair
    connection.refuse("place", "no")
    connection.refuse("place", "told once")
    far.send(b"x" * 100)
    assert loop.run(lambda: not connection.open, 10)
    assert far.recv(4096).count(b"no") == 1
    assert ends == []
    connection.refuse("place", "closed")


def test_a_peer_that_does_not_read_is_lost(pair, monkeypatch):
    monkeypatch.setattr(connections, "_OUTGOING_LIMIT", 1 << 16)
    _, connection, ends, _ = pair
    connection.session._keys = (b"k" * 32, b"k" * 32)
    for _ in range(100):
        connection.send(b"x" * 60_000)
    assert [str(end) for end in ends] == ["the peer does not read"]


def test_what_a_peer_does_not_take_at_once_is_sent_later(pair):
    loop, connection, _, far = pair
    connection.session._keys = (b"k" * 32, b"k" * 32)
    for _ in range(10):
        connection.send(b"x" * 100_000)
    assert connection._outgoing
    far.setblocking(False)
    taken = []

    def take():
        with contextlib.suppress(BlockingIOError):
            taken.append(len(far.recv(1 << 20)))
        return sum(taken) >= 10 * 100_000

    assert loop.run(take, 20)


def test_a_reset_is_told(pair):
    loop, connection, ends, far = pair
    connection.session._keys = (b"k" * 32, b"k" * 32)
    far.close()
    connection.send(b"x" * 100)
    assert loop.run(lambda: bool(ends), 10)
    assert str(ends[0]) in {"broken pipe", "the connection was closed", "connection reset by peer"}
