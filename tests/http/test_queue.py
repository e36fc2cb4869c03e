"""The writer of a resident process: one commit for what gathered, each call judged and answered by itself."""

import threading
from collections.abc import Generator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from rookery.client.queued import BATCH, QueuedClient, Stores, TeamOfQueue
from rookery.core import errors
from rookery.store import faults
from rookery.store.port import Store
from rookery.store.sqlite import SqliteStore
from tests.support.stage import Stage

PATIENCE_S = 30


class Gate:
    """Holds the writer inside a transaction of its own until the test lets go."""

    def __init__(self, stage: Stage, queue: QueuedClient) -> None:
        self._open, self._inside = threading.Event(), threading.Event()
        faults.arm("before_commit", self._hold)
        self.first = submit(queue, stage, "heartbeat", "ada")

    def _hold(self) -> None:
        if not self._inside.is_set():
            self._inside.set()
            assert self._open.wait(PATIENCE_S)

    def closed(self) -> None:
        assert self._inside.wait(PATIENCE_S)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    made = Stage(tmp_path / "ledger.db")
    made.join_all("ada", "bob")
    yield made
    made.close()


@pytest.fixture
def queue(stage: Stage) -> Generator[QueuedClient]:
    def another() -> Store:
        return SqliteStore(stage.store.location, stage.clock)

    made = QueuedClient(Stores(another(), another(), another), stage.bell, lambda _team: stage)
    yield made
    faults.disarm()
    made.close()


def submit(queue: QueuedClient, stage: Stage, verb: str, agent: str, **args: Any) -> "Future[Any]":
    return queue.submit("crew", verb, args, stage.caller(agent))


def test_what_gathers_during_a_commit_goes_with_the_next(stage: Stage, queue: QueuedClient):
    gate = Gate(stage, queue)
    gate.closed()
    sent = [submit(queue, stage, "send", "ada", to=["bob"], subject=f"s{n}") for n in range(BATCH + 10)]
    assert not any(future.done() for future in sent)
    gate.open()
    assert [future.result(PATIENCE_S)["status"] for future in sent] == ["accepted"] * len(sent)
    assert queue.writer.commits == 3, "the held one, a full batch, and the rest"
    assert [m["subject"] for m in stage.inbox("bob", limit=100)] == [f"s{n}" for n in range(BATCH + 10)]


def test_a_single_call_waits_for_nobody(stage: Stage, queue: QueuedClient):
    for number in range(3):
        submit(queue, stage, "send", "ada", to=["bob"], subject="x").result(PATIENCE_S)
        assert queue.writer.commits == number + 1


def test_a_refused_call_takes_nobody_with_it(stage: Stage, queue: QueuedClient):
    gate = Gate(stage, queue)
    gate.closed()
    good = submit(queue, stage, "send", "ada", to=["bob"], subject="one")
    bad = submit(queue, stage, "send", "ada", to=["nobody"], subject="never")
    last = submit(queue, stage, "send", "ada", to=["bob"], subject="two")
    gate.open()
    with pytest.raises(errors.UnknownName):
        bad.result(PATIENCE_S)
    assert last.result(PATIENCE_S)["seq"] == good.result(PATIENCE_S)["seq"] + 1
    assert stage.subjects("bob") == ["one", "two"]


def test_a_wrong_call_never_reaches_the_queue(stage: Stage, queue: QueuedClient):
    with pytest.raises(errors.BadInput):
        submit(queue, stage, "send", "ada", nothing=1)
    with pytest.raises(errors.UnknownName):
        submit(queue, stage, "sned", "ada")
    assert queue.writer.calls == 0


def test_no_answer_and_no_ring_before_the_commit(stage: Stage, queue: QueuedClient):
    gate = Gate(stage, queue)
    gate.closed()
    sent = submit(queue, stage, "send", "ada", to=["bob"], subject="x")
    rung = list(stage.bell.rung)
    assert not sent.done()
    gate.open()
    sent.result(PATIENCE_S)
    assert {"bob"} in stage.bell.rung[len(rung) :]


def test_one_ring_for_what_was_committed_together(stage: Stage, queue: QueuedClient):
    gate = Gate(stage, queue)
    gate.closed()
    before = len(stage.bell.rung)
    sent = [submit(queue, stage, "send", "ada", to=[to], subject="x") for to in ("bob", "ada", "bob")]
    gate.open()
    answers = [future.result(PATIENCE_S) for future in sent]
    assert stage.bell.rung[before:] == [set(), {"ada", "bob"}]
    assert [answer["recipients"][0]["name"] for answer in answers] == ["bob", "ada", "bob"], "what is told after commit"


def test_a_call_that_was_given_up_is_not_done(stage: Stage, queue: QueuedClient):
    gate = Gate(stage, queue)
    gate.closed()
    given_up = submit(queue, stage, "send", "ada", to=["bob"], subject="no")
    kept = submit(queue, stage, "send", "ada", to=["bob"], subject="yes")
    assert given_up.cancel()
    gate.open()
    kept.result(PATIENCE_S)
    assert stage.subjects("bob") == ["yes"]


def test_a_verb_that_breaks_ends_nobody_else(stage: Stage, queue: QueuedClient, monkeypatch: pytest.MonkeyPatch):
    from rookery.service import mesh

    def broken(_tx: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(mesh, "heartbeat", broken)
    with pytest.raises(ZeroDivisionError):
        submit(queue, stage, "heartbeat", "ada").result(PATIENCE_S)
    assert submit(queue, stage, "send", "ada", to=["bob"], subject="x").result(PATIENCE_S)["status"] == "accepted"


def test_what_was_accepted_is_done_before_the_end(stage: Stage, queue: QueuedClient):
    gate = Gate(stage, queue)
    gate.closed()
    sent = [submit(queue, stage, "send", "ada", to=["bob"], subject=f"s{n}") for n in range(5)]
    gate.open()
    queue.writer.close()
    assert all(future.result(0)["status"] == "accepted" for future in sent)
    with pytest.raises(errors.Unreachable):
        submit(queue, stage, "send", "ada", to=["bob"], subject="late")


def test_a_read_that_takes_long_is_done_in_the_pool(stage: Stage, queue: QueuedClient):
    deed = queue.deed("crew", "inbox", {}, stage.caller("bob"))
    assert queue.look("crew", deed)["messages"] == []
    assert queue.read_in_pool("crew", deed).result(PATIENCE_S)["messages"] == []
    assert (queue.quick_reads, queue.slow_reads) == (1, 1)
    assert TeamOfQueue(queue, "crew").call("inbox", {}, stage.caller("bob"))["agent"] == "bob"


def test_a_read_is_a_heartbeat_when_one_is_due(stage: Stage, queue: QueuedClient):
    stage.clock.pass_time(stage.settings.ms("mesh.heartbeat_s") + 1)
    caller = stage.caller("bob")
    queue.look("crew", queue.deed("crew", "inbox", {}, caller))
    queue.writer.close()
    assert queue.writer.calls == 1


@pytest.mark.slow
def test_a_request_whose_quick_read_is_cut_off_is_answered_from_the_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import asyncio

    from rookery import app
    from rookery.front.http.daemon import Daemon
    from tests.support import stores

    monkeypatch.setattr(app, "QUICK_READ_S", 0.0)
    house = app.open_house(cwd=str(tmp_path), environ={"ROOK_HOME": str(tmp_path / "rook")}, team="crew")
    house.store.write("crew", lambda tx: [stores.append(tx, "x") for _ in range(5_000)])
    daemon = Daemon(house, token="x", only_team=False)
    try:
        page = asyncio.run(daemon.call("crew", "events", {"limit": 5_000}, house.caller("user")))
        assert len(page["events"]) == 5_000
        assert (daemon.queue.quick_reads, daemon.queue.slow_reads) == (0, 1)
    finally:
        daemon.close()
        house.close()
