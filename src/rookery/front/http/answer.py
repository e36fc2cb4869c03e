"""Answers: JSON, and refusals in one shape."""

import json
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rookery.core import errors

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_JSON = (b"content-type", b"application/json")
ERROR_HEADER = "X-Rook-Error"  # the class of the refusal, so that our own client can raise the same one


def encoded(content: Any) -> bytes:
    """Half a surrogate pair, which text read from outside may hold, is written as the escape that JSON has for it."""
    return _encode(content).encode("utf-8", "backslashreplace")


class JsonAnswer(Response):
    """What `Response` makes of JSON, without looking at what never varies. A newline follows the JSON on the wire."""

    def __init__(self, content: Any, status: int, headers: dict[str, str] | None) -> None:
        self.body = content if isinstance(content, bytes) else encoded(content)  # bytes: encoded elsewhere
        self.status_code = status
        self.background: BackgroundTask | None = None
        self.raw_headers = [(b"content-length", b"%d" % (len(self.body) + 1)), _JSON]
        if headers:
            self.raw_headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body) + b"\n"})
        if self.background is not None:
            await self.background()


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return JsonAnswer(content, status, headers)


def refusal(error: errors.RookError, headers: dict[str, str] | None = None) -> Response:
    body = error.as_dict()
    body["error"].setdefault("hint", "")
    told = {ERROR_HEADER: type(error).__name__, **(headers or {})}
    if error.http_status == 401:
        told["WWW-Authenticate"] = "Bearer"
    if error.http_status == 408:  # the rest of the request may still come, and is not the next one
        told["Connection"] = "close"
    return json_answer(body, error.http_status, told)
