"""What broke in other systems' tasks, and what is promised here (H21 to H23, H25, H27, H28)."""

import os
import signal
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.app import open_house
from rookery.client.handles import Agent, Team
from tests.support import hands, ledger
from tests.support.families import few
from tests.support.procs import Child, child, children, start_together
from tests.support.stores import prepared_home

MS = 1_000_000  # nanoseconds


@pytest.fixture
def home(tmp_path: Path) -> str:
    return prepared_home(tmp_path / "h")


@pytest.fixture
def team(home: str, monkeypatch: pytest.MonkeyPatch) -> Generator[Team]:
    monkeypatch.setenv("ROOK_TASKS_TTL_LOW_S", "0.001")
    with hands.house(home) as team:
        yield team


def plan(team: Team, count: int) -> list[str]:
    """Many tasks, quickly."""
    ids: list[str] = []
    for start in range(0, count, 5_000):
        tasks = [{"id": str(n), "title": f"T{n}"} for n in range(start, min(start + 5_000, count))]
        ids += [task["id"] for task in team.call("plan.new", goal="Race", tasks=tasks)["tasks"]]
    return ids


def count(home: str, statement: str) -> int:
    return ledger.ask(f"{home}/rookery.db", statement)[0][0]


# --- H21: exactly one ------------------------------------------------------------------------------------------------


def race(home: str, deed: Callable[..., None], **args: Any) -> list[list[Any]]:
    """What eight processes took, all together."""
    started = (Child(deed, hands.HASTY, home=home, name=f"w{n}", **args) for n in range(8))
    with children(*started) as racers:
        start_together(racers)
        return [taken for racer in racers for taken in until_none(racer)]


def until_none(racer: Child) -> Iterator[Any]:
    while True:
        for taken in racer.hear():
            if taken is None:
                return
            yield taken


def check_race(home: str, team: Team, tasks: int, finish: bool) -> None:
    ids = plan(team, tasks)
    taken = race(home, hands.take_all, finish=finish)
    assert len(taken) == len({id for id, _ in taken}), "double claims"
    assert sorted(id for id, _ in taken) == sorted(ids), "missing ones"
    assert {epoch for _, epoch in taken} == {1}
    assert count(home, "SELECT count(*) FROM events WHERE type = 'task.start'") == tasks
    status = "completed" if finish else "in_progress"
    assert count(home, f"SELECT count(*) FROM tasks WHERE status = '{status}' AND epoch = 1 AND attempts = 1") == tasks


@pytest.mark.slow
def test_h21_eight_processes_race_for_tasks(home: str, team: Team) -> None:
    check_race(home, team, 100, finish=True)


@pytest.mark.slow
def test_h21_eight_processes_race_for_two_thousand_tasks(home: str, team: Team) -> None:
    check_race(home, team, 2_000, finish=True)


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_h21_eight_processes_race_for_twenty_thousand_tasks(home: str, team: Team) -> None:
    check_race(home, team, 20_000, finish=False)


@pytest.mark.slow
def test_h21_all_want_the_same_tasks_in_the_same_order(home: str, team: Team) -> None:
    ids = plan(team, 60)
    taken = race(home, hands.take_each, ids=ids)
    assert sorted(id for id, _ in taken) == sorted(ids)
    assert {epoch for _, epoch in taken} == {1}


@pytest.mark.slow
def test_h21_ids_never_collide(home: str, team: Team) -> None:
    made = race(home, hands.make, count=25)
    assert sorted(made) == [f"task-{n:04d}" for n in range(1, 201)]
    assert count(home, "SELECT count(DISTINCT title) FROM tasks") == 200, "none was overwritten"


# --- H22: only the holder --------------------------------------------------------------------------------------------


def code(call: Callable[[], Any]) -> str:
    with pytest.raises(rookery.Refused) as caught:
        call()
    return caught.value.code


@pytest.mark.slow
@pytest.mark.parametrize("verb", few(hands.WRITES, *list(hands.WRITES)[:2]))
def test_h22_only_the_holder_of_the_live_lease_writes(home: str, team: Team, verb: str) -> None:
    """The holder is another process, which holds nothing but its lease."""
    id = team.add_task("Work")["id"]
    thief = team.join("thief")
    with child(hands.hold_and_wait, hands.HASTY, home=home, name="holder", id=id, ttl_ms=60_000) as holder:
        _, epoch = holder.hear()
        before = ledger.everything(f"{home}/rookery.db")["tasks"]
        for under in (None, epoch - 1, epoch, epoch + 1):
            call = lambda under=under: thief.call(verb, id=id, epoch=under, **hands.WRITES[verb])  # noqa: E731
            assert code(call) == "LEASE_HOLDER_MISMATCH"
        assert ledger.everything(f"{home}/rookery.db")["tasks"] == before


# --- H23: overlapping paths ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_h23_overlapping_claims_exclude_each_other(home: str, team: Team, tmp_path: Path) -> None:
    """The oracle is a file that can be created once; the shared path is neither the first nor spelt alike."""
    shared = ["src/io/", "src/io/x.py", "./src//io/**", "src/*/x.py"]
    rounds = 10
    started = [
        Child(
            hands.work_alone, hands.HASTY, home=home, name=f"w{n}", folder=str(tmp_path), rounds=rounds,
            id=team.add_task(f"T{n}", resources=[f"own-{n}/", path])["id"],
        )
        for n, path in enumerate(shared)
    ]  # fmt: skip
    with children(*started) as workers:
        start_together(workers)
        refused = [worker.hear() for worker in workers]
        for worker in workers:
            worker.finish()
    assert sum(refused) > 0, "nobody met anybody: this showed nothing"
    assert count(home, "SELECT count(*) FROM reservations") == 0
    assert count(home, "SELECT count(*) FROM events WHERE type = 'task.start'") == rounds * len(shared)


# --- H25: lapses -----------------------------------------------------------------------------------------------------


def claimed_at_last(me: Agent, id: str) -> int:
    """The epoch, once the claim is not refused any more."""
    while not (epoch := hands.attempt(me, id, "TASK_NOT_CLAIMABLE")):
        pass
    return epoch


def stop(home: str, pid: int) -> None:
    """SIGSTOP while this process has the store's lock, so that the other does not fall asleep with it."""

    def work(_tx: object) -> None:
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)

    house = open_house(cwd="/", environ={"ROOK_HOME": home}, team=hands.TEAM)
    house.store.write(hands.TEAM, work)
    house.close()


@pytest.mark.slow
def test_h25_a_lease_ends_neither_early_nor_silently(home: str, team: Team) -> None:
    id, ttl = team.add_task("Work")["id"], 300
    me = team.join("taker")
    with child(hands.hold_and_wait, hands.HASTY, home=home, name="holder", id=id, ttl_ms=ttl) as holder:
        asked, epoch = holder.hear()
        stop(home, holder.pid)
        assert claimed_at_last(me, id) == epoch + 1
        held = time.monotonic_ns() - asked
    assert held >= ttl * MS, "early"
    assert [e["target"] for e in team.call("events", limit=100)["events"] if e["type"] == "task.lapsed"] == ["holder"]
    assert [message.subject for message in team.agent("holder").inbox()] == [f"Lease lost: {id} Work"]


@pytest.mark.slow
def test_h25_a_running_holder_is_not_robbed_though_it_says_nothing(home: str, team: Team) -> None:
    """Many looks at a lease that would have lapsed; then its holder dies, and it is free at once."""
    id = team.add_task("Work")["id"]
    me = team.join("taker")
    ttl, looks = 300, 0
    with child(hands.hold_and_wait, hands.HASTY, home=home, name="holder", id=id, ttl_ms=ttl) as holder:
        asked, epoch = holder.hear()
        while looks < 20:
            over = time.monotonic_ns() - asked > ttl * MS
            assert code(lambda: me.call("task.claim", id=id)) == "TASK_NOT_CLAIMABLE"
            looks += over
        team.call("sweep")
        assert [e for e in team.call("events", limit=100)["events"] if e["type"] == "task.lapsed"] == []
        holder.kill()
        assert me.call("task.claim", id=id)["lease"]["epoch"] == epoch + 1


# --- H27: what waits for a failure -----------------------------------------------------------------------------------


def test_h27_a_failure_is_told_and_each_way_out_works(team: Team) -> None:
    owner, worker, other = (team.join(name) for name in ("owner", "worker", "other"))
    base, above = "", ""

    def broken() -> None:
        nonlocal base, above
        base = owner.call("task.add", title="Base")["id"]
        above = other.call("task.add", title="Above", deps=[base])["id"]
        worker.claim(base).fail("it does not compile")

    def status(id: str) -> str:
        return team.call("task.show", id=id)["status"]

    broken()
    for agent in (owner, other):
        message = agent.inbox()[-1]
        assert "it does not compile" in message.body
        assert above in message.body
        for way in (f"rook task reset {base}", "rook task revise", f"rook task cancel {base} --tree"):
            assert way in message.body
    assert status(above) == "blocked"

    owner.call("task.reset", id=base)  # retry
    worker.claim(base).complete("it does now")
    assert status(above) == "pending"

    broken()
    new = owner.call("task.add", title="Another way")["id"]
    other.call("task.revise", id=above, deps=[new])  # replace
    worker.claim(new).complete("so")
    assert status(above) == "pending"

    broken()
    assert owner.call("task.cancel", id=base, tree=True)["canceled"] == [base, above]
    assert status(above) == "canceled"


def test_h27_unknown_and_circular_dependencies_are_refused(team: Team) -> None:
    a = team.add_task("A")["id"]
    b = team.add_task("B", deps=[a])["id"]
    with pytest.raises(rookery.UnknownName):
        team.add_task("C", deps=["task-9999"])
    with pytest.raises(rookery.BadInput, match=f"{a} -> {b} -> {a}"):
        team.call("task.revise", id=a, deps=[b])


# --- H28: work longer than its lease ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_h28_a_block_is_renewed_while_it_runs(home: str, team: Team) -> None:
    """Its end moves on again and again, by far more than it was given; nobody else gets it meanwhile."""
    id = team.add_task("Long work")["id"]
    me = team.join("taker")
    with child(hands.work_in_a_block, hands.HASTY, home=home, name="worker", id=id, ttl_ms=600) as worker:
        epoch = worker.hear()
        ends: set[str] = set()
        while len(ends) < 8:  # each renewal moves it by a third of the lease: more than two leases long
            assert code(lambda: me.call("task.claim", id=id)) == "TASK_NOT_CLAIMABLE"
            ends.add(team.call("task.show", id=id)["lease"]["expiresAt"])
        worker.say("complete")
        assert worker.hear() == "completed"
    card = team.call("task.show", id=id)
    assert (card["status"], card["epoch"], card["author"]) == ("completed", epoch, "worker")


@pytest.mark.slow
def test_h28_a_block_that_is_left_gives_the_task_back(home: str, team: Team) -> None:
    id = team.add_task("Work")["id"]
    with child(hands.work_in_a_block, hands.HASTY, home=home, name="worker", id=id, ttl_ms=60_000) as worker:
        worker.hear()
        worker.say("leave")
        assert worker.hear() == "pending"
    assert team.call("task.show", id=id)["notes"][-1]["note"] == "left unfinished"


@pytest.mark.slow
def test_h28_a_zombie_is_fenced_by_the_database(home: str, team: Team) -> None:
    """Stopped past its lease, and woken when another holds the task: every write is refused, and it learns of it."""
    id = team.add_task("Work")["id"]
    me = team.join("taker")
    with child(hands.wake_as_a_zombie, hands.HASTY, home=home, name="zombie", id=id, ttl_ms=300) as zombie:
        epoch = zombie.hear()
        stop(home, zombie.pid)
        taken = claimed_at_last(me, id)
        assert taken == epoch + 1
        before = ledger.everything(f"{home}/rookery.db")["tasks"]
        zombie.signal(signal.SIGCONT)
        zombie.say()
        told = zombie.hear()
    assert set(told["raw"].values()) == {"LEASE_HOLDER_MISMATCH"}
    assert set(told["raw"]) == set(hands.WRITES)
    assert (told["lease"], told["lost"]) == ("LeaseLost", True)
    assert "block" in told, "the end of the block says so as well"
    assert ledger.everything(f"{home}/rookery.db")["tasks"] == before
    assert me.call("task.done", id=id, epoch=taken)["status"] == "completed"


@pytest.mark.slow
def test_h28_a_zombie_wakes_when_all_is_over(home: str, team: Team) -> None:
    """The task was even completed by its next holder meanwhile."""
    id = team.add_task("Work")["id"]
    me = team.join("taker")
    with child(hands.wake_as_a_zombie, hands.HASTY, home=home, name="zombie", id=id, ttl_ms=300) as zombie:
        zombie.hear()
        stop(home, zombie.pid)
        claimed_at_last(me, id)
        me.call("task.done", id=id, summary="mine")
        zombie.signal(signal.SIGCONT)
        zombie.say()
        told = zombie.hear()
    assert set(told["raw"].values()) == {"TASK_NOT_IN_PROGRESS"}
    assert (told["lease"], told["lost"]) == ("LeaseLost", True)
    assert team.call("task.show", id=id)["result"]["summary"] == "mine"
