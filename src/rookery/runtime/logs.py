"""The log of a resident process: private files that are rotated by size, without secrets, and read from their end.

One process writes a log (the lock of its scope sees to that); any number read it. A log that can not be written stops
nobody: what it would have said is lost, what was asked for is done.
"""

import logging
import os
import re
import time
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import Any

from rookery.core import times
from rookery.core.errors import Refused
from rookery.runtime import files

HIDDEN = "***"
LOOK_S = 0.25
CHUNK = 1 << 16
MOST = 8 << 20  # of one file, from its end
_BEARER = re.compile(r"(?i)(bearer\s+)\S+")


class PrivateLog(RotatingFileHandler):
    def __init__(self, path: str, *, size: int, count: int, secrets: Sequence[str]) -> None:
        super().__init__(path, maxBytes=size, backupCount=count, encoding="utf-8", errors="backslashreplace")
        self.setFormatter(Lines(secrets))

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self.baseFilename, flags, 0o600)
        except OSError as error:
            raise files.refusal(self.baseFilename, error) from error
        os.fchmod(descriptor, 0o600)
        return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:
        return


class Lines(logging.Formatter):
    """`2030-01-31T14:30:00.000Z WARNING rookery.http: ...`, and no secret in it, wherever it came from."""

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = [secret for secret in secrets if secret]

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return times.iso(round(record.created * 1000))

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        return _BEARER.sub(rf"\1{HIDDEN}", line)


def start(path: str, *, size: int, count: int, secrets: Sequence[str]) -> logging.Handler:
    """From here on everything this process logs goes there."""
    handler = PrivateLog(path, size=size, count=count, secrets=secrets)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    for chatty in ("asyncio", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    return handler


def stop(handler: logging.Handler) -> None:
    logging.getLogger().removeHandler(handler)
    handler.close()


# --- reading ----------------------------------------------------------------------------------------------------------


def tail(path: str, count: int) -> tuple[list[str], int]:
    """The last lines, over the rotated files too, and how far the newest file was read."""
    try:
        newest, end = _lines(path)
    except FileNotFoundError:
        raise Refused("There is no log yet.", "`rook up` writes one.", code="NO_LOG", path=path) from None
    except OSError as error:
        raise files.refusal(path, error) from error
    older, number = [], 1
    while len(older) + len(newest) < count:
        try:
            older = _lines(f"{path}.{number}")[0] + older
        except OSError:
            break
        number += 1
    return (older + newest)[-count:] if count else [], end


ERRORS = re.compile(r"^(\d{4}-\d\d-\d\dT[\d:.]+Z) (?:ERROR|CRITICAL) ", re.MULTILINE)


def errors_since(path: str, since: str) -> tuple[int, str]:
    """How many errors its newest file tells of since a time, and when the last was; as far as its end is read."""
    found = [stamp for stamp in ERRORS.findall("\n".join(_lines(path)[0])) if stamp >= since]
    return len(found), found[-1] if found else ""


def _lines(path: str) -> tuple[list[str], int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - MOST))
        data = file.read(MOST)
    return data.decode("utf-8", "replace").splitlines(), end


def follow(path: str, after: int, *, look_s: float = LOOK_S) -> Iterator[str]:
    """What is added, for ever; where the file is rotated, on from the beginning of the new one."""
    inode = _inode(path)
    while True:
        now: Any = _inode(path)
        if now != inode and now is not None:
            yield from _added(f"{path}.1", after)[0]  # what was still written before it was put aside
            inode, after = now, 0
        added, after = _added(path, after)
        yield from added
        if not added:
            time.sleep(look_s)


def _inode(path: str) -> int | None:
    try:
        return os.stat(path, follow_symlinks=False).st_ino
    except OSError:
        return None


def _added(path: str, after: int) -> tuple[list[str], int]:
    """Whole lines only: what is still being written is read the next time."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return [], after
    with open(descriptor, "rb") as file:
        file.seek(after)
        data = file.read(CHUNK)
    whole = data[: data.rfind(b"\n") + 1]
    return whole.decode("utf-8", "replace").splitlines(), after + len(whole)
