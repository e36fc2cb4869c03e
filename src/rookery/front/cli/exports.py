"""`rook export audit`: the log as lines of JSON, to a file or to standard output."""

import os
from collections.abc import Iterator
from typing import Any

from rookery.bridge import audit
from rookery.core import errors
from rookery.runtime import files

from .call import Desk, Reply
from .router import answer

STDOUT = "-"


def export_audit(desk: Desk, read: dict[str, Any]) -> Reply:
    since = _since(read["since"])
    pages = audit.pages(desk.house.client, desk.as_user(), since)
    if (read["file"] or STDOUT) == STDOUT:
        return _to_stdout(desk, since, pages)
    path = os.path.join(desk.call.cwd, read["file"])
    if os.path.lexists(path):
        raise errors.Refused(f"{path} exists already.", "Give another name; nothing is overwritten.", code="EXISTS")
    done = {"file": path, "exported": 0, "cursor": since, "horizon": 0}
    with files.writing(path) as write:
        for page in pages:
            write(page.lines)
            done |= {"exported": done["exported"] + page.size, "cursor": page.cursor, "horizon": page.horizon}
    return answer(desk, "export.audit", done)


def _to_stdout(desk: Desk, since: int, pages: Iterator[audit.Page]) -> Reply:
    horizon = 0
    for page in pages:
        desk.call.emit(page.lines.decode())
        horizon = page.horizon
    gone = f"rook: events up to {horizon} may be gone.\n" if since == 0 and horizon else ""
    return Reply(err=gone)


def _since(written: str | None) -> int:
    if written is None:
        return 0
    if not (written.isascii() and written.isdigit() and len(written) <= 15):
        raise errors.BadInput(f"--since {written!r} is no event number.", "`rook events` shows them.", code="USAGE")
    return int(written)
