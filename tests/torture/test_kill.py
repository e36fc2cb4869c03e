"""`kill -9` at any moment, as often as you like: nothing that was acknowledged is lost, nothing is there by half."""

import os
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.core import errors
from rookery.store import faults
from rookery.wake.datagram import DatagramBell
from tests.support import ledger, torture
from tests.support.procs import Child, child, children, environment

pytestmark = pytest.mark.torture

CYCLES = int(os.environ.get("TORTURE_CYCLES", "200"))


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "h")


def database(home: str) -> str:
    return f"{home}/rookery.db"


def do(home: str, deed: str, point: str = "", id: str = "") -> list[Any]:
    """What the process said before it died at the point, or ended well."""
    with child(torture.do_one_thing, environment(HOME="/x"), home=home, deed=deed, point=point, id=id) as one:
        return one.kill_said() if point else one.finish()


# --- at random --------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("share", "writers", "longest_ms", "seed"), [(1, 3, 60, 1), (0.5, 1, 30, 2), (0.5, 6, 120, 3)])
def test_writers_killed_at_random(home: str, share: float, writers: int, longest_ms: int, seed: int) -> None:
    """Several at once, one alone, many; every so often in a home that is not there yet."""
    cycles = round(CYCLES * share)
    with child(
        torture.conduct, environment(HOME="/x"), home=home, cycles=cycles, writers=writers, longest_ms=longest_ms,
        seed=seed, new_home_every=10,
    ) as conductor:  # fmt: skip
        told = conductor.finish()[-1]
    assert told["problems"] == []
    assert (told["cycles"], told["kills"]) == (cycles, cycles * writers)
    assert told["told"] > cycles, "the writers hardly wrote: this shows nothing"


def test_killed_while_the_database_is_made(home: str) -> None:
    """At every statement of the connection factory in turn: the next one makes a whole database of what is there."""
    with child(torture.make_current_at, environment(HOME="/x"), home=f"{home}-whole", kill_after=-1) as whole:
        (statements,) = whole.finish()
    assert statements > 10
    for number in range(statements):
        here = f"{home}-{number}"
        with child(torture.make_current_at, environment(HOME="/x"), home=here, kill_after=number) as one:
            assert one.kill_said() == []
        with rookery.connect(team=torture.TEAM, home=here) as team:
            me = team.join("bob", takeover=True)
            assert me.send("bob", "Alive").id
        assert ledger.faults(database(here)) == []


# --- at named points --------------------------------------------------------------------------------------------------


@pytest.fixture
def crew(home: str) -> str:
    """ada and bob have joined, and one message waits for ada."""
    with rookery.connect(team=torture.TEAM, home=home) as team:
        team.join("ada")
        team.join("bob").send("ada", "Waiting")
    return home


def snapshot(home: str) -> dict[str, list[tuple[Any, ...]]]:
    rows = ledger.everything(database(home))
    # The dying process joined before it was armed: presence is not what this is about.
    return {name: rows[name] for name in ("messages", "deliveries", "receipts", "idempotency", "escalations")}


KEPT = {"after_lock": False, "before_commit": False, "after_commit": True, "before_ring": True}


def test_every_fault_point_has_its_expectation() -> None:
    assert set(faults.POINTS) == set(KEPT)


@pytest.mark.parametrize("deed", ["send", "broadcast"])
@pytest.mark.parametrize("point", faults.POINTS)
def test_killed_in_a_send(crew: str, point: str, deed: str) -> None:
    before = snapshot(crew)
    with DatagramBell(crew).listen(torture.TEAM, "bob") as bob:
        assert do(crew, deed, point) == [], "it died before it could tell anyone"
        assert not bob.wait(0), "the bell rings last"
    after = snapshot(crew)
    assert ledger.faults(database(crew)) == []
    assert len(after["messages"]) - len(before["messages"]) == (1 if KEPT[point] else 0)
    if not KEPT[point]:
        assert after == before
    with rookery.connect(team=torture.TEAM, home=crew) as team:
        # Whether or not the bell rang, who looks finds it; and the lock is free.
        found = team.agent("bob").wait(timeout=0)
        assert [message.subject for message in found] == (["Hello"] if KEPT[point] else [])
    assert len(do(crew, deed)) == 1


@pytest.mark.parametrize("point", faults.POINTS)
def test_killed_in_an_ack(crew: str, point: str) -> None:
    (id,) = (row[0] for row in ledger.ask(database(crew), "SELECT id FROM messages"))
    assert do(crew, "ack", point, id) == []
    assert ledger.faults(database(crew)) == []
    states = ledger.ask(database(crew), "SELECT state FROM deliveries")
    assert states == [("completed" if KEPT[point] else "unread",)]
    assert do(crew, "ack", "", id) == ["acked"]  # a repeat does no harm
    assert ledger.faults(database(crew), sent=[id], acked=[id]) == []


@pytest.mark.parametrize("point", faults.POINTS)
def test_killed_in_a_join(crew: str, point: str) -> None:
    (epoch,) = ledger.ask(database(crew), "SELECT epoch FROM agents WHERE name = 'ada'")[0]
    assert do(crew, "join", point) == []
    assert ledger.ask(database(crew), "SELECT epoch FROM agents WHERE name = 'ada'") == [(epoch + KEPT[point],)]
    assert ledger.faults(database(crew)) == []
    assert len(do(crew, "join")) == 1


def test_a_killed_holder_of_the_lock_holds_up_nobody(crew: str) -> None:
    with child(torture.hold_the_lock, environment(HOME="/x"), home=crew) as holder:
        assert holder.hear() == "held"
        with rookery.connect(team=torture.TEAM, home=crew) as team:
            me = team.agent("ada")
            assert [message.subject for message in me.inbox()] == ["Waiting"]  # readers never wait
            assert holder.kill() == []
            assert me.send("bob", "Through").status == "accepted"
    assert ledger.faults(database(crew)) == []
    assert ledger.ask(database(crew), "SELECT count(*) FROM messages WHERE subject = 'Late'") == [(0,)]


def test_a_stopped_holder_of_the_lock_is_an_error_with_a_deadline(crew: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell a stopped process from a slow one: others get StoreBusy, and it all goes on when it goes on."""
    monkeypatch.setenv("ROOK_STORE_BUSY_S", "0.1")
    with child(torture.hold_the_lock, environment(HOME="/x"), home=crew) as holder:
        assert holder.hear() == "held"
        with rookery.connect(team=torture.TEAM, home=crew) as team:
            with pytest.raises(errors.StoreBusy):
                team.agent("ada").send("bob", "Held up")
            holder.say()
            holder.finish()
            assert team.agent("ada").send("bob", "Through").status == "accepted"
    assert ledger.faults(database(crew)) == []


# --- the checker can fail ---------------------------------------------------------------------------------------------

PLANTED = {
    "an event number is missing or repeated": "UPDATE teams SET seq = seq + 1",
    "a message has another number of deliveries than recipients": "DELETE FROM deliveries",
    "a message has no event of its own": "UPDATE events SET ref = 'x' WHERE type = 'message'",
    "an event tells of a message that is not there": "UPDATE messages SET seq = seq + 100",
    "a delivery has no message": "UPDATE deliveries SET message = 999",
    "a delivery belongs to nobody": "UPDATE deliveries SET agent = 999",
    "a message is not in the search index": "DELETE FROM messages_fts",
    "the search index knows a message that is not there": """
        INSERT INTO messages_fts (rowid, scope, subject, body, tags) VALUES (999, 't1', 'x', 'x', '[]')""",
    "a delivery is completed without an event and a receipt": "UPDATE deliveries SET state = 'completed'",
    "a receipt tells of a step that was not taken": """
        INSERT INTO receipts (team, message, agent, seq, at, stage) VALUES (1, 1, 1, 1, 1, 'acknowledged')""",
    "a message was sent by nobody": "UPDATE messages SET sender = 999",
    "an agent points to a session that is not its own": "UPDATE agents SET epoch = epoch + 1",
    "a team's total is not the sum of what was reported": "UPDATE teams SET tokens = tokens + 1",
    "an agent's total is not the sum of what it reported": "UPDATE agents SET tokens = tokens + 1",
    "a task's total is not the sum of what was reported for it": """
        INSERT INTO tasks (team, n, id, title, status, created_by, created_at, at, tokens)
        VALUES (1, 1, 'task-0001', 'x', 'pending', 1, 1, 1, 1)""",
}


def test_control_every_rule_of_the_checker_has_a_planted_fault() -> None:
    assert set(PLANTED) == set(ledger.WHOLE)


@pytest.mark.parametrize("problem", sorted(PLANTED))
def test_control_a_planted_half_transaction_is_found(crew: str, problem: str) -> None:
    assert ledger.faults(database(crew)) == []
    ledger.ask(database(crew), PLANTED[problem])
    assert any(found.startswith(problem) for found in ledger.faults(database(crew)))


def test_control_a_planted_loss_is_found(crew: str) -> None:
    sent = [row[0] for row in ledger.ask(database(crew), "SELECT id FROM messages")]
    assert ledger.faults(database(crew), sent=sent) == []
    assert ledger.faults(database(crew), sent=[*sent, "MSG-lost"]) == ["an acknowledged message is lost: MSG-lost"]
    assert ledger.faults(database(crew), acked=sent) == [f"an acknowledged ack is lost: {sent[0]}"]


def test_control_the_conductor_reports_what_the_checker_finds(home: str) -> None:
    """A writer that tells of a message before it sent it is caught by the same machinery."""
    with child(
        torture.conduct_liars, environment(HOME="/x"), home=home, cycles=20, writers=2, longest_ms=80, seed=1
    ) as conductor:  # fmt: skip
        told = conductor.finish()[-1]
    assert any("lost" in problem for problem in told["problems"]), told


def test_children_are_ended_with_their_block() -> None:
    with children(Child(torture.hold_the_lock, environment(HOME="/x"), home="/nonexistent/x")) as (one,):
        pid = one.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
