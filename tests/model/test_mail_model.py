"""Mail under any sequence of joins, sends, reads, acks, replies, sweeps and passing time, beside a model of lists.

After every step all mailboxes, states, counts and the log are compared. One store serves all examples, each in a team
of its own: that no team sees another's mail is thereby shown as well.
"""

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rookery.core.errors import RookError
from rookery.store import queries
from rookery.store.sqlite import SqliteStore
from tests.model.postoffice import DAY, HOUR, PRIORITIES, No, PostOffice
from tests.support.fakes import FakeClock
from tests.support.stage import Stage
from tests.support.stores import prepared

NAMES = ("ada", "bob", "cat", "ops/dan")
TYPES = ("request", "response", "notification", "handoff")
TAGS = ("api", "a_b", "100%")
ALL = {"unread", "read", "processing", "completed", "failed", "archived", "expired"}
OPEN = {"unread", "read", "processing", "failed"}
TEAMS = count(1)

ARCHIVE_DAYS, EVENT_DAYS, EVENTS_KEPT = 2, 1, 12

names = st.sampled_from(NAMES)
priorities = st.sampled_from(PRIORITIES)
spans = st.sampled_from([1, 999, 60_000, HOUR, DAY, 3 * DAY])


class MailMachine(RuleBasedStateMachine):
    letters: Bundle[str] = Bundle("letters")

    def __init__(self, store: SqliteStore, clock: FakeClock) -> None:
        super().__init__()
        self.stage = Stage(
            "", store=store, clock=clock, team=f"team-{next(TEAMS)}", retention__archive_days=ARCHIVE_DAYS,
            retention__days=EVENT_DAYS, retention__events=EVENTS_KEPT,
        )  # fmt: skip
        self.model = PostOffice(ARCHIVE_DAYS, EVENT_DAYS, EVENTS_KEPT)
        self.sessions: dict[str, tuple[int, str]] = {}
        self.subjects = count(1)
        self.tick()

    def tick(self) -> None:
        self.model.now = self.stage.store.read("clock", lambda tx: tx.now)
        self.model.wall = self.stage.clock.wall

    def same(self, real: Callable[[], Any], model: Callable[[], Any]) -> tuple[Any, Any] | None:
        """Both do it, or both refuse it with the same code."""
        try:
            expected, refusal = model(), ""
        except No as no:
            expected, refusal = None, str(no)
        if not refusal:
            return real(), expected
        with pytest.raises(RookError) as caught:
            real()
        assert caught.value.code == refusal
        assert caught.value.hint
        return None

    # -- the mesh ----------------------------------------------------------------------------------------------------

    @initialize()
    def two_are_there(self) -> None:
        self.join("ada")
        self.join("bob")

    @rule(name=names)
    def join(self, name: str) -> None:
        if name in self.sessions:
            self.stage.prober.states[self.sessions[name]] = "dead"
        self.sessions[name] = self.stage.process()
        waiting = self.model.pending(name)["total"] if name in self.model.agents else 0
        joined = self.stage.join(name, process=self.sessions[name])
        self.model.join(name)
        assert (joined["name"], joined["unread"]) == (name, waiting)

    @precondition(lambda self: len(self.sessions) > 2)
    @rule(name=names)
    def leave(self, name: str) -> None:
        if name in self.sessions and name not in self.model.left:
            self.stage.call("leave", name)
            self.model.leave(name)

    # -- the sender's side -------------------------------------------------------------------------------------------

    @rule(
        target=letters, sender=names, to=st.lists(names, min_size=1, max_size=4), priority=priorities,
        type=st.sampled_from(TYPES), expires_in=st.none() | spans, tags=st.lists(st.sampled_from(TAGS), unique=True),
    )  # fmt: skip
    def send(
        self, sender: str, to: list[str], priority: str, type: str, expires_in: int | None, tags: list[str]
    ) -> Any:
        known = [name for name in to if name in self.model.agents]
        if sender not in self.model.agents or len(known) < len(to):
            error = self.stage.refused("send", sender, to=to, subject="To nobody")
            assert error.code == "UNKNOWN_AGENT"
            return multiple()
        subject = f"Letter {next(self.subjects)}"
        expires = None if expires_in is None else self.model.wall + expires_in
        sent = self.stage.send(
            sender, to, subject, priority=priority, type=type, expires=expires, tags=tags, body=f"Body of {subject}"
        )
        letter = self.model.post(
            sent["id"], sender, to, subject, priority=priority, type=type, tags=tuple(tags),
            expires_at=None if expires_in is None else self.model.now + expires_in,
        )  # fmt: skip
        assert sent["seq"] == letter.event
        assert [told["name"] for told in sent["recipients"]] == list(letter.copies)
        return sent["id"]

    @rule(target=letters, sender=names, exclude=st.lists(names, max_size=2), priority=priorities)
    def broadcast(self, sender: str, exclude: list[str], priority: str) -> Any:
        if sender not in self.model.agents:
            return multiple()
        subject = f"Letter {next(self.subjects)}"
        both = self.same(
            lambda: self.stage.call("broadcast", sender, subject=subject, exclude=exclude, priority=priority),
            lambda: self.model.everyone_but(sender, set(exclude)),
        )
        if both is None:
            return multiple()
        sent, to = both
        self.model.post(sent["id"], sender, to, subject, priority=priority, type="notification")
        return sent["id"]

    @rule(target=letters, who=names, id=letters, everyone=st.booleans())
    def reply(self, who: str, id: str, everyone: bool) -> Any:
        if who not in self.model.agents:
            return multiple()

        def law() -> tuple[Any, list[str]]:
            original = self.model.find(id)
            if who not in self.model.people(original.thread):
                raise No("NOT_YOURS")
            return original, self.model.answered(who, original, everyone)

        both = self.same(lambda: self.stage.call("reply", who, id=id, body="Yes", everyone=everyone), law)
        if both is None:
            return multiple()
        sent, (original, to) = both
        subject = original.subject if original.subject.startswith("Re: ") else f"Re: {original.subject}"
        self.model.post(
            sent["id"], who, to, subject, priority=original.priority, type="response", thread=original.thread,
            reply_to=id,
        )  # fmt: skip
        self.model.note_answer(who, original)
        assert sent["thread"] == original.thread
        return sent["id"]

    # -- the reader's side -------------------------------------------------------------------------------------------

    @rule(who=names, id=letters)
    def read(self, who: str, id: str) -> None:
        if who not in self.model.agents:
            return
        both = self.same(lambda: self.stage.call("read", who, id=id), lambda: self.model.read(who, id))
        if both:
            shown, letter = both
            assert (shown["id"], shown["subject"]) == (letter.id, letter.subject)
            if who in letter.copies:
                assert shown["state"] == letter.state(who, self.model.now)
                assert ("first_contact" in shown) is letter.copies[who].first_contact

    @rule(who=names, id=letters, state=st.sampled_from(["processing", "completed", "failed"]))
    def ack(self, who: str, id: str, state: str) -> None:
        if who not in self.model.agents:
            return
        both = self.same(
            lambda: self.stage.call("ack", who, ids=[id], state=state), lambda: self.model.step(who, id, state)
        )
        if both:
            assert both[0]["messages"][0]["state"] == both[1]

    @rule(who=names, id=consumes(letters))
    def archive(self, who: str, id: str) -> None:
        if who in self.model.agents:
            self.same(lambda: self.stage.call("archive", who, ids=[id]), lambda: self.model.step(who, id, "archived"))

    @rule(who=names)
    def archive_completed(self, who: str) -> None:
        if who not in self.model.agents:
            return
        done = self.stage.call("archive", who, completed=True)["messages"]
        expected = self.model.inbox(who, states={"completed"})
        assert sorted(message["id"] for message in done) == sorted(expected)
        for message in done:
            self.model.step(who, message["id"], "archived")

    # -- time --------------------------------------------------------------------------------------------------------

    @rule(span=spans)
    def time_passes(self, span: int) -> None:
        self.stage.clock.pass_time(span)
        self.tick()

    @rule(leap=st.sampled_from([-DAY, -1, HOUR, 5 * DAY]))
    def the_calendar_jumps(self, leap: int) -> None:
        self.stage.clock.jump(leap)
        self.tick()

    @rule()
    def sweep(self) -> None:
        assert self.stage.call("sweep") == {
            **self.model.sweep(),
            "lapsed": 0,
            "sessions": 0,
            "keys": 0,
            "files": 0,
            "runs": 0,
            "attempts": 0,
            "programs": 0,
            "bundles": 0,
            "evidence": 0,
        }

    # -- looking -----------------------------------------------------------------------------------------------------

    @rule(
        who=names, all=st.booleans(), open=st.booleans(), types=st.sets(st.sampled_from(TYPES), max_size=2),
        least=priorities, tag=st.sampled_from(["", *TAGS, "nothing"]), sender=st.sampled_from(["", *NAMES]),
        ago=st.none() | spans, after=st.integers(0, 30), limit=st.integers(1, 5),
    )  # fmt: skip
    def look_through_filters(
        self, who: str, all: bool, open: bool, types: set[str], least: str, tag: str, sender: str, ago: int | None,
        after: int, limit: int,
    ) -> None:  # fmt: skip
        if who not in self.model.agents or (sender and sender not in self.model.agents):
            return
        since = None if ago is None else self.model.wall - ago
        found = self.stage.call(
            "inbox", who, all=all, open=open, types=sorted(types), priority=least, tag=tag, sender=sender, since=since,
            after=after, limit=limit,
        )  # fmt: skip
        expected = self.model.inbox(
            who, states=ALL if all else OPEN if open else {"unread"}, types=types, least=least, tag=tag, sender=sender,
            since=since or 0, after=after,
        )  # fmt: skip
        assert [message["id"] for message in found["messages"]] == expected[:limit]
        assert found["more"] is (len(expected) > limit)

    @rule(who=names, size=st.integers(1, 3), all=st.booleans())
    def turn_pages(self, who: str, size: int, all: bool) -> None:
        """Page by page the whole mailbox, nothing twice, nothing left out."""
        if who not in self.model.agents:
            return
        seen: list[str] = []
        page: list[int] | None = None
        while True:
            found = self.stage.call("inbox", who, all=all, limit=size, page=page)
            seen += [message["id"] for message in found["messages"]]
            page = found["next"]
            if page is None:
                break
        assert seen == self.model.inbox(who, states=ALL if all else {"unread"})

    @rule(who=names, id=letters)
    def look_at_a_thread(self, who: str, id: str) -> None:
        if who not in self.model.agents:
            return

        def law() -> str:
            root = self.model.find(id).thread
            if who not in self.model.people(root):
                raise No("NOT_YOURS")
            return root

        both = self.same(lambda: self.stage.call("thread", who, id=id), law)
        if both:
            shown, root = both
            assert [message["id"] for message in shown["messages"]] == self.model.thread(root)
            assert shown["participants"] == self.model.people(root)

    @rule(id=letters)
    def look_at_the_receipts(self, id: str) -> None:
        both = self.same(lambda: self.stage.call("receipts", "user", id=id), lambda: self.model.find(id))
        if both:
            told, letter = both
            shown = {
                each["name"]: (each["state"], [receipt["stage"] for receipt in each["receipts"]])
                for each in told["recipients"]
            }
            assert shown == {
                name: (letter.state(name, self.model.now), copy.receipts) for name, copy in letter.copies.items()
            }

    # -- what always holds ---------------------------------------------------------------------------------------------

    @invariant()
    def mailboxes_agree(self) -> None:
        for name in self.model.agents:
            found = self.stage.call("inbox", name, all=True, limit=1_000)["messages"]
            assert [message["id"] for message in found] == self.model.inbox(name, states=ALL)
            for message in found:
                letter = self.model.letters[message["id"]]
                assert message["state"] == letter.state(name, self.model.now)
                assert message["thread"] == letter.thread
                assert message["reply_to"] == letter.reply_to
                assert (message["answered_at"] is not None) is letter.copies[name].answered

    @invariant()
    def counts_agree(self) -> None:
        everyone = {card["name"]: card for card in self.stage.call("who", all=True)["agents"]}
        for name in self.model.agents:
            pending = self.model.pending(name)
            assert self.stage.call("pending", name) == {"agent": name, **pending}
            unread = [message["id"] for message in self.stage.call("inbox", name, limit=1_000)["messages"]]
            assert unread == self.model.inbox(name, states={"unread"})
            assert everyone[name]["unread"] == pending["total"]

    @invariant()
    def the_log_agrees(self) -> None:
        told = self.stage.call("events", limit=10_000)
        numbers = [event["seq"] for event in told["events"]]
        assert numbers == sorted(self.model.events)
        assert (told["newest"], told["horizon"]) == (self.model.seq, self.model.horizon)
        recent = [number for number in numbers if number > self.model.horizon]
        assert recent == list(range(self.model.horizon + 1, self.model.seq + 1)), "a gap"
        real = sorted((e["type"], e["actor"], e["ref"]) for e in told["events"])
        assert real == sorted(self.model.events.values())


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Generator[SqliteStore]:
    with closing(SqliteStore(prepared(tmp_path / "ledger.db"), clock)) as store:
        yield store


def run(store: SqliteStore, clock: FakeClock, how: settings) -> None:
    machine: Any = lambda: MailMachine(store, clock)  # noqa: E731 - a factory, where a class is expected
    run_state_machine_as_test(machine, settings=how)


@pytest.mark.slow
def test_mail_is_what_the_model_says(store: SqliteStore, clock: FakeClock) -> None:
    run(store, clock, settings(max_examples=10, stateful_step_count=30))


@pytest.mark.slow
def test_mail_is_what_the_model_says_at_length(store: SqliteStore, clock: FakeClock) -> None:
    run(store, clock, settings(max_examples=60, stateful_step_count=60))


# Faults that some sequence of a few steps shows, so that the hunt for them always ends.


# --- the comparison can fail ------------------------------------------------------------------------------------------


def story(machine: MailMachine) -> None:
    """A fixed walk through the same rules, so that a spoilt query is found without luck."""

    def then(rule: str, **args: Any) -> Any:
        result = getattr(machine, rule)(**args)
        for holds in (machine.mailboxes_agree, machine.counts_agree, machine.the_log_agrees):
            holds()
        return result

    def send(sender: str, to: str, priority: str = "normal", expires_in: int | None = None) -> str:
        return then(
            "send", sender=sender, to=[to], priority=priority, type="request", expires_in=expires_in, tags=["api"]
        )

    then("two_are_there")
    then("join", name="cat")
    low = send("ada", "bob", "low")
    brief = send("cat", "bob", "urgent", expires_in=60_000)
    then("read", who="bob", id=brief)
    send("ada", "bob", "high", expires_in=60_000)
    number = machine.model.letters[low].event
    then(
        "look_through_filters", who="bob", all=True, open=False, types=set(), least="low", tag="api", sender="",
        ago=None, after=number, limit=5,
    )  # fmt: skip
    answer = then("reply", who="bob", id=low, everyone=False)
    then("look_at_a_thread", who="ada", id=answer)
    then("look_at_the_receipts", id=low)
    then("time_passes", span=60_000)
    then("sweep")
    then("ack", who="ada", id=answer, state="completed")
    then("archive", who="ada", id=answer)
    then("time_passes", span=3 * DAY)
    then("sweep")  # the answer stays: its thread goes on


def test_the_story_agrees(store: SqliteStore, clock: FakeClock) -> None:
    story(MailMachine(store, clock))


SPOILT = [
    ("inbox_unread", "ORDER BY d.priority DESC, d.message", "ORDER BY d.message"),
    ("inbox_filtered", "m.seq > :after", "m.seq >= :after"),
    ("pending_counts", "AND (expires_at IS NULL OR expires_at > :now)", ""),
    ("present", "AND (d.expires_at IS NULL OR d.expires_at > :now)", ""),
    ("delivery_archive", "'completed', ", ""),
    ("thread_messages", "ORDER BY seq DESC", "ORDER BY seq"),
    ("expire_delivery", "expires_at <= :now", "expires_at < :now"),
    ("removable_messages", "r.thread = m.thread", "r.thread = m.id AND r.n > m.n"),
    ("insert_delivery", "agent = :agent AND sender = :sender", "agent = :agent"),
    ("sweep_events", "AND NOT EXISTS", "AND EXISTS"),
    ("store_save_team", "seq = :seq", "seq = :seq + 1"),
]


@pytest.mark.parametrize(("query", "old", "new"), SPOILT, ids=[query for query, _, _ in SPOILT])
def test_control_a_spoilt_query_is_found(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, query: str, old: str, new: str
) -> None:
    text = queries.load("sqlite")
    assert old in text[query], "the query was rewritten: spoil it another way"
    text[query] = text[query].replace(old, new)
    monkeypatch.setattr(queries, "load", lambda dialect: text)
    with (
        closing(SqliteStore(prepared(tmp_path / "spoilt.db"), clock)) as store,
        pytest.raises((AssertionError, KeyError, RookError)),
    ):
        story(MailMachine(store, clock))
