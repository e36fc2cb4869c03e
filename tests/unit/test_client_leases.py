"""A held task in Python: how a block ends, and how a lost lease shows."""

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.client import leases
from rookery.client.handles import Agent, Team
from rookery.client.leases import Lease
from tests.support import hands
from tests.support.procs import child
from tests.support.stores import prepared_home


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Team]:
    monkeypatch.setenv("ROOK_TASKS_TTL_LOW_S", "0.001")
    with hands.house(prepared_home(tmp_path / "h")) as team:
        yield team


@pytest.fixture
def me(team: Team) -> Agent:
    return team.join("ada")


@pytest.fixture
def id(team: Team) -> str:
    return team.add_task("Work")["id"]


def show(team: Team, id: str) -> dict[str, Any]:
    return team.call("task.show", id=id)


def test_a_block_that_completes(team: Team, me: Agent, id: str) -> None:
    with me.claim(id) as lease:
        assert (lease.task_id, lease.epoch, lease.lost, lease.task["title"]) == (id, 1, None, "Work")
        lease.progress("half")
        lease.renew()
        lease.complete("all of it", evidence=["log.txt"])
        assert lease.finished
    card = show(team, id)
    assert (card["status"], card["result"]["summary"]) == ("completed", "all of it")
    assert card["result"]["evidence"]["notes"] == ["log.txt"]
    assert card["notes"][0]["note"] == "half"


def test_evidence_by_kind(team: Team, me: Agent, id: str) -> None:
    me.claim(id).complete("so", evidence={"commits": ["abc"], "tests": ["9 passed"]})
    assert show(team, id)["result"]["evidence"]["commits"] == ["abc"]


def test_a_block_that_is_left(team: Team, me: Agent, id: str) -> None:
    with me.claim(id):
        pass
    card = show(team, id)
    assert (card["status"], card["notes"][-1]["note"]) == ("pending", "left unfinished")


def test_a_block_that_breaks(team: Team, me: Agent, id: str) -> None:
    with pytest.raises(ZeroDivisionError), me.claim(id):
        _ = 1 / 0
    card = show(team, id)
    assert card["status"] == "pending"
    assert card["notes"][-1]["note"].startswith("ZeroDivisionError: division")


@pytest.mark.parametrize(("how", "status"), [("fail", "failed"), ("block", "blocked"), ("release", "pending")])
def test_other_ends(team: Team, me: Agent, id: str, how: str, status: str) -> None:
    with me.claim(id) as lease:
        getattr(lease, how)("because")
    assert show(team, id)["status"] == status


def test_the_next_one(team: Team, me: Agent, id: str) -> None:
    lease = me.claim_next()
    assert lease is not None
    assert lease.task_id == id
    assert me.claim_next() is None
    assert id in repr(lease)
    lease.release()
    assert me.claim_next(kind="coder", ttl_ms=60_000) is not None


def test_what_can_not_be_claimed(team: Team, me: Agent, id: str) -> None:
    team.join("bob").claim(id)
    with pytest.raises(rookery.Refused) as caught:
        me.claim(id)
    assert caught.value.code == "TASK_NOT_CLAIMABLE"


def lost(me: Agent, id: str, work: Callable[[Lease], None], ttl_ms: int | None = None) -> rookery.LeaseLost:
    """What the end of a block says, whose lease was lost within."""

    def block() -> None:
        with me.claim(id, ttl_ms=ttl_ms) as lease:
            work(lease)

    with pytest.raises(rookery.LeaseLost) as caught:
        block()
    return caught.value


def refused(call: Callable[[], Any]) -> None:
    with pytest.raises(rookery.LeaseLost):
        call()


@pytest.mark.parametrize("verb", ["task.cancel", "task.reset", "task.release", "task.assign"])
def test_whatever_takes_it_away_is_a_lost_lease(team: Team, me: Agent, id: str, verb: str) -> None:
    def work(lease: Lease) -> None:
        team.call(verb, id=id)
        refused(lambda: lease.progress("x"))
        refused(lease.renew)
        refused(lambda: lease.complete("x"))
        refused(lambda: lease.fail("x"))
        assert lease.lost is not None
        assert "lost" in repr(lease)

    assert lost(me, id, work).code == "TASK_NOT_IN_PROGRESS"


def test_the_background_learns_of_it(team: Team, me: Agent, id: str) -> None:
    def work(lease: Lease) -> None:
        team.call("task.cancel", id=id)
        while lease.lost is None:
            team.call("stats")
        refused(lease.check)

    assert lost(me, id, work, ttl_ms=150).code == "TASK_NOT_IN_PROGRESS"


def test_a_session_that_was_put_out_lost_its_leases(team: Team, me: Agent, id: str) -> None:
    def work(lease: Lease) -> None:
        team.join("ada", takeover=True)
        while lease.lost is None:
            team.call("stats")

    assert lost(me, id, work, ttl_ms=150).code == "SESSION_FENCED"


def test_a_lease_is_not_trusted_past_its_end(team: Team, me: Agent, id: str) -> None:
    """Counted from before the request was sent: the ledger can not have given it away earlier."""
    before = time.monotonic()

    def work(lease: Lease) -> None:
        assert before + 60 <= lease.trusted_until <= time.monotonic() + 60
        leases._renewer.forget(lease)
        lease.trusted_until = time.monotonic()
        refused(lambda: lease.complete("too late"))
        assert lease.lost is not None
        refused(lease.renew)

    assert lost(me, id, work, ttl_ms=60_000).code == "LEASE_EXPIRED"
    assert show(team, id)["status"] == "in_progress", "nothing was written"


def test_an_error_in_a_block_is_not_hidden_by_a_lost_lease(team: Team, me: Agent, id: str) -> None:
    def block() -> None:
        with me.claim(id):
            team.call("task.cancel", id=id)
            raise KeyError("mine")

    with pytest.raises(KeyError):
        block()


def test_a_renewal_may_be_for_longer(team: Team, me: Agent, id: str) -> None:
    with me.claim(id, ttl_ms=60_000) as lease:
        lease.renew(ttl_ms=120_000)
        assert lease.ttl_s == 120
        assert lease.trusted_until > time.monotonic() + 60
        lease.release()


@pytest.mark.slow
def test_all_leases_of_a_process_are_renewed(team: Team, me: Agent) -> None:
    """Short and long ones, by one thread."""
    held = [me.claim(team.add_task(f"T{n}")["id"], ttl_ms=ttl) for n, ttl in enumerate((200, 400, 60_000))]
    ends = [lease.trusted_until for lease in held]
    while any(lease.trusted_until == end for lease, end in zip(held[:2], ends[:2], strict=True)):
        team.call("stats")
    for lease in held:
        lease.release()


def test_the_background_leaves_no_connection_behind(team: Team, me: Agent, id: str) -> None:
    with me.claim(id, ttl_ms=150) as lease:
        end = lease.trusted_until
        while lease.trusted_until == end:
            team.call("stats")
        assert team.another in leases._renewer._clients
        lease.release()
    while team.another in leases._renewer._clients:
        team.call("stats")


@pytest.mark.slow
def test_a_fork_takes_no_lease_along(team: Team, tmp_path: Path, id: str) -> None:
    other = team.add_task("Other")["id"]
    with child(hands.fork_with_a_lease, hands.HASTY, home=str(tmp_path / "h"), mine=id, other=other) as process:
        assert process.hear() == {"copy": "FORKED_HANDLE"}
        assert process.hear() == {"renewed": True}
        assert process.hear() == {"parent": True}
        process.finish()
    assert [show(team, each)["result"]["summary"] for each in (id, other)] == ["by the parent", "by the child"]
