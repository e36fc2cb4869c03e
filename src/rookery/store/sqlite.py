"""The embedded store: one SQLite file per home, through apsw.

A `SqliteStore` has one connection and a mutex around it: threads of a process take turns, as processes do by the
file's own lock. After a fork the child's handle refuses to work, because SQLite's locks do not survive one.
"""

import os
import time
from _thread import LockType, allocate_lock  # `threading` costs a command line a millisecond and a half
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import apsw

from rookery.core import errors
from rookery.core.ports import Clock
from rookery.core.search import Term

from . import faults, queries
from .opening import (
    Patience,
    check_identity,
    has_wal_reset_bug,
    library_version,
    note_closed,
    note_open,
    open_connection,
    rows,
    schema_version,
    translated,
)
from .port import Row, Transaction
from .write_queue import WriteQueue

T = TypeVar("T")


class _Ended(Exception):
    """An error took the whole transaction with it."""


class SqliteTransaction:
    """Statements are always exhausted here: an open cursor would pin the WAL or make the commit fail (H40)."""

    __slots__ = (
        "_columns",
        "_connection",
        "_execute",
        "_queries",
        "_seq",
        "flags",
        "now",
        "team",
        "team_name",
        "wall",
        "writable",
    )

    def __init__(
        self, connection: apsw.Connection, named: dict[str, str], columns: dict[str, list[str]], team_name: str
    ) -> None:
        self._connection = connection
        self._execute: Any = connection.execute  # pyright: ignore[reportUnknownMemberType]
        self._queries = named
        self._columns = columns
        self._seq = 0
        self.team = 0
        self.team_name = team_name
        self.now = self.wall = self.flags = 0
        self.writable = False

    def one(self, query: str, /, **params: Any) -> Row | None:
        rows = self._rows(query, params)
        return rows[0] if rows else None

    def all(self, query: str, /, **params: Any) -> list[Row]:
        return self._rows(query, params)

    def _rows(self, query: str, params: dict[str, Any]) -> list[Row]:
        params["team"], params["now"] = self.team, self.now
        cursor = self._execute(self._queries[query], params)
        names = self._columns.get(query)
        if names is not None:
            return [dict(zip(names, row, strict=False)) for row in cursor]
        first = next(cursor, None)
        if first is None:  # a statement that gave no row no longer knows its columns
            return []
        names = self._columns[query] = [column[0] for column in cursor.get_description()]
        return [dict(zip(names, row, strict=True)) for row in (first, *cursor)]

    def run(self, query: str, /, **params: Any) -> int:
        params["team"], params["now"] = self.team, self.now
        self._execute(self._queries[query], params).fetchall()
        return self._connection.changes()

    def match(self, terms: Sequence[Term], columns: str = "subject body tags") -> str:
        """Quoted terms, so that nothing a person types is read as an FTS5 operator."""
        quoted = [f'"{" ".join(term.words)}"{"*" if term.prefix else ""}' for term in terms]
        return f"scope : t{self.team} AND {{{columns}}} : ({' AND '.join(quoted)})"

    def next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def savepoint(self, work: Callable[[], T]) -> T:
        before = self._seq, self.flags
        self._execute("SAVEPOINT attempt")
        try:
            result = work()
        except BaseException:
            if not self._connection.get_autocommit():  # a full disk may have ended the transaction already
                self._execute("ROLLBACK TO attempt")
                self._execute("RELEASE attempt")
            self._seq, self.flags = before
            raise
        self._execute("RELEASE attempt")
        return result

    def enter(self, clock: Callable[[], tuple[int, int]], *, create: bool) -> None:
        """The team, then the clock: a read sees what its first statement saw, and `now` is not before that."""
        row = self.one("store_team", name=self.team_name)
        self.now, self.wall = clock()
        self.writable = create
        if row is None and create:
            row = self.one("store_new_team", name=self.team_name)
        if row is not None:
            self.team, self.flags = row["id"], row["flags"]
            self._seq = row["seq"]

    def save_team(self) -> None:
        self.run("store_save_team", seq=self._seq)


class SqliteStore:
    dialect = "sqlite"

    def __init__(self, path: str, clock: Clock, *, busy_s: float = 10.0, read_s: float = 5.0) -> None:
        self.location = path
        self._clock = clock
        self._busy_s = busy_s
        self._read_s = read_s
        self._patience = Patience()
        self._mutex = allocate_lock()
        self._queue = WriteQueue(path)
        self._pid = os.getpid()
        self._queries = queries.load(self.dialect)
        self._columns: dict[str, list[str]] = {}
        self._connection = open_connection(path, self._patience, busy_s)
        self._file = note_open(path)
        try:
            with translated(path):
                self._offset = self._anchor()
        except BaseException:
            self._close()
            raise

    # -- transactions ------------------------------------------------------------------------------------------

    def write(self, team: str, work: Callable[[Transaction], T]) -> T:
        with self._turn(), translated(self.location):
            self._begin_write()
            try:
                tx = self._transaction(team, create=True)
                faults.reach("after_lock")
                result = work(tx)
                tx.save_team()
                faults.reach("before_commit")
                self._execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._queue.leave()
            faults.reach("after_commit")
            return result

    def write_batch(self, jobs: Sequence[tuple[str, Callable[[Transaction], T]]]) -> list[T | Exception]:
        if len(jobs) > 1:
            try:
                return self._write_together(jobs)
            except _Ended:
                pass  # nothing of it was kept: whoever can commit alone does so, the others learn why they cannot
        return [self._alone(team, work) for team, work in jobs]

    def _alone(self, team: str, work: Callable[[Transaction], T]) -> T | Exception:
        try:
            return self.write(team, work)
        except Exception as error:
            return error

    def _write_together(self, jobs: Sequence[tuple[str, Callable[[Transaction], T]]]) -> list[T | Exception]:
        with self._turn():
            try:
                with translated(self.location):
                    self._begin_write()
            except errors.Unreachable as busy:
                return [busy for _ in jobs]  # each would only wait as long again
            try:
                faults.reach("after_lock")
                results = [self._in_savepoint(team, work) for team, work in jobs]
                faults.reach("before_commit")
                self._commit_together()
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._queue.leave()
            faults.reach("after_commit")
            return results

    def _in_savepoint(self, team: str, work: Callable[[Transaction], T]) -> T | Exception:
        self._execute("SAVEPOINT job")
        try:
            tx = self._transaction(team, create=True)
            result = work(tx)
            tx.save_team()
        except Exception as error:
            if isinstance(error, apsw.Error) or self._connection.get_autocommit():
                raise _Ended from error  # a full disk, a failing one: what the others wrote is in doubt too
            self._execute("ROLLBACK TO job")
            result = error
        self._execute("RELEASE job")
        return result

    def _commit_together(self) -> None:
        try:
            self._execute("COMMIT")
        except apsw.Error as error:
            raise _Ended from error

    def read(self, team: str, work: Callable[[Transaction], T]) -> T:
        with self._turn(), translated(self.location):
            self._begin("BEGIN")
            self._patience.read_until = time.monotonic() + self._read_s
            try:
                return work(self._transaction(team, create=False))
            finally:
                self._patience.read_until = 0.0
                self._roll_back()

    def _transaction(self, team: str, *, create: bool) -> SqliteTransaction:
        tx = SqliteTransaction(self._connection, self._queries, self._columns, team)
        tx.enter(self._time, create=create)
        return tx

    def _time(self) -> tuple[int, int]:
        return self._offset + self._clock.mono_ms(), self._clock.wall_ms()

    def _turn(self) -> LockType:
        """The mutex, in the process that opened the store. In a forked child another thread may hold it for ever."""
        if os.getpid() != self._pid:
            raise errors.ForkedHandle(
                "This handle was opened before a fork; SQLite's locks do not survive one.",
                "Call rookery.connect() again in the child.",
            )
        return self._mutex

    def _begin_write(self) -> None:
        check_identity(self.location, self._file)
        has_turn = self._queue.enter(self._busy_s)
        try:
            self._begin("BEGIN IMMEDIATE", self._busy_s if has_turn else 0.0)
        except BaseException:
            self._queue.leave()
            raise

    def _begin(self, statement: str, wait_s: float | None = None) -> None:
        check_identity(self.location, self._file)
        self._patience.write_until = time.monotonic() + (self._busy_s if wait_s is None else wait_s)
        self._execute(statement)

    def _execute(self, statement: str) -> None:
        rows(self._connection, statement)

    def _roll_back(self) -> None:
        if not self._connection.get_autocommit():  # a full disk may have ended the transaction already
            self._execute("ROLLBACK")

    def _anchor(self) -> int:
        """This boot's offset from CLOCK_MONOTONIC to ledger time; made by the first process of the boot."""
        boot = self._clock.boot()
        found = rows(self._connection, self._queries["store_clock"], {"boot": boot})
        if found:
            return found[0][0]
        self._begin("BEGIN IMMEDIATE")
        try:
            latest = rows(self._connection, self._queries["store_latest"])[0][0]
            offset = max(self._clock.wall_ms(), latest) - self._clock.mono_ms()
            rows(self._connection, self._queries["store_anchor"], {"boot": boot, "offset_ms": offset})
            anchored = rows(self._connection, self._queries["store_clock"], {"boot": boot})[0][0]
            self._execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return anchored

    # -- keeping -----------------------------------------------------------------------------------------------

    def checks(self) -> list[tuple[str, bool, str]]:
        version = library_version()
        with self._turn(), translated(self.location):
            verdict = rows(self._connection, "PRAGMA quick_check(5)")
            mode = rows(self._connection, "PRAGMA journal_mode")[0][0]
            schema = schema_version(self._connection)
        return [
            (
                "sqlite",
                not has_wal_reset_bug(version),
                f"{apsw.sqlite_lib_version()} through apsw {apsw.apsw_version()}",
            ),
            ("database", verdict == [("ok",)], "; ".join(row[0] for row in verdict)),
            ("journal", mode == "wal", mode),
            ("schema", schema == queries.latest(self.dialect), str(schema)),
        ]

    def is_whole(self, limit_s: float) -> tuple[bool | None, str]:
        with self._turn(), translated(self.location):
            self._patience.read_until = time.monotonic() + limit_s
            try:
                verdict = rows(self._connection, "PRAGMA quick_check(5)")
            except apsw.InterruptError:
                return None, f"not checked to its end in {limit_s:g} s"
            except apsw.CorruptError as error:  # too damaged to be checked
                return False, str(error)
            finally:
                self._patience.read_until = 0.0
        return verdict == [("ok",)], "; ".join(row[0] for row in verdict)

    def backup(self, path: str) -> None:
        with self._turn(), translated(path):
            target = apsw.Connection(path)
            try:
                self._copy_to(target)
                rows(target, "PRAGMA journal_mode = DELETE")  # one file, nothing beside it
            finally:
                target.close()

    def _copy_to(self, target: apsw.Connection) -> None:
        """From one snapshot: without it, every write of another process would start the copy anew, perhaps for ever."""
        self._begin("BEGIN")
        try:
            rows(self._connection, self._queries["store_latest"])
            with target.backup("main", self._connection, "main") as copy:
                while not copy.done:
                    copy.step(1000)
        finally:
            self._roll_back()

    def close(self) -> None:
        if os.getpid() == self._pid:  # a forked child must not touch its parent's locks
            with self._mutex:
                self._close()

    def _close(self) -> None:
        self._connection.close()
        self._queue.close()
        note_closed(self.location, self._file)
