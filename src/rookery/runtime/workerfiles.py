"""The folder of a worker, `teams/<team>/workers/<id>/` in the home: private, and never reached through a symlink.

    task.md          what it is to do               pane-tail.txt   the last lines of its terminal, when it ended
    status.json      how it is     \\  products for  output.ndjson   its stream, without a terminal
    artifacts.json   what it made   } outside       events.ndjson   what happened to it, rotated (`ndjson`)
    token            0600          /  readers       exit            the code that its program ended with
    workspace        its own worktree

What is written here is written whole or not at all, under a new name that then becomes this one, so that a reader never
sees half of it; what has not changed is not written. Nothing of Rookery's own reads any of it to decide something: the
rows do that. The one exception is `exit`, which a program's own little shell wrote, for whoever comes back after it.
"""

import os
import stat
from collections.abc import Mapping
from typing import Any

from rookery.core.errors import BadInput, RookError
from rookery.runtime import files, ndjson, places

TASK, STATUS, ARTIFACTS, TOKEN = "task.md", "status.json", "artifacts.json", "token"
TAIL, OUTPUT, ERRORS, EVENTS, EXIT = "pane-tail.txt", "output.ndjson", "errors.txt", "events.ndjson", "exit"
WORKSPACE = "workspace"
SCHEMA = "1.0.0"
MOST = 1 << 20  # bytes of a product that is read back
TAIL_LINES = 200


class WorkerFiles:
    """One worker's folder, made if it is not there."""

    def __init__(self, home: str, team: str, id: str) -> None:
        places.prepare_home(home)
        self.folder = home
        for name in ("teams", _plain(team), "workers", _plain(id)):
            self.folder = places.private_folder(os.path.join(self.folder, name))
        self._events = ndjson.Appender(self.path(EVENTS))

    def path(self, name: str) -> str:
        return os.path.join(self.folder, _plain(name))

    def write(self, name: str, text: str) -> bool:
        """Whether it was another text before."""
        data = text.encode("utf-8", "replace")
        if self._holds(name, data):
            return False
        files.write_atomic(self.path(name), data)
        return True

    def write_json(self, name: str, value: Mapping[str, Any]) -> bool:
        import json

        said = {"schemaVersion": SCHEMA, **value}
        return self.write(name, json.dumps(said, ensure_ascii=False, indent=2, sort_keys=True) + "\n")

    def read(self, name: str, limit: int = MOST) -> str:
        """What it holds, up to a limit; nothing if it is not there, or is not a file of ours."""
        return self._bytes(name, limit).decode("utf-8", "replace")

    def write_tail(self, text: str) -> bool:
        """The last lines of what a terminal showed."""
        kept = text.rstrip().splitlines()[-TAIL_LINES:]
        return self.write(TAIL, "".join(f"{line}\n" for line in kept))

    def event(self, value: Mapping[str, Any]) -> None:
        import json

        self._events.append(json.dumps(value, ensure_ascii=False))

    def exit_code(self) -> int | None:
        """What the program's own shell wrote when it ended; None if it did not, or wrote no number."""
        said = self.read(EXIT, 16).strip()
        return int(said) if said.isascii() and said.isdigit() else None

    def forget(self, *names: str) -> None:
        """So that what one run left is not taken for what the next one says."""
        for name in names:
            files.remove_quietly(self.path(name))

    def _holds(self, name: str, data: bytes) -> bool:
        try:
            there = os.lstat(self.path(name))
        except OSError:
            return False
        same = stat.S_ISREG(there.st_mode) and there.st_size == len(data) and not there.st_mode & 0o077
        return same and self._bytes(name, len(data) + 1) == data

    def _bytes(self, name: str, limit: int) -> bytes:
        try:
            descriptor = os.open(self.path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return files.read_up_to(descriptor, limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        finally:
            os.close(descriptor)


def of(home: str, team: str, id: str) -> WorkerFiles | None:
    """The folder of one that may be gone: None if it is not there, or is not ours."""
    folder = os.path.join(home, "teams", _plain(team), "workers", _plain(id))
    if not os.path.isdir(folder):
        return None
    try:
        return WorkerFiles(home, team, id)
    except RookError:
        return None


def _plain(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise BadInput(f"{name!a} is no file name.", "Names come from the ledger.", code="BAD_PATH")
    return name
