"""Leases under any sequence of claims, renewals, endings, deaths, sweeps and passing time, beside a model.

After every step all tasks are compared, at most one claim of each may write, and no epoch has fallen. One store serves
all examples, each in a team of its own.
"""

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import count
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

from rookery.core.errors import RookError
from rookery.store import queries
from rookery.store.port import Transaction
from rookery.store.sqlite import SqliteStore
from tests.model.board import Board, Job, No
from tests.support.fakes import FakeClock
from tests.support.stage import Stage
from tests.support.stores import prepared

NAMES = ("ada", "bob", "cat")
JOBS = ("task-0001", "task-0002", "task-0003")
TEAMS = count(1)

names = st.sampled_from(NAMES)
writers = st.sampled_from([*NAMES, "holder", "holder", "holder"])  # whoever holds it, if anyone does
jobs = st.sampled_from(JOBS)
ttls = st.sampled_from([1_000, 60_000, 300_000])
spans = st.sampled_from([1, 499, 500, 999, 1_000, 30_000, 59_999, 60_000, 150_000, 300_000, 360_000, 1_800_000])
epochs = st.sampled_from(["current", "current", "current", "own", "stale", "future", "none"])
ENDS = {
    "task.done": ("completed", {}),
    "task.fail": ("failed", {"reason": "no"}),
    "task.block": ("blocked", {"reason": "no key"}),
}


ENDED = ("completed", "failed", "canceled")


class Undo(Exception):
    """Ends a transaction so that nothing of it stays."""


class TaskMachine(RuleBasedStateMachine):
    def __init__(self, store: SqliteStore, clock: FakeClock) -> None:
        super().__init__()
        self.stage = Stage("", store=store, clock=clock, team=f"team-{next(TEAMS)}")
        self.board = Board({id: Job(id, after=JOBS[1] if id == JOBS[2] else "") for id in JOBS})
        self.processes: dict[int, tuple[int, str]] = {}
        self.claims: set[tuple[str, str, int]] = set()  # every one there ever was: agent, task, epoch
        self.epochs = dict.fromkeys(JOBS, 0)
        self.tick()

    def tick(self) -> None:
        self.board.now = self.stage.store.read("clock", lambda tx: tx.now)

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
        return None

    # -- agents ------------------------------------------------------------------------------------------------------

    @initialize()
    def all_are_there(self) -> None:
        for name in NAMES:
            self.join(name)
        for id in JOBS:
            self.stage.call("task.add", title=id, deps=[JOBS[1]] if id == JOBS[2] else [])

    @rule(name=names)
    def join(self, name: str) -> None:
        """As another process, which puts out the one before."""
        self.sweep()  # a join would, when an hour has passed
        self.arrive(name)

    def arrive(self, name: str) -> None:
        process = self.stage.process()
        self.processes[process[0]] = process
        self.stage.join(name, process=process, takeover=True)
        self.board.join(name, process[0])

    @rule(name=names, state=st.sampled_from(["running", "stopped", "dead"]))
    def become(self, name: str, state: str) -> None:
        session = self.board.sessions[name]
        if self.board.processes[session] != "dead":
            self.stage.prober.states[self.processes[session]] = self.board.processes[session] = state

    @rule(ms=spans)
    def pass_time(self, ms: int) -> None:
        self.stage.clock.pass_time(ms)
        self.tick()

    @rule()
    def sweep(self) -> None:
        self.stage.call("sweep")
        self.board.settle_all()
        for name, session in list(self.board.sessions.items()):
            if self.board.processes[session] == "dead":  # its session may have been ended: this is about leases
                self.arrive(name)

    @rule(name=names)
    def do_something(self, name: str) -> None:
        self.stage.call("heartbeat", name)
        self.board.beat(name)

    # -- claims ------------------------------------------------------------------------------------------------------

    @rule(name=names, id=jobs, ttl=ttls)
    def claim(self, name: str, id: str, ttl: int) -> None:
        def expected() -> int:
            before = [(job, dict(vars(job))) for job in self.board.jobs.values()]
            lapses = self.board.lapses
            self.board.beat(name)
            try:
                return self.board.claim(name, self.board.jobs[id], ttl)
            except No:  # what was refused did not happen: no heartbeat, no lapse
                for job, values in before:
                    vars(job).update(values)
                self.board.lapses = lapses
                raise

        both = self.same(lambda: self.stage.call("task.claim", name, id=id, ttl_ms=ttl), expected)
        if both:
            taken, epoch = both
            assert taken["lease"]["epoch"] == epoch
            self.claims.add((name, id, epoch))

    @rule(name=names, ttl=ttls)
    def claim_next(self, name: str, ttl: int) -> None:
        self.board.beat(name)
        id = self.board.claim_next(name, ttl)
        taken = self.stage.call("task.claim", name, next=True, ttl_ms=ttl)
        assert taken["taskId"] == id
        if id:
            self.claims.add((name, id, taken["lease"]["epoch"]))

    def under(self, name: str, id: str, which: str) -> int | None:
        job = self.board.jobs[id]
        mine = sorted(epoch for who, task, epoch in self.claims if (who, task) == (name, id))
        chosen = {"current": job.epoch, "own": mine[-1] if mine else 0, "stale": job.epoch - 1, "future": job.epoch + 1}
        return chosen.get(which)

    def write(
        self, verb: str, writer: str, id: str, which: str, model: Callable[[str, Job, int | None], None], **args: Any
    ) -> None:
        job = self.board.jobs[id]
        name = (job.holder or NAMES[0]) if writer == "holder" else writer
        epoch = self.under(name, id, which)
        if self.same(lambda: self.stage.call(verb, name, id=id, epoch=epoch, **args), lambda: model(name, job, epoch)):
            self.board.beat(name)

    @rule(writer=writers, id=jobs, which=epochs)
    def renew(self, writer: str, id: str, which: str) -> None:
        self.write("task.renew", writer, id, which, self.board.renew)

    @rule(writer=writers, id=jobs, which=epochs, verb=st.sampled_from(sorted(ENDS)))
    def end(self, writer: str, id: str, which: str, verb: str) -> None:
        status, args = ENDS[verb]
        why = "" if status == "completed" else "some reason"
        self.write(verb, writer, id, which, lambda name, job, e: self.board.end(name, job, e, status, why), **args)

    @rule(writer=writers, id=jobs, which=epochs)
    def release(self, writer: str, id: str, which: str) -> None:
        self.write("task.release", writer, id, which, self.board.release)

    @rule(writer=writers, id=jobs, which=epochs)
    def progress(self, writer: str, id: str, which: str) -> None:
        self.write("task.progress", writer, id, which, self.board.fence, said="something")

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), verb=st.sampled_from(["task.renew", "task.done", "task.release"]))
    def a_zombie_writes(self, data: st.DataObject, verb: str) -> None:
        """Any claim there ever was, but the one that counts."""
        name, id, epoch = data.draw(st.sampled_from(sorted(self.claims)))
        job = self.board.jobs[id]
        if (job.holder, job.epoch, job.status) == (name, epoch, "in_progress"):
            return
        with pytest.raises(RookError) as caught:
            self.stage.call(verb, name, id=id, epoch=epoch)
        assert caught.value.code in (
            "LEASE_EXPIRED", "TASK_NOT_IN_PROGRESS", "LEASE_HOLDER_MISMATCH", "EPOCH_MISMATCH"
        )  # fmt: skip

    # -- the owner's hand --------------------------------------------------------------------------------------------

    @rule(id=jobs)
    def unblock(self, id: str) -> None:
        self.same(lambda: self.stage.call("task.unblock", id=id), lambda: self.board.unblock(self.board.jobs[id]))

    @rule(id=jobs)
    def reset(self, id: str) -> None:
        self.stage.call("task.reset", id=id)
        self.board.reset(self.board.jobs[id])

    # -- what holds after every step ---------------------------------------------------------------------------------

    @invariant()
    def tasks_agree(self) -> None:
        for task in self.stage.call("task.list")["tasks"]:
            job = self.board.jobs[task["id"]]
            status = self.board.seen(job)
            assert task["status"] == status, job
            if status not in ENDED:  # an ended task names who ended it
                assert task["owner"] == (job.holder if status == "in_progress" else None)
            assert (task["epoch"], task["attempts"], bool(task["why"])) == (job.epoch, job.attempts, bool(job.why))

    @invariant()
    def lapses_are_told(self) -> None:
        assert len(self.stage.events("task.lapsed")) == self.board.lapses

    @invariant()
    def epochs_only_rise(self) -> None:
        now = {task["id"]: task["epoch"] for task in self.stage.call("task.list")["tasks"]}
        assert all(now.get(id, 0) >= self.epochs[id] for id in JOBS)
        self.epochs |= now

    @invariant()
    def at_most_one_claim_may_write(self) -> None:
        """Asked of the database itself, for every claim there ever was."""
        live: list[tuple[str, str, int]] = []

        def ask(tx: Transaction) -> None:
            for name, id, epoch in self.claims:
                agent = tx.one("agent_by_key", key=name)
                assert agent is not None
                if tx.run("fence_task", id=id, holder=agent["id"], epoch=epoch):
                    live.append((name, id, epoch))
            raise Undo

        with pytest.raises(Undo):
            self.stage.store.write(self.stage.team, ask)
        expected = [(job.holder, job.id, job.epoch) for job in self.board.jobs.values() if self.board.is_live(job)]
        assert sorted(live) == sorted(expected)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Generator[SqliteStore]:
    with closing(SqliteStore(prepared(tmp_path / "ledger.db"), clock)) as store:
        yield store


def run(store: SqliteStore, clock: FakeClock, how: settings, from_seed: int | None = None) -> None:
    machine: Any = lambda: TaskMachine(store, clock)  # noqa: E731 - a factory, where a class is expected
    run_state_machine_as_test(machine if from_seed is None else seed(from_seed)(machine), settings=how)


@pytest.mark.slow
def test_leases_are_what_the_model_says(store: SqliteStore, clock: FakeClock) -> None:
    run(store, clock, settings(max_examples=10, stateful_step_count=30))


@pytest.mark.slow
def test_leases_are_what_the_model_says_at_length(store: SqliteStore, clock: FakeClock) -> None:
    run(store, clock, settings(max_examples=60, stateful_step_count=60))


SPOILT = [  # each with a seed from which it shows soon
    (1, "claim_task", "epoch = epoch + 1", "epoch = epoch"),
    (4, "end_task", "AND epoch = :epoch", ""),
    (4, "renew_task", "AND epoch = :epoch", ""),
    (2, "fence_task", "AND holder = :holder", ""),
    (2, "renew_held", "AND lease_until > :now", ""),
    (1, "move_task", "epoch = epoch + 1", "epoch = epoch"),
    (1, "lapse_task", "lease_until <= :now", "lease_until <= :now - 1000"),
    (1, "ready_tasks", "rank DESC, ", ""),
]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "query", "old", "new"), SPOILT, ids=[query for _, query, *_ in SPOILT])
def test_control_the_model_finds_a_spoilt_statement(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, seed: int, query: str, old: str, new: str
) -> None:
    text = queries.load("sqlite")
    assert old in text[query], "the statement was rewritten: spoil it another way"
    text[query] = text[query].replace(old, new)
    monkeypatch.setattr(queries, "load", lambda dialect: text)
    hunting = settings(max_examples=200, stateful_step_count=50, phases=[Phase.generate], database=None)
    with (
        closing(SqliteStore(prepared(tmp_path / "spoilt.db"), clock)) as store,
        pytest.raises((AssertionError, RookError, pytest.fail.Exception)),
    ):
        run(store, clock, hunting, seed)
