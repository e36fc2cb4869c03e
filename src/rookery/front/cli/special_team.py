"""`rook team set`: from a file, from options, or both."""

import json
import os
from typing import Any

from rookery.core import errors
from rookery.runtime import files

from .call import Desk, Reply
from .router import answer, typed

FILE_LIMIT = 1 << 20


def define(desk: Desk, read: dict[str, Any]) -> Reply:
    path, strict, advisory = (read.pop(name) for name in ("file", "strict", "advisory"))
    if strict and advisory:
        raise errors.BadInput("Strict or advisory, not both.", "`rook team set --help` tells more.", code="USAGE")
    args = typed(desk, "team.set", read)
    if strict or advisory:
        args["strict"] = strict
    if path:
        args["definition"] = _load(os.path.join(desk.call.cwd, path))
    if not args:
        raise errors.BadInput("What about the team?", "--file team.json, --leader NAME, --agent NAME ...", code="USAGE")
    return answer(desk, "team.show", desk.verb("team.set", args))


def _load(path: str) -> dict[str, Any]:
    written = files.read_limited(path, FILE_LIMIT)
    try:
        data = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise errors.BadInput(f"{path} can not be read: {error}.", "It is a JSON object: team.json.") from None
    if not isinstance(data, dict):
        raise errors.BadInput(f"{path} is no JSON object.", 'As in {"agents": [{"id": "ada", "role": "dev"}]}.')
    return data
