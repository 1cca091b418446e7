"""The process that holds one node: starts its program, passes signals on, ends everything with it.

It runs by its path under ``python -I -S`` (standard library alone, no import of Muster) and talks
to the executor over one socket. The executor sends a line of JSON (:class:`Plan`), later single
bytes: ``T`` is the stop signal for the program, ``K`` is SIGKILL for the node. The node sends lines of
JSON: ``{"started": true}`` or ``{"failed": "why"}``, and ``{"exited": code}``. When the executor
dies the socket closes, and the node dies too.

With a network namespace the program lives in its own process, mount, host name and IPC
namespaces as well: process 1 of it is a small init (Batch's ``initProcessEnabled``) or the program
itself. Without, the program has its own session, and what it leaves behind is adopted and killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import pwd
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, TypedDict

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x20000000,
    0x40000000,
)
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_SET_CHILD_SUBREAPER = 1, 8, 36
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH = 47, 2, 2
LINUX_CAPABILITY_VERSION_3 = 0x20080522
SWEEP_SECONDS = 5.0
"""How long processes that a program left behind may take to die of SIGKILL."""
CANNOT_START = 127
"""Exit code of a program that could not be started, as a shell and Docker have it."""
FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
"""What an init passes on: stop signals of images are among them."""


class Plan(TypedDict):
    """What to run, and in what surroundings."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    user: str
    """Empty, or a name or number, or ``user:group``."""
    namespace: str
    """Path of the network namespace; empty: none."""
    hostname: str
    hosts: str
    """A file to lie over /etc/hosts in the namespace; empty: none."""
    shm_mib: int
    stop_signal: int
    """What ``T`` sends: SIGTERM, or the image's STOPSIGNAL."""
    init: bool
    """Whether process 1 is a small init rather than the program."""


# --- Linux ----------------------------------------------------------------------------------


def _libc(name: str, *arguments: Any) -> None:  # noqa: ANN401  what the call takes
    """Call a function of the C library; raise OSError where it fails."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    _libc("mount", source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())


def _enter_network(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    _libc("setns", descriptor, CLONE_NEWNET)
    os.close(descriptor)
    _libc("unshare", CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC)


def _furnish(plan: Plan) -> None:
    """Give the namespaces of process 1 what a container has: its own /proc, /sys, shm and host name."""
    _mount("none", "/", "none", MS_REC | MS_PRIVATE)
    _mount("proc", "/proc", "proc")
    _own_sys()
    _mount("shm", "/dev/shm", "tmpfs", 0, f"size={plan['shm_mib']}m,mode=1777")  # noqa: S108
    if plan["hosts"]:
        _mount(plan["hosts"], "/etc/hosts", "none", MS_BIND)
    socket.sethostname(plan["hostname"])


def _own_sys() -> None:
    """Show the namespace's own interfaces in /sys/class/net; control groups stay where they were."""
    try:
        groups = os.open("/sys/fs/cgroup", os.O_PATH)
    except OSError:
        groups = -1
    _mount("sysfs", "/sys", "sysfs")
    if groups >= 0:
        _mount(f"/proc/self/fd/{groups}", "/sys/fs/cgroup", "none", MS_BIND | MS_REC)
        os.close(groups)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        _libc("prctl", PR_SET_PDEATHSIG, signal.SIGKILL.value, 0, 0, 0)


# --- the program ----------------------------------------------------------------------------


def _ids(user: str) -> tuple[int, int]:
    """Return user and group id of USER, as Docker reads it."""
    name, _, group = user.partition(":")
    try:
        entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
        uid, gid = entry.pw_uid, entry.pw_gid
    except KeyError:
        if not name.isdigit():
            raise OSError(
                errno.EINVAL, f"unable to find user {name}: no matching entries in passwd file"
            ) from None
        uid, gid = int(name), 0
    if group:
        import grp  # noqa: PLC0415  seldom needed, and this process should start quickly

        gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    return uid, gid


def _become(user: str, env: dict[str, str]) -> None:
    """Take on a user's identity; only root can, so elsewhere everybody stays who they are."""
    if not user or os.geteuid() != 0:
        return
    uid, gid = _ids(user)
    for name in ("HOME", "TMPDIR"):
        if name in env:
            os.chown(env[name], uid, gid)
    os.setgroups([])
    os.setgid(gid)
    if uid == 0:
        return
    if sys.platform == "linux":
        _libc("prctl", PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setuid(uid)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # root of a container may lack it
            _keep_sight()


def _keep_sight() -> None:
    """Keep the right to read files and to enter folders, and no other right of root's.

    In a container everything lies below a root that all may enter; here it lies below folders of
    whoever started the cloud, closed to other users.
    """
    bit = 1 << CAP_DAC_READ_SEARCH
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    _libc("capset", header, (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0))
    _libc("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0)


def _execute(plan: Plan) -> NoReturn:
    """Become the program."""
    for number in FORWARDED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    _become(plan["user"], plan["env"])
    os.chdir(plan["cwd"])
    os.execvpe(plan["argv"][0], plan["argv"], plan["env"])  # noqa: S606  the program, without a shell


def _execute_or_tell(plan: Plan, report: int) -> NoReturn:
    try:
        _execute(plan)
    except BaseException as error:  # noqa: BLE001  whatever it is, the executor must be told
        os.write(report, _explain(error, plan).encode())
        os._exit(CANNOT_START)


def _explain(error: BaseException, plan: Plan) -> str:
    """Word an error as container engines do."""
    program = plan["argv"][0]
    if isinstance(error, FileNotFoundError) and Path(plan["cwd"]).is_dir():
        where = "no such file or directory" if "/" in program else "executable file not found in $PATH"
        return f'exec: "{program}": {where}'
    if isinstance(error, OSError) and error.filename == program and error.strerror:
        return f'exec: "{program}": {error.strerror.lower()}'
    return f'exec: "{program}": {error}'


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _first_process(plan: Plan, report: int) -> NoReturn:
    """Be process 1 of a node's namespaces."""
    try:
        _die_with_parent()
        _furnish(plan)
    except BaseException as error:  # noqa: BLE001  whatever it is, the executor must be told
        os.write(report, f"namespaces: {error}".encode())
        os._exit(CANNOT_START)
    os.setsid()
    if not plan["init"]:
        _execute_or_tell(plan, report)
    child = os.fork()
    if child == 0:
        _execute_or_tell(plan, report)
    os.close(report)
    _forward_to(child)
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(_code(status))


def _forward_to(child: int) -> None:
    def forward(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)


def _session(plan: Plan, report: int) -> NoReturn:
    """Be the program in a session of its own, where there are no namespaces."""
    os.setsid()
    _die_with_parent()
    _execute_or_tell(plan, report)


def start(plan: Plan) -> tuple[int, str]:
    """Start the program.

    Returns:
        The process that stands for the node (process 1 of its namespaces, else the program), and
        why the program could not be started, empty where it could.
    """
    reading, writing = os.pipe()
    if plan["namespace"]:
        _enter_network(plan["namespace"])
    child = os.fork()
    if child == 0:
        os.close(reading)
        (_first_process if plan["namespace"] else _session)(plan, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as told:
        return child, told.read()


# --- holding it -----------------------------------------------------------------------------


def _obey(commands: socket.socket, child: int, plan: Plan) -> bool:
    """Do what the executor says; tell whether it is still there."""
    try:
        said = commands.recv(16)
    except OSError:
        said = b""
    with contextlib.suppress(ProcessLookupError):
        if b"T" in said:
            os.kill(child, plan["stop_signal"])
        if b"K" in said or not said:
            (os.kill if plan["namespace"] else os.killpg)(child, signal.SIGKILL)
    return bool(said)


def hold(commands: socket.socket, child: int, plan: Plan) -> int:
    """Wait for the program's end, obeying the executor meanwhile; return the exit code."""
    waking, woken = socket.socketpair()
    woken.setblocking(False)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        return _await_end(commands, waking, child, plan)
    finally:
        signal.set_wakeup_fd(-1)  # before it is closed: orphans may still end
        waking.close()
        woken.close()


def _await_end(commands: socket.socket, waking: socket.socket, child: int, plan: Plan) -> int:
    watched = [waking, commands]
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return _code(status)
        if pid:
            continue  # an orphan
        ready, _, _ = select.select(watched, [], [], 1.0)
        if waking in ready:
            waking.recv(512)
        if commands in ready and not _obey(commands, child, plan):
            watched.remove(commands)


def sweep(child: int) -> None:
    """Kill and reap what the program left behind: its group, and everything that was handed to us."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    deadline = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < deadline:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            time.sleep(0.005)


def _children() -> list[int]:
    """Our children, the adopted ones included; none where the system does not tell."""
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def main() -> None:
    """Hold one node; the argument is the number of the socket's descriptor."""
    commands = socket.socket(fileno=int(sys.argv[1]))
    commands.set_inheritable(False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the executor speaks over the socket alone
    if sys.platform == "linux":
        _libc("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with commands.makefile("r", encoding="utf-8") as lines:
        plan: Plan = json.loads(lines.readline())

    def tell(message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            commands.sendall(json.dumps(message).encode() + b"\n")

    try:
        child, failure = start(plan)
    except OSError as error:
        tell({"failed": str(error)})
        raise SystemExit(CANNOT_START) from None
    tell({"failed": failure} if failure else {"started": True})
    code = hold(commands, child, plan)
    sweep(child)
    tell({"exited": code})


if __name__ == "__main__":
    main()
