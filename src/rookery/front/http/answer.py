"""Answers: JSON, and refusals in one shape."""

import json
from typing import Any

from starlette.responses import Response

from rookery.core import errors

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_JSON = (b"content-type", b"application/json")
ERROR_HEADER = "X-Rook-Error"  # the class of the refusal, so that our own client can raise the same one


class JsonAnswer(Response):
    """What `Response` makes of JSON, without looking at what never varies."""

    def __init__(self, content: Any, status: int, headers: dict[str, str] | None) -> None:
        # Half a surrogate pair, which text read from outside may hold, is written as the escape that JSON has for it.
        self.body = _encode(content).encode("utf-8", "backslashreplace")
        self.status_code = status
        self.background = None
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), _JSON]
        if headers:
            self.raw_headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return JsonAnswer(content, status, headers)


def refusal(error: errors.RookError, headers: dict[str, str] | None = None) -> Response:
    body = error.as_dict()
    body["error"].setdefault("hint", "")
    told = {ERROR_HEADER: type(error).__name__, **(headers or {})}
    if error.http_status == 401:
        told["WWW-Authenticate"] = "Bearer"
    return json_answer(body, error.http_status, told)
