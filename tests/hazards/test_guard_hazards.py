"""What broke in other systems' reservations, and what is promised here (H23, H25), with real processes."""

import os
import signal
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.app import open_house
from rookery.client.handles import Agent, Team
from tests.support import guards, hands, ledger
from tests.support.procs import Child, Silent, child, children, start_together
from tests.support.stores import prepared_home

MS = 1_000_000  # nanoseconds


@pytest.fixture
def home(tmp_path: Path) -> str:
    return prepared_home(tmp_path / "h")


@pytest.fixture
def team(home: str, monkeypatch: pytest.MonkeyPatch) -> Generator[Team]:
    monkeypatch.setenv("ROOK_GUARD_TTL_LOW_S", "0.001")
    with hands.house(home) as team:
        yield team


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


def count(home: str, statement: str) -> int:
    return ledger.ask(f"{home}/rookery.db", statement)[0][0]


def events(team: Team, *kinds: str) -> list[dict[str, Any]]:
    return [event for event in team.call("events", limit=10_000)["events"] if event["type"] in kinds]


def line(team: Team) -> list[str]:
    found = team.call("reservations")["reservations"]
    return [row["agent"] for row in found if row["state"] == "waiting"]


def until_in_line(team: Team, *names: str) -> None:
    for _ in team.follow():
        if set(names) <= set(line(team)):
            return


def code(me: Agent, *paths: str) -> str:
    with pytest.raises(rookery.Refused) as caught:
        me.call("reserve", paths=list(paths))
    return caught.value.code


def stop(home: str, pid: int) -> None:
    """SIGSTOP while this process has the store's lock, so that the other does not fall asleep with it."""

    def work(_tx: object) -> None:
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)

    house = open_house(cwd="/", environ={"ROOK_HOME": home}, team=hands.TEAM)
    house.store.write(hands.TEAM, work)
    house.close()


# --- H23: overlapping paths, all or none ------------------------------------------------------------------------------

SHARED = (["src/io/"], ["x-1", "src/io/x.py"], ["./src//io/**", "x-2"], ["x-3", "src/*/x.py"], ["src/**"], ["src"])


def be_alone(home: str, folder: Path, paths: Any, rounds: int, wait: float, how: Any = None, **more: Any) -> list[Any]:
    given = {"home": home, "folder": str(folder), "rounds": rounds, "wait": wait, **more}
    started = [
        Child(how or guards.be_alone, guards.HASTY, name=f"w{n}", paths=wanted, **given)
        for n, wanted in enumerate(paths)
    ]
    with children(*started) as workers:
        start_together(workers)
        said = [worker.hear() for worker in workers]
        for worker in workers:
            worker.finish()
    return said


def check_alone(home: str, team: Team, folder: Path, paths: Any, rounds: int, wait: float) -> None:
    refused = be_alone(home, folder, paths, rounds, wait)
    if wait:
        assert sum(refused) == 0, "nobody starved"
        assert len(events(team, "reserve.wait")) > 0, "nobody met anybody: this showed nothing"
    else:
        assert sum(refused) > 0, "nobody met anybody: this showed nothing"
    assert count(home, "SELECT count(*) FROM reservations") == 0
    assert count(home, "SELECT count(*) FROM events WHERE type = 'reserve'") == rounds * len(paths)


@pytest.mark.parametrize(
    "wait", [pytest.param(0, id="asking again", marks=pytest.mark.slow), pytest.param(60, id="in line")]
)
def test_h23_overlapping_reservations_exclude_each_other(home: str, team: Team, folder: Path, wait: float) -> None:
    """The oracle is a file that can be created once; the overlap is not the first path, nor spelt alike."""
    check_alone(home, team, folder, SHARED[:3], 10, wait)


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0, 60], ids=["asking again", "in line"])
def test_h23_many_reservations_exclude_each_other(home: str, team: Team, folder: Path, wait: float) -> None:
    check_alone(home, team, folder, SHARED, 100, wait)


@pytest.mark.slow
def test_h23_control_the_file_finds_two_at_once(home: str, team: Team, folder: Path) -> None:
    with pytest.raises((AssertionError, Silent)):
        be_alone(home, folder, SHARED, 300, 0, guards.lawless, deed="be_alone")


@pytest.mark.slow
def test_slots_are_never_given_out_more_often_than_they_are_there(home: str, team: Team, folder: Path) -> None:
    team.call("slot.set", name="build", capacity=2)
    started = [
        Child(
            guards.use_slot,
            guards.HASTY,
            home=home,
            name=f"w{n}",
            slot="build",
            folder=str(folder),
            capacity=2,
            rounds=6,
        )
        for n in range(3)
    ]
    with children(*started) as users:
        start_together(users)
        most = [user.hear() for user in users]
        for user in users:
            user.finish()
    assert max(most) <= 2
    assert len(events(team, "slot.take")) == 18


# --- H25: lapses ------------------------------------------------------------------------------------------------------


def test_h25_what_a_killed_holder_had_is_free_at_once(home: str, team: Team) -> None:
    me = team.join("taker")
    with child(guards.hold, guards.HASTY, home=home, name="holder", paths=["src/"], ttl_ms=3_600_000) as holder:
        holder.hear()
        assert code(me, "src/x.py") == "RESERVED"
        holder.kill()
        me.call("reserve", paths=["src/x.py"])
    assert [event["target"] for event in events(team, "reserve.lapsed")] == ["holder"]
    assert [message.subject for message in team.agent("holder").inbox()] == ["No longer yours: src/"]


@pytest.mark.slow
def test_h25_a_stopped_holder_lapses_neither_early_nor_silently(home: str, team: Team) -> None:
    me, ttl = team.join("taker"), 400
    with child(guards.hold, guards.HASTY, home=home, name="holder", paths=["src/"], ttl_ms=ttl) as holder:
        asked, _ = holder.hear()
        stop(home, holder.pid)
        me.reserve("src/x.py", wait=60).release()
        assert time.monotonic_ns() - asked >= ttl * MS, "early"
    assert [event["target"] for event in events(team, "reserve.lapsed")] == ["holder"]
    subjects = [message.subject for message in team.agent("holder").inbox()]
    assert "No longer yours: src/" in subjects


@pytest.mark.slow
def test_h25_a_running_holder_is_not_robbed_though_it_says_nothing(home: str, team: Team) -> None:
    me = team.join("taker")
    ttl, looks = 300, 0
    with child(guards.hold, guards.HASTY, home=home, name="holder", paths=["src/"], ttl_ms=ttl) as holder:
        asked, _ = holder.hear()
        while looks < 20:
            over = time.monotonic_ns() - asked > ttl * MS
            assert code(me, "src/x.py") == "RESERVED"
            looks += over
        team.call("sweep")
        assert events(team, "reserve.lapsed") == []


@pytest.mark.slow
def test_h25_a_block_is_renewed_while_it_runs(home: str, team: Team) -> None:
    """Its end moves on again and again, by far more than it was given."""
    me = team.join("taker")
    with child(guards.hold_in_a_block, guards.HASTY, home=home, name="holder", paths=["src/"], ttl_ms=600) as holder:
        assert holder.hear() == "held"
        ends: set[str] = set()
        while len(ends) < 8:
            assert code(me, "src/x.py") == "RESERVED"
            ends |= {row["expiresAt"] for row in team.call("reservations")["reservations"]}
        holder.say()
        assert holder.hear() == "given back"
        me.call("reserve", paths=["src/x.py"])


@pytest.mark.slow
def test_h25_a_block_learns_that_it_was_robbed(home: str, team: Team) -> None:
    with child(guards.hold_in_a_block, guards.HASTY, home=home, name="holder", paths=["src/"], ttl_ms=60_000) as holder:
        holder.hear()
        assert team.call("release", paths=["src/"], force=True)["holders"] == ["holder"]
        holder.say()
        assert holder.hear() == ["lost", "LEASE_EXPIRED"]


# --- the line ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_line_is_rung_in_order(home: str, team: Team) -> None:
    """Each sleeps until it is rung: there is no look beneath the bell."""
    me = team.join("holder")
    mine = me.reserve("src/")
    with (
        children() as _,
        child(guards.stand_in_line, guards.DEEP_SLEEP, home=home, name="one", paths=["src/a"], wait=60) as one,
    ):
        one.hear()
        until_in_line(team, "one")
        with child(guards.stand_in_line, guards.DEEP_SLEEP, home=home, name="two", paths=["src/"], wait=60) as two:
            two.hear()
            until_in_line(team, "one", "two")
            mine.release()
            assert one.hear() == {"waiting": ["two"]}
            assert line(team) == ["two"]
            one.say()
            assert two.hear() == {"waiting": []}
            two.say()
    assert [event["actor"] for event in events(team, "reserve")] == ["holder", "one", "two"]
    assert [message.subject for message in me.inbox()] == ["one waits for src/", "two waits for src/"]


@pytest.mark.slow
def test_a_killed_waiter_is_passed_over(home: str, team: Team) -> None:
    me = team.join("holder")
    mine = me.reserve("src/")
    with child(guards.stand_in_line, guards.HASTY, home=home, name="one", paths=["src/"], wait=60) as one:
        one.hear()
        until_in_line(team, "one")
        with child(guards.stand_in_line, guards.HASTY, home=home, name="two", paths=["src/"], wait=60) as two:
            two.hear()
            until_in_line(team, "one", "two")
            one.kill()
            assert line(team) == ["two"]
            mine.release()
            assert two.hear() == {"waiting": []}
            two.say()


@pytest.mark.slow
def test_a_stopped_waiter_loses_its_place(home: str, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = guards.HASTY | {"ROOK_GUARD_WAITER_S": "0.5"}
    me = team.join("holder")
    mine = me.reserve("src/")
    with child(guards.stand_in_line, quick, home=home, name="one", paths=["src/"], wait=60) as one:
        one.hear()
        until_in_line(team, "one")
        with child(guards.stand_in_line, quick, home=home, name="two", paths=["src/"], wait=60) as two:
            two.hear()
            until_in_line(team, "one", "two")
            stop(home, one.pid)
            mine.release()
            assert two.hear() == {"waiting": []}
            two.say()


@pytest.mark.slow
def test_a_wait_that_is_over_leaves_the_line(team: Team) -> None:
    team.join("holder").call("reserve", paths=["src/"], reason="mine")
    me = team.join("waiter")
    with pytest.raises(rookery.Refused) as caught:
        me.reserve("src/x", wait=0.2)
    assert (caught.value.code, caught.value.facts["holder"]) == ("RESERVED", "holder")
    assert line(team) == []
