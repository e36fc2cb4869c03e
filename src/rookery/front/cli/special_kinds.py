"""`rook kinds add`: a kind from a file."""

import os
from typing import Any

from rookery.core import errors, kinds
from rookery.runtime import files

from .call import Desk, Reply
from .router import answer


def add(desk: Desk, read: dict[str, Any]) -> Reply:
    file = read["file"]
    return answer(desk, "kind.add", desk.verb("kind.add", {"written": _written(desk, file)}))


def _written(desk: Desk, file: str) -> str:
    if file == "-":
        return desk.call.read_stdin()
    data = files.read_limited(os.path.join(desk.call.cwd, file), kinds.LIMIT)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise errors.BadInput(
            f"{file} is not UTF-8: byte {error.start}.", "Write it as UTF-8.", code="BAD_KIND"
        ) from None
