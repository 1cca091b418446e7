"""The wire protocol, without I/O: bytes in, messages out, and the other way round.

A frame is the magic word, the payload's length (4 bytes, big-endian) and the payload: a message
authentication code and a JSON body. The member begins with ``hello`` and its nonce; the
coordinator answers ``challenge`` with its own; from then on each direction has a key of both
nonces and a running number, so both have proved themselves by their first message under it.
Nothing larger than the limit is ever kept, and before the proof the limit is small.
"""

from __future__ import annotations

import os
from typing import Iterator, NamedTuple

from muster_core.contract import CONTRACT_VERSION
from muster_runtime.agent.errors import ProtocolError, RefusedError
from muster_runtime.agent.rendezvous.authentication import MAC_SIZE, NONCE_SIZE, agrees, mac, session_keys
from muster_runtime.agent.rendezvous.messages import (
    CAUSE_CONTRACT,
    CAUSE_JOB,
    CAUSE_SECRET,
    CHALLENGE,
    COORDINATOR_SAYS,
    HELLO,
    MEMBER_SAYS,
    REFUSED,
    Message,
    decode,
    encode,
    printable,
)

MAGIC = b"MSTR"
HEADER_SIZE = len(MAGIC) + 4
STRANGER_LIMIT = 4096
"""Bytes of a payload from a peer that has not proved itself."""
MEMBER_LIMIT = 1 << 16
"""Bytes of a payload from a member."""
COORDINATOR_LIMIT = 1 << 20
"""Bytes of a payload from the coordinator: the roster of a thousand nodes fits."""

_NO_MAC = bytes(MAC_SIZE)


class Claim(NamedTuple):
    """What a peer must agree on with the coordinator."""

    job: str
    attempt: int
    node: int
    contract: int = CONTRACT_VERSION


class Frames:
    """Cuts a stream into payloads; keeps at most one header and one payload of the limit.

    Args:
        limit: bytes of a payload.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give each payload as it becomes complete.

        Raises:
            ProtocolError: the stream is not of this protocol, or a payload is over the limit.
        """
        self._buffer += data
        while self._buffer:
            size = self._size()
            if size is None or len(self._buffer) < HEADER_SIZE + size:
                return
            payload = bytes(self._buffer[HEADER_SIZE : HEADER_SIZE + size])
            del self._buffer[: HEADER_SIZE + size]
            yield payload

    def _size(self) -> int | None:
        if not MAGIC.startswith(self._buffer[: len(MAGIC)]):
            raise ProtocolError("the peer does not speak muster's protocol")
        if len(self._buffer) < HEADER_SIZE:
            return None
        size = int.from_bytes(self._buffer[len(MAGIC) : HEADER_SIZE], "big")
        if not MAC_SIZE < size <= self.limit:
            raise ProtocolError(f"a message of {size} bytes is not within {MAC_SIZE + 1}..{self.limit}")
        return size


def frame(code: bytes, body: bytes) -> bytes:
    """Write a frame."""
    return MAGIC + (len(code) + len(body)).to_bytes(4, "big") + code + body


class Session:
    """One connection's state: what both sides share. Bytes to send gather until :meth:`take`."""

    def __init__(self, key: bytes, says: frozenset[str], limit: int) -> None:
        self._job_key = key
        self._says = says
        self._limit = limit
        self._frames = Frames(STRANGER_LIMIT)
        self._outgoing = bytearray()
        self._keys: tuple[bytes, bytes] | None = None  # (ours, theirs)
        self._sent = 0
        self._received = 0
        self.proved = False
        """Whether the peer has proved that it knows the key, just now."""
        self.claimed: int | None = None
        """The index that a greeting claimed, under a code of the job's key; None on a member."""

    def take(self) -> bytes:
        """Give the bytes that are to be sent, and forget them."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

    def send(self, body: bytes) -> None:
        """Queue a message; see :func:`muster_runtime.agent.rendezvous.messages.encode`.

        Raises:
            ProtocolError: the handshake is not over.
        """
        if self._keys is None:
            raise ProtocolError("the handshake is not over")
        self._outgoing += frame(mac(self._keys[0], self._sent, body), body)
        self._sent += 1

    def refuse(self, cause: str, reason: str) -> None:
        """Queue a last message to a peer that is turned away."""
        body = encode(REFUSED, cause=cause, reason=reason[:1000])
        if self._keys is None:
            self._outgoing += frame(_NO_MAC, body)
        else:
            self.send(body)

    def receive(self, data: bytes) -> Iterator[Message]:
        """Take bytes, give each message that they complete; handle one before asking for the next.

        Raises:
            ProtocolError: the peer is not, or no longer, to be trusted; close the connection.
            RefusedError: the same, and the peer is owed the reason.
        """
        for payload in self._frames.feed(data):
            code, body = payload[:MAC_SIZE], payload[MAC_SIZE:]
            if self._keys is None:
                yield from self._greet(code, body)
            else:
                yield self._open(self._keys[1], code, body)

    def _open(self, key: bytes, code: bytes, body: bytes) -> Message:
        if not agrees(code, mac(key, self._received, body)):
            raise ProtocolError("a message is not authentic")
        self._received += 1
        self.proved = True
        self._frames.limit = self._limit
        return decode(body, self._says)

    def _greet(self, code: bytes, body: bytes) -> Iterator[Message]:
        """Take the peer's greeting; give it if the own side waits for it."""
        raise NotImplementedError


class MemberSession(Session):
    """The member's side.

    Args:
        key: of :func:`muster_runtime.agent.rendezvous.authentication.job_key`.
        claim: who this member is.
    """

    def __init__(self, key: bytes, claim: Claim) -> None:
        super().__init__(key, COORDINATOR_SAYS, COORDINATOR_LIMIT)
        self._nonce = os.urandom(NONCE_SIZE)
        body = encode(HELLO, **claim._asdict(), nonce=self._nonce.hex())
        self._outgoing += frame(mac(key, 0, body), body)

    def _greet(self, code: bytes, body: bytes) -> Iterator[Message]:
        message = decode(body, frozenset({CHALLENGE, REFUSED}))
        if message.kind == REFUSED:  # by somebody who may know nothing of the job: take it as a hint
            raise RefusedError(printable(message.fields["cause"]), printable(message.fields["reason"]))
        keys = session_keys(self._job_key, self._nonce, nonce_of(message))
        if not agrees(code, mac(keys[1], 0, body)):
            raise ProtocolError("the coordinator does not know this job's secret")
        self._keys = keys
        self._received = 1
        self.proved = True
        self._frames.limit = self._limit
        yield message


class CoordinatorSession(Session):
    """The coordinator's side.

    Args:
        key: of :func:`muster_runtime.agent.rendezvous.authentication.job_key`.
        job: job id without a node's suffix.
        attempt: from 1.
    """

    def __init__(self, key: bytes, job: str, attempt: int) -> None:
        super().__init__(key, MEMBER_SAYS, MEMBER_LIMIT)
        self._job = job
        self._attempt = attempt

    def _greet(self, code: bytes, body: bytes) -> Iterator[Message]:
        hello = decode(body, frozenset({HELLO}))
        self._compare(hello)
        if not agrees(code, mac(self._job_key, 0, body)):
            raise RefusedError(CAUSE_SECRET, "the job's secret differs")
        self.claimed = hello.fields["node"]
        own = os.urandom(NONCE_SIZE)
        theirs, ours = session_keys(self._job_key, nonce_of(hello), own)
        self._keys = (ours, theirs)
        self.send(encode(CHALLENGE, nonce=own.hex()))
        yield from ()

    def _compare(self, hello: Message) -> None:
        contract, job, attempt = (hello.fields[name] for name in ("contract", "job", "attempt"))
        if contract != CONTRACT_VERSION:
            raise RefusedError(
                CAUSE_CONTRACT,
                f"node {hello.fields['node']} speaks contract {contract}, the job {CONTRACT_VERSION}",
            )
        if job != self._job:
            raise RefusedError(
                CAUSE_JOB, f"node of job {printable(job)!r}, this is another"
            )  # strangers learn no id
        if attempt != self._attempt:
            raise RefusedError(CAUSE_JOB, f"node of attempt {attempt}, this is attempt {self._attempt}")


def nonce_of(message: Message) -> bytes:
    """Read the nonce of a greeting.

    Raises:
        ProtocolError: it is not one.
    """
    try:
        nonce = bytes.fromhex(message.fields["nonce"])
    except ValueError:
        nonce = b""
    if len(nonce) != NONCE_SIZE:
        raise ProtocolError(f"{message.kind}.nonce must be {NONCE_SIZE} bytes in hexadecimal")
    return nonce
