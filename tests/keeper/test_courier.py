"""The courier with real verbs on a real store, and hands that do as the test says."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from rookery.core.caller import Caller
from rookery.core.delivery import Outcome
from rookery.keeper.courier import Courier, Job
from tests.support import ledger
from tests.support.fakes import BOOT, HOST, FakeListener
from tests.support.stage import SECOND, Stage

PANE = {"kind": "tmux", "socket": "/run/s", "server": "1 2", "pane": "%1"}
PATIENCE_S = 60
Hand = Callable[[Job], Awaitable[Outcome]]


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    made = Stage(tmp_path / "ledger.db")
    made.join("ada", program="claude", terminal=PANE)
    made.join("bob")
    yield made
    assert ledger.faults(made.store.location) == []
    made.close()


class Verbs:
    """The stage's verbs for an event loop. `after` hears of every call that was made."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.made: list[str] = []
        self.news = asyncio.Event()

    async def teams(self) -> list[str]:
        return [self._stage.team]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        assert team == self._stage.team
        told = self._stage.client.call(verb, args, Caller(agent="system", host=HOST, boot=BOOT))
        self.made.append(verb)
        self.news.set()
        return told

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self.news.clear()
                await self.news.wait()


class SilentBell:
    """Rings nobody: everything is found by looking."""

    def listen(self, team: str, name: str) -> FakeListener:
        return FakeListener()

    def ring(self, team: str, names: Any) -> dict[str, int]:
        return {}


def run(stage: Stage, hand: Hand, condition: Callable[[Verbs], bool], owner: str = "k:1", **more: Any) -> Verbs:
    """A courier at work until something is so."""

    async def go() -> Verbs:
        verbs = Verbs(stage)
        courier = Courier(verbs, SilentBell(), {"terminal": hand}, owner=owner, poll_s=0.01, **more)
        work = asyncio.create_task(courier.run())
        try:
            await verbs.until(lambda: condition(verbs))
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        return verbs

    return asyncio.run(go())


def receipts(stage: Stage, id: str) -> list[str]:
    (recipient,) = stage.call("receipts", "bob", id=id)["recipients"]
    return [each["stage"] for each in recipient["receipts"]]


def taker(put: list[str]) -> Hand:
    async def hand(job: Job) -> Outcome:
        text = await job.compose()
        put.append(text)
        return Outcome(True)

    return hand


def test_mail_is_handed_over_and_then_written_down(stage: Stage):
    id, put = stage.send("bob", "ada", body="Go on")["id"], list[str]()
    verbs = run(stage, taker(put), lambda verbs: "delivery.done" in verbs.made)
    assert ["| Go on" in text for text in put] == [True]
    assert receipts(stage, id) == ["accepted", "handed-over"]
    order = [verb for verb in verbs.made if verb != "delivery.due"]
    assert order == ["delivery.own", "delivery.offer", "delivery.done"]


def test_h7_what_came_while_nothing_ran_is_found_on_start(stage: Stage):
    ids = [stage.send("bob", "ada", f"note {n}")["id"] for n in range(3)]
    put: list[str] = []
    run(stage, taker(put), lambda verbs: "delivery.done" in verbs.made)
    assert [receipts(stage, id)[-1] for id in ids] == ["handed-over"] * 3
    assert len(put) == 1, "three messages, one wake"


def test_a_burst_while_an_agent_is_busy_is_one_text(stage: Stage):
    """The text is made at the last moment."""
    stage.send("bob", "ada", "first")
    put: list[str] = []

    async def slow(job: Job) -> Outcome:
        for n in range(99):
            stage.send("bob", "ada", f"more {n}")
        put.append(await job.compose())
        return Outcome(True)

    run(stage, slow, lambda verbs: "delivery.done" in verbs.made)
    assert len(put) == 1
    assert "100 messages wait" in put[0]


def test_h2_a_hand_that_fails_or_breaks_leaves_the_mail_pending_with_the_reason(stage: Stage):
    id, tried = stage.send("bob", "ada")["id"], list[int]()

    async def breaks(job: Job) -> Outcome:
        tried.append(1)
        if len(tried) == 1:
            raise ZeroDivisionError("planted")
        await job.compose()
        return Outcome(False, "session-not-found", "the pane is gone")

    def twice(verbs: Verbs) -> bool:
        if "delivery.failed" in verbs.made:
            stage.clock.pass_time(6 * SECOND)
        return verbs.made.count("delivery.failed") == 2

    run(stage, breaks, twice)
    assert receipts(stage, id) == ["accepted"]
    (way,) = stage.call("whois", "bob", name="ada")["ways"]
    assert (way["tries"], way["reason"], way["detail"]) == (2, "session-not-found", "the pane is gone")


def test_whoever_dies_after_the_hand_over_repeats_that_one_and_no_other(stage: Stage):
    first = stage.send("bob", "ada", "first")["id"]
    put: list[str] = []
    run(stage, taker(put), lambda verbs: "delivery.done" in verbs.made)
    second = stage.send("bob", "ada", "second")["id"]

    died: list[str] = []

    def die(point: str) -> None:
        died.append(point)
        raise SystemError("planted: as if the process had ended here")

    async def once(job: Job) -> Outcome:
        if died:
            await asyncio.Event().wait()  # the dead do nothing
        return await taker(put)(job)

    run(stage, once, lambda verbs: bool(died) and verbs.made.count("delivery.own") > 1, reached=die)
    assert died == ["handed_over"]
    assert receipts(stage, second) == ["accepted"], "what was not written down did not happen"
    stage.clock.pass_time(31 * SECOND)  # the lease of the one that died
    run(stage, taker(put), lambda verbs: "delivery.done" in verbs.made, owner="k:2")
    assert [(first in text, second in text) for text in put] == [(True, False), (False, True), (False, True)]
    assert (receipts(stage, first), receipts(stage, second)) == (["accepted", "handed-over"],) * 2


def test_h8_two_couriers_hand_over_once(stage: Stage):
    """Each finds the mail due at the same moment; the lease is given once."""
    for n in range(20):
        stage.send("bob", "ada", f"note {n}")
    put: list[str] = []

    async def both() -> None:
        verbs = Verbs(stage)
        hands = {"terminal": taker(put)}
        couriers = [Courier(verbs, SilentBell(), hands, owner=f"k:{n}", poll_s=0.01) for n in range(4)]
        work = [asyncio.create_task(courier.run()) for courier in couriers]
        try:
            await verbs.until(lambda: "delivery.done" in verbs.made and verbs.made.count("delivery.due") > 20)
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
        assert verbs.made.count("delivery.done") == 1

    asyncio.run(both())
    assert len([text for text in put if text]) == 1, "whoever came second found nothing left"


@pytest.mark.slow
def test_a_hand_that_takes_long_keeps_its_turn(stage: Stage):
    """The lease is renewed while the hand waits for its moment."""
    stage.send("bob", "ada")
    go = asyncio.Event()

    async def waits(job: Job) -> Outcome:
        async with asyncio.timeout(PATIENCE_S):
            await go.wait()
        await job.compose()
        return Outcome(True)

    def renewed(verbs: Verbs) -> bool:
        if verbs.made.count("delivery.own") >= 4:
            go.set()
        return "delivery.done" in verbs.made

    short = Stage(stage.store.location, store=stage.store, clock=stage.clock, delivery__lease_s=0.5)
    short.prober.states.update(stage.prober.states)
    run(short, waits, renewed)


def test_nothing_waits_any_more_when_it_is_about_to_be_put(stage: Stage):
    id = stage.send("bob", "ada")["id"]

    async def late(job: Job) -> Outcome:
        stage.call("read", "ada", id=id)
        return Outcome(False, nothing=not await job.compose())

    verbs = run(stage, late, lambda verbs: "delivery.leave" in verbs.made)
    assert "delivery.failed" not in verbs.made
    assert stage.call("delivery.own", agent="ada", channel="terminal", owner="another")["owned"]


def test_h4_a_steady_stream_starves_nobody(stage: Stage):
    """Messages come without a pause: each text is put while more arrive, and none waits for the stream to end."""
    put, sent = list[str](), 0

    async def streaming(job: Job) -> Outcome:
        nonlocal sent
        put.append(await job.compose())
        for _ in range(5):  # the stream goes on while this is typed
            sent += 1
            stage.send("bob", "ada", f"note {sent}")
        return Outcome(True)

    stage.send("bob", "ada", "note 0")
    run(stage, streaming, lambda verbs: verbs.made.count("delivery.done") == 10)
    assert len(put) >= 10
    assert all("5 messages wait" in text for text in put[1:10]), "each hand-over takes what came during the last"


def test_h45_one_busy_store_does_not_end_the_renewal_of_a_lease(tmp_path: Path):
    """The renewal fails twice while a slow hand is at work, and goes on."""
    stage = Stage(tmp_path / "ledger.db", delivery__lease_s=1)
    stage.join("ada", program="claude", terminal=PANE)
    stage.join("bob")
    stage.send("bob", "ada")

    class Busy(Verbs):
        owns = 0

        async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
            self.owns += verb == "delivery.own"
            if verb == "delivery.own" and self.owns in (2, 3):
                self.made.append("busy")
                raise errors.StoreBusy("The store is busy.")
            return await super().call(team, verb, args)

    async def go() -> Busy:
        verbs = Busy(stage)

        async def slow(job: Job) -> Outcome:
            await job.compose()
            await verbs.until(lambda: verbs.owns >= 5)
            return Outcome(True)

        courier = Courier(verbs, SilentBell(), {"terminal": slow}, owner="k:1", poll_s=0.01)
        work = asyncio.create_task(courier.run())
        try:
            await verbs.until(lambda: "delivery.done" in verbs.made)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        assert courier.service.failures >= 2
        return verbs

    assert asyncio.run(go()).made.count("busy") == 2
    stage.close()
