"""What holds for the SQLite store in particular: schema, migrations, WAL, locks, and errors that name the file."""

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from rookery.core import errors
from rookery.store import opening, queries
from rookery.store.opening import Patience, has_wal_reset_bug, migrate, rows
from rookery.store.port import Transaction
from rookery.store.sqlite import SqliteStore
from tests.support import deeds, ledger, stores
from tests.support.fakes import FakeClock
from tests.support.procs import Child, child, children, digest, start_together
from tests.support.stores import append, events, numbers, write


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


def opened(path: str, **limits: float) -> closing[SqliteStore]:
    return closing(SqliteStore(path, FakeClock(), **limits))


def version(path: str) -> int:
    return ledger.ask(path, "PRAGMA user_version")[0][0]


def neighbours(path: str) -> list[str]:
    return sorted(entry.name for entry in Path(path).parent.iterdir() if entry.name.startswith("ledger"))


# --- the connection factory -------------------------------------------------------------------------------------------


def test_the_pragmas_that_durability_rests_on(path: str) -> None:
    """Asked on the factory's own connection: they are not kept in the file."""
    with closing(opening.open_connection(path, Patience(), 1.0)) as connection:
        asked = {name: rows(connection, f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous")}
    assert asked == {"journal_mode": "wal", "synchronous": 2}  # 2 is FULL


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        ((3, 6, 23), False), ((3, 7, 0), True), ((3, 44, 5), True), ((3, 44, 6), False), ((3, 45, 0), True),
        ((3, 50, 6), True), ((3, 50, 7), False), ((3, 51, 0), True), ((3, 51, 2), True), ((3, 51, 3), False),
        ((3, 53, 0), False), ((4, 0, 0), False),
    ],
)  # fmt: skip
def test_the_wal_reset_ranges(asked: tuple[int, int, int], verdict: bool) -> None:
    assert has_wal_reset_bug(asked) is verdict


def test_a_library_with_the_wal_reset_bug_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "library_version", lambda: (3, 51, 2))
    with pytest.raises(errors.StoreUnusable) as caught:
        SqliteStore(path, FakeClock())
    assert "apsw" in caught.value.hint
    assert neighbours(path) == []


# --- schema and migrations --------------------------------------------------------------------------------------------


@pytest.fixture
def next_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the statements, used in place of the real ones: the folder to put migrations of tomorrow into."""
    folder = tmp_path / "sql"
    shutil.copytree(Path(queries.__file__).parent / "sql", folder)
    monkeypatch.setattr(queries, "_HERE", str(folder))
    return folder / "sqlite"


def add_migration(folder: Path, text: str) -> int:
    number = len(list(folder.glob("*.sql"))) + 1
    (folder / f"{number:04d}_tomorrow.sql").write_text(text)
    queries._names.cache_clear()  # the program reads its own text once
    return number


@pytest.mark.slow
def test_a_fresh_schema_equals_the_sum_of_the_migrations(path: str, tmp_path: Path) -> None:
    with opened(path):
        pass
    summed = str(tmp_path / "summed.db")
    with closing(apsw.Connection(summed)) as connection:
        for _number, _name, text in queries.migrations("sqlite"):
            rows(connection, text)
    assert ledger.schema(path) == ledger.schema(summed)
    assert version(path) == queries.latest("sqlite") == len(queries.migrations("sqlite"))


def test_a_prepared_ledger_is_what_the_first_opening_leaves(path: str, tmp_path: Path) -> None:
    """Most tests begin with one; it must be no other than the program's own, and one that is there must stay."""
    ready = stores.prepared(tmp_path / "ready.db")
    assert [ledger.ask(ready, f"PRAGMA {name}") for name in ("journal_mode", "user_version")] == [
        [("wal",)], [(queries.latest("sqlite"),)],
    ]  # fmt: skip
    for place in (path, ready):
        with opened(place):
            pass
    assert ledger.schema(ready) == ledger.schema(path)
    terminal = {"store_settings": [("authority.terminal", "off")]}  # what a test has none of
    assert ledger.everything(ready) == ledger.everything(path) | terminal
    with opened(ready) as store:
        write(store)
    with opened(stores.prepared(ready)) as store:
        assert numbers(store) == [1]


@pytest.mark.slow
def test_a_database_migrated_step_by_step_is_the_same(path: str, tmp_path: Path) -> None:
    with opened(path):
        pass
    stepped = str(tmp_path / "stepped.db")
    with closing(apsw.Connection(stepped)) as connection:
        for number in range(1, queries.latest("sqlite") + 1):
            migrate(connection, number)
            assert rows(connection, "PRAGMA user_version") == [(number,)]
    assert ledger.schema(path) == ledger.schema(stepped)


@pytest.mark.parametrize("upto", range(1, queries.latest("sqlite") + 1))
def test_a_database_of_an_older_schema_opens_and_keeps_its_rows(path: str, next_program: Path, upto: int) -> None:
    with closing(apsw.Connection(path)) as connection:
        migrate(connection, upto)
        rows(connection, "INSERT INTO teams (name, seq, touched_at) VALUES ('t', 0, 0)")
    newest = add_migration(
        next_program, "CREATE TABLE tomorrow (x INTEGER) STRICT;\nALTER TABLE teams ADD COLUMN y TEXT;"
    )
    with opened(path) as store:
        assert version(path) == newest
        assert write(store) == 1
    assert ledger.ask(path, "SELECT name, seq, y FROM teams") == [("t", 1, None)]
    assert ledger.ask(path, "SELECT count(*) FROM tomorrow") == [(0,)]


def test_a_migration_that_fails_leaves_the_old_schema(path: str, next_program: Path) -> None:
    with opened(path) as store:
        write(store)
    before = (version(path), ledger.schema(path))
    add_migration(next_program, "CREATE TABLE tomorrow (x);\nINSERT INTO nowhere VALUES (1);")
    with pytest.raises(errors.RookError):
        SqliteStore(path, FakeClock())
    assert (version(path), ledger.schema(path)) == before


@pytest.mark.slow
def test_processes_that_migrate_at_once_do_it_once(path: str) -> None:
    """An empty file is the oldest schema there is."""
    Path(path).touch()
    recipe = {"dialect": "sqlite", "location": path}
    openers = [Child(deeds.open_and_write, recipe=recipe) for _ in range(4)]
    with children(*openers):
        start_together(openers)
        for opener in openers:
            opener.finish()
    with opened(path) as store:
        assert numbers(store) == [1, 2, 3, 4]


def test_a_newer_schema_is_refused_and_untouched(path: str) -> None:
    with opened(path) as store:
        write(store)
    ledger.ask(path, "PRAGMA user_version = 9999")
    before, files = digest(path), neighbours(path)
    with pytest.raises(errors.StoreUnusable) as caught:
        SqliteStore(path, FakeClock())
    assert path in caught.value.message
    assert "9999" in caught.value.message
    assert "upgrade" in caught.value.hint
    assert (digest(path), neighbours(path)) == (before, files)


def test_another_programs_database_is_refused_and_untouched(path: str) -> None:
    """A path set wrongly must not turn someone's bookmarks into a ledger."""
    with closing(apsw.Connection(path)) as connection:
        rows(connection, "CREATE TABLE bookmarks (url TEXT)")
    before = digest(path)
    with pytest.raises(errors.StoreUnusable) as caught:
        SqliteStore(path, FakeClock())
    assert path in caught.value.message
    assert (digest(path), neighbours(path)) == (before, ["ledger.db"])


def test_a_restored_backup_is_a_wal_database_again(path: str, tmp_path: Path) -> None:
    """The backup is one plain file; opened as a store it must not stay one, or its readers would block its writers."""
    copy = str(tmp_path / "copy.db")
    with opened(path) as store:
        write(store)
        store.backup(copy)
    assert not Path(f"{copy}-wal").exists()
    with opened(copy) as restored:
        assert numbers(restored) == [1]
        assert ledger.ask(copy, "PRAGMA journal_mode") == [("wal",)]


# --- H40: statements are run to their end -----------------------------------------------------------------------------

CHUNK = "x" * 100_000
WRITES = 120
WAL_BOUND = 6 << 20  # SQLite checkpoints at 1,000 pages of 4 KiB; the rest is room


def wal_bytes(path: str) -> int:
    return Path(f"{path}-wal").stat().st_size


@pytest.mark.slow
def test_h40_reads_do_not_pin_the_wal(path: str) -> None:
    with opened(path) as writer, opened(path) as reader:
        for _ in range(WRITES):
            write(writer, data=CHUNK)
            # `one` takes the first of many rows: the rest must be fetched too, or the cursor stays open.
            assert reader.read("t", lambda tx: tx.one("events_after", cursor=0, limit=5))
        assert WRITES * len(CHUNK) > 1.5 * WAL_BOUND
        assert wal_bytes(path) < WAL_BOUND


@pytest.mark.slow
def test_h40_an_error_in_a_read_does_not_pin_the_wal(path: str) -> None:
    def work(tx: Transaction) -> None:
        tx.all("events_after", cursor=0, limit=10)
        raise LookupError

    with opened(path) as writer, opened(path) as reader:
        for _ in range(WRITES):
            write(writer, data=CHUNK)
            with pytest.raises(LookupError):
                reader.read("t", work)
        assert wal_bytes(path) < WAL_BOUND


def test_h40_control_a_forgotten_cursor_does_pin_the_wal(path: str) -> None:
    """The measure above is able to fail."""
    with opened(path) as writer, closing(ledger.look(path)) as other:
        write(writer)
        write(writer)
        forgotten = other.execute("SELECT seq FROM events")
        assert next(forgotten) == (1,)
        for _ in range(WRITES):
            write(writer, data=CHUNK)
        assert wal_bytes(path) > WAL_BOUND
        forgotten.close()


def test_h40_a_returning_statement_does_not_stop_the_commit(path: str) -> None:
    with opened(path) as store:
        assert store.write("t", lambda tx: tx.one("raise_counter", name="x")) == {"value": 1}
        assert store.write("t", lambda tx: tx.run("raise_counter", name="x")) == 1
        assert store.write("t", lambda tx: tx.one("raise_counter", name="x")) == {"value": 3}


# --- H39: locks -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_h39_no_lock_is_dropped_by_other_handles_of_the_process(path: str) -> None:
    """Handles are opened and closed, also for a backup, while one of them writes: other processes stay locked out."""
    recipe = {"dialect": "sqlite", "location": path}
    with closing(stores.open_store(recipe)) as store:

        def work(tx: Transaction) -> None:
            append(tx, "first")
            with closing(stores.open_store(recipe, busy_s=0.0)) as second, closing(stores.open_store(recipe)) as third:
                assert numbers(second) == []
                third.backup(f"{path}.copy")
                with pytest.raises(errors.StoreBusy):
                    write(second)
            with child(deeds.try_to_write, recipe=recipe) as other:
                assert other.finish() == ["STORE_BUSY"]
            append(tx, "second")

        store.write("t", work)
        with child(deeds.try_to_write, recipe=recipe) as other:
            assert other.finish() == [3]
        assert [row["preview"] for row in events(store)] == ["first", "second", ""]


# --- errors name the file ---------------------------------------------------------------------------------------------


def test_a_folder_in_the_place_of_the_database(path: str) -> None:
    Path(path).mkdir()
    with pytest.raises(errors.StoreUnusable) as caught:
        SqliteStore(path, FakeClock())
    assert path in caught.value.message
    assert caught.value.hint


def test_a_missing_folder(tmp_path: Path) -> None:
    path = str(tmp_path / "nowhere" / "ledger.db")
    with pytest.raises(errors.StoreUnusable) as caught:
        SqliteStore(path, FakeClock())
    assert path in caught.value.message


def test_a_backup_that_can_not_be_written_says_where(path: str, tmp_path: Path) -> None:
    target = str(tmp_path / "nowhere" / "copy.db")
    with opened(path) as store:
        with pytest.raises(errors.Unreachable) as caught:
            store.backup(target)
        assert target in caught.value.message
        assert write(store) == 1


@pytest.mark.slow
def test_opening_and_closing_leaks_no_descriptor(path: str) -> None:
    fds = Path("/proc/self/fd")
    with opened(path) as store:
        write(store)
    before = len(list(fds.iterdir()))
    for _ in range(50):
        with opened(path) as store:
            stores.numbers(store)
    with pytest.raises(errors.StoreUnusable):
        SqliteStore(f"{path}/below", FakeClock())
    assert len(list(fds.iterdir())) == before


# --- is it whole ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_check_ends_when_its_time_is_over_and_the_store_goes_on(path: str) -> None:
    def many(tx: Transaction) -> None:
        for _ in range(20_000):
            append(tx, "x" * 100)

    with opened(path) as store:
        store.write("t", many)
        assert store.is_whole(60) == (True, "ok")
        whole, seen = store.is_whole(0)
        assert (whole, "not checked" in seen) == (None, True)
        assert write(store) == 20_001


@pytest.mark.slow
def test_damage_is_found(path: str) -> None:
    with opened(path) as store:
        store.write("t", lambda tx: [append(tx, "x" * 100) for _ in range(2_000)])
    data = Path(path).read_bytes()  # its one connection is closed (H39)
    page = data.rindex(b"x" * 100) // 4096 * 4096  # one of the log
    Path(path).write_bytes(data[:page] + b"\xff" * 4096 + data[page + 4096 :])
    with opened(path) as store:
        whole, seen = store.is_whole(60)
    assert whole is False
    assert seen
