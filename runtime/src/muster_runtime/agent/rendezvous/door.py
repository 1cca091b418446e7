"""The coordinator's open port: strangers are turned away here, members are handed on."""

from __future__ import annotations

import errno
import resource
import socket
from typing import TYPE_CHECKING, Callable

from muster_core.contract import ENV_RENDEZVOUS_PORT
from muster_runtime.agent.errors import NetworkError, ProtocolError
from muster_runtime.agent.loop import READ, Loop, now
from muster_runtime.agent.rendezvous.connection import Connection
from muster_runtime.agent.rendezvous.messages import CAUSE_PROTOCOL, JOIN, Message

if TYPE_CHECKING:
    from muster_runtime.agent.rendezvous.group import Log
    from muster_runtime.agent.rendezvous.protocol import CoordinatorSession

_SPARE = 128  # descriptors for everything else
_BACKLOG = 4096  # the kernel takes the lesser of this and somaxconn
_HANDSHAKE = 10.0  # seconds for a greeting
_SWEEP = 1.0
_LOGGED = 5  # refusals told one by one within _QUIET seconds; the others are counted
_QUIET = 10.0


class Door:
    """Listens; gives each connection that has proved itself, with its first message.

    Args:
        loop: where it is served.
        log: takes sentences.
        address: (IPv4 address, port) to listen on.
        make_session: a new connection's protocol state.
        on_join: gets a proved connection and its ``join``.
        room: connections that may be in their greeting at once; above it the oldest gives way.

    Raises:
        NetworkError: the port cannot be had.
    """

    def __init__(
        self,
        loop: Loop,
        log: Log,
        address: tuple[str, int],
        make_session: Callable[[], CoordinatorSession],
        on_join: Callable[[Connection, Message], None],
        *,
        room: int,
    ) -> None:
        self._loop = loop
        self._log = log
        self._make_session = make_session
        self._on_join = on_join
        self._room = room
        self._greeting: dict[Connection, float] = {}
        self._leaving: list[Connection] = []
        self._refused: list[float] = []
        self._untold = 0
        self.refusals: dict[int, str] = {}
        """The last reason for which a node's claim was turned away, by the index that it claimed."""
        _raise_descriptor_limit(room + _SPARE)
        self._socket = _listen(address)
        loop.watch(self._socket.fileno(), READ, self._accept)
        self._sweeper = loop.call_every(_SWEEP, self._sweep)

    def close(self) -> None:
        """Stop listening and drop who is still in the greeting."""
        self._sweeper.cancel()
        if self._socket.fileno() >= 0:
            self._loop.forget(self._socket.fileno())
            self._socket.close()
        for connection in [*self._greeting, *self._leaving]:
            connection.close()
        self._greeting.clear()

    def _accept(self, _: int) -> None:
        for _ in range(_BACKLOG):
            try:
                sock, (host, port) = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in {errno.EMFILE, errno.ENFILE}:
                    continue  # the peer was gone before it was taken
                if not self._give_way("no descriptor is left"):
                    return
                continue
            self._greet(sock, f"{host}:{port}")

    def _greet(self, sock: socket.socket, peer: str) -> None:
        if len(self._greeting) >= self._room:
            self._give_way("too many connections that say nothing")
        session = self._make_session()

        def hear(message: Message) -> None:
            self._hear(connection, message)

        def lose(error: ProtocolError) -> None:
            self._turned_away(connection, peer, session.claimed, str(error))

        connection = Connection(self._loop, sock, session, hear, lose)
        self._greeting[connection] = now()

    def _hear(self, connection: Connection, message: Message) -> None:
        self._greeting.pop(connection, None)
        if message.kind == JOIN:
            self._on_join(connection, message)
        else:
            self.refuse(connection, CAUSE_PROTOCOL, "the first message must be join")

    def refuse(self, connection: Connection, cause: str, reason: str) -> None:
        """Turn away a connection that has proved itself but may not join."""
        connection.refuse(cause, reason)
        self.let_go(connection)
        self.tell(f"turned away: {reason}")

    def _turned_away(self, connection: Connection, peer: str, claimed: int | None, reason: str) -> None:
        self._greeting.pop(connection, None)
        self.let_go(connection)
        if claimed is not None:
            self.refusals[claimed] = reason
        self.tell(f"turned away {peer}: {reason}")

    def let_go(self, connection: Connection) -> None:
        """See a connection off that may still have last words to send."""
        self._leaving.append(connection)

    def tell(self, sentence: str) -> None:
        """Log a refusal, unless there were many of late."""
        self._refused = [moment for moment in self._refused if moment > now() - _QUIET]
        if len(self._refused) >= _LOGGED:
            self._untold += 1
            return
        if self._untold:
            self._log(f"turned away {self._untold} more connections")
            self._untold = 0
        self._refused.append(now())
        self._log(sentence)

    def _give_way(self, reason: str) -> bool:
        for connection in self._greeting:
            self._drop(connection, reason)
            return True
        return False

    def _sweep(self) -> None:
        self._leaving = [connection for connection in self._leaving if connection.open]
        late = [connection for connection, since in self._greeting.items() if now() - since > _HANDSHAKE]
        for connection in late:
            self._drop(connection, "no greeting came")

    def _drop(self, connection: Connection, reason: str) -> None:
        del self._greeting[connection]
        connection.close()
        self.tell(f"dropped a connection: {reason}")


def _raise_descriptor_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _listen(address: tuple[str, int]) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past connections may linger
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise NetworkError(
            f"cannot listen on {address[0]}:{address[1]}: {(error.strerror or str(error)).lower()}; "
            f"free the port or choose another by {ENV_RENDEZVOUS_PORT}"
        ) from None
    sock.setblocking(False)
    return sock
