"""What surrounds the ledger, in one look: its files, the daemons of its home and their logs, the disk.

Files of the store are only measured, never opened here (H39); whether it is whole is asked of the store. Every part
tells what it saw or that it could not see: a look never fails, for it is asked when something is wrong.
"""

import os
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from rookery.core import times
from rookery.core.errors import RookError
from rookery.runtime import files, instance, process

ANSWER_S = 2.0
HOUR_MS = 3_600_000


class Surroundings:
    def __init__(self, home: str, team: str, store: str, is_whole: Callable[[], tuple[bool | None, str]]) -> None:
        self._home = home
        self._scopes = instance.scopes(home, team)
        self._store = store
        self._is_whole = is_whole

    def look(self) -> dict[str, Any]:
        daemons = [_daemon(name, scope) for name, scope in self._scopes.items()]
        wanted = {each["scope"] for each in daemons if each["state"] == process.RUNNING}
        logs = [_log(scope.log, wanted=name in wanted) for name, scope in self._scopes.items()]
        return {
            "store": self._look_at_store(), "daemons": [each for each in daemons if each["state"]],
            "logs": [each for each in logs if each["wanted"] or each["bytes"] is not None], "disk": self._disk(),
        }  # fmt: skip

    def _look_at_store(self) -> dict[str, Any]:
        try:
            whole, seen = self._is_whole()
        except RookError as error:
            whole, seen = False, error.message
        return {
            "path": self._store, "bytes": _size(self._store), "wal_bytes": _size(f"{self._store}-wal"), "whole": whole,
            "seen": seen,
        }  # fmt: skip

    def _disk(self) -> dict[str, Any]:
        try:
            return {"free_bytes": files.free_bytes(self._home)}
        except OSError:
            return {"free_bytes": None}


def _size(path: str) -> int | None:
    try:
        return files.size(path)
    except OSError:
        return None


def _daemon(name: str, scope: instance.Scope) -> dict[str, Any]:
    pid, state = instance.holder(scope)
    url = instance.read_runtime(scope).get("url", "") if state else ""
    asked = state == process.RUNNING and pid != os.getpid()
    answers = _answers(url) if asked else state == process.RUNNING
    return {"scope": name, "state": state, "pid": pid, "url": url, "answers": answers}


def _answers(url: str) -> bool:
    """Does it say that it is there? No token is needed for that."""
    import http.client

    try:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_S)
    except ValueError:
        return False
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (http.client.HTTPException, OSError):
        return False
    finally:
        connection.close()


def _log(path: str, *, wanted: bool) -> dict[str, Any]:
    from rookery.runtime import logs

    told: dict[str, Any] = {"path": path, "wanted": wanted, "bytes": _size(path), "errors": 0, "last_error": ""}
    if told["bytes"] is None:
        return told
    try:
        errors, last = logs.errors_since(path, times.iso(round(time.time() * 1000) - HOUR_MS))
    except OSError:
        return told
    return told | {"errors": errors, "last_error": last}
