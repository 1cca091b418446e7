"""Every other node's side of the group: one connection to the coordinator."""

from __future__ import annotations

import errno
import os
import signal
import socket
from typing import Mapping

from muster_core.contract import EXIT_CONFIG, EXIT_TEMPFAIL, Failure
from muster_runtime.agent.errors import ProtocolError, RefusedError
from muster_runtime.agent.loop import WRITE, Loop, now
from muster_runtime.agent.rendezvous.authentication import job_key
from muster_runtime.agent.rendezvous.connection import Connection
from muster_runtime.agent.rendezvous.group import (
    FAILURE_GRACE,
    SUCCESS,
    End,
    Log,
    Place,
    failed,
    node_failure,
    terminated,
)
from muster_runtime.agent.rendezvous.messages import (
    BEAT,
    CAUSE_CONTRACT,
    CHALLENGE,
    DONE,
    FAILED,
    JOIN,
    LEAVE,
    REFUSED,
    START,
    STOP,
    TERMINATE,
    Message,
    encode,
    optional_failure,
    printable,
)
from muster_runtime.agent.rendezvous.protocol import Claim, MemberSession
from muster_runtime.agent.rendezvous.roster import Facts, Roster, roster_of

PROGRESS = 10.0
"""Seconds between two lines that say what is waited for."""

_CONNECT = 10.0  # seconds for one attempt
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 2.0
_LAST_WORDS = 5.0  # seconds beyond the grace for the coordinator to let this node go


class Membership:
    """The group, on a node that is not the main node.

    Args:
        loop: where everything is served.
        log: takes sentences.
        place: this node's.
    """

    def __init__(self, loop: Loop, log: Log, place: Place) -> None:
        node, config, me = place
        self._loop = loop
        self._log = log
        self._node = node
        self._timeouts = config.timeouts
        self._me = me
        self._target = (node.main_address or "", config.rendezvous_port)
        self._key = job_key(config.secret, node.job, node.attempt)
        self._container = os.urandom(8).hex()
        self._connection: Connection | None = None
        self._connecting: socket.socket | None = None
        self._joined = False
        self._queue: list[bytes] = []
        self._pause = _FIRST_PAUSE
        self._obstacle = "not tried yet"
        self._deadline = 0.0
        self._end: End | None = None
        self._left = False
        self._roster: Roster | None = None
        self._beat = loop.call_every(config.timeouts.beat, self._tick)

    @property
    def end(self) -> End | None:
        """How the job ends, once that is decided."""
        return self._end

    @property
    def roster(self) -> Roster | None:
        """Every node, once all have joined."""
        return self._roster

    def codes(self) -> Mapping[int, int]:
        """Give nothing: the main node alone knows them."""
        return {}

    def facts(self) -> Mapping[int, Facts]:
        """Give this node alone."""
        return {self._me.node: self._me}

    # --- joining ------------------------------------------------------------------------------

    def join(self) -> None:
        """Reach the coordinator, join, and wait until every node has, or the job has ended."""
        self._deadline = now() + self._timeouts.rendezvous
        deadline = self._loop.call_later(self._timeouts.rendezvous, self._too_late)
        progress = self._loop.call_every(PROGRESS, self._tell_progress)
        self._attempt()
        self._loop.run(lambda: bool(self._roster or self._end))
        deadline.cancel()
        progress.cancel()

    def _tell_progress(self) -> None:
        state = (
            "joined, waiting for the other nodes" if self._joined else f"cannot join yet: {self._obstacle}"
        )
        self._log(f"main node {self._target[0]}:{self._target[1]}: {state}")

    def _too_late(self) -> None:
        if not self._joined:
            self._fail(
                EXIT_TEMPFAIL,
                f"node {self._node.node_index} could not join the main node {self._target[0]}:{self._target[1]} "
                f"within {self._timeouts.rendezvous:g} s: {self._obstacle}",
            )

    def _attempt(self) -> None:
        if self._end is not None:
            return
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        self._connecting = sock
        code = sock.connect_ex(self._target)
        if code not in {0, errno.EINPROGRESS}:
            self._give_up(sock, os.strerror(code))
            return
        self._loop.watch(sock.fileno(), WRITE, lambda _: self._connected(sock))
        self._loop.call_later(_CONNECT, lambda: self._give_up(sock, "no answer"))

    def _give_up(self, sock: socket.socket, obstacle: str) -> None:
        if self._connecting is sock:
            self._connecting = None
            self._loop.forget(sock.fileno())
            sock.close()
            self._retry(obstacle.lower())

    def _connected(self, sock: socket.socket) -> None:
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._give_up(sock, os.strerror(code))
            return
        self._connecting = None
        session = MemberSession(self._key, Claim(self._node.job, self._node.attempt, self._node.node_index))
        self._connection = Connection(self._loop, sock, session, self._hear, self._lose)

    def _retry(self, obstacle: str) -> None:
        self._obstacle = obstacle
        if now() >= self._deadline:  # it had joined, and has lost the coordinator since
            self._too_late()
        jitter = 0.5 + os.urandom(1)[0] / 255  # so that a thousand nodes do not come in step
        self._loop.call_later(self._pause * jitter, self._attempt)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    # --- while the job runs -------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        if message.kind == CHALLENGE:
            self._introduce()
        elif message.kind == START:
            self._roster = roster_of(message.fields["nodes"], message.fields["shared"])
        elif message.kind == STOP:
            fields = message.fields
            failure = optional_failure(fields["failure"])
            self._end = End(fields["outcome"], fields["code"], failure, float(fields["grace"]))
        elif message.kind == LEAVE:
            self._left = True
        elif message.kind == REFUSED:
            self._fail(
                EXIT_TEMPFAIL, f"turned away by the main node: {printable(message.fields['reason'], 1000)}"
            )

    def _introduce(self) -> None:
        self._joined = True
        self._log(f"joined the main node {self._target[0]}:{self._target[1]}")
        self._pause = _FIRST_PAUSE
        self._send(encode(JOIN, **self._me._asdict(), container=self._container))
        queue, self._queue = self._queue, []
        for body in queue:
            self._send(body)

    def _send(self, body: bytes) -> None:
        if self._connection is not None and self._joined:
            self._connection.send(body)
        else:
            self._queue.append(body)

    def _lose(self, error: ProtocolError) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._joined = False
        if self._left or self._end is not None:
            self._left = True
        elif self._roster is not None:
            self._fail(
                EXIT_TEMPFAIL, f"the main node {self._target[0]} was lost: {error}", self._node.main_index
            )
        elif isinstance(error, RefusedError) and error.cause == CAUSE_CONTRACT:
            self._fail(EXIT_CONFIG, f"turned away by the main node: {error}")
        else:
            self._retry(str(error))

    def _tick(self) -> None:
        connection = self._connection
        if connection is None:
            return
        silence = now() - max(connection.heard, self._loop.stalled_at)
        if silence > self._timeouts.peer:
            connection.close()
            self._lose(ProtocolError(f"silent for {silence:.0f} s"))
        elif self._joined:
            connection.send(encode(BEAT))

    def _fail(self, code: int, reason: str, node: int | None = None) -> None:
        if self._end is None:
            index = self._node.node_index if node is None else node
            host = self._me.host if node is None else ""
            self._end = failed(node_failure(index, host, code, reason), FAILURE_GRACE)

    def report(self, failure: Failure) -> None:
        """Tell the coordinator of a failure on this node; it decides."""
        self._send(encode(FAILED, failure=failure))

    def terminate(self, number: int) -> None:
        """Tell the coordinator that this node was asked to end, and begin with it."""
        self._send(encode(TERMINATE, signal=int(number)))
        if self._end is None:
            name = signal.Signals(number).name
            self._end = terminated(self._me.node, self._me.host, number, name, self._timeouts.grace)

    def hurry(self) -> None:
        """Do nothing: the other nodes' grace is not this node's to end."""

    # --- leaving ------------------------------------------------------------------------------

    def done(self, code: int) -> None:
        """Tell the coordinator that this node's processes are gone."""
        self._send(encode(DONE, code=code))

    def leave(self) -> End:
        """Wait until the coordinator lets this node go."""
        self._loop.run(lambda: self._left or self._end is not None)
        if not self._left and self._end is not None and self._connection is not None:
            self._loop.run(lambda: self._left, self._end.grace + _LAST_WORDS)
        return self._end or SUCCESS

    def close(self) -> None:
        """Close the connection after what was queued has been sent."""
        self._beat.cancel()
        if self._connecting is not None:
            self._loop.forget(self._connecting.fileno())
            self._connecting.close()
        if self._connection is not None:
            self._connection.close()
