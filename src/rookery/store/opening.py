"""The one connection factory: pragmas, isolation, busy handler, read limit, schema. Nowhere else is a database opened.

Nothing but apsw may open `rookery.db`, `-wal` or `-shm` in a process that holds them: closing any other descriptor
of the file drops this process's locks, and a committed write of someone else can vanish (hazard H39).
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import apsw

from rookery.core import errors

from . import queries

# Measured: SQLite's own busy timeout backs off so far that a writer among twelve starves for seconds. Short naps at
# random keep the longest wait near the fair share. The low digits of the clock are chance enough for a nap.
NAP_S, NAP_SPREAD_S = 0.0005, 0.001
READ_STEPS = 20_000  # how many VM steps pass between two looks at the read limit


class Patience:
    """Until when the current call may wait for the lock, and until when a read may run."""

    def __init__(self) -> None:
        self.write_until = 0.0
        self.read_until = 0.0

    def busy(self, _tries: int) -> bool:
        if time.monotonic() >= self.write_until:
            return False
        nap()
        return True

    def read_is_over(self) -> bool:
        return bool(self.read_until) and time.monotonic() >= self.read_until


def nap() -> None:
    time.sleep(NAP_S + NAP_SPREAD_S * (time.perf_counter_ns() % 1024) / 1024)


def has_wal_reset_bug(version: tuple[int, int, int]) -> bool:
    """SQLite 3.7.0 to 3.51.2 can lose a WAL under a racing checkpoint; fixed in 3.51.3, 3.50.7 and 3.44.6."""
    if version[:2] == (3, 50):
        return version < (3, 50, 7)
    if version[:2] == (3, 44):
        return version < (3, 44, 6)
    return (3, 7, 0) <= version <= (3, 51, 2)


def library_version() -> tuple[int, int, int]:
    major, minor, patch = (int(part) for part in apsw.sqlite_lib_version().split(".")[:3])
    return (major, minor, patch)


def open_connection(path: str, patience: Patience, wait_s: float) -> apsw.Connection:
    """A connection ready for use, its schema current."""
    if has_wal_reset_bug(library_version()):
        raise errors.StoreUnusable(
            f"SQLite {apsw.sqlite_lib_version()} can lose committed data (the WAL-reset bug).",
            "Install apsw 3.53 or newer: pip install -U apsw",
        )
    with translated(path):
        connection = apsw.Connection(path)
        patience.write_until = time.monotonic() + wait_s
        connection.set_busy_handler(patience.busy)
        # Plans that do not depend on bound values. Without this, apsw's STAT4 build prepares a join anew on every call.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.set_progress_handler(patience.read_is_over, READ_STEPS)
        for pragma in ("synchronous = FULL", "temp_store = MEMORY", "journal_size_limit = 67108864"):
            rows(connection, f"PRAGMA {pragma}")
        try:
            make_current(connection, path, patience)
        except BaseException:
            connection.close()
            raise
    return connection


# -- the file behind open connections ----------------------------------------------------------------------------------

_open_files: dict[str, list[tuple[int, int]]] = {}  # of this process: (device, inode) of each open connection


def identity(path: str) -> tuple[int, int]:
    """Which file that is; (0, 0) if there is none."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return 0, 0
    return seen.st_dev, seen.st_ino


def note_open(path: str) -> tuple[int, int]:
    found = identity(path)
    _open_files.setdefault(path, []).append(found)
    return found


def note_closed(path: str, was: tuple[int, int]) -> None:
    known = _open_files.get(path, [])
    if was in known:
        known.remove(was)


def check_same_file(path: str) -> None:
    """Refuse to open, or make, another file in the place of one that this process still has open."""
    for was in _open_files.get(path, ())[:1]:
        check_identity(path, was)


def check_identity(path: str, was: tuple[int, int]) -> None:
    now = identity(path)
    if now == was:
        return
    raise errors.StoreUnusable(
        f"{path} was {'replaced' if now[1] else 'removed'} while it was open; nothing is written to the old file.",
        "Put it back, or end the programs that use it (`rook down`) and start them again.",
        code="STORE_GONE",
    )


def rows(connection: apsw.Connection, statement: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Run a statement to its end. (The one place where apsw's loose types are tied.)"""
    execute: Any = connection.execute  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return execute(statement, params).fetchall()


def schema_version(connection: apsw.Connection) -> int:
    return rows(connection, "PRAGMA user_version")[0][0]


def is_foreign(connection: apsw.Connection) -> bool:
    """Tables, but no schema number of ours. One statement: another process may be making the ledger just now."""
    question = "SELECT user_version = 0 AND EXISTS (SELECT 1 FROM sqlite_schema) FROM pragma_user_version"
    return bool(rows(connection, question)[0][0])


def make_current(connection: apsw.Connection, path: str, patience: Patience) -> None:
    newest = queries.latest("sqlite")
    version = schema_version(connection)
    if version == 0 and is_foreign(connection):
        raise errors.StoreUnusable(
            f"{path} is a database of another program.",
            "Set ROOK_STORE or ROOK_HOME to another place. Nothing was changed.",
        )
    if version > newest:
        raise errors.StoreUnusable(
            f"{path} has schema {version}; this program knows {newest}.",
            "A newer Rookery wrote it: upgrade this one (pip install -U rookery). Nothing was changed.",
        )
    if rows(connection, "PRAGMA journal_mode") != [("wal",)]:  # new, or restored from a backup
        enter_wal(connection, patience)
    if version < newest:
        migrate(connection)


def enter_wal(connection: apsw.Connection, patience: Patience) -> None:
    """SQLite calls no busy handler for this change, so the wait is ours."""
    while True:
        try:
            rows(connection, "PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if time.monotonic() >= patience.write_until:
                raise
            nap()


def migrate(connection: apsw.Connection, upto: int | None = None) -> None:
    """Apply what is missing, one transaction for all: a crash leaves the old schema or the new one."""
    rows(connection, "BEGIN IMMEDIATE")
    try:
        version = schema_version(connection)  # another process may have been first
        for number, _name, text in queries.migrations("sqlite"):
            if version < number <= (upto or number):
                rows(connection, text)
                rows(connection, f"PRAGMA user_version = {number}")
        rows(connection, "COMMIT")
    except BaseException:
        rows(connection, "ROLLBACK")
        raise


class translated:
    """SQLite's errors as ours: each says what happened to which file and what to do."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, apsw.Error):
            raise translate(error, self._path) from error


def translate(error: apsw.Error, path: str) -> errors.RookError:
    make = _MEANING.get(type(error))
    if make is None:
        return errors.Unreachable(f"{path}: {error}", "rook doctor looks at the store.")
    return make(path, error)


def _busy(path: str, _error: apsw.Error) -> errors.RookError:
    return errors.StoreBusy(
        f"{path} was held by other writers past the deadline; nothing was changed.",
        "Try again; `rook config` shows store.busy_s.",
    )


def _interrupted(path: str, _error: apsw.Error) -> errors.RookError:
    return errors.StoreBusy(
        f"Reading {path} took longer than the read limit and was cut off.",
        "Ask for less (a filter, a smaller --limit); `rook config` shows store.read_s.",
        code="READ_TOO_LONG",
    )


def _full(path: str, _error: apsw.Error) -> errors.RookError:
    return errors.StoreFull(f"The disk under {path} is full; nothing was changed.", "Free some space, then try again.")


def _read_only(path: str, _error: apsw.Error) -> errors.RookError:
    return errors.StoreReadOnly(
        f"{path} may not be written; nothing was changed.",
        "Check its owner and mode, or set ROOK_HOME to another folder. In a sandbox, use the tools of `rook mcp`.",
    )


def _cannot_open(path: str, error: apsw.Error) -> errors.RookError:
    if os.path.exists(path) and not os.access(os.path.dirname(path) or ".", os.W_OK):
        return _read_only(path, error)
    return errors.StoreUnusable(f"{path} cannot be opened: {error}.", "Check that its folder exists and is yours.")


def _input_output(path: str, error: apsw.Error) -> errors.RookError:
    # Not "nothing was changed": after a failed fsync nobody knows what the disk kept.
    return errors.Unreachable(
        f"{path} could not be read or written ({error}).",
        "Check the disk, its quota and your file size limit (ulimit -f); `rook doctor` looks at the store.",
    )


def _corrupt(path: str, error: apsw.Error) -> errors.RookError:
    return errors.StoreCorrupt(
        f"{path} is damaged ({error}); nothing was overwritten.",
        "Move it aside and restore the newest backup (`rook backup` makes them).",
    )


_MEANING: dict[type[apsw.Error], Callable[[str, apsw.Error], errors.RookError]] = {
    apsw.BusyError: _busy,
    apsw.LockedError: _busy,
    apsw.InterruptError: _interrupted,
    apsw.FullError: _full,
    apsw.ReadOnlyError: _read_only,
    apsw.CantOpenError: _cannot_open,
    apsw.IOError: _input_output,
    apsw.CorruptError: _corrupt,
    apsw.NotADBError: _corrupt,
}
