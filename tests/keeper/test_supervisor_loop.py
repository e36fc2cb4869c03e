"""The supervisor's loop and its drain, with verbs that answer as the test says."""

import asyncio
import subprocess
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from rookery.keeper.supervisor import Ground, Supervisor
from rookery.runtime import process, runs
from tests.keeper.test_courier import SilentBell

TERMS = {"heartbeat": 10**9, "grace": 1_000, "term": 1_000}
POLL_S = 1_000.0


class Verbs:
    """One worker that is to end, and never does."""

    def __init__(self, worker: Mapping[str, Any]) -> None:
        self.worker = worker
        self.busy = 0  # calls that are refused first

    async def teams(self) -> list[str]:
        return ["crew"]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        if self.busy:
            self.busy -= 1
            raise errors.StoreBusy("The store is busy.")
        answers: dict[str, Any] = {
            "worker.down": {"stopping": ["w1"]}, "worker.stopping": {}, "worker.beat": {"lost": []},
            "worker.due": {"begin": [], "watch": [self.worker], "next_ms": None, "terms": TERMS},
        }  # fmt: skip
        return answers[verb]


@pytest.fixture
def program() -> Generator[process.Process]:
    with subprocess.Popen(["sleep", "1000"]) as started:
        found = process.identify(started.pid)
        assert found
        yield found
        started.kill()


@pytest.fixture
def verbs(program: process.Process) -> Verbs:
    return Verbs({
        "id": "w1", "run": "run-1", "state": "stopping", "wish": "stop", "wish_ms": 5_000, "report": "", "phase": "",
        "boot": "b", "pid": program.pid, "started": program.started, "owner": "me", "mine": True,
    })  # fmt: skip


def supervisor(verbs: Verbs, tmp_path: Path) -> Supervisor:
    return Supervisor(
        verbs, SilentBell(), Ground(str(tmp_path), {}, (), "me", "b"), poll_s=POLL_S, reached=lambda _: None
    )


def test_it_waits_for_a_worker_that_is_being_ended_and_does_not_poll(
    verbs: Verbs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grace period is over, and ending it takes a while: the end of that job wakes the loop, nothing else."""

    async def scene() -> None:
        over, begun = threading.Event(), threading.Event()

        def emptied(self: Supervisor, *_args: Any) -> runs.Ended:
            begun.set()
            over.wait()
            raise errors.StoreBusy("enough")

        monkeypatch.setattr(Supervisor, "_emptied", emptied)
        monkeypatch.setattr(Supervisor, "_beat", lambda *_args: asyncio.sleep(0, 10**9))
        made = supervisor(verbs, tmp_path)
        try:
            assert await made._look("crew") == POLL_S
            await asyncio.to_thread(begun.wait)
            assert await made._look("crew") == POLL_S
        finally:
            over.set()
            await made._close()

    asyncio.run(scene())


def test_a_drain_ends_in_time_and_tells_what_it_left(verbs: Verbs, tmp_path: Path, program: process.Process) -> None:
    """Also where the store is busy in between."""
    verbs.busy = 2
    left = asyncio.run(supervisor(verbs, tmp_path).drain(2.0))
    assert left == [{"team": "crew", "id": "w1", "state": "stopping", "pid": program.pid}]
    verbs.worker = {}

    async def nobody(team: str, verb: str, args: Mapping[str, Any]) -> Any:
        return {"stopping": []} if verb == "worker.down" else {"watch": []}

    verbs.call = nobody  # type: ignore[method-assign]
    assert asyncio.run(supervisor(verbs, tmp_path).drain(10**6)) == [], "and at once where nothing is left"
