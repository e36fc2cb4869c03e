"""One resident process per scope: a lock held for life, and the file that tells others where it is.

The lock is the kernel's (flock), so a process that was killed leaves nothing behind that could hold up the next one;
the pid in the lock file is only for telling people, and for `rook down`. The file that clients read names the address
and the token, so it is private from the start and is removed by the process that wrote it.
"""

import errno
import fcntl
import json
import os
import signal
import time
from contextlib import suppress
from typing import Any

from rookery.core.errors import Refused, Unreachable
from rookery.core.record import NamedTuple

from . import files, process

SCHEMA = "1.0.0"
STOP_S = 30.0
WITH_WORKERS = signal.SIGUSR1  # to a daemon: stop your workers, then yourself
LOOK_S = 0.02
LIMIT = 1 << 16


class Scope(NamedTuple):
    lock: str
    runtime: str
    log: str


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
            raise _taken(scope) from None
        self._sign()

    def _sign(self) -> None:
        me = process.identify(os.getpid())
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps({"pid": os.getpid(), "started": me.started if me else ""}).encode(), 0)

    def announce(self, url: str, token: str) -> dict[str, Any]:
        told = {"url": url, "token": token, "pid": os.getpid(), "schemaVersion": SCHEMA}
        files.write_atomic(self.scope.runtime, json.dumps(told).encode() + b"\n", 0o600)
        return told

    def close(self) -> None:
        """The file goes first: whoever gets the lock next writes its own."""
        with suppress(FileNotFoundError):
            os.unlink(self.scope.runtime)
        os.close(self._descriptor)


def _taken(scope: Scope) -> Refused:
    told = read_runtime(scope)
    where = f" at {told['url']} (pid {told.get('pid')})" if told.get("url") else ""
    return Refused(
        f"A daemon of this scope is already running{where}.", "`rook down` stops it.", code="ALREADY_RUNNING"
    )


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
