"""The local cloud listens on 127.0.0.1; this makes it answer at the nodes' bridge as well."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading

from muster_cli.local.settings import HOST

_CHUNK = 65_536


class Forwarder:
    """Accepts connections and passes their bytes to a port of 127.0.0.1.

    Args:
        listener: A listening socket; the forwarder closes it.
        port: Port of the local cloud.
    """

    def __init__(self, listener: socket.socket, port: int) -> None:
        self._port = port
        self._listener = listener
        self._stopping, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name="forwarder", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._stopped, selectors.EVENT_READ)
            while all(key.fileobj is not self._stopped for key, _ in selector.select()):
                with contextlib.suppress(OSError):
                    self._serve(self._listener.accept()[0])
        self._listener.close()
        self._stopped.close()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection((HOST, self._port), timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        threading.Thread(target=_join, args=(client, server), daemon=True).start()

    def close(self) -> None:
        """Stop listening; connections that are open end with their peers."""
        self._stopping.close()
        self._thread.join()


def _join(client: socket.socket, server: socket.socket) -> None:
    """Pass bytes both ways until both sides have ended."""
    with client, server:
        back = threading.Thread(target=_pump, args=(server, client), daemon=True)
        back.start()
        _pump(client, server)
        back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Pass bytes on until the source ends, then tell the target so."""
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
