"""`rook artifacts add` and `show`: files in and out."""

import os
from typing import Any

from rookery.core import artifacts, errors
from rookery.runtime import files

from .call import Desk, Reply
from .router import answer, call_verb


def add(desk: Desk, read: dict[str, Any]) -> Reply:
    file = read.pop("file")
    if (file is None) == (read["content"] is None):
        raise errors.BadInput(
            "What does it hold?", "--file FILE, or --content TEXT; --content - reads standard input.", code="USAGE"
        )
    if file is not None:
        data = files.read_limited(os.path.join(desk.call.cwd, file), desk.house.settings["artifacts.limit"])
        read["content"], read["encoding"] = artifacts.encode(data)
    return answer(desk, "artifacts.add", call_verb(desk, "artifacts.add", read))


def show(desk: Desk, read: dict[str, Any]) -> Reply:
    raw = read.pop("raw")
    found = call_verb(desk, "artifacts.show", read)
    if not raw or desk.options.json:
        return answer(desk, "artifacts.show", found)
    if found["encoding"] != "text":
        raise errors.Refused(f"{found['id']} is no text.", f"It is {found['file']} in the home.", code="BINARY")
    return Reply(found["content"])
