"""The store's clock: anchored once per boot, moved by no calendar, read once, after the lock."""

import threading
from itertools import count, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.store.port import Store, Transaction
from tests.support import deeds
from tests.support.fakes import FakeClock
from tests.support.procs import child
from tests.support.stores import Factory, append

DAY = 86_400_000
BOOTS = count()  # no boot comes twice, also not in two examples of one test


def now(store: Store) -> int:
    """The time of a write: what counts as the last use."""
    return store.write("t", lambda tx: tx.now)


def test_now_begins_with_the_calendar(store_factory: Factory) -> None:
    clock = FakeClock()
    assert now(store_factory(clock)) == clock.wall


def test_now_moves_with_the_monotonic_clock_alone(store_factory: Factory) -> None:
    clock = FakeClock()
    store = store_factory(clock)
    began = now(store)
    clock.mono += 250
    assert now(store) == began + 250
    for leap in (-400 * DAY, 800 * DAY, -1):
        clock.jump(leap)
        assert now(store) == began + 250


def test_the_wall_is_told_as_it_is(store_factory: Factory) -> None:
    clock = FakeClock()
    store = store_factory(clock)
    clock.jump(-DAY)
    assert store.write("t", lambda tx: tx.wall) == clock.wall == store.read("t", lambda tx: tx.wall)


def test_now_stands_still_within_a_transaction(store_factory: Factory) -> None:
    clock = FakeClock()
    store = store_factory(clock)

    def work(tx: Transaction) -> bool:
        before = (tx.now, tx.wall)
        clock.pass_time(5_000)
        append(tx)
        return (tx.now, tx.wall) == before

    assert store.write("t", work)
    assert store.read("t", work)


def test_reads_and_writes_tell_the_same_time(store_factory: Factory) -> None:
    store = store_factory(FakeClock())
    assert now(store) == store.read("t", lambda tx: tx.now)


def test_two_handles_of_one_boot_agree(store_factory: Factory) -> None:
    """Also when the calendar was set between their openings: the first one anchored the boot."""
    clock = FakeClock()
    first = store_factory(clock)
    began = now(first)
    clock.pass_time(1_000)
    later = FakeClock(wall=clock.wall + 30 * DAY, mono=clock.mono)
    second = store_factory(later)
    assert now(second) == now(first) == began + 1_000


def test_a_new_boot_starts_no_earlier_than_the_last_use(store_factory: Factory) -> None:
    clock = FakeClock()
    store = store_factory(clock)
    clock.pass_time(10 * DAY)
    last = now(store)
    clock.reboot("boot-2")
    clock.jump(-300 * DAY)  # the battery of the calendar was empty
    assert now(store_factory(clock)) >= last


def test_a_new_boot_follows_the_calendar_when_that_is_later(store_factory: Factory) -> None:
    clock = FakeClock()
    now(store_factory(clock))
    clock.reboot("boot-2")
    clock.jump(DAY)  # it was off for a day
    assert now(store_factory(clock)) == clock.wall


def test_the_last_use_of_any_team_counts(store_factory: Factory) -> None:
    clock = FakeClock()
    store = store_factory(clock)
    store.write("quiet", append)
    clock.pass_time(DAY)
    last = store.write("busy", lambda tx: tx.now)
    clock.reboot("boot-2")
    clock.jump(-2 * DAY)
    assert store_factory(clock).write("quiet", lambda tx: tx.now) >= last


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["run", "jump", "boot", "open"]), st.integers(-1_000_000, 1_000_000)), max_size=15
    )
)
def test_now_never_goes_back(store_factory: Factory, moves: list[tuple[str, int]]) -> None:
    """Whatever the calendar does, however often the machine boots, in whatever handle."""
    clock = FakeClock(boot=f"boot-{next(BOOTS)}")
    store = store_factory(clock)
    seen = [now(store)]
    for move, amount in moves:
        if move == "run":
            clock.mono += abs(amount)
        elif move == "jump":
            clock.jump(amount * 1_000)
        else:
            if move == "boot":
                clock.reboot(f"boot-{next(BOOTS)}", mono=abs(amount))
            store.close()
            store = store_factory(clock)
        seen.append(now(store))
    assert all(earlier <= later for earlier, later in pairwise(seen))


@pytest.mark.slow
def test_the_clock_is_read_after_the_lock_was_taken(store_factory: Factory) -> None:
    """A lease is compared with the time at which the lock was had, not with the time at which it was asked for."""
    clock = FakeClock()
    store = store_factory(clock, busy_s=60)
    began = now(store)
    looked = threading.Event()
    clock.on_look = looked.set
    told: list[int] = []
    with child(deeds.hold, recipe=store_factory.recipe) as holder:
        assert holder.hear() == "held"
        waiting = threading.Thread(target=lambda: told.append(now(store)))
        waiting.start()
        assert not looked.wait(0.1), "the clock was read while another had the lock"
        clock.pass_time(5_000)
        holder.say()
        holder.finish()
        waiting.join(60)
    assert told == [began + 5_000]


def test_a_read_never_sees_what_happened_after_its_now(store_factory: Factory) -> None:
    """The clock of a read is looked at when its snapshot stands: an age computed in it is not below zero."""
    clock = FakeClock()
    reader, writer = store_factory(clock), store_factory(FakeClock())
    written: list[int] = []

    def meanwhile() -> None:
        clock.on_look = lambda: None
        written.append(writer.write("t", append))

    writer.write("t", append)
    clock.on_look = meanwhile
    seen = reader.read("t", lambda tx: len(tx.all("events_after", cursor=0, limit=10)))
    assert written == [2]
    assert seen == 1
