"""What surrounds the ledger, in one look: its files, the daemons of its home and their logs, the disk.

Files of the store are only measured, never opened here (H39); whether it is whole is asked of the store. Every part
tells what it saw or that it could not see: a look never fails, for it is asked when something is wrong.
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from rookery.core import times
from rookery.core.errors import RookError
from rookery.runtime import agent_mark, files, instance, process

ANSWER_S = 2.0
OK, SERVER_ERROR = 200, 500
HOUR_MS = 3_600_000


class Records(Protocol):
    """What `hosts.records` knows of the agent programs."""

    VARIABLES: tuple[str, ...]

    def base_of(self, host: str, environ: Mapping[str, str]) -> str: ...
    def is_record(self, host: str, session: str, path: str, base: str = "") -> bool: ...


class Surroundings:
    def __init__(
        self, home: str, team: str, store: str, is_whole: Callable[[], tuple[bool | None, str]],
        records: Records | None = None, services: Callable[[], list[dict[str, Any]]] | None = None,
    ) -> None:  # fmt: skip
        self._home = home
        self._records = records
        self._scopes = instance.scopes(home, team)
        self._store = store
        self._is_whole = is_whole
        self._services = services  # of this very process, if it is a daemon

    def look(self) -> dict[str, Any]:
        daemons = [self._daemon(name, scope) for name, scope in self._scopes.items()]
        wanted = {each["scope"] for each in daemons if each["state"] == process.RUNNING}
        logs = [_log(scope.log, wanted=name in wanted) for name, scope in self._scopes.items()]
        return {
            "store": self._look_at_store(), "daemons": [each for each in daemons if each["state"]],
            "logs": [each for each in logs if each["wanted"] or each["bytes"] is not None], "disk": self._disk(),
        }  # fmt: skip

    def own_record(self, host: str, session: str, path: str, program: tuple[int, str]) -> str:
        """A program that has ended says nothing about its environment: then there is no record."""
        if self._records is None or not path.startswith("/") or "\0" in path or process.identify(program[0]) != program:
            return ""
        base = self._records.base_of(host, process.variables(program[0], self._records.VARIABLES))
        if not base:
            return ""
        real = os.path.realpath(path)
        if not self._records.is_record(host, session, real, os.path.realpath(base)):
            return ""
        return real if not os.path.lexists(real) or files.is_own(real) else ""

    def mark_program(self, program: tuple[int, str]) -> None:
        if process.identify(program[0]) == program:
            agent_mark.mark(program[0])

    def _daemon(self, name: str, scope: instance.Scope) -> dict[str, Any]:
        pid, state = instance.holder(scope)
        told = instance.read_runtime(scope) if state else {}
        url = told.get("url", "")
        services = None
        if state == process.RUNNING and pid != os.getpid():
            answers, services = _asked(url, str(told.get("token", "")))
        else:
            answers = state == process.RUNNING
            services = self._services() if answers and self._services else None
        return {"scope": name, "state": state, "pid": pid, "url": url, "answers": answers, "services": services}

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


def _asked(url: str, token: str) -> tuple[bool, list[dict[str, Any]] | None]:
    """Does it answer, and how are its services? One that does not say, an older one say, is not asked again."""
    import http.client
    import json

    try:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_S)
    except ValueError:
        return False, None
    try:
        connection.request("GET", "/v1/services", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        told = json.loads(answer.read()) if answer.status == OK else {}
        return answer.status < SERVER_ERROR, told.get("services")
    except (http.client.HTTPException, OSError, ValueError):
        return False, None
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
