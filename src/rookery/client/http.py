"""The verbs over HTTP: the same call, done by a daemon. Plain http.client, one connection that is kept.

A write whose answer was lost may or may not have been done, and is not sent again; what can be repeated safely (a read,
anything with an idempotency key) is the caller's to repeat.
"""

import http.client
import json
import os
import time
from _thread import allocate_lock
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

from rookery.core import errors
from rookery.core.caller import UNPROVEN, Caller
from rookery.service import verbs
from rookery.wake.port import Listener

TIMEOUT_S = 60.0
IDLE_S = 30.0  # a connection idle for longer may be closed by the other side at any moment: take a new one
NEWEST = 10**14  # beyond every event number: asks for nothing but where the log stands
STATUS = {401: errors.NotYours, 403: errors.NotYours, 404: errors.UnknownName, 409: errors.Refused,
          413: errors.TooLarge, 422: errors.BadInput, 429: errors.BudgetSpent}  # fmt: skip


class Connection:
    """Requests one after the other, from any thread of the process that made it."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise errors.BadInput(f"{url!r} is no address of a daemon.", "As in http://127.0.0.1:4500.")
        self.url = url
        self._make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._place = (parts.hostname, parts.port)
        self._base = parts.path.rstrip("/")
        self._token = token
        self._pid = os.getpid()
        self._mutex = allocate_lock()
        self._open: http.client.HTTPConnection | None = None
        self._used_at = 0.0

    def ask(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] = {},
        timeout_s: float = TIMEOUT_S, again: bool = False,
    ) -> Any:  # fmt: skip
        if os.getpid() != self._pid:
            raise errors.ForkedHandle(
                "This handle was opened before a fork.", "Call rookery.connect() again in the child."
            )
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **headers}
        with self._mutex:
            try:
                status, kind, data = self._exchange(method, path, body, sent, timeout_s)
            except (http.client.HTTPException, OSError) as error:
                self._drop()
                if not again:
                    raise self._lost(error) from error
                try:
                    status, kind, data = self._exchange(method, path, body, sent, timeout_s)
                except (http.client.HTTPException, OSError) as second:
                    self._drop()
                    raise self._lost(second) from second
        return self._read(status, kind, data)

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
    ) -> tuple[int, str, bytes]:
        if self._open is not None and time.monotonic() - self._used_at > IDLE_S:
            self._drop()
        if self._open is None:
            self._open = self._make(*self._place)
        self._open.timeout = timeout_s
        if self._open.sock is not None:
            self._open.sock.settimeout(timeout_s)
        self._open.request(method, self._base + path, body, dict(headers))
        answer = self._open.getresponse()
        data = answer.read()
        self._used_at = time.monotonic()
        return answer.status, answer.getheader("X-Rook-Error", ""), data

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _lost(self, error: Exception) -> errors.Unreachable:
        if isinstance(error, ConnectionRefusedError):
            return errors.Unreachable(f"Nobody answers at {self.url}.", "`rook up` starts a daemon.")
        return errors.Unreachable(
            f"The connection to {self.url} was lost ({error or type(error).__name__}).",
            "Look before you repeat it: it may have been done.",
        )

    def _read(self, status: int, kind: str, data: bytes) -> Any:
        try:
            told = json.loads(data)
        except ValueError:
            raise errors.Unreachable(f"{self.url} answered {status} and no JSON.", "Is it a Rookery daemon?") from None
        if status < 400:
            return told
        refuse(status, kind, told)

    def close(self) -> None:
        if os.getpid() == self._pid:  # in a forked child another thread may hold the mutex for ever
            with self._mutex:
                self._drop()


def refuse(status: int, kind: str, told: Any) -> NoReturn:
    """The refusal as it was raised over there."""
    body = dict(told.get("error") or {}) if isinstance(told, dict) else {}
    code, message, hint = (str(body.pop(name, "")) for name in ("code", "message", "hint"))
    made = getattr(errors, kind, None) if kind else None
    if not (isinstance(made, type) and issubclass(made, errors.RookError)):
        made = STATUS.get(status, errors.Unreachable)
    facts = {name: value for name, value in body.items() if name not in ("self", "http")}
    raise made(message or f"Refused with {status}.", hint, code=code, http=status, **facts)


class HttpClient:
    def __init__(self, url: str, token: str, team: str) -> None:
        self.team = team
        self._connection = Connection(url, token)
        self._url, self._token = url, token

    def call(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        """Checked here already, so that both ways refuse the same things in the same words."""
        entry = verbs.find(verb)
        verbs.check(entry.load(), args)
        told = {name: value for name, value in caller._asdict().items() if name not in UNPROVEN}  # the token proves
        headers = {"Content-Type": "application/json", "X-Rook-Caller": json.dumps(told)}
        return self._connection.ask(
            "POST", f"/v1/call/{quote(verb)}?teamId={quote(self.team)}", body=json.dumps(args).encode(),
            headers=headers, again=not entry.writes,
        )  # fmt: skip

    def listen(self, name: str) -> Listener:
        return PollingListener(Connection(self._url, self._token), self.team)

    def close(self) -> None:
        self._connection.close()


class PollingListener:
    """A bell over HTTP: asks for anything after the newest event it knows, and is kept waiting for the answer."""

    def __init__(self, connection: Connection, team: str) -> None:
        self._connection = connection
        self._team = team
        self._cursor = self._newest(NEWEST, 0.0)

    def _newest(self, after: int, wait_s: float) -> int:
        path = f"/v1/events?teamId={quote(self._team)}&after={after}&limit=1&wait={max(0.0, wait_s):.3f}"
        return self._connection.ask("GET", path, timeout_s=wait_s + TIMEOUT_S, again=True)["newest"]

    def wait(self, seconds: float) -> bool:
        newest = self._newest(self._cursor, min(seconds, 60.0))
        rang, self._cursor = newest > self._cursor, max(newest, self._cursor)
        return rang

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> "PollingListener":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
