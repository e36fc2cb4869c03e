"""Reservations and slots under any sequence of asking, waiting, giving up, dying and passing time, beside a model.

After every step all that is held and waited for is compared; nobody has what another has for itself, no slot is given
out more often than it is there, and every hold that ended by itself was told. One store serves all examples.
"""

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import combinations, count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rookery.core import holding, times
from rookery.core.errors import RookError
from rookery.core.presence import Liveness
from rookery.store import queries
from rookery.store.sqlite import SqliteStore
from tests.model.queue import CAPACITY, COVERS, Line, No
from tests.support.fakes import FakeClock
from tests.support.stage import Stage
from tests.support.stores import prepared

NAMES = ("ada", "bob", "cat")
TEAMS = count(1)

names = st.sampled_from(NAMES)
wants = st.lists(st.sampled_from(sorted(COVERS)), min_size=1, max_size=2, unique=True)
slots = st.sampled_from(sorted(CAPACITY))
modes = st.sampled_from(["exclusive", "exclusive", "shared"])
ttls = st.sampled_from([1_000, 60_000, 600_000])
spans = st.sampled_from([1, 499, 500, 999, 1_000, 5_000, 9_999, 10_000, 59_999, 60_000, 360_000, 600_000, 3_600_000])


class GuardMachine(RuleBasedStateMachine):
    def __init__(self, store: SqliteStore, clock: FakeClock) -> None:
        super().__init__()
        self.stage = Stage("", store=store, clock=clock, team=f"team-{next(TEAMS)}", slots=dict(CAPACITY))
        self.line = Line()
        self.processes: dict[int, tuple[int, str]] = {}
        self.asked: list[tuple[str, str, str]] = []  # agent, request of the model, request of the ledger
        self.tick()

    def tick(self) -> None:
        self.line.now = self.stage.store.read("clock", lambda tx: tx.now)

    def same(self, real: Callable[[], Any], model: Callable[[Line], Any]) -> tuple[Any, Any] | None:
        """Both do it, or both refuse it with the same code; what is refused did not happen."""
        tried, expected, refusal = self.line.copy(), None, ""
        try:
            expected = model(tried)
        except No as no:
            refusal = str(no)
        if not refusal:
            answer, self.line = real(), tried
            return answer, expected
        with pytest.raises(RookError) as caught:
            real()
        assert caught.value.code == refusal
        return None

    # -- agents ------------------------------------------------------------------------------------------------------

    @initialize()
    def all_are_there(self) -> None:
        for name in NAMES:
            self.join(name)

    @rule(name=names)
    def join(self, name: str) -> None:
        """As another process, which puts out the one before."""
        self.sweep()  # a join would, when an hour has passed
        self.arrive(name)

    def arrive(self, name: str) -> None:
        process = self.stage.process()
        self.processes[process[0]] = process
        self.stage.join(name, process=process, takeover=True)
        self.line.join(name, process[0])

    @rule(name=names)
    def leave(self, name: str) -> None:
        if self.line.sessions[name]:
            self.stage.call("leave", name)
            self.line.leave(name)
            self.join(name)

    @rule(name=names, state=st.sampled_from(["running", "stopped", "dead"]))
    def become(self, name: str, state: str) -> None:
        session = self.line.sessions[name]
        if self.line.processes[session] != "dead":
            self.stage.prober.states[self.processes[session]] = self.line.processes[session] = state

    @rule(ms=spans)
    def pass_time(self, ms: int) -> None:
        self.stage.clock.pass_time(ms)
        self.tick()

    @precondition(lambda self: self.line.live())
    @rule(data=st.data(), leases=st.sampled_from([1, 2, 11, 12]), less=st.sampled_from([0, 1]))
    def pass_leases(self, data: st.DataObject, leases: int, less: int) -> None:
        """Half of some lease, or all of it, or six of them: where something may end."""
        thing = data.draw(st.sampled_from(self.line.live()))
        self.pass_time(leases * thing.ttl // 2 - less)

    @rule()
    def sweep(self) -> None:
        self.stage.call("sweep")
        self.line.sweep()
        for name, session in list(self.line.sessions.items()):
            if self.line.processes.get(session) == "dead":  # its session may have been ended: this is about holds
                self.arrive(name)

    @rule(name=names)
    def heartbeat(self, name: str) -> None:
        self.stage.call("heartbeat", name)
        self.line.beat(name)

    # -- asking ------------------------------------------------------------------------------------------------------

    def ask(self, verb: str, who: str, what: list[str], mode: str, ttl: int, wait: bool, **args: Any) -> None:
        both = self.same(
            lambda: self.stage.call(verb, who, ttl_ms=ttl, wait=wait, **args),
            lambda line: line.ask(who, what, mode, ttl, wait),
        )
        if both:
            answer, request = both
            mine = [thing for thing in self.line.things if thing.request == request]
            if mine:  # otherwise it had all of it already
                assert answer["state"] == ("waiting" if mine[0].waiting else "held")
                self.asked.append((who, request, answer["id"]))

    @rule(name=names, what=wants, mode=modes, ttl=ttls, wait=st.booleans())
    def reserve(self, name: str, what: list[str], mode: str, ttl: int, wait: bool) -> None:
        self.ask("reserve", name, what, mode, ttl, wait, paths=what, shared=mode == "shared")

    @rule(name=names, slot=slots, ttl=ttls, wait=st.booleans())
    def take_slot(self, name: str, slot: str, ttl: int, wait: bool) -> None:
        self.ask("slot.take", name, [slot], "exclusive", ttl, wait, name=slot)

    @precondition(lambda self: self.line.live())
    @rule(data=st.data(), mode=modes, ttl=ttls)
    def stand_in_line(self, data: st.DataObject, mode: str, ttl: int) -> None:
        """For something that someone has."""
        thing = data.draw(st.sampled_from(self.line.live()))
        name = data.draw(names)
        if thing.is_slot:
            self.ask("slot.take", name, [thing.what], "exclusive", ttl, True, name=thing.what)
        else:
            self.reserve(name, [thing.what], mode, ttl, True)

    def in_line(self) -> list[tuple[str, str, str]]:
        waiting = {thing.request for thing in self.line.things if thing.waiting}
        return [each for each in self.asked if each[1] in waiting]

    @precondition(lambda self: self.in_line())
    @rule(data=st.data())
    def take_in_line(self, data: st.DataObject) -> None:
        self.take_one(*data.draw(st.sampled_from(self.in_line())))

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        self.take_one(*data.draw(st.sampled_from(self.asked[-8:])))

    def take_one(self, name: str, request: str, id: str) -> None:
        both = self.same(lambda: self.stage.call("hold.take", name, id=id), lambda line: line.take(name, request))
        if both:
            assert both[0]["state"] == both[1]

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        name, request, id = data.draw(st.sampled_from(self.asked[-8:]))
        self.stage.call("release", name, ids=[id])
        self.line.release(name, request)

    @precondition(lambda self: any(thing.waiting for thing in self.line.things))
    @rule(data=st.data())
    def give_up_what_is_waited_for(self, data: st.DataObject) -> None:
        wanted = {thing.what for thing in self.line.things if thing.waiting}
        near = {thing.request for what in wanted for thing in self.line.near(what) if not thing.waiting}
        mine = [each for each in self.asked if each[1] in near]
        if mine:
            name, request, id = data.draw(st.sampled_from(mine))
            self.stage.call("release", name, ids=[id])
            self.line.release(name, request)

    @rule(name=names)
    def give_up_all_paths(self, name: str) -> None:
        self.stage.call("release", name, all=True)
        self.line.release_all(name)

    # -- what holds after every step ---------------------------------------------------------------------------------

    def seen(self) -> list[tuple[str, str, str, bool, str]]:
        """As the person sees it: (what, agent, mode, waits, until)."""
        paths = self.stage.call("reservations", limit=1000)["reservations"]
        found = [(r["path"], r["agent"], r["mode"], r["state"] == "waiting", r["expiresAt"]) for r in paths]
        for slot in self.stage.call("slot.list")["slots"]:
            for waits, users in ((False, slot["holders"]), (True, slot["waiting"])):
                found += [(slot["name"], user["agent"], "exclusive", waits, user["expiresAt"]) for user in users]
        return found

    def shown(self, at: int) -> str:
        return times.iso(self.stage.clock.wall + at - self.line.now)

    @invariant()
    def all_agree(self) -> None:
        live = [(thing, self.shown(self.line.ends(thing))) for thing in self.line.live()]
        expected = [(thing.what, thing.agent, thing.mode, thing.waiting, until) for thing, until in live]
        assert sorted(self.seen()) == sorted(expected)

    @invariant()
    def nobody_has_what_another_has_for_itself(self) -> None:
        held = [each for each in self.seen() if not each[3]]
        paths = [each for each in held if each[0] in COVERS]
        for (one, ada, mode, *_), (other, bob, other_mode, *_) in combinations(paths, 2):
            assert ada == bob or mode == other_mode == "shared" or not COVERS[one] & COVERS[other]
        for name, capacity in CAPACITY.items():
            assert sum(each[0] == name for each in held) <= capacity

    @invariant()
    def lapses_are_told(self) -> None:
        told = self.stage.events("reserve.lapsed", "slot.lapsed")
        assert sum(event["preview"].partition(": ")[0].count(", ") + 1 for event in told) == self.line.lapsed


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Generator[SqliteStore]:
    with closing(SqliteStore(prepared(tmp_path / "ledger.db"), clock)) as store:
        yield store


def run(store: SqliteStore, clock: FakeClock, how: settings, from_seed: int | None = None) -> None:
    machine: Any = lambda: GuardMachine(store, clock)  # noqa: E731 - a factory, where a class is expected
    run_state_machine_as_test(machine if from_seed is None else seed(from_seed)(machine), settings=how)


@pytest.mark.slow
def test_the_guard_is_what_the_model_says(store: SqliteStore, clock: FakeClock) -> None:
    run(store, clock, settings(max_examples=10, stateful_step_count=30))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_guard_is_what_the_model_says_at_length(store: SqliteStore, clock: FakeClock) -> None:
    run(store, clock, settings(max_examples=60, stateful_step_count=60))


# -- controls: a spoilt law or statement is found ----------------------------------------------------------------------

# Each with a seed from which it shows soon. It does from any other, with patience: that was half a minute each.
LAWS: dict[str, tuple[int, Callable[..., Any]]] = {
    "clash": (1, lambda mode, other: mode == other == "exclusive"),
    "fits": (2, lambda capacity, taken, before: taken < capacity),
    "waits": (1, lambda expires_at, now, keeper: False),
    "limit": (1, lambda lease: lease.renewed_at + 5 * lease.ttl_ms),
    "stands": (1, lambda lease, now, keeper, seen: lease.expires_at > now and keeper is not Liveness.ENDED),
}
STATEMENTS = [
    (1, "renew_holds", "AND expires_at < :now + ttl_ms / 2", ""),
    (4, "grant_request", "expires_at = :now + ttl_ms", "expires_at = expires_at"),
    (2, "keep_place", "expires_at = :until", "expires_at = expires_at"),
    (3, "reservations_below", "root >= :low", "root > :high"),
    (3, "extend_hold", "expires_at = :until", "expires_at = :until + 60000"),
]
HUNTING = settings(max_examples=1500, stateful_step_count=50, phases=[Phase.generate], database=None)  # until one shows
FOUND = (AssertionError, RookError, pytest.fail.Exception)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", LAWS)
def test_control_the_model_finds_a_spoilt_law(
    store: SqliteStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from_seed, law = LAWS[name]
    monkeypatch.setattr(holding, name, law)
    with pytest.raises(FOUND):
        run(store, clock, HUNTING, from_seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("seed", "query", "old", "new"), STATEMENTS, ids=[query for _, query, *_ in STATEMENTS])
def test_control_the_model_finds_a_spoilt_statement(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, seed: int, query: str, old: str, new: str
) -> None:
    text = queries.load("sqlite")
    assert old in text[query], "the statement was rewritten: spoil it another way"
    text[query] = text[query].replace(old, new)
    monkeypatch.setattr(queries, "load", lambda dialect: text)
    with closing(SqliteStore(prepared(tmp_path / "spoilt.db"), clock)) as store, pytest.raises(FOUND):
        run(store, clock, HUNTING, seed)
