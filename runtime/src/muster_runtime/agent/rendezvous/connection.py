"""A socket that speaks the protocol on the loop."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Callable

from muster_runtime.agent.errors import ProtocolError, RefusedError
from muster_runtime.agent.loop import READ, WRITE, Loop, Timer, now
from muster_runtime.agent.rendezvous.messages import CAUSE_PROTOCOL, Message

if TYPE_CHECKING:
    from muster_runtime.agent.rendezvous.protocol import Session

_PIECE = 65536
_OUTGOING_LIMIT = 8 << 20  # a peer that takes nothing for so long is as good as lost
_LINGER = 1.0  # seconds that a peer that was turned away has to read why


class Connection:
    """One peer. Calls back with each message and, once, with the reason of the end.

    Args:
        loop: where the socket is served.
        sock: connected, or connecting without waiting.
        session: the protocol's state.
        on_message: gets each authentic message.
        on_close: gets one sentence, or the error that the peer caused.
    """

    def __init__(
        self,
        loop: Loop,
        sock: socket.socket,
        session: Session,
        on_message: Callable[[Message], None],
        on_close: Callable[[ProtocolError], None],
    ) -> None:
        self._loop = loop
        self._socket = sock
        self._fd = sock.fileno()
        self.session = session
        self._on_message = on_message
        self._on_close = on_close
        self._outgoing = bytearray()
        self._closing: Timer | None = None
        self.open = True
        self.heard = now()
        """When the peer last sent anything."""
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._watch()
        self._flush()

    def listen(
        self, on_message: Callable[[Message], None], on_close: Callable[[ProtocolError], None]
    ) -> None:
        """Hand the connection over to other call backs."""
        self._on_message = on_message
        self._on_close = on_close

    def send(self, body: bytes) -> None:
        """Queue a message and send what the peer takes now; nothing happens once closed."""
        if self.open and self._closing is None:
            self.session.send(body)
            self._flush()

    def refuse(self, cause: str, reason: str) -> None:
        """Tell the peer why it is turned away, then close without a call back."""
        if not self.open or self._closing is not None:
            return
        self.session.refuse(cause, reason)
        self.finish()

    def finish(self) -> None:
        """Send what is queued, then close without a call back."""
        self._closing = self._loop.call_later(_LINGER, self.close)
        self._flush()

    def close(self) -> None:
        """Close at once, without a call back."""
        if self.open:
            self.open = False
            if self._closing is not None:
                self._closing.cancel()
            self._loop.forget(self._fd)
            self._socket.close()

    def _lose(self, error: ProtocolError) -> None:
        was_closing = self._closing is not None
        self.close()
        if not was_closing:
            self._on_close(error)

    def _watch(self) -> None:
        self._loop.watch(self._fd, READ | (WRITE if self._outgoing else 0), self._ready)

    def _ready(self, events: int) -> None:
        if events & WRITE:
            self._flush()
        if events & READ and self.open:
            self._read()

    def _flush(self) -> None:
        self._outgoing += self.session.take()
        try:
            while self._outgoing:
                del self._outgoing[: self._socket.send(self._outgoing[:_PIECE])]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._lose(ProtocolError(_words(error)))
            return
        if len(self._outgoing) > _OUTGOING_LIMIT:
            self._lose(ProtocolError("the peer does not read"))
            return
        if self._closing is not None and not self._outgoing:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)
        self._watch()

    def _read(self) -> None:
        try:
            data = self._socket.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(ProtocolError(_words(error)))
            return
        if not data:
            self._lose(ProtocolError("the connection was closed"))
        elif self._closing is None:
            self.heard = now()
            self._take(data)

    def _take(self, data: bytes) -> None:
        try:
            for message in self.session.receive(data):
                self._on_message(message)
                if not self.open or self._closing is not None:
                    return
            self._flush()
        except RefusedError as error:
            self._turn_away(error.cause, error)
        except ProtocolError as error:
            self._turn_away(CAUSE_PROTOCOL, error)

    def _turn_away(self, cause: str, error: ProtocolError) -> None:
        self.refuse(cause, str(error))
        self._on_close(error)


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
