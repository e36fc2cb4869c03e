"""No room: the error is clear, nothing is half done, reading goes on, and with room again everything works.

Two ways to run out that need no privileges: a limit on the size of files (as a quota: the kernel refuses the write in
the middle), and SQLite's own limit of pages (which gives the very error of a full disk).
"""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

import rookery
from rookery.core import errors
from rookery.store.opening import rows
from rookery.store.sqlite import SqliteStore
from tests.support import ledger, tenants
from tests.support.procs import child, environment
from tests.support.stage import HOUR, Stage
from tests.support.stores import append, numbers, write

pytestmark = pytest.mark.torture


@pytest.mark.parametrize("limit", [200_000, 1_000_000, 3_000_000, 10_000_000])
def test_files_that_may_not_grow(tmp_path: Path, limit: int) -> None:
    """From before the first checkpoint until after several."""
    home = str(tmp_path / "h")
    with child(tenants.run_out_of_room, environment(HOME="/x"), home=home, limit=limit) as tenant:
        accepted: list[str] = []
        while isinstance(told := tenant.hear(), str):
            accepted.append(told)
        for refusal in told:
            assert refusal["code"] in ("STORE_FULL", "UNREACHABLE")
            assert f"{home}/rookery.db" in refusal["message"]
            assert refusal["hint"]
        assert ledger.faults(f"{home}/rookery.db", sent=accepted) == []
        with rookery.connect(team="t", home=home) as team:
            there = {message.id for message in team.agent("ada").inbox(limit=1_000)}
        assert there == set(accepted), "what was refused is not there, what was accepted is"
        tenant.say()
        (last,) = tenant.finish()
    assert ledger.faults(f"{home}/rookery.db", sent=[*accepted, last]) == []


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    with closing(Stage(tmp_path / "ledger.db")) as stage:
        stage.join_all("ada", "bob")
        yield stage


def allow(store: SqliteStore, more: int) -> None:
    """So many more pages, and no more: the way to SQLITE_FULL that a full disk takes too."""
    connection = store._connection  # pyright: ignore[reportPrivateUsage]
    used = rows(connection, "PRAGMA page_count")[0][0]
    rows(connection, f"PRAGMA max_page_count = {used + more}")


def test_a_full_disk_at_every_page(stage: Stage) -> None:
    """With room for 0, 1, 2 ... more pages: each send is whole or is not there at all."""
    sent: list[str] = []
    refused: list[errors.StoreFull] = []
    for room in range(40):
        allow(stage.store, room)
        before = stage.rows()
        accepted = 0
        try:
            sent.append(stage.send("ada", ["bob", "ada"], "Filling", body="word " * 4_000)["id"])
            accepted = 1
        except errors.StoreFull as error:
            refused.append(error)
        allow(stage.store, 1_000_000)
        assert len(stage.rows()["messages"]) == len(before["messages"]) + accepted
        assert accepted or stage.rows() == before
        assert ledger.faults(stage.store.location, sent=sent) == []
    assert sent
    assert refused
    for error in refused:
        assert "full" in error.message
        assert stage.store.location in error.message
        assert error.hint
    assert [message["id"] for message in stage.inbox("bob", limit=1_000)] == sent


def test_reading_goes_on_when_the_disk_is_full(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "Before")
    allow(stage.store, 0)
    with pytest.raises(errors.StoreFull):
        stage.send("ada", "bob", "Too much", body="x" * 500_000)
    stage.clock.pass_time(HOUR)  # so that a heartbeat is due, too
    assert stage.subjects("bob") == ["Before"]
    assert stage.call("receipts", "ada", id=sent["id"])["recipients"]
    assert stage.call("who")["agents"]


def test_a_handle_works_again_when_there_is_room(tmp_path: Path) -> None:
    with closing(Stage(tmp_path / "ledger.db")) as stage:
        store = stage.store
        assert write(store) == 1
        for _ in range(3):
            allow(store, 0)
            with pytest.raises(errors.StoreFull):
                store.write("t", lambda tx: [append(tx, data="x" * 100_000) for _ in range(10)])
            allow(store, 1_000_000)
        assert write(store) == 2
        assert numbers(store) == [1, 2]
