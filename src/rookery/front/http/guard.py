"""Before a request is read: does it come to us by our own name, from no foreign page, with a token; and what does
that prove?

A page in the person's browser can send requests to the loopback, and by rebinding a name of its own even read the
answers (H30). It can neither choose the Host header freely nor hide its Origin, and it does not know a token. An
agent that does know one knows its own, and can be nobody else with it.
"""

import hmac
import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rookery.core import errors, tokens
from rookery.core.caller import Grant, Origin
from rookery.runtime import peers

from .answer import refusal
from .daemon import Daemon
from .wire import CONNECTION

OPEN = ("/healthz",)
GONE = 499  # nobody waits for the answer any more; counted under the number that proxies use for it
ORIGIN = "rook.origin"  # in the scope of a request: the process that sent it, where that can be told
GRANT = "rook.grant"  # in the scope of a request: what its token proved; None for the daemon's own
Answering = Callable[[Scope, Receive], Awaitable[Response | None]]

log = logging.getLogger("rookery.http")


class Guard:
    def __init__(self, answering: Answering, daemon: Daemon) -> None:
        self._answering = answering
        self._daemon = daemon

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, answer = perf_counter(), None
        try:
            answer = await self._answer(scope, receive)
            if answer is not None:
                await answer(scope, receive, send)
        finally:
            status = GONE if answer is None else answer.status_code
            route = scope.get("rook.route", "other")
            took = perf_counter() - began
            self._daemon.numbers.note(scope["method"], route, status, took)
            if self._daemon.log_requests:  # the route as it stands in our table: a path or query may hold a secret
                log.info("%s %s %d %.1f ms", scope["method"][:10], route, status, took * 1000)

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        try:
            scope[GRANT] = self._admitted(scope)
            scope[ORIGIN] = None if scope["path"] in OPEN else await self._peer(scope)
        except errors.RookError as error:
            return refusal(error)
        except peers.Gone:
            return None
        return await self._answering(scope, receive)

    def _admitted(self, scope: Scope) -> Grant | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_ours(host):
            raise errors.NotYours("This daemon is not called by that name.", "Use its address.", code="BAD_HOST")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") != f"http://{host}":
            raise errors.NotYours("Pages of other origins may not call this daemon.", code="BAD_ORIGIN")
        return None if scope["path"] in OPEN else self._proved(headers.get(b"authorization", b""))

    async def _peer(self, scope: Scope) -> Origin | None:
        """The process that calls, looked up once for each connection, beside the event loop, whatever address it calls
        from. A client that is gone before it was seen is not served: nobody can tell any more who it was."""
        connection: dict[str, Any] = scope.get(CONNECTION, {"peer": None})
        if "peer" not in connection:
            ours, theirs = scope.get("server"), scope.get("client")
            if ours is None or theirs is None:  # it reset the connection before the server accepted it
                raise peers.Gone
            connection["peer"] = await self._daemon.aside(self._daemon.peers.find, ours, theirs)
        return connection["peer"]

    def _proved(self, written: bytes) -> Grant | None:
        """The daemon's own token is compared in constant time and costs no look at the store."""
        scheme, _, given = written.partition(b" ")
        given = given.strip()
        if scheme.lower() != b"bearer":
            raise tokens.unknown()
        if hmac.compare_digest(given, self._daemon.token):
            return None
        return self._daemon.granted(given.decode("latin-1"))

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or not port.isdigit():
            name = host
        return name.lower() in self._daemon.hosts
