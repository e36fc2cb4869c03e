"""The port: what is committed is seen, what is not leaves nothing, and the numbers have no gaps."""

import threading
from contextlib import suppress
from typing import Any

import pytest

from rookery.core import errors
from rookery.store.port import Store, Transaction
from tests.support import deeds
from tests.support.procs import Child, child, children, start_together
from tests.support.stores import Factory, append, events, numbers, position, write

# --- one transaction --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_commit_is_seen_by_another_handle(store_factory: Factory) -> None:
    one, other = store_factory(), store_factory()
    assert write(one, preview="hello") == 1
    assert [row["preview"] for row in events(other)] == ["hello"]
    assert position(other) == 1


def test_a_write_returns_what_its_work_returns(store_factory: Factory) -> None:
    assert store_factory().write("t", lambda tx: (tx.team_name, tx.writable)) == ("t", True)


def test_a_read_returns_what_its_work_returns(store_factory: Factory) -> None:
    assert store_factory().read("t", lambda tx: (tx.team_name, tx.writable)) == ("t", False)


def test_nothing_is_seen_before_the_commit(store_factory: Factory) -> None:
    one, other = store_factory(), store_factory()

    def work(tx: Transaction) -> list[int]:
        append(tx)
        return numbers(other)

    assert one.write("t", work) == []
    assert numbers(other) == [1]


@pytest.mark.parametrize("error", [LookupError("no"), errors.Refused("no"), KeyboardInterrupt()])
def test_an_error_leaves_nothing_and_gives_the_numbers_back(store_factory: Factory, error: BaseException) -> None:
    store, other = store_factory(), store_factory()
    write(store, preview="before")

    def work(tx: Transaction) -> None:
        assert [append(tx, "never happened") for _ in range(3)] == [2, 3, 4]
        raise error

    with pytest.raises(type(error)):
        store.write("t", work)
    assert position(other) == 1
    assert write(other, preview="after") == 2
    assert [row["preview"] for row in events(store)] == ["before", "after"]


def test_a_team_is_not_made_by_a_write_that_failed(store_factory: Factory) -> None:
    store = store_factory()
    with pytest.raises(ZeroDivisionError):
        store.write("new", lambda tx: append(tx) // 0)
    assert store.read("new", lambda tx: tx.one("ledger_position")) is None


def test_a_team_that_is_not_there_reads_as_empty(store_factory: Factory) -> None:
    store = store_factory()
    assert events(store, "nobody") == []
    assert store.read("nobody", lambda tx: tx.one("ledger_position")) is None


def test_what_a_read_writes_is_never_kept(store_factory: Factory) -> None:
    store = store_factory()
    write(store)
    with suppress(errors.RookError):  # a store may also refuse it
        store.read("t", lambda tx: tx.run("sweep_events", upto=1, horizon=0))
    assert numbers(store) == [1]


def test_numbers_of_teams_are_independent(store_factory: Factory) -> None:
    store = store_factory()
    assert [write(store, team) for team in ("a", "b", "a", "a", "b", "c")] == [1, 1, 2, 3, 2, 1]
    assert (numbers(store, "a"), numbers(store, "b"), numbers(store, "c")) == ([1, 2, 3], [1, 2], [1])


def test_rows_of_teams_are_apart(store_factory: Factory) -> None:
    store = store_factory()
    write(store, "a", "of a")
    write(store, "b", "of b")
    assert [row["preview"] for row in events(store, "a")] == ["of a"]
    assert store.read("a", lambda tx: tx.team) != store.read("b", lambda tx: tx.team)


def test_one_all_and_run(store_factory: Factory) -> None:
    def work(tx: Transaction) -> None:
        asked: dict[str, Any] = {"cursor": 0, "limit": 10}
        assert tx.one("events_after", **asked) is None
        assert tx.all("events_after", **asked) == []
        first, second = append(tx, "first"), append(tx, "second")
        found = tx.one("events_after", **asked)
        assert found is not None
        assert (found["seq"], found["preview"]) == (first, "first")
        assert [row["seq"] for row in tx.all("events_after", **asked)] == [first, second]
        assert tx.run("sweep_events", upto=second, horizon=0) == 2
        assert tx.run("sweep_events", upto=second, horizon=0) == 0
        counted = tx.one("raise_counter", name="x"), tx.one("raise_counter", name="x")
        assert [row and row["value"] for row in counted] == [1, 2]

    store_factory().write("t", work)


def test_values_come_back_as_they_went_in(store_factory: Factory) -> None:
    store = store_factory()
    hostile = "a'b\"c\\d;--\n\t{}%_\u00e9\u4e2d\U0001f680" + "x" * 70_000
    store.write("t", lambda tx: append(tx, hostile))
    assert events(store)[0]["preview"] == hostile


# --- snapshots --------------------------------------------------------------------------------------------------------


def test_a_read_sees_one_moment(store_factory: Factory) -> None:
    reader, writer = store_factory(), store_factory()
    write(writer)

    def work(tx: Transaction) -> tuple[int, int, int]:
        before = len(tx.all("events_after", cursor=0, limit=100))
        write(writer)
        write(writer)
        after = len(tx.all("events_after", cursor=0, limit=100))
        counter = tx.one("ledger_position")
        return before, after, counter["seq"] if counter else -1

    assert reader.read("t", work) == (1, 1, 1)
    assert numbers(reader) == [1, 2, 3]


def test_readers_do_not_wait_for_a_writer(store_factory: Factory) -> None:
    reader = store_factory(busy_s=0.0)
    write(store_factory())
    with child(deeds.hold, recipe=store_factory.recipe) as holder:
        assert holder.hear() == "held"
        assert numbers(reader) == [1]
        holder.say()
        assert holder.finish() == ["given back"]
    assert numbers(reader) == [1, 2]


@pytest.mark.slow
def test_a_read_is_cut_off_after_its_limit(store_factory: Factory) -> None:
    writer, reader = store_factory(), store_factory(read_s=0.5)
    writer.write("t", lambda tx: [append(tx) for _ in range(5_000)])
    rounds: list[int] = []

    def work(tx: Transaction) -> None:
        for _ in range(10_000):
            rounds.append(len(tx.all("events_after", cursor=0, limit=5_000)))

    with pytest.raises(errors.StoreBusy) as caught:
        reader.read("t", work)
    assert caught.value.code == "READ_TOO_LONG"
    assert caught.value.hint
    assert rounds, "a read within its limit is not cut off"
    assert len(rounds) < 10_000
    # The handle is as good as before, and a write has no such limit.
    assert reader.write("t", lambda tx: [append(tx) for _ in range(3)]) == [5_001, 5_002, 5_003]
    assert len(numbers(writer)) == 5_003


# --- waiting for the lock ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_write_gives_up_at_its_deadline_and_changes_nothing(store_factory: Factory) -> None:
    store = store_factory(busy_s=0.1)
    ran: list[int] = []
    with child(deeds.hold, recipe=store_factory.recipe) as holder:
        assert holder.hear() == "held"
        with pytest.raises(errors.StoreBusy) as caught:
            store.write("t", lambda tx: ran.append(append(tx)))
        assert caught.value.code == "STORE_BUSY"
        assert caught.value.hint
        holder.say()
        holder.finish()
    assert ran == []  # the lock comes first: the work never began
    assert write(store) == 2


@pytest.mark.slow
def test_a_writer_waits_for_the_lock_within_its_deadline(store_factory: Factory) -> None:
    store = store_factory(busy_s=60)
    with child(deeds.hold, recipe=store_factory.recipe) as holder:
        assert holder.hear() == "held"
        waiting = threading.Thread(target=write, args=(store,))
        waiting.start()
        holder.say()
        holder.finish()
        waiting.join(60)
        assert not waiting.is_alive()
    assert numbers(store) == [1, 2]


@pytest.mark.slow
def test_the_lock_of_a_killed_writer_is_free_at_once(store_factory: Factory) -> None:
    store = store_factory(busy_s=0.0)
    with child(deeds.hold, recipe=store_factory.recipe) as holder:
        assert holder.hear() == "held"
        holder.kill()
    assert write(store, preview="mine") == 1
    assert [row["preview"] for row in events(store)] == ["mine"]


# --- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_threads_of_one_handle_take_turns(store_factory: Factory) -> None:
    store = store_factory()
    given: list[int] = []
    threads = [
        threading.Thread(target=lambda: given.extend(write(store) for _ in range(25)), name=str(n)) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(1, 201)) == numbers(store)


@pytest.mark.slow
def test_numbers_have_no_gaps_under_several_processes(store_factory: Factory) -> None:
    names = ["a", "b", "c", "d"]
    store = store_factory()
    writers = [
        Child(deeds.write_events, recipe=store_factory.recipe, name=name, count=40, fail_every=4) for name in names
    ]
    with children(*writers):
        start_together(writers)
        for writer in writers:
            assert writer.finish() == ["done"]
    found = events(store)
    assert [row["seq"] for row in found] == list(range(1, 161))
    assert position(store) == 160
    for name in names:  # nothing is lost, nothing is twice, and each writer's own order is kept
        assert [row["preview"] for row in found if row["preview"].startswith(name)] == [
            f"{name} {i}" for i in range(40)
        ]


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_followers_never_skip_and_never_repeat(store_factory: Factory, count: int) -> None:
    """While writers commit, each follower resumes from its cursor, also with a handle opened anew."""
    store_factory()
    writers = [
        Child(deeds.write_events, recipe=store_factory.recipe, name=name, count=count, fail_every=5) for name in "abc"
    ]
    followers = [
        Child(deeds.follow, recipe=store_factory.recipe, upto=3 * count, page=page, reopen_every=again)
        for page, again in ((1, 10), (7, 3))
    ]
    with children(*writers, *followers):
        start_together([*followers, *writers])
        for writer in writers:
            assert writer.finish() == ["done"]
        seen = [follower.finish()[0] for follower in followers]
    truth = [[row["seq"], row["preview"]] for row in events(store_factory())]
    assert [number for number, _ in truth] == list(range(1, 3 * count + 1))
    assert seen == [truth, truth]


@pytest.mark.slow
def test_several_processes_open_a_store_that_is_not_there(store_factory: Factory) -> None:
    openers = [Child(deeds.open_and_write, recipe=store_factory.recipe) for _ in range(8)]
    with children(*openers):
        start_together(openers)
        given = sorted(number for opener in openers for number in opener.finish())
    assert given == list(range(1, 9)) == numbers(store_factory())


# --- handles ----------------------------------------------------------------------------------------------------------


def test_a_handle_refuses_to_work_after_a_fork(store_factory: Factory) -> None:
    with child(deeds.use_after_fork, recipe=store_factory.recipe) as forking:
        assert forking.finish() == ["FORKED_HANDLE", 2]


def test_a_closed_handle_says_so(store_factory: Factory) -> None:
    store = store_factory()
    store.close()
    store.close()
    for use in (store.write, store.read):
        with pytest.raises(errors.RookError):
            use("t", lambda tx: None)


def test_a_handle_stays_usable_after_every_kind_of_end(store_factory: Factory) -> None:
    store = store_factory()

    def read_badly(tx: Transaction) -> None:
        raise LookupError

    for use in (store.write, store.read):
        with pytest.raises(LookupError):
            use("t", read_badly)
    assert write(store) == 1


def test_the_checks_of_a_healthy_store_are_all_well(store_factory: Factory) -> None:
    store: Store = store_factory()
    write(store)
    told = store.checks()
    assert told
    assert all(well for _, well, _ in told), told


# --- backup -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_backup_is_consistent_while_others_write(store_factory: Factory) -> None:
    """Every event up to some moment not before the backup began, none after it, and the counter agrees."""
    store = store_factory()
    store.write("t", lambda tx: [append(tx, data="x" * 4_000) for _ in range(2_500)])  # too much for a single step
    writers = [Child(deeds.write_until_told, recipe=store_factory.recipe, data="x" * 4_000) for _ in range(2)]
    with children(*writers):
        start_together(writers)
        for number in range(3):
            for writer in writers:
                for _ in range(20):
                    writer.hear()
            check_backup(store_factory, store, f"copy{number}")
        for writer in writers:
            writer.say("stop")
            writer.finish()


def check_backup(store_factory: Factory, store: Store, name: str) -> None:
    known = position(store)
    place = store_factory.copy(name)
    store.backup(place["location"])
    copied = store_factory(at=place)
    found = numbers(copied)
    assert found == list(range(1, len(found) + 1))
    assert len(found) == position(copied) >= known
    assert all(well for _, well, _ in copied.checks())


def test_a_backup_is_a_ledger_of_its_own(store_factory: Factory) -> None:
    store = store_factory()
    write(store, preview="kept")
    place = store_factory.copy("copy")
    store.backup(place["location"])
    write(store, preview="later")
    copied = store_factory(at=place)
    assert write(copied, preview="elsewhere") == 2
    assert [row["preview"] for row in events(store)] == ["kept", "later"]
    assert [row["preview"] for row in events(copied)] == ["kept", "elsewhere"]
