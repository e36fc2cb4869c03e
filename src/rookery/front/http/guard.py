"""Before a request is read: does it come to us by our own name, from no foreign page, with a token; and what does
that prove?

A page in the person's browser can send requests to the loopback, and by rebinding a name of its own even read the
answers (H30). It can neither choose the Host header freely nor hide its Origin, and it does not know a token. An
agent that does know one knows its own, and can be nobody else with it.
"""

import hmac
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.core import errors, tokens
from rookery.core.caller import Grant

from .answer import refusal
from .daemon import Daemon

OPEN = ("/healthz",)
GRANT = "rook.grant"  # in the scope of a request: what its token proved; None for the daemon's own


class Guard:
    def __init__(self, app: ASGIApp, daemon: Daemon) -> None:
        self._app = app
        self._daemon = daemon

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, status = perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            scope[GRANT] = self._admitted(scope)
        except errors.RookError as error:
            await refusal(error)(scope, receive, noted)
        else:
            await self._app(scope, receive, noted)
        finally:
            route = scope.get("rook.route", "other")
            self._daemon.numbers.note(scope["method"], route, status, perf_counter() - began)

    def _admitted(self, scope: Scope) -> Grant | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not self._is_ours(headers.get(b"host", "")):
            raise errors.NotYours("This daemon is not called by that name.", "Use its address.", code="BAD_HOST")
        origin = headers.get(b"origin")
        if origin is not None and origin != f"http://{headers[b'host']}":
            raise errors.NotYours("Pages of other origins may not call this daemon.", code="BAD_ORIGIN")
        return None if scope["path"] in OPEN else self._proved(headers.get(b"authorization", ""))

    def _proved(self, written: str) -> Grant | None:
        """The daemon's own token is compared in constant time and costs no look at the store."""
        scheme, _, given = written.partition(" ")
        given = given.strip()
        if scheme.lower() != "bearer":
            raise tokens.unknown()
        if hmac.compare_digest(given.encode("latin-1"), self._daemon.token):
            return None
        return self._daemon.granted(given)

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or not port.isdigit():
            name = host
        return name.lower() in self._daemon.hosts
