"""A rule lives once, in core; SQL only fences. Here the two are held equal: core's verdict and the rows that change.

Each property is also shown able to fail, with a fence that was spoilt.
"""

import itertools
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import errors, mail, mesh, presence
from rookery.store import queries
from rookery.store.port import Transaction
from rookery.store.sqlite import SqliteStore
from tests.support.fakes import FakeClock
from tests.support.stores import prepared

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

STATES = st.sampled_from(mail.State)
STEPS = st.sampled_from(sorted(mail.STEPS))
# When a delivery expires, counted from the moment of the step: the boundary is what goes wrong.
EXPIRY = st.one_of(st.none(), st.sampled_from([-1, 0, 1]), st.integers(-(10**12), 10**12))


class Undo(Exception):
    """Ends a transaction so that nothing of it stays."""


@pytest.fixture
def store(tmp_path: Path) -> Generator[SqliteStore]:
    with closing(SqliteStore(prepared(tmp_path / "ledger.db"), FakeClock())) as store:
        yield store


def spoilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, old: str, new: str) -> closing[SqliteStore]:
    """A store in which one fence is not what it should be."""
    text = queries.load("sqlite")
    assert old in text[query], "the fence was rewritten: spoil it another way"
    text[query] = text[query].replace(old, new)
    monkeypatch.setattr(queries, "load", lambda dialect: text)
    return closing(SqliteStore(prepared(tmp_path / "spoilt.db"), FakeClock()))


def within(store: SqliteStore, work: Callable[[Transaction], Any]) -> Any:
    """Run in a write transaction that is undone."""
    answer: list[Any] = []

    def run(tx: Transaction) -> None:
        answer.append(work(tx))
        raise Undo

    with pytest.raises(Undo):
        store.write("t", run)
    return answer[0]


# --- deliveries -------------------------------------------------------------------------------------------------------

MAILBOX = {"agent": 7, "message": 3}


def verdict(state: mail.State, step: str, expires_at: int | None, now: int) -> tuple[bool, mail.State | None]:
    """Whether core changes the state, and to what; None when it refuses."""
    before = mail.effective(state, expires_at, now)
    try:
        after = mail.transition(state, step, expires_at=expires_at, now=now)
    except errors.Refused:
        return False, None
    return after != before, after


def put(tx: Transaction, state: mail.State, expires_at: int | None) -> None:
    """A delivery in that state, and neighbours that no fence may touch."""
    for agent, message in ((7, 3), (7, 4), (8, 3)):
        tx.run(
            "restore_delivery", agent=agent, message=message, state=state, priority=2, sender=1,
            expires_at=expires_at, read_at=None, done_at=None, archived_at=None,
        )  # fmt: skip


def stored(tx: Transaction, agent: int, message: int) -> str:
    row = tx.one("delivery", agent=agent, message=message)
    assert row is not None
    return row["state"]


def check_delivery(store: SqliteStore, state: mail.State, step: str, expires_in: int | None) -> None:
    def work(tx: Transaction) -> None:
        expires_at = None if expires_in is None else tx.now + expires_in
        put(tx, state, expires_at)
        changes, after = verdict(state, step, expires_at, tx.now)
        rows = tx.run(f"delivery_{step}", **MAILBOX, reason="")
        assert rows == (1 if changes else 0), f"core: {after}, SQL: {rows} rows"
        assert stored(tx, **MAILBOX) == (after if changes else state)
        assert stored(tx, 7, 4) == stored(tx, 8, 3) == state
        # The step is taken once: a second time neither core nor SQL changes anything.
        if changes:
            assert after is not None
            assert verdict(after, step, expires_at, tx.now) == (False, after)
            assert tx.run(f"delivery_{step}", **MAILBOX, reason="") == 0

    within(store, work)


@SHARED
@given(state=STATES, step=STEPS, expires_in=EXPIRY)
def test_core_and_sql_agree_about_every_step(
    store: SqliteStore, state: mail.State, step: str, expires_in: int | None
) -> None:
    check_delivery(store, state, step, expires_in)


def test_core_and_sql_agree_at_every_boundary(store: SqliteStore) -> None:
    """The space is small enough to be walked as a whole."""
    for state, step, expires_in in itertools.product(mail.State, mail.STEPS, (None, -1, 0, 1)):
        check_delivery(store, state, step, expires_in)


def check_expiry(store: SqliteStore, state: mail.State, expires_in: int | None) -> None:
    def work(tx: Transaction) -> None:
        expires_at = None if expires_in is None else tx.now + expires_in
        put(tx, state, expires_at)
        lapses = mail.effective(state, expires_at, tx.now) != state
        assert tx.run("expire_delivery", **MAILBOX) == (1 if lapses else 0)
        assert stored(tx, **MAILBOX) == (mail.State.EXPIRED if lapses else state)

    within(store, work)


@SHARED
@given(state=STATES, expires_in=EXPIRY)
def test_core_and_sql_agree_about_expiry(store: SqliteStore, state: mail.State, expires_in: int | None) -> None:
    check_expiry(store, state, expires_in)


def inboxes(tx: Transaction) -> tuple[int, int]:
    waiting = tx.all("inbox_unread", agent=7, limit=10)
    return len([row for row in waiting if row["n"] == 3]), sum(
        row["waiting"] for row in tx.all("pending_counts", agent=7)
    )


@SHARED
@given(state=STATES, expires_in=EXPIRY)
def test_core_and_sql_agree_about_what_waits(store: SqliteStore, state: mail.State, expires_in: int | None) -> None:
    def work(tx: Transaction) -> None:
        expires_at = None if expires_in is None else tx.now + expires_in
        put(tx, state, expires_at)
        waits = mail.effective(state, expires_at, tx.now) is mail.State.UNREAD
        assert inboxes(tx) == ((1, 2) if waits else (0, 0))

    within(store, work)


SPOILT_STEPS = [
    ("read", "state = 'unread'", "state IN ('unread', 'read')"),
    ("read", "expires_at > :now", "expires_at >= :now"),
    ("process", "state = 'failed'", "state IN ('failed', 'completed')"),
    ("complete", "state IN ('processing', 'failed')", "state = 'processing'"),
    ("fail", "expires_at > :now", "expires_at IS NOT NULL"),
    ("archive", "expires_at <= :now", "expires_at < :now"),
    ("archive", "'completed', ", ""),
    ("complete", "AND message = :message", "AND :message > 0"),
]


@pytest.mark.parametrize(("step", "old", "new"), SPOILT_STEPS)
def test_control_a_spoilt_step_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, old: str, new: str
) -> None:
    with spoilt(tmp_path, monkeypatch, f"delivery_{step}", old, new) as store, pytest.raises(AssertionError):
        test_core_and_sql_agree_at_every_boundary(store)


@pytest.mark.slow
def test_control_the_property_finds_a_spoilt_step_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with spoilt(tmp_path, monkeypatch, "delivery_read", "state = 'unread'", "state <> 'read'") as store:

        @settings(max_examples=500, derandomize=True)
        @given(state=STATES, step=STEPS, expires_in=EXPIRY)
        def search(state: mail.State, step: str, expires_in: int | None) -> None:
            check_delivery(store, state, step, expires_in)

        with pytest.raises(AssertionError):
            search()


def test_control_a_spoilt_expiry_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        spoilt(tmp_path, monkeypatch, "expire_delivery", "expires_at <= :now", "expires_at < :now") as store,
        pytest.raises(AssertionError),
    ):
        check_expiry(store, mail.State.UNREAD, 0)


# --- sessions ---------------------------------------------------------------------------------------------------------


def bind(tx: Transaction, agent: int, seen: int, session: str) -> int:
    return tx.run("bind_session", session=session, id=agent, epoch=seen, role="", is_human=0)


def begin(tx: Transaction, agent: int, epoch: int, session: str) -> None:
    tx.run(
        "new_session", id=session, agent=agent, epoch=epoch, program="", pid=1, started="", boot="", host="", cwd="",
        branch="", model="", spec="", coordination="unlimited", at=tx.wall,
    )  # fmt: skip


def people(tx: Transaction) -> list[int]:
    made = [tx.one("new_agent", name=name, key=name, role="", is_human=0) for name in ("ada", "bob")]
    return [row["id"] for row in made if row]


def check_epochs(store: SqliteStore, attempts: list[int]) -> None:
    """Each attempt offers an epoch it saw some joins ago. Only whoever saw the newest may bind; the rest are fenced."""

    def work(tx: Transaction) -> None:
        ada, bob = people(tx)
        epoch = 0
        for number, behind in enumerate(attempts):
            seen = epoch - behind
            begin(tx, ada, seen + 1, f"s{number}")
            rows = bind(tx, ada, seen, f"s{number}")
            assert rows == (1 if seen == epoch else 0)
            epoch += rows
            agent = tx.one("agent_by_key", key="ada")
            assert agent is not None
            assert agent["epoch"] == epoch
            assert (agent["session"] == f"s{number}") is bool(rows)
        other = tx.one("agent_by_key", key="bob")
        assert other is not None
        assert (other["id"], other["epoch"], other["session"]) == (bob, 0, None)

    within(store, work)


ATTEMPTS = st.lists(st.integers(-2, 3), min_size=1, max_size=8)


@SHARED
@given(attempts=ATTEMPTS)
def test_a_name_is_bound_only_by_who_saw_its_newest_epoch(store: SqliteStore, attempts: list[int]) -> None:
    check_epochs(store, attempts)


TOUCHING: dict[str, dict[str, Any]] = {
    "end_session": {"reason": "left"},
    "beat": {},
    "beat_sent": {"count": 1},
    "count_sent": {"count": 1},
    "heartbeat": {},
    "beat_run": {"moved": 1},
    "set_note": {"note": "busy", "task": None},
    "count_stats": {"tool_calls": 1, "tokens": 0, "files_modified": 0},
    "refresh_session": {"cwd": "", "branch": "", "model": "", "spec": ""},
}


def check_touches(store: SqliteStore, words: list[str]) -> None:
    """What touches a session changes one row while it has not ended, and none afterwards; it ends once."""

    def work(tx: Transaction) -> None:
        ada, _bob = people(tx)
        for session in ("mine", "theirs"):
            begin(tx, ada, 1, session)
        ended = False
        for word in words:
            rows = tx.run(word, session="mine", **TOUCHING[word])
            law = presence.liveness(ended=ended, local=False, process=None, heartbeat_at=tx.now, now=tx.now, lease_ms=1)
            assert rows == (1 if law is presence.Liveness.LIVE else 0)
            ended = ended or word == "end_session"
        assert tx.run("heartbeat", session="theirs") == 1

    within(store, work)


@SHARED
@given(words=st.lists(st.sampled_from(sorted(TOUCHING)), max_size=10))
def test_an_ended_session_is_touched_by_nothing(store: SqliteStore, words: list[str]) -> None:
    check_touches(store, words)


def test_every_query_that_touches_a_session_is_known_here() -> None:
    """A new one must stand under the same fence. `told_stuck` writes for the sweep, not for the session."""
    touching = {name for name, text in queries.load("sqlite").items() if text.startswith("UPDATE sessions")}
    assert touching == set(TOUCHING) | {"told_stuck"}


@SHARED
@given(
    previous=st.sampled_from([None, *presence.Liveness]),
    same_process=st.booleans(),
    takeover=st.booleans(),
    behind=st.integers(0, 2),
)
def test_no_verdict_of_core_gets_past_a_stale_epoch(
    store: SqliteStore, previous: presence.Liveness | None, same_process: bool, takeover: bool, behind: int
) -> None:
    """Core may let a join in on what it read; if someone else was faster, SQL says no all the same."""
    try:
        how = mesh.arrival("ada", previous, same_process=same_process, takeover=takeover, seen_ms_ago=0, where="")
    except errors.NameTaken:
        assert previous is presence.Liveness.LIVE
        return
    if how is mesh.Arrival.RESUME:
        return  # binds nothing

    def work(tx: Transaction) -> int:
        ada, _bob = people(tx)
        for epoch in range(behind):
            bind(tx, ada, epoch, f"other{epoch}")
        return bind(tx, ada, 0, "mine")

    assert within(store, work) == (1 if behind == 0 else 0)


def test_control_a_spoilt_epoch_fence_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with spoilt(tmp_path, monkeypatch, "bind_session", "AND epoch = :epoch", "AND epoch >= :epoch") as store:

        @settings(max_examples=500, derandomize=True)
        @given(attempts=ATTEMPTS)
        def search(attempts: list[int]) -> None:
            check_epochs(store, attempts)

        with pytest.raises(AssertionError):
            search()


@pytest.mark.parametrize("word", sorted(TOUCHING))
def test_control_a_spoilt_session_fence_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    with (
        spoilt(tmp_path, monkeypatch, word, "AND ended_at IS NULL", "") as store,
        pytest.raises(AssertionError),
    ):
        check_touches(store, ["end_session", word])
