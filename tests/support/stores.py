"""How tests open a store, by dialect: the one place to extend when another implementation of the port arrives."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from rookery.core.ports import Clock
from rookery.runtime.clock import SystemClock
from rookery.store.port import Store, Transaction

DIALECTS = ["sqlite"]


# --- ledgers that are there already -----------------------------------------------------------------------------------


@cache
def _current() -> bytes:
    """A ledger with its schema and nothing else. Read when its one connection is closed (H39)."""
    import tempfile

    from rookery.store.opening import Patience, open_connection, rows

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ledger.db")
        connection = open_connection(path, Patience(), 10.0)
        rows(connection, "INSERT INTO store_settings VALUES ('authority.terminal', 'off')")  # a test has no terminal
        connection.close()
        assert os.listdir(folder) == ["ledger.db"], "its WAL was not taken in"
        with open(path, "rb") as file:
            return file.read()


def prepared(path: Path | str) -> str:
    """An empty ledger, unless one is there: the migrations are run once in a worker, not once in a test.

    For a process that is the only one to know the place yet. One that exists is not even opened (H39).
    """
    with suppress(FileExistsError), open(path, "xb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(_current())
    return str(path)


def prepared_home(home: Path | str) -> str:
    """A home with an empty ledger in it, as the first command leaves it."""
    from rookery.runtime import places

    places.prepare_home(str(home))
    prepared(os.path.join(home, places.DATABASE))
    return str(home)


# --- opening ----------------------------------------------------------------------------------------------------------


def recipe(dialect: str, folder: Path, name: str = "ledger") -> dict[str, str]:
    """Where a ledger is, in words that a child process can be given."""
    assert dialect == "sqlite"
    return {"dialect": dialect, "location": str(folder / f"{name}.db")}


def open_store(of: Mapping[str, str], clock: Clock | None = None, **limits: float) -> Store:
    assert of["dialect"] == "sqlite"
    from rookery.store.sqlite import SqliteStore

    return SqliteStore(of["location"], clock or SystemClock(), **limits)


class Factory:
    """Handles on one ledger: each call opens another, as another process would."""

    def __init__(self, dialect: str, folder: Path) -> None:
        self.dialect = dialect
        self.folder = folder
        self.recipe = recipe(dialect, folder)
        self._opened: list[Store] = []

    def __call__(self, clock: Clock | None = None, *, at: Mapping[str, str] | None = None, **limits: float) -> Store:
        store = open_store(at or self.recipe, clock, **limits)
        self._opened.append(store)
        return store

    def copy(self, name: str) -> dict[str, str]:
        """A second ledger beside the first: where a backup goes and is opened again."""
        return recipe(self.dialect, self.folder, name)

    def close(self) -> None:
        for store in self._opened:
            store.close()


# --- what the tests of the port write: plain events, which belong to no domain ---------------------------------------


def append(tx: Transaction, preview: str = "", data: str = "{}") -> int:
    seq = tx.next_seq()
    tx.run(
        "append_event", seq=seq, at=tx.wall, type="test", actor="x", target="", ref="", preview=preview, data=data,
        caller="{}",
    )  # fmt: skip
    return seq


def write(store: Store, team: str = "t", preview: str = "", data: str = "{}") -> int:
    return store.write(team, lambda tx: append(tx, preview, data))


def events(store: Store, team: str = "t", after: int = 0, limit: int = 100_000) -> list[dict[str, Any]]:
    return store.read(team, lambda tx: tx.all("events_after", cursor=after, limit=limit))


def numbers(store: Store, team: str = "t") -> list[int]:
    return [row["seq"] for row in events(store, team)]


def position(store: Store, team: str = "t") -> int:
    """The team's counter as it was committed; 0 for a team that is not there."""
    row = store.read(team, lambda tx: tx.one("ledger_position"))
    return row["seq"] if row else 0
