"""The sweeper: expired mail, lapsed leases, dead sessions, old keys and files; a bounded amount; in any number."""

import threading
from typing import Any

import pytest

from rookery.core import errors
from tests.support import ledger
from tests.support.stage import DAY, HOUR, MINUTE, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.join_all("ada", "bob")
    return made


def keys(stage: Stage) -> int:
    return ledger.ask(stage.store.location, "SELECT count(*) FROM idempotency")[0][0]


def add(stage: Stage, key: str, title: str = "T") -> Any:
    return stage.call("task.add", "ada", title=title, key=key)


# --- idempotency keys -------------------------------------------------------------------------------------------------


def test_a_key_is_kept_for_a_day(stage: Stage) -> None:
    first = add(stage, "k")
    stage.clock.pass_time(DAY - 1)
    assert add(stage, "k") == first | {"replayed": True}
    assert stage.call("sweep")["keys"] == 0
    stage.clock.pass_time(1)
    assert keys(stage) == 1, "not swept yet"
    again = add(stage, "k", "Another")
    assert again["id"] != first["id"], "what is past its time is not known, swept or not"
    assert "replayed" not in again
    assert add(stage, "k", "Another")["id"] == again["id"]


def test_a_sweep_forgets_old_keys_only(stage: Stage) -> None:
    add(stage, "old")
    stage.clock.pass_time(DAY)
    add(stage, "new")
    assert stage.call("sweep")["keys"] == 1
    assert [row[0] for row in ledger.ask(stage.store.location, "SELECT key FROM idempotency")] == ["new"]


def test_how_long_is_a_setting(build: Build) -> None:
    stage = build(retention__keys_s=60)
    stage.join("ada")
    first = add(stage, "k")
    stage.clock.pass_time(59_999)
    assert add(stage, "k")["id"] == first["id"]
    stage.clock.pass_time(1)
    assert add(stage, "k")["id"] != first["id"]


def test_a_clock_that_jumps_forgets_no_key(stage: Stage) -> None:
    first = add(stage, "k")
    stage.clock.jump(10 * DAY)
    assert add(stage, "k")["id"] == first["id"]


# --- dead sessions ----------------------------------------------------------------------------------------------------


def test_a_dead_process_ends_its_session_once(stage: Stage) -> None:
    process = stage.process()
    stage.join("eve", process=process)
    stage.clock.pass_time(2 * MINUTE)
    assert stage.call("sweep")["sessions"] == 0
    stage.prober.states[process] = "dead"
    assert stage.call("sweep")["sessions"] == 1
    assert stage.call("sweep")["sessions"] == 0
    (left,) = stage.events("leave")
    assert (left["actor"], left["preview"]) == ("eve", "its process is gone")
    assert "eve" not in str(stage.call("health")["concerns"])
    stage.send("ada", "eve")
    assert stage.join("eve")["inherited"] == 1, "its mail waits, and it is expected back"


@pytest.mark.parametrize("state", ["running", "stopped", "unknown"])
def test_whoever_may_come_back_is_left_alone(stage: Stage, state: str) -> None:
    process = stage.process(state)
    stage.join("eve", process=process)
    stage.clock.pass_time(DAY)
    assert stage.call("sweep")["sessions"] == 0


def test_silence_elsewhere_ends_nobody(stage: Stage) -> None:
    far = stage.caller(process=(1, "t"), host="elsewhere")
    stage.call("join", far, name="eve")
    stage.clock.pass_time(DAY)
    assert stage.call("sweep")["sessions"] == 0


def test_what_a_dead_session_held_is_given_back_first(stage: Stage) -> None:
    """Its leases are free at once, not when they would have run out."""
    process = stage.process()
    stage.join("eve", process=process)
    tasks = [stage.call("task.add", title="T", resources=[f"src/{n}"])["id"] for n in range(3)]
    for task in tasks:
        stage.call("task.claim", "eve", id=task, ttl_ms=DAY)
    stage.clock.pass_time(2 * MINUTE)
    stage.prober.states[process] = "dead"
    first = stage.call("sweep", batch=1)
    assert (first["lapsed"], first["sessions"]) == (1, 0), "it still holds the others"
    assert stage.call("sweep", batch=1)["sessions"] == 0
    assert stage.call("sweep", batch=2)["sessions"] == 1
    assert {stage.call("task.show", id=task)["status"] for task in tasks} == {"pending"}


# --- a bounded amount -------------------------------------------------------------------------------------------------


def much(stage: Stage, count: int) -> None:
    """So much of everything that lapses."""
    for n in range(count):
        stage.send("ada", "bob", expires=stage.clock.wall + HOUR)
        add(stage, f"k{n}")
        stage.call("task.claim", "ada", id=stage.call("task.add", title="T")["id"], ttl_ms=1000)
    stage.prober.states.clear()  # whoever held them is gone
    stage.clock.pass_time(2 * DAY)


def test_a_sweep_does_no_more_than_it_was_told(stage: Stage) -> None:
    much(stage, 7)
    for expected in (3, 3, 1):
        done = stage.call("sweep", batch=3)
        assert (done["expired"], done["keys"]) == (expected, expected)
        assert done["lapsed"] <= 6
    assert not stage.call("sweep", batch=3)["expired"]


def test_a_sweep_with_more_to_do_is_due_again(stage: Stage) -> None:
    for n in range(5):
        add(stage, f"k{n}")
    stage.clock.pass_time(DAY)
    assert stage.call("due")["sweep"]
    stage.call("sweep", batch=2)
    assert stage.call("due")["sweep"], "there is more"
    stage.call("sweep", batch=500)
    assert not stage.call("due")["sweep"]


@pytest.mark.parametrize("batch", [0, -1, 10_001])
def test_a_batch_that_is_none(stage: Stage, batch: int) -> None:
    assert isinstance(stage.refused("sweep", batch=batch), errors.BadInput)


# --- any number of them -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_sweep_at_once_and_everything_happens_once(stage: Stage) -> None:
    much(stage, 20)
    done: list[dict[str, int]] = []

    def sweep() -> None:
        other = Stage(stage.store.location, clock=stage.clock)
        for _ in range(10):
            done.append(other.call("sweep", batch=3))
            other.call("settle", batch=3)
        other.close()

    threads = [threading.Thread(target=sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: sum(each[name] for each in done) for name in ("expired", "keys")} == {"expired": 20, "keys": 20}
    expired = [event["ref"] for event in stage.events("mail.expired")]
    assert len(expired) == len(set(expired)) == 20
    lapsed = [event["ref"] for event in stage.events("task.lapsed")]
    assert len(lapsed) == len(set(lapsed)) == 20
    lost = [m for m in stage.inbox("ada", all=True, limit=1000) if m["subject"].startswith("Lease lost")]
    assert len(lost) == 20
    assert len([event for event in stage.events("leave") if event["actor"] == "ada"]) == 1
