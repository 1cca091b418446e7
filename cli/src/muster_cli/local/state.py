"""The one folder that holds everything a local cloud leaves on disk.

Every module of the local cloud goes through :class:`StateFolder`: it knows the paths, writes
files whole or not at all, and keeps two commands from working on one folder at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster_cli.invocation import command as invocation
from muster_cli.local.errors import LocalCloudError
from muster_cli.local.settings import DEFAULT_STATE, STATE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Record:
    """What is known of a running server."""

    pid: int
    port: int
    endpoint: str
    """Such as ``http://127.0.0.1:40123``."""
    started: float
    """Seconds since the epoch."""
    tag: str
    """The folder's own tag: what the cloud makes outside the folder is named after it."""


class StateFolder:
    """Paths, files and locks of one local cloud.

    Args:
        root: The folder; it is made when something is first written. Default: what
            ``MUSTER_LOCAL_STATE`` names, else ``.muster/local`` below the current directory.
    """

    def __init__(self, root: Path | str | None = None) -> None:
        if root is None:
            root = os.environ.get(STATE_VARIABLE) or Path.cwd().joinpath(*DEFAULT_STATE)
        self.root = Path(root).absolute()
        self._held = 0

    @property
    def tag(self) -> str:
        """Eight hexadecimal digits that stand for this folder.

        Network namespaces, bridges and addresses of its nodes carry the tag, so that the
        leftovers of a crash are found even when nothing was written down.
        """
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:8]

    @property
    def record_path(self) -> Path:
        """The running server, as :class:`Record`."""
        return self.root / "server.json"

    @property
    def server_log(self) -> Path:
        """Standard output and error of the server."""
        return self.root / "server.log"

    @property
    def images_path(self) -> Path:
        """The image shim's notes: tag to staged folder, Dockerfile and build arguments."""
        return self.root / "images.json"

    @property
    def images(self) -> Path:
        """Copies of staged image folders."""
        return self.root / "images"

    @property
    def jobs(self) -> Path:
        """A folder for each job, and in it for each node."""
        return self.root / "jobs"

    @property
    def cache(self) -> Path:
        """What is kept from one run to the next because making it takes seconds (jsii's packages)."""
        return self.root / "cache"

    @property
    def home(self) -> Path:
        """HOME of the CDK and of other guarded children."""
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        """TMPDIR of the server and of guarded children."""
        return self.root / "tmp"

    @property
    def _lock_path(self) -> Path:
        return self.root / "lock"

    @property
    def server_lock_path(self) -> Path:
        """Locked by the server as long as it lives; a pid alone may be somebody else's by now."""
        return self.root / "server.lock"

    def create(self) -> None:
        """Make the folder and those below it, for this user only."""
        with self.usable():
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            for folder in (self.jobs, self.images, self.cache, self.home, self.tmp):
                folder.mkdir(exist_ok=True, mode=0o700)

    def clear(self) -> None:
        """Remove what a cloud leaves behind, except the cache and the server's log."""
        for folder in (self.jobs, self.images, self.home, self.tmp):
            shutil.rmtree(folder, ignore_errors=True)
        with self.usable():
            for path in (self.record_path, self.images_path):
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def usable(self) -> Iterator[None]:
        """Turn an error of the operating system about this folder into a sentence.

        Raises:
            LocalCloudError: The block met such an error.
        """
        try:
            yield
        except OSError as error:
            what = f" ({error.filename})" if error.filename and str(error.filename) != str(self.root) else ""
            raise LocalCloudError(
                f"the state folder {self.root} cannot be used: {(error.strerror or str(error)).lower()}{what}; "
                f"mend that, or name another folder by --state or {STATE_VARIABLE}"
            ) from error

    # --- files ------------------------------------------------------------------------------

    def write_json(self, path: Path, value: Mapping[str, Any]) -> None:
        """Write a file of the folder whole or not at all.

        Args:
            path: The file; its folder is made.
            value: A JSON object.
        """
        with self.usable():
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(value, file, indent=1, sort_keys=True)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def read_json(self, path: Path) -> dict[str, Any]:
        """Read a file of the folder.

        Args:
            path: The file.

        Returns:
            Its JSON object; an empty one where there is no file.

        Raises:
            LocalCloudError: The file holds something else.
        """
        with self.usable():
            try:
                text = path.read_bytes()
            except FileNotFoundError:
                return {}
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise LocalCloudError(
                f"{path} is not a JSON object; remove {self.root} after `{invocation('local', 'down')}`"
            )
        return value

    @contextlib.contextmanager
    def edit_json(self, path: Path) -> Iterator[dict[str, Any]]:
        """Change a file of the folder while other processes may be changing it too.

        Args:
            path: The file.

        Yields:
            Its JSON object; what is left in it after the block is written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f".{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            value = self.read_json(path)
            yield value
            self.write_json(path, value)

    def read_record(self) -> Record | None:
        """Return what was written down of the server, be it alive or not."""
        value = self.read_json(self.record_path)
        try:
            return Record(**value) if value else None
        except TypeError:
            return None

    def write_record(self, record: Record) -> None:
        """Write down the server."""
        self.write_json(self.record_path, asdict(record))

    # --- locks ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def exclusive(self, command: str) -> Iterator[None]:
        """Hold the folder for one command; within one `StateFolder` it may be taken again.

        Args:
            command: What is going on, such as ``muster demo``: a second command is told so.

        Raises:
            LocalCloudError: Another process holds the folder.
        """
        if self._held:
            yield
            return
        with self.usable():
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = self._lock_path.open("a+")
        with lock:
            self._take(lock.fileno(), command)
            self._held += 1
            try:
                yield
            finally:
                self._held -= 1
                os.truncate(lock.fileno(), 0)

    def _take(self, descriptor: int, command: str) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._lock_path.read_text(encoding="utf-8").strip() or "another muster command"
            raise LocalCloudError(
                f"{holder} is working on {self.root}; wait for its end, or name another folder by {STATE_VARIABLE}"
            ) from None
        os.truncate(descriptor, 0)
        os.write(descriptor, f"`{command}` (process {os.getpid()})".encode())

    def server_alive(self) -> bool:
        """Tell whether a server holds this folder now."""
        with self.usable():
            try:
                descriptor = os.open(self.server_lock_path, os.O_RDWR)
            except FileNotFoundError:
                return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def hold_for_server(self) -> int:
        """Mark the folder as held by this process, the server, until it dies.

        Returns:
            The descriptor that carries the lock.

        Raises:
            LocalCloudError: Another server holds the folder.
        """
        self.create()
        with self.usable():
            descriptor = os.open(self.server_lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise LocalCloudError(f"a local cloud is running already in {self.root}") from None
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        return descriptor

    def server_pid(self) -> int | None:
        """Return the process id of the server that holds this folder now, None where there is none."""
        if not self.server_alive():
            return None
        text = self.server_lock_path.read_text(encoding="utf-8")
        return int(text) if text.isdigit() else None
