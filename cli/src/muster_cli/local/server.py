"""The local cloud's own process: moto's server with the fills in, and the executor beside it.

``python -m muster_cli.local.server --state FOLDER`` is started by :mod:`muster_cli.local.lifecycle`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster_cli.local.errors import LocalCloudError
from muster_cli.local.guard import guarded_environment
from muster_cli.local.settings import HEALTH_PATH, HOST
from muster_cli.local.state import Record, StateFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from werkzeug.serving import BaseWSGIServer

    from muster_cli.local.executor import Executor

_log = logging.getLogger("muster.local")


def main(argv: list[str] | None = None) -> int:
    """Run the local cloud until SIGTERM or SIGINT.

    Args:
        argv: Arguments. Default: the process's own.

    Returns:
        0 after an orderly end, 1 where it could not start: the last line of its output says why.
    """
    options = _parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line for each request hides the rest
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        with running(StateFolder(options.state), options.port, dict(options.image_map)):
            stop.wait()
            _log.info("ending")
    except LocalCloudError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m muster_cli.local.server")
    parser.add_argument("--state", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--image-map", type=_pair, action="append", default=[], metavar="URI=FOLDER")
    return parser


def _pair(text: str) -> tuple[str, Path]:
    uri, separator, folder = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"must be URI=FOLDER, got {text!r}")
    return uri, Path(folder)


@contextlib.contextmanager
def running(state: StateFolder, port: int, image_map: Mapping[str, Path]) -> Iterator[Record]:
    """Serve in this process; at the end of the block jobs end first, then the server.

    Args:
        state: The local cloud's folder.
        port: 0 for a free one.
        image_map: Folders that stand for images which were not built here, by URI.

    Yields:
        The record of the server, once it answers.

    Raises:
        LocalCloudError: The port is taken, or the folder has a server.
    """
    descriptor = state.hold_for_server()
    try:
        with _listen(port) as listener:
            record = _record(state, listener.getsockname()[1])
            os.environ.update(_environment_for(record, state))
            with _no_collection():
                executor = _start_executor(state, record.port, image_map)
            try:
                with _serving(listener, record):
                    state.write_record(record)
                    _log.info("answering at %s", record.endpoint)
                    yield record
                    executor.shutdown()  # before the server: nodes may still write to its logs
            finally:
                executor.shutdown()
                state.record_path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking through moto's tables: a third of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _listen(port: int) -> socket.socket:
    """Take the port before anything slow is done."""
    try:
        return socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        raise LocalCloudError(
            f"port {port} of {HOST} cannot be used ({os.strerror(error.errno or 0).lower()}); "
            "name another one, or none for a free one"
        ) from error


def _record(state: StateFolder, port: int) -> Record:
    return Record(os.getpid(), port, f"http://{HOST}:{port}", time.time(), state.tag)


def _environment_for(record: Record, state: StateFolder) -> dict[str, str]:
    """The guard, for the server too: nothing in this process may meet a real account."""
    guarded = guarded_environment(record.endpoint, state)
    for name in [name for name in os.environ if name not in guarded]:
        del os.environ[name]
    return guarded


def _start_executor(state: StateFolder, port: int, image_map: Mapping[str, Path]) -> Executor:
    from muster_cli.local import fills, images  # noqa: PLC0415  moto takes two seconds: the port comes first
    from muster_cli.local.executor import Executor  # noqa: PLC0415

    executor = Executor(state, port, lambda uri: images.resolve(state, uri, image_map))
    fills.install(lambda: executor)
    return executor


@contextlib.contextmanager
def _serving(listener: socket.socket, record: Record) -> Iterator[None]:
    server = _server(listener, record)
    thread = threading.Thread(target=server.serve_forever, name="moto", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _server(listener: socket.socket, record: Record) -> BaseWSGIServer:
    from moto.moto_server.werkzeug_app import (  # noqa: PLC0415
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server  # noqa: PLC0415

    application = with_health(DomainDispatcherApplication(create_backend_app), record)
    return make_server(
        HOST,
        record.port,
        application,
        threaded=True,
        request_handler=MotoRequestHandler,
        fd=listener.fileno(),
    )


def with_health(
    application: Callable[..., Iterable[bytes]], record: Record
) -> Callable[..., Iterable[bytes]]:
    """Put the health path in front of an application.

    Args:
        application: moto's.
        record: What the health path tells.

    Returns:
        A WSGI application.
    """
    body = json.dumps({"pid": record.pid, "tag": record.tag}).encode()

    def answer(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != HEALTH_PATH:
            return application(environ, start_response)
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return answer


if __name__ == "__main__":
    sys.exit(main())
