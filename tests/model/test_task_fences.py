"""The rules of leases live in core; SQL only fences. The two are held equal: core's verdict and the rows that change.

Each property is also shown able to fail, with a fence that was spoilt.
"""

import itertools
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import tasks
from rookery.store import queries
from rookery.store.port import Row, Transaction
from rookery.store.sqlite import SqliteStore
from tests.support.fakes import FakeClock
from tests.support.stores import prepared

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
ADA, BOB = 7, 8
TTL = 300_000

# Statements of the test's own: a task put into any state at all, and seen raw.
OWN = {
    "test_put": """UPDATE tasks SET status = :status, holder = :holder, session = 's', epoch = :epoch,
        lease_until = :until, ttl_ms = 60000, renewed_at = 0 WHERE team = :team AND id = :id""",
    "test_see": "SELECT * FROM tasks WHERE team = :team AND id = :id",
}


class Case(NamedTuple):
    status: tasks.Status
    holder: int | None
    epoch: int
    left: int | None  # of the lease, counted from the moment of the write: the boundary is what goes wrong
    agent: int = ADA
    under: int = 2


# Mostly what is nearly right: of blind guesses, hardly one in a hundred would reach the last fence.
CASES = st.builds(
    Case,
    status=st.sampled_from([*[tasks.Status.IN_PROGRESS] * 8, *tasks.Status]),
    holder=st.sampled_from([None, ADA, ADA, ADA, BOB]),
    epoch=st.sampled_from([0, 1, 2, 2, 2, 3]),
    left=st.one_of(st.none(), st.sampled_from([-1, 0, 1]), st.integers(-(10**12), 10**12)),
    agent=st.sampled_from([ADA, ADA, ADA, BOB]),
    under=st.sampled_from([1, 2, 2, 2, 3]),
)
# The space that matters is small enough to be walked as a whole.
EVERY = [Case(*values) for values in itertools.product(tasks.Status, (None, ADA, BOB), (1, 2, 3), (None, -1, 0, 1))]

WRITES: dict[str, dict[str, Any]] = {
    "renew_task": {"ttl_ms": TTL},
    "end_task": {"status": "completed", "ended": 1, "result": "{}", "why": "", "review": "", "author": ADA},
    "fence_task": {},
}


class Undo(Exception):
    """Ends a transaction so that nothing of it stays."""


def opened(path: Path, monkeypatch: pytest.MonkeyPatch, text: dict[str, str]) -> closing[SqliteStore]:
    with monkeypatch.context() as patch:
        patch.setattr(queries, "load", lambda dialect: text | OWN)
        return closing(SqliteStore(prepared(path), FakeClock()))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[SqliteStore]:
    with opened(tmp_path / "ledger.db", monkeypatch, queries.load("sqlite")) as store:
        yield store


def spoilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, old: str, new: str) -> closing[SqliteStore]:
    """A store in which one fence is not what it should be."""
    text = queries.load("sqlite")
    assert old in text[query], "the fence was rewritten: spoil it another way"
    return opened(tmp_path / "spoilt.db", monkeypatch, text | {query: text[query].replace(old, new)})


def within(store: SqliteStore, work: Callable[[Transaction], None]) -> None:
    """Run in a write transaction that is undone."""

    def run(tx: Transaction) -> None:
        make(tx)
        work(tx)
        raise Undo

    with pytest.raises(Undo):
        store.write("t", run)


def make(tx: Transaction) -> None:
    for n, id in enumerate(("mine", "theirs"), 1):
        tx.run(
            "new_task", n=n, id=id, title=id, status="pending", priority=2, rank=1, plan=None, kind="", milestone=0,
            assignee=None, created_by=1, review="", at=tx.wall, max_tokens=None, resources="[]", description="",
            spec="", why="",
        )  # fmt: skip


def put(tx: Transaction, case: Case) -> tasks.Hold:
    """Both tasks in that state; only one is meant."""
    until = None if case.left is None else tx.now + case.left
    for id in ("mine", "theirs"):
        tx.run("test_put", id=id, status=case.status, holder=case.holder, epoch=case.epoch, until=until)
    return tasks.Hold(case.status, case.holder, case.epoch, until)


def see(tx: Transaction, id: str) -> Row:
    row = tx.one("test_see", id=id)
    assert row is not None
    return row


# --- writing under a lease -------------------------------------------------------------------------------------------


def check_write(tx: Transaction, query: str, case: Case) -> None:
    hold = put(tx, case)
    before, theirs = see(tx, "mine"), see(tx, "theirs")
    refusal = tasks.lease_refusal(hold, case.agent, case.under, tx.now)
    rows = tx.run(query, id="mine", holder=case.agent, epoch=case.under, **WRITES[query])
    assert rows == (1 if refusal is None else 0), f"core: {refusal}, SQL: {rows} rows, for {case}"
    after = see(tx, "mine")
    if not rows or query == "fence_task":
        assert after == before
    elif query == "renew_task":
        assert (after["lease_until"], after["renewed_at"]) == (tx.now + TTL, tx.now)
    else:
        assert (after["status"], after["holder"], after["lease_until"]) == ("completed", None, None)
    assert after["epoch"] == before["epoch"], "only a claim and the owner's hand raise it"
    assert see(tx, "theirs") == theirs


@pytest.mark.parametrize("query", WRITES)
@SHARED
@given(case=CASES)
def test_core_and_sql_agree_about_every_write(store: SqliteStore, query: str, case: Case) -> None:
    within(store, lambda tx: check_write(tx, query, case))


def walk_writes(store: SqliteStore, query: str) -> None:
    def work(tx: Transaction) -> None:
        for case in EVERY:
            check_write(tx, query, case)

    within(store, work)


@pytest.mark.parametrize("query", WRITES)
def test_core_and_sql_agree_at_every_boundary(store: SqliteStore, query: str) -> None:
    walk_writes(store, query)


# --- claiming --------------------------------------------------------------------------------------------------------


def check_claim(tx: Transaction, case: Case) -> None:
    """A task without dependencies that nobody is assigned to. `under` is the epoch its claimer saw."""
    hold = put(tx, case)
    before, theirs = see(tx, "mine"), see(tx, "theirs")
    refusal = tasks.claim_refusal(hold, tx.now, assignee=None, why="", unmet=(), holder="x", until="")
    may = refusal is None and case.under == case.epoch
    rows = tx.run(
        "claim_task", id="mine", epoch=case.under, holder=case.agent, session="new", ttl_ms=TTL, at=tx.wall
    )  # fmt: skip
    assert rows == (1 if may else 0), f"core: {refusal}, SQL: {rows} rows, for {case}"
    after = see(tx, "mine")
    if rows:
        assert (after["status"], after["holder"], after["session"]) == ("in_progress", case.agent, "new")
        assert (after["epoch"], after["lease_until"]) == (case.epoch + 1, tx.now + TTL)
        assert after["attempts"] == before["attempts"] + 1
    else:
        assert after == before
    assert see(tx, "theirs") == theirs


@SHARED
@given(case=CASES)
def test_core_and_sql_agree_about_every_claim(store: SqliteStore, case: Case) -> None:
    within(store, lambda tx: check_claim(tx, case))


def walk_claims(store: SqliteStore) -> None:
    def work(tx: Transaction) -> None:
        for case in EVERY:
            check_claim(tx, case)

    within(store, work)


def test_core_and_sql_agree_about_claims_at_every_boundary(store: SqliteStore) -> None:
    walk_claims(store)


# --- lapsing, and being renewed by whatever one does -----------------------------------------------------------------


def check_lapse(tx: Transaction, case: Case) -> None:
    if case.left is None:
        return  # nothing lapses that has no end
    hold = put(tx, case)
    lapses = tasks.effective(hold, tx.now) is not hold.status and case.under == case.epoch
    rows = tx.run("lapse_task", id="mine", epoch=case.under, status="pending", why="")
    assert rows == (1 if lapses else 0), f"SQL: {rows} rows, for {case}"
    after = see(tx, "mine")
    assert (after["holder"], after["lease_until"]) == (hold.holder, hold.lease_until), "the last lease is kept"


def check_beat(tx: Transaction, case: Case) -> None:
    """What a session holds is renewed when half its time is over, and never once all of it is."""
    hold = put(tx, case)
    mine = tasks.lease_refusal(hold, case.agent, case.epoch, tx.now) is None
    due = mine and hold.lease_until is not None and hold.lease_until < tx.now + 30_000
    assert tx.run("renew_held", agent=case.agent, session="another") == 0
    assert tx.run("renew_held", agent=case.agent, session="s") == (2 if due else 0), case


def check_hand_on(tx: Transaction, case: Case) -> None:
    """From one run of a worker to the next, over or not: whoever saw an older epoch changes nothing, and whatever is
    written under the one before is refused."""
    hold = put(tx, case)
    before, theirs = see(tx, "mine"), see(tx, "theirs")
    may = hold.status is tasks.Status.IN_PROGRESS and case.under == case.epoch
    rows = tx.run("hand_on_task", id="mine", epoch=case.under)
    assert rows == (1 if may else 0), f"SQL: {rows} rows, for {case}"
    after = see(tx, "mine")
    assert see(tx, "theirs") == theirs
    if not rows:
        assert after == before
        return
    assert (after["status"], after["holder"], after["session"], after["lease_until"]) == ("pending", None, None, None)
    now = tasks.Hold(tasks.Status(after["status"]), after["holder"], after["epoch"], after["lease_until"])
    assert tasks.claim_refusal(now, tx.now, assignee=None, why="", unmet=(), holder="", until="") is None
    for query, more in WRITES.items():
        assert tx.run(query, id="mine", holder=case.agent, epoch=case.epoch, **more) == 0, "the run before writes"
    assert after["epoch"] > before["epoch"], "the run before could write once it is claimed by the next"


@SHARED
@given(case=CASES)
def test_core_and_sql_agree_about_lapsing_and_being_renewed(store: SqliteStore, case: Case) -> None:
    within(store, lambda tx: check_hand_on(tx, case))
    within(store, lambda tx: check_lapse(tx, case))
    within(store, lambda tx: check_beat(tx, case))


def walk_lapses(store: SqliteStore) -> None:
    def work(tx: Transaction) -> None:
        for case in EVERY:
            check_lapse(tx, case)
            check_beat(tx, case)
            check_hand_on(tx, case)

    within(store, work)


def test_lapses_at_every_boundary(store: SqliteStore) -> None:
    walk_lapses(store)


# --- controls: each of these checks can fail -------------------------------------------------------------------------

SPOILT_WRITES = [
    ("status = 'in_progress'", "status IN ('in_progress', 'pending')"),
    ("AND holder = :holder", ""),
    ("AND epoch = :epoch", ""),
    ("AND epoch = :epoch", "AND epoch >= :epoch"),
    ("AND lease_until > :now", ""),
    ("lease_until > :now", "lease_until >= :now"),
    ("AND id = :id", "AND :id <> ''"),
]


@pytest.mark.parametrize("query", WRITES)
@pytest.mark.parametrize(("old", "new"), SPOILT_WRITES)
def test_control_a_spoilt_fence_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, old: str, new: str
) -> None:
    with spoilt(tmp_path, monkeypatch, query, old, new) as store, pytest.raises(AssertionError):
        walk_writes(store, query)


SPOILT_CLAIMS = [
    ("AND epoch = :epoch", ""),
    ("status = 'pending'", "status IN ('pending', 'blocked')"),
    ("status = 'pending'", "status = 'nothing'"),
    ("coalesce(lease_until, 0) <= :now", "coalesce(lease_until, 0) < :now"),
    ("coalesce(lease_until, 0) <= :now", "1"),
    ("epoch = epoch + 1", "epoch = epoch"),
    ("AND id = :id", "AND :id <> ''"),
]


@pytest.mark.parametrize(("old", "new"), SPOILT_CLAIMS)
def test_control_a_spoilt_claim_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    with spoilt(tmp_path, monkeypatch, "claim_task", old, new) as store, pytest.raises(AssertionError):
        walk_claims(store)


SPOILT_LAPSES = [
    ("lapse_task", "lease_until <= :now", "lease_until < :now"),
    ("lapse_task", "AND epoch = :epoch", ""),
    ("hand_on_task", "AND epoch = :epoch", ""),
    ("hand_on_task", "AND epoch = :epoch", "AND epoch >= :epoch"),
    ("hand_on_task", "AND status = 'in_progress'", ""),
    ("hand_on_task", "epoch = epoch + 1", "epoch = epoch"),
    ("hand_on_task", "holder = NULL", "holder = holder"),
    ("hand_on_task", "AND id = :id", "AND :id <> ''"),
    ("renew_held", "AND lease_until > :now", ""),
    ("renew_held", "AND session = :session", "AND :session <> ''"),
    ("renew_held", "holder = :agent", ":agent > 0"),
]


@pytest.mark.parametrize(("query", "old", "new"), SPOILT_LAPSES)
def test_control_a_spoilt_lapse_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, old: str, new: str
) -> None:
    with spoilt(tmp_path, monkeypatch, query, old, new) as store, pytest.raises(AssertionError):
        walk_lapses(store)


@pytest.mark.slow
def test_control_the_property_finds_a_spoilt_fence_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with spoilt(tmp_path, monkeypatch, "renew_task", "AND lease_until > :now", "") as store:

        @settings(max_examples=500, derandomize=True)
        @given(case=CASES)
        def search(case: Case) -> None:
            within(store, lambda tx: check_write(tx, "renew_task", case))

        with pytest.raises(AssertionError):
            search()


def test_every_statement_that_ends_or_keeps_a_lease_is_known_here() -> None:
    """A new one must stand under a fence as well. The rest are the owner's hand, or write under the lock what was just
    looked at: they touch no lease that someone holds."""
    touching = {
        name
        for name, text in queries.load("sqlite").items()
        if text.startswith("UPDATE tasks") and ("lease_until =" in text or "status =" in text.partition("WHERE")[0])
    }
    fenced = {*WRITES, "claim_task", "lapse_task", "renew_held", "hand_on_task"} - {"fence_task"}
    others = {"move_task", "extend_lapsed", "open_task", "milestone_done", "judge_task", "task_was_done", "task_landed"}
    assert touching == fenced | others
