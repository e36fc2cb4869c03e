"""Files of other programs, changed for good and taken back: all of them or none, and what was there is kept.

A record in the home has the bytes that were there before and the digest of what was written. It is saved first, so that
whoever dies in between finds in it all that is needed to go back.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from rookery.core.errors import BadInput, RookError, StoreUnusable
from rookery.runtime import files, places

LIMIT = 4 << 20
NEW_FILE, NEW_PROGRAM = 0o644, 0o755
SCHEMA = 1
FOLDER = "init"  # of the records, in the home


class Found(NamedTuple):
    data: bytes | None  # None: there is no such file
    mode: int = NEW_FILE


class Change(NamedTuple):
    path: str  # a full one
    before: Found
    after: Found


class Kept(NamedTuple):
    """Of one file: what it was, and the digest of what was written."""

    before: Found
    written: str


class Record(NamedTuple):
    root: str
    files: dict[str, Kept]  # by full path
    folders: list[str]  # that were made, the outermost first


# -- looking ---------------------------------------------------------------------------------------------------------


def look(base: str, path: str) -> Found:
    """What is at a path below `base`; refused where writing there would reach something else, or is forbidden."""
    seen = os.stat_result([0] * 10)
    try:
        for place in _way(base, path):
            seen = os.lstat(place)
            if stat.S_ISLNK(seen.st_mode):
                raise _unfit(place, "is a symlink", "Put a plain file or folder there")
            if place != path and not stat.S_ISDIR(seen.st_mode):
                raise _unfit(place, "is not a folder", "Move it away")
            if not os.access(place, os.W_OK) or not seen.st_mode & 0o222:
                raise _unfit(place, "may not be written", "Make it writable for you")
    except FileNotFoundError:
        return Found(None)
    except (OSError, ValueError) as error:
        raise _unfit(path, f"can not be looked at: {error}", "Move it away") from None
    if not stat.S_ISREG(seen.st_mode):
        raise _unfit(path, "is not a file", "Move it away")
    return Found(files.read_limited(path, LIMIT), stat.S_IMODE(seen.st_mode))


def read(path: str) -> bytes | None:
    """A file that is only read, wherever it is; None if there is none that can be."""
    try:
        return files.read_limited(path, LIMIT)
    except RookError:
        return None


def _way(base: str, path: str) -> list[str]:
    """The folder, every folder below it on the way, and the file."""
    names = os.path.relpath(path, base).split(os.sep)
    return [base, *(os.path.join(base, *names[: n + 1]) for n in range(len(names)))]


def _unfit(path: str, why: str, hint: str) -> BadInput:
    return BadInput(f"{path} {why}.", f"{hint}, or leave that program out with --host; nothing was written.",
                    code="BAD_FILE", path=path)  # fmt: skip


# -- writing ---------------------------------------------------------------------------------------------------------


def apply(changes: Sequence[Change], record_at: str, record: Record | None) -> None:
    """All of the changes, with the record of them; on failure none, and the record that was there before."""
    _prepare(record_at)
    earlier = read(record_at)
    done: list[Change] = []
    made: list[str] = []
    try:
        if record is not None:
            files.write_atomic(record_at, _packed(record))
        for change in changes:
            if change.after.data is not None:
                made += missing_folders(change.path)
                _make_folders(made)
            done.append(change)
            _put(change.path, change.after)
        if record is None:
            files.remove_quietly(record_at)
    except BaseException:
        for change in reversed(done):
            _put_back(change)
        remove_folders(reversed(made))
        if earlier is None:
            files.remove_quietly(record_at)
        else:
            files.write_atomic(record_at, earlier)
        raise


def _put(path: str, what: Found) -> None:
    if what.data is not None:
        files.write_atomic(path, what.data, what.mode)
        return
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise files.refusal(path, error) from error


def _put_back(change: Change) -> None:
    with suppress(RookError):  # the failure that brought us here is the one to report
        _put(change.path, change.before)


def _make_folders(folders: Sequence[str]) -> None:
    for folder in folders:
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:
            continue
        except OSError as error:
            raise files.refusal(folder, error) from error


def missing_folders(path: str) -> list[str]:
    """Folders that have to be made for a file, the outermost first."""
    missing: list[str] = []
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def remove_folders(folders: Iterable[str]) -> None:
    """Those that are empty."""
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            continue  # someone put something there, or took it away


# -- the record ------------------------------------------------------------------------------------------------------


def record_path(home: str, root: str) -> str:
    """One per working tree, for each has files of its own; not per team, for that may be renamed."""
    return os.path.join(home, FOLDER, f"{digest(os.fsencode(root))[:16]}.json")


def _prepare(record_at: str) -> None:
    folder = os.path.dirname(record_at)
    places.prepare_home(os.path.dirname(folder))
    places.private_folder(folder)


def digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


def load(path: str) -> Record | None:
    import json
    from base64 import b64decode

    data = read(path)
    if data is None:
        return None
    try:
        said: dict[str, Any] = json.loads(data)
        kept = {
            file: Kept(Found(None if one["before"] is None else b64decode(one["before"]), one["mode"]), one["written"])
            for file, one in said["files"].items()
        }
        return Record(said["root"], kept, said["folders"])
    except (ValueError, KeyError, TypeError):
        raise StoreUnusable(f"The record {path} can not be read.", "Move it away; `git diff` shows what was changed.",
                            path=path) from None  # fmt: skip


def _packed(record: Record) -> bytes:
    import json
    from base64 import b64encode

    kept = {
        path: {
            "before": None if one.before.data is None else b64encode(one.before.data).decode(),
            "mode": one.before.mode,
            "written": one.written,
        }
        for path, one in record.files.items()
    }
    return json.dumps({"schemaVersion": SCHEMA, "root": record.root, "folders": record.folders, "files": kept}).encode()
