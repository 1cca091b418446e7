"""Any byte stream: no crash, no growth, a named refusal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster_core.contract import Failure
from muster_runtime.agent.errors import ProtocolError, RefusedError
from muster_runtime.agent.rendezvous import messages
from muster_runtime.agent.rendezvous.authentication import job_key, mac, session_keys
from muster_runtime.agent.rendezvous.messages import (
    Message,
    decode,
    encode,
    failure_of,
    optional_failure,
    printable,
)
from muster_runtime.agent.rendezvous.protocol import (
    HEADER_SIZE,
    MAGIC,
    MEMBER_LIMIT,
    STRANGER_LIMIT,
    Claim,
    CoordinatorSession,
    Frames,
    MemberSession,
    Session,
    frame,
)

KEY = job_key("secret", "job", 1)
CLAIM = Claim("job", 1, 3)
JOIN = encode(messages.JOIN, node=3, address="10.0.0.3", host="h", slots=1, container="c")


def coordinator():
    return CoordinatorSession(KEY, "job", 1)


def handshake(member=None, server=None):
    member, server = member or MemberSession(KEY, CLAIM), server or coordinator()
    assert list(server.receive(member.take())) == []
    assert [message.kind for message in member.receive(server.take())] == [messages.CHALLENGE]
    return member, server


def joined():
    member, server = handshake()
    member.send(JOIN)
    assert [message.kind for message in server.receive(member.take())] == [messages.JOIN]
    return member, server


def test_both_prove_themselves_and_talk():
    member, server = handshake()
    assert member.proved
    assert not server.proved
    member.send(JOIN)
    (message,) = server.receive(member.take())
    assert message.kind == messages.JOIN
    assert message.fields["address"] == "10.0.0.3"
    assert server.proved
    assert server.claimed == 3
    for _ in range(3):
        server.send(encode(messages.BEAT))
        member.send(encode(messages.BEAT))
        assert [m.kind for m in member.receive(server.take())] == ["beat"]
        assert [m.kind for m in server.receive(member.take())] == ["beat"]


def test_nothing_can_be_sent_before_the_handshake():
    with pytest.raises(ProtocolError, match="the handshake is not over"):
        coordinator().send(JOIN)


def test_a_session_without_a_side_greets_nobody():
    with pytest.raises(NotImplementedError):
        Session(KEY, frozenset(), 100)._greet(b"", b"")


@given(st.data())
def test_messages_survive_any_cut(data):
    member, server = handshake()
    member.send(JOIN)
    member.send(encode(messages.DONE, code=7))
    stream, kinds = member.take(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        kinds += [message.kind for message in server.receive(stream[:size])]
        stream = stream[size:]
    assert kinds == ["join", "done"]


# --- who is turned away -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member", "cause", "reason"),
    [
        (MemberSession(KEY, Claim("job", 2, 3)), "job", "node of attempt 2, this is attempt 1"),
        (MemberSession(KEY, Claim("other\n", 1, 3)), "job", "node of job 'other?', this is another"),
        (
            MemberSession(KEY, Claim("job", 1, 3, contract=9)),
            "contract",
            "node 3 speaks contract 9, the job 1",
        ),
        (MemberSession(job_key("guess", "job", 1), CLAIM), "secret", "the job's secret differs"),
        (MemberSession(job_key(None, "job", 1), CLAIM), "secret", "the job's secret differs"),
    ],
)
def test_strangers_are_told_why(member, cause, reason):
    server = coordinator()
    with pytest.raises(RefusedError) as caught:
        list(server.receive(member.take()))
    assert (caught.value.cause, str(caught.value)) == (cause, reason)
    assert not server.proved
    server.refuse(cause, reason)
    with pytest.raises(RefusedError) as told:
        list(member.receive(server.take()))
    assert (told.value.cause, str(told.value)) == (cause, reason)


def test_a_coordinator_without_the_secret_is_found_out():
    member = MemberSession(KEY, CLAIM)
    impostor = CoordinatorSession(job_key("guess", "job", 1), "job", 1)
    impostor._keys = session_keys(job_key("guess", "job", 1), bytes(16), bytes(16))
    impostor.send(encode(messages.CHALLENGE, nonce="00" * 16))
    with pytest.raises(ProtocolError, match="the coordinator does not know this job's secret"):
        list(member.receive(impostor.take()))


def test_a_replayed_greeting_gets_nowhere():
    member, first = MemberSession(KEY, CLAIM), coordinator()
    hello = member.take()
    list(first.receive(hello))
    list(member.receive(first.take()))
    member.send(JOIN)
    recorded = member.take()
    second = coordinator()
    list(second.receive(hello))
    with pytest.raises(ProtocolError, match="a message is not authentic"):
        list(second.receive(recorded))
    assert not second.proved


@pytest.mark.parametrize("change", ["replay", "drop", "reflect", "tamper"])
def test_the_stream_cannot_be_altered(change):
    member, server = joined()
    member.send(encode(messages.BEAT))
    beat = member.take()
    member.send(encode(messages.DONE, code=0))
    done = member.take()
    server.send(encode(messages.BEAT))
    stream = {
        "replay": beat + beat,
        "drop": done,
        "reflect": server.take(),
        "tamper": beat[:-2] + bytes([beat[-2] ^ 1]) + beat[-1:],
    }[change]
    with pytest.raises(ProtocolError, match="a message is not authentic"):
        list(server.receive(stream))


def test_a_refusal_within_a_session_is_authentic():
    member, server = joined()
    server.refuse("place", "too late")
    (message,) = member.receive(server.take())
    assert message == Message("refused", {"cause": "place", "reason": "too late"})


# --- garbage ----------------------------------------------------------------------------------


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_garbage_is_refused_by_name_and_never_kept(first, second):
    for make in (coordinator, lambda: MemberSession(KEY, CLAIM)):
        session = make()
        try:
            assert list(session.receive(first)) == []
            assert list(session.receive(second)) == []
        except ProtocolError as refusal:
            said = str(refusal)
            assert said
        assert len(session._frames._buffer) <= 400
        assert not session.proved


@given(st.binary(max_size=600), st.booleans())
def test_framed_garbage_is_refused_by_name(payload, authentic):
    member, server = joined()
    del member
    body = payload[32:]
    code = mac(server._keys[1], server._received, body) if authentic else payload[:32]
    with pytest.raises(ProtocolError):
        list(server.receive(frame(code.ljust(32, b"\0"), body or b"x")))


@given(st.integers(0, 2**32 - 1))
def test_length_is_judged_before_anything_is_kept(size):
    frames = Frames(STRANGER_LIMIT)
    header = MAGIC + size.to_bytes(4, "big")
    if 32 < size <= STRANGER_LIMIT:
        assert list(frames.feed(header)) == []
    else:
        with pytest.raises(ProtocolError, match=r"a message of \d+ bytes is not within 33\.\.4096"):
            list(frames.feed(header))


def test_a_stranger_s_limit_is_small_and_a_member_s_is_not():
    _, server = handshake()
    with pytest.raises(ProtocolError, match=r"33\.\.4096"):
        list(server.receive(MAGIC + (5000).to_bytes(4, "big")))
    _, server = joined()
    assert list(server.receive(MAGIC + (5000).to_bytes(4, "big"))) == []
    with pytest.raises(ProtocolError, match=rf"33\.\.{MEMBER_LIMIT}"):
        list(joined()[1].receive(MAGIC + (MEMBER_LIMIT + 1).to_bytes(4, "big")))


@pytest.mark.parametrize(
    "stream", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"M\x00", b"SSH-2.0-x\r\n"]
)
def test_other_protocols_are_refused_at_their_first_bytes(stream):
    with pytest.raises(ProtocolError, match="the peer does not speak muster's protocol"):
        list(coordinator().receive(stream))
    assert HEADER_SIZE == 8


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    JSON
    | st.fixed_dictionaries(
        {"kind": st.sampled_from(sorted(messages.SHAPES))}, optional={"node": JSON, "code": JSON}
    )
)
def test_any_json_is_a_message_or_a_named_refusal(value):
    try:
        message = decode(json.dumps(value).encode(), frozenset(messages.SHAPES))
    except ProtocolError as refusal:
        said = str(refusal)
        assert said
    else:
        assert message.kind in messages.SHAPES


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "a message is not json"),
        (b"\xff", "a message is not json"),
        (b"[" * 100_000, "a message is not json"),
        (b"9" * 100, "a message is not a json object"),
        (b"[]", "a message is not a json object"),
        (b'{"kind":[]}', "a message of kind [] is not expected here"),
        (b'{"kind":"x\\u001b"}', "a message of kind 'x\\x1b' is not expected here"),
        (b'{"kind":"start"}', "a message of kind 'start' is not expected here"),
        (b'{"kind":"beat","x":1}', "beat must have exactly the fields none"),
        (b'{"kind":"done"}', "done must have exactly the fields code"),
        (b'{"kind":"done","code":true}', "done.code has the wrong type"),
        (b'{"kind":"done","code":"7"}', "done.code has the wrong type"),
    ],
)
def test_refusals_have_a_name(body, reason):
    with pytest.raises(ProtocolError) as caught:
        decode(body, messages.MEMBER_SAYS)
    assert str(caught.value).startswith(reason)


def test_a_text_has_a_limit():
    body = encode(messages.JOIN, node=3, address="a" * 4097, host="h", slots=1, container="c")
    with pytest.raises(ProtocolError, match=r"join\.address is longer than 4096"):
        decode(body, messages.MEMBER_SAYS)


@pytest.mark.parametrize("nonce", ["", "zz", "00" * 15, "00" * 17])
def test_a_nonce_has_16_bytes(nonce):
    body = encode(messages.HELLO, job="job", attempt=1, node=3, contract=1, nonce=nonce)
    with pytest.raises(ProtocolError, match=r"hello\.nonce must be 16 bytes in hexadecimal"):
        list(coordinator().receive(frame(mac(KEY, 0, body), body)))


def test_failures_have_a_shape():
    failure = Failure(node=1, rank=None, host="h", code=7, reason="r", lines=["x"])
    assert failure_of(dict(failure)) == failure
    assert optional_failure(None) is None
    assert optional_failure(dict(failure)) == failure
    for wrong in ({}, {**failure, "lines": [1]}, {**failure, "lines": "x"}, {**failure, "code": None}):
        with pytest.raises(ProtocolError):
            failure_of(wrong)


def test_printable_has_no_control_characters():
    assert printable("a\x1b[31m\n\u202e", limit=6) == "a?[31m"
    assert printable("a\n") == "a?"


def test_keys_differ_by_secret_job_attempt_and_direction():
    keys = {
        job_key("s", "a", 1),
        job_key("t", "a", 1),
        job_key(None, "a", 1),
        job_key("s", "b", 1),
        job_key("s", "a", 2),
        *session_keys(KEY, b"1" * 16, b"2" * 16),
        *session_keys(KEY, b"2" * 16, b"1" * 16),
    }
    assert len(keys) == 9
    assert {len(key) for key in keys} == {32}
