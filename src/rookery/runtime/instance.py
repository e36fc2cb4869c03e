"""One resident process per scope: a lock held for life, and the file that tells others where it is.

The lock is the kernel's (flock), so a process that was killed leaves nothing behind that could hold up the next one;
the pid in the lock file is only for telling people, and for `rook down`. The file that clients read names the address
and the token, so it is private from the start and is removed by the process that wrote it.
"""

import errno
import fcntl
import json
import os
import pwd
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rookery.core import times
from rookery.core.errors import Refused, Unreachable
from rookery.core.record import NamedTuple

from . import agent_mark, files, process

SCHEMA = "1.0.0"
ALREADY_RUNNING = "ALREADY_RUNNING"
STOP_S = 30.0
WITH_WORKERS = signal.SIGUSR1  # to a daemon: stop your workers, then yourself
LOOK_S = 0.02
LIMIT = 1 << 16


class Scope(NamedTuple):
    lock: str
    runtime: str
    log: str
    mark: str = ""  # the lock file that pi-team's own server and clients know; "" where none is written


def scopes(home: str, team: str) -> dict[str, Scope]:
    """Where a daemon of this home may be, for all of it or for one team; one with a workspace of its own too."""
    found: dict[str, Scope] = {}
    for name, mark in (("home", ""), (f"team {team}", f"-{team}")):
        run, log = os.path.join(home, "run"), os.path.join(home, "logs", f"daemon{mark}.log")
        runtime = os.path.join(run, f"runtime{mark}.json")
        if not mark and not os.path.exists(runtime):
            runtime = os.path.join(home, "runtime.json")
        found[name] = Scope(os.path.join(run, f"daemon{mark}.lock"), runtime, log)
    return found


def holder(scope: Scope) -> tuple[int, str]:
    """(pid, state) of the daemon that signed the lock: "running", "stopped", or "" where none is. Takes no lock."""
    signed = _read(scope.lock)
    pid, started = signed.get("pid"), signed.get("started")
    if not isinstance(pid, int) or not isinstance(started, str):
        return 0, ""
    state = process.state(pid, started)
    return (pid, state) if state in (process.RUNNING, process.STOPPED) else (0, "")


class Instance:
    """The lock of a scope, ours until `close`."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._descriptor = os.open(scope.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise files.refusal(scope.lock, error) from error
            raise already_running(scope) from None
        if scope.mark and _is_marked(scope.mark):
            os.close(self._descriptor)
            raise already_running(scope)
        self._sign()

    def _sign(self) -> None:
        me = process.identify(os.getpid())
        started = me.started if me else ""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps({"pid": os.getpid(), "started": started}).encode(), 0)
        if self.scope.mark:
            at = times.iso(round(time.time() * 1000))
            told = {"pid": os.getpid(), "startedAt": at, "schemaVersion": SCHEMA, "started": started}
            written = json.dumps(told, separators=(",", ":")).encode()  # as pi-team writes it: some look for its text
            files.write_atomic(self.scope.mark, written + b"\n", 0o600)

    def announce(self, url: str, token: str) -> dict[str, Any]:
        told = {"url": url, "token": token, "pid": os.getpid(), "schemaVersion": SCHEMA}
        files.write_atomic(self.scope.runtime, json.dumps(told).encode() + b"\n", 0o600)
        return told

    def tell_end(self, left: Mapping[str, Any]) -> None:
        """What this process ended and left, for whoever stopped it."""
        told = {"pid": os.getpid(), **left}
        files.write_atomic(_end_of(self.scope), json.dumps(told).encode() + b"\n", 0o600)

    def close(self) -> None:
        """The files go first: whoever gets the lock next writes its own."""
        for path in filter(None, (self.scope.runtime, self.scope.mark)):
            with suppress(FileNotFoundError):
                os.unlink(path)
        os.close(self._descriptor)


def _is_marked(path: str) -> bool:
    """Does a process that runs hold pi-team's lock file? Its own server holds it by its pid alone; ours adds when the
    process started, so that another process with that pid is not taken for it."""
    signed = _read(path)
    pid, started = signed.get("pid"), signed.get("started")
    if type(pid) is not int or pid <= 0:
        return False
    if not (isinstance(started, str) and started):
        seen = process.identify(pid)
        started = seen.started if seen else ""
    return bool(started) and process.state(pid, started) in (process.RUNNING, process.STOPPED)


def already_running(scope: Scope) -> Refused:
    told = read_runtime(scope)
    where = f" at {told['url']} (pid {told.get('pid')})" if told.get("url") else ""
    return Refused(f"A daemon of this scope is already running{where}.", "`rook down` stops it.", code=ALREADY_RUNNING)


def _end_of(scope: Scope) -> str:
    return scope.lock.removesuffix(".lock") + ".stopped.json"


def read_end(scope: Scope, pid: int) -> dict[str, Any]:
    """What a daemon that has ended told of its end; nothing if it was killed."""
    told = _read(_end_of(scope))
    return {name: told.get(name, []) for name in ("workers", "ended", "left")} if told.get("pid") == pid else {}


def read_runtime(scope: Scope) -> dict[str, Any]:
    """What the running daemon told, or nothing."""
    return _read(scope.runtime)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            told = json.loads(file.read(LIMIT))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def stop(scope: Scope, number: int = signal.SIGTERM, wait_s: float = STOP_S) -> int:
    """End the process that holds the scope and wait until it has; its pid. Refused when nobody holds it."""
    holder = _read(scope.lock)
    if _free(scope) or not isinstance(holder.get("pid"), int):
        _forget(scope)
        raise Refused("No daemon is running here.", "`rook up` starts one.", code="NOT_RUNNING")
    pid = holder["pid"]
    if holder.get("started") and process.state(pid, holder["started"]) == process.DEAD:
        raise Unreachable(f"The lock {scope.lock} is held by an unknown process.", f"fuser {scope.lock} names it.")
    if holder.get("started") and process.state(pid, holder["started"]) == process.STOPPED:
        raise Unreachable(f"The daemon (pid {pid}) is stopped, and hears nothing.", f"`kill -CONT {pid}`, then again.")
    os.kill(pid, number)
    until = time.monotonic() + wait_s
    while not _free(scope):
        if time.monotonic() > until:
            raise Unreachable(f"The daemon (pid {pid}) did not end in {wait_s:.0f} s.", f"kill -9 {pid} loses nothing.")
        time.sleep(LOOK_S)
    return pid


def _free(scope: Scope) -> bool:
    try:
        descriptor = os.open(scope.lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _forget(scope: Scope) -> None:
    """What a killed daemon left."""
    with suppress(FileNotFoundError):
        os.unlink(scope.runtime)


# -- whose it is -----------------------------------------------------------------------------------------------------

OF_PLACES = ("ROOK_HOME", "ROOK_STORE", "ROOK_TEAM", "ROOK_FAULT")  # variables that are no settings


def begin_as_user() -> None:
    """A daemon that an agent program started begins again with the user's environment: variables say what its settings
    are and in whose folder they are looked for, and a daemon acts on them for the user."""
    if not agent_mark.is_marked():
        return
    own = {name: value for name, value in os.environ.items() if not name.startswith("ROOK_") or name in OF_PLACES}
    own.pop("XDG_CONFIG_HOME", None)
    own.pop("HOME", None)
    with suppress(KeyError):  # a user without an entry, in a container say, has no settings of their own
        own["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
    if own != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], own)
