"""Before a request is read: does it come to us by our own name, from no foreign page, with the token?

A page in the person's browser can send requests to the loopback, and by rebinding a name of its own even read the
answers (H30). It can neither choose the Host header freely nor hide its Origin, and it does not know the token.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rookery.core import errors

from .answer import refusal
from .daemon import Daemon

OPEN = ("/healthz",)
GONE = 499  # nobody waits for the answer any more; counted under the number that proxies use for it
Answering = Callable[[Scope, Receive], Awaitable[Response | None]]


class Guard:
    def __init__(self, answering: Answering, daemon: Daemon) -> None:
        self._answering = answering
        self._daemon = daemon

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = perf_counter(), GONE
        try:
            error = self._refuses(scope)
            answer = refusal(error) if error else await self._answering(scope, receive)
            if answer is not None:
                status = answer.status_code
                await answer(scope, receive, send)
        finally:
            route = scope.get("rook.route", "other")
            self._daemon.numbers.note(scope["method"], route, status, perf_counter() - began)

    def _refuses(self, scope: Scope) -> errors.RookError | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_ours(host):
            return errors.NotYours("This daemon is not called by that name.", "Use its address.", code="BAD_HOST")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") != f"http://{host}":
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

    def _knows_token(self, headers: Mapping[bytes, bytes]) -> bool:
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._daemon.token)
