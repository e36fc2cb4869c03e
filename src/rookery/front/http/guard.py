"""Before a request is read: does it come to us by our own name, from no foreign page, with the token?

A page in the person's browser can send requests to the loopback, and by rebinding a name of its own even read the
answers (H30). It can neither choose the Host header freely nor hide its Origin, and it does not know the token.
"""

import hmac
import logging
from collections.abc import Mapping
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.core import errors

from .answer import refusal
from .daemon import Daemon

OPEN = ("/healthz",)

log = logging.getLogger("rookery.http")


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
            error = self._refuses(scope)
            await (refusal(error) if error else self._app)(scope, receive, noted)
        finally:
            route = scope.get("rook.route", "other")
            took = perf_counter() - began
            self._daemon.numbers.note(scope["method"], route, status, took)
            if self._daemon.log_requests:  # the route as it stands in our table: a path or query may hold a secret
                log.info("%s %s %d %.1f ms", scope["method"][:10], route, status, took * 1000)

    def _refuses(self, scope: Scope) -> errors.RookError | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not self._is_ours(headers.get(b"host", "")):
            return errors.NotYours("This daemon is not called by that name.", "Use its address.", code="BAD_HOST")
        origin = headers.get(b"origin")
        if origin is not None and origin != f"http://{headers[b'host']}":
            return errors.NotYours("Pages of other origins may not call this daemon.", code="BAD_ORIGIN")
        if scope["path"] in OPEN or self._knows_token(headers):
            return None
        return errors.NotYours(
            "A bearer token is needed.", "It is in runtime.json; set ROOK_TOKEN or ROOK_TOKEN_FILE.",
            code="UNAUTHORIZED", http=401,
        )  # fmt: skip

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or not port.isdigit():
            name = host
        return name.lower() in self._daemon.hosts

    def _knows_token(self, headers: Mapping[bytes, str]) -> bool:
        scheme, _, given = headers.get(b"authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("latin-1"), self._daemon.token)
