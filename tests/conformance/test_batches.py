"""Several writes in one commit: each is kept or undone alone, and answered only once all is on disk."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery.core import errors
from rookery.store import faults
from rookery.store.port import Store, Transaction
from tests.support import stores

Job = tuple[str, Callable[[Transaction], Any]]


@pytest.fixture(params=stores.DIALECTS)
def factory(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[stores.Factory]:
    made = stores.Factory(request.param, tmp_path)
    yield made
    faults.disarm()
    made.close()


@pytest.fixture
def store(factory: stores.Factory) -> Store:
    return factory()


def job(preview: str, team: str = "t") -> Job:
    return team, lambda tx: stores.append(tx, preview)


def refused(tx: Transaction) -> int:
    stores.append(tx, "never happened")
    raise errors.Refused("No.")


def previews(store: Store, team: str = "t") -> list[str]:
    return [row["preview"] for row in stores.events(store, team)]


def test_a_batch_is_one_commit_and_answers_in_order(store: Store):
    commits: list[int] = []
    faults.arm("after_commit", lambda: commits.append(1))
    assert store.write_batch([job("a"), job("b"), job("c", "other"), job("d")]) == [1, 2, 1, 3]
    assert len(commits) == 1
    assert previews(store) == ["a", "b", "d"]
    assert previews(store, "other") == ["c"]


def test_nothing_is_no_commit(store: Store):
    assert store.write_batch([]) == []


def test_a_job_that_is_refused_undoes_itself_alone(store: Store):
    first, no, last = store.write_batch([job("a"), ("t", refused), job("b")])
    assert (first, last) == (1, 2), "a number was given back: no gap"
    assert isinstance(no, errors.Refused)
    assert previews(store) == ["a", "b"]
    assert stores.position(store) == 2


def test_a_refused_job_makes_no_team(store: Store):
    _, no = store.write_batch([job("a"), ("never", refused)])
    assert isinstance(no, errors.Refused)
    assert store.read("never", lambda tx: tx.team) == 0


def test_a_job_sees_what_the_one_before_it_wrote(store: Store):
    count: Job = ("t", lambda tx: len(tx.all("events_after", cursor=0, limit=10)))
    assert store.write_batch([job("a"), count, job("b"), count]) == [1, 1, 2, 2]


def test_an_error_that_ends_the_transaction_runs_the_members_one_by_one(store: Store):
    runs: list[str] = []

    def full(tx: Transaction) -> int:
        runs.append("full")
        stores.append(tx, "too much")
        raise apsw.FullError("database or disk is full")

    def counted(tx: Transaction) -> int:
        runs.append("counted")
        return stores.append(tx, "fits")

    kept, lost, after = store.write_batch([("t", counted), ("t", full), job("b")])
    assert (kept, after) == (1, 2)
    assert isinstance(lost, errors.StoreFull)
    assert runs == ["counted", "full", "counted", "full"], "all together first, then each alone"
    assert previews(store) == ["fits", "b"]


def test_a_commit_that_fails_runs_the_members_one_by_one(store: Store, monkeypatch: pytest.MonkeyPatch):
    execute, failures = store._execute, [1]  # pyright: ignore[reportAttributeAccessIssue]

    def failing(statement: str) -> None:
        if statement == "COMMIT" and failures:
            failures.pop()
            raise apsw.IOError("disk I/O error")
        execute(statement)

    monkeypatch.setattr(store, "_execute", failing)
    assert store.write_batch([job("a"), job("b")]) == [1, 2]
    assert previews(store) == ["a", "b"]


def test_no_answer_before_the_commit(store: Store, factory: stores.Factory):
    """Whatever interrupts the commit, nobody was told anything and nothing is there."""

    def interrupt() -> None:
        assert previews(factory()) == [], "another reader sees it before it is committed"
        raise KeyboardInterrupt

    faults.arm("before_commit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write_batch([job("a"), job("b")])
    faults.disarm()
    assert previews(store) == []
    assert store.write_batch([job("c"), job("d")]) == [1, 2]


def test_a_held_store_refuses_every_member_after_one_wait(factory: stores.Factory):
    holder, store = factory(), factory(busy_s=0.01)

    def hold(tx: Transaction) -> list[Any]:
        stores.append(tx, "held")
        return store.write_batch([job("a"), job("b")])

    answers = holder.write("t", hold)
    assert [type(answer) for answer in answers] == [errors.StoreBusy, errors.StoreBusy]


def test_a_team_that_was_made_and_undone_with_its_batch_is_looked_up_anew(factory: stores.Factory):
    """The id of a team that never was committed may go to another team."""
    store, other = factory(), factory()

    def stop() -> None:
        raise KeyboardInterrupt

    faults.arm("before_commit", stop)
    with pytest.raises(KeyboardInterrupt):
        store.write_batch([job("a", "mine"), job("b", "mine")])
    faults.disarm()
    stores.write(other, "theirs", preview="theirs")
    assert store.write_batch([job("c", "mine")]) == [1]
    assert (previews(other, "theirs"), previews(other, "mine")) == (["theirs"], ["c"])


# -- savepoints --------------------------------------------------------------------------------------------------------


def test_a_savepoint_that_is_refused_leaves_nothing_and_the_rest_is_kept(store: Store):
    def work(tx: Transaction) -> int:
        stores.append(tx, "before")
        with pytest.raises(errors.Refused):
            tx.savepoint(lambda: refused(tx))
        return stores.append(tx, "after")

    assert store.write("t", work) == 2, "the number of what was undone was given back"
    assert previews(store) == ["before", "after"]


def test_a_savepoint_in_a_savepoint_is_undone_alone(store: Store):
    def inner(tx: Transaction) -> str:
        stores.append(tx, "outer")
        with pytest.raises(errors.Refused):
            tx.savepoint(lambda: refused(tx))
        return "kept"

    assert store.write("t", lambda tx: tx.savepoint(lambda: inner(tx))) == "kept"
    assert previews(store) == ["outer"]


def test_a_savepoint_that_is_not_caught_undoes_all(store: Store):
    def work(tx: Transaction) -> None:
        stores.append(tx, "before")
        tx.savepoint(lambda: refused(tx))

    with pytest.raises(errors.Refused):
        store.write("t", work)
    assert previews(store) == []
    assert store.write("t", lambda tx: tx.savepoint(lambda: stores.append(tx, "next"))) == 1


def test_a_savepoint_only_reads_where_nothing_may_be_written(store: Store):
    store.write(*job("a"))
    assert store.read("t", lambda tx: tx.savepoint(lambda: tx.team)) > 0
