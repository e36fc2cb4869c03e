"""Answers: JSON, and refusals in one shape."""

import json
from typing import Any

from starlette.responses import Response

from rookery.core import errors

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
ERROR_HEADER = "X-Rook-Error"  # the class of the refusal, so that our own client can raise the same one


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = _encode(content).encode("utf-8", "surrogatepass")
    return Response(body, status, headers, media_type="application/json")


def refusal(error: errors.RookError) -> Response:
    body = error.as_dict()
    body["error"].setdefault("hint", "")
    headers = {ERROR_HEADER: type(error).__name__}
    if error.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return json_answer(body, error.http_status, headers)
