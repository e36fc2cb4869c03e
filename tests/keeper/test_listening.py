"""Listeners with real verbs on a real store: each hears all, in order; one that fails or hangs is alone with it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery import extensions
from rookery.core.caller import Caller
from rookery.keeper.listening import Listening
from tests.support.doors import running
from tests.support.fakes import BOOT, HOST, FakeListener
from tests.support.panes import until
from tests.support.procs import ROOT
from tests.support.stage import Stage

PATIENCE_S = 60
Heard = list[tuple[str, int, str]]


class Verbs:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def teams(self) -> list[str]:
        return [self._stage.team]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        return self._stage.client.call(verb, args, Caller(agent="system", host=HOST, boot=BOOT))


class SilentBell:
    def listen(self, team: str, name: str) -> FakeListener:
        return FakeListener()

    def ring(self, team: str, names: Any) -> dict[str, int]:
        return {}


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    made = Stage(tmp_path / "ledger.db")
    made.join("ada")
    yield made
    made.close()


def into(heard: Heard) -> Callable[[dict[str, Any]], None]:
    return lambda event: heard.append((event["team"], event["seq"], event["type"]))


@asynccontextmanager
async def listening(stage: Stage, listeners: dict[str, Any], limit_s: float = PATIENCE_S) -> AsyncGenerator[Listening]:
    made = Listening(Verbs(stage), SilentBell(), lambda: dict(listeners), poll_s=0.01, limit_s=limit_s)
    await made.look()
    task = asyncio.create_task(made.service.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def soon(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)  # a look, with a deadline


def newest(stage: Stage) -> int:
    return stage.call("events")["newest"]


@pytest.mark.slow
def test_each_hears_what_happens_from_then_on_in_order_and_once(stage: Stage) -> None:
    one: Heard = []
    two: Heard = []

    async def scene() -> None:
        async with listening(stage, {"one": into(one), "two": into(two)}):
            begun = newest(stage)
            for n in range(250):
                stage.call("send", "ada", to=["ada"], subject=f"s{n}")
            await soon(lambda: one and one[-1][1] == newest(stage) and len(two) == len(one))
            assert [seq for _, seq, _ in one] == [*range(begun + 1, newest(stage) + 1)]
            assert one == two
            assert {team for team, _, _ in one} == {stage.team}

    asyncio.run(scene())


@pytest.mark.parametrize("error", [ValueError("\x1b[31mno"), SystemExit(3), KeyboardInterrupt()])
def test_one_that_fails_is_dropped_and_the_others_go_on(
    stage: Stage, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    heard: Heard = []
    calls: list[int] = []

    def bad(event: dict[str, Any]) -> None:
        calls.append(event["seq"])
        raise error

    async def scene() -> None:
        async with listening(stage, {"bad": bad, "good": into(heard)}) as made:
            stage.call("send", "ada", to=["ada"], subject="one")
            await soon(lambda: made.dropped)
            stage.call("send", "ada", to=["ada"], subject="two")
            await soon(lambda: heard and heard[-1][1] == newest(stage))
        assert made.dropped == {"bad"}
        assert len(calls) == 1

    asyncio.run(scene())
    (told,) = [each.getMessage() for each in caplog.records if "dropped" in each.getMessage()]
    assert told.startswith("bad was dropped")
    assert "\x1b" not in told


@pytest.mark.slow
def test_one_that_never_comes_back_slows_nobody_and_is_dropped(stage: Stage) -> None:
    heard: Heard = []
    hung = threading.Event()

    async def scene() -> None:
        listeners = {"hangs": lambda event: hung.wait(), "good": into(heard)}
        async with listening(stage, listeners, limit_s=0.2) as made:
            stage.call("send", "ada", to=["ada"], subject="one")
            await soon(lambda: heard)
            await soon(lambda: "hangs" in made.dropped)

    asyncio.run(scene())
    hung.set()


def test_registered_while_it_runs_and_undone(stage: Stage) -> None:
    heard: Heard = []

    async def scene() -> None:
        made = Listening(Verbs(stage), SilentBell(), extensions.listeners, poll_s=0.01, limit_s=PATIENCE_S)
        loop = asyncio.get_running_loop()
        over = extensions.when_changed(lambda: loop.call_soon_threadsafe(made.service.notify))
        task = asyncio.create_task(made.service.run())
        undo = extensions.listen(into(heard))
        try:
            await soon(lambda: made.count)
            stage.call("send", "ada", to=["ada"], subject="one")
            await soon(lambda: heard)
            undo()
            await soon(lambda: not made.count)
            count = len(heard)
            stage.call("send", "ada", to=["ada"], subject="two")
            await made.look()
            assert len(heard) == count
        finally:
            over()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scene())


@pytest.mark.slow
def test_a_daemon_calls_what_is_installed(tmp_path: Path) -> None:
    """The example package, seen by a real daemon; beside it one that fails, which harms nobody."""
    site = tmp_path / "site"
    info = site / "diaries-1.0.dist-info"
    info.mkdir(parents=True)
    diary = tmp_path / "diary"
    code = f"def keep(event):\n    with open({str(diary)!r}, 'a') as file: file.write(event['type'] + chr(10))\n"
    (site / "diaries.py").write_text(code + "def bad(event):\n    raise ValueError('no')\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: diaries\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rookery.listeners]\nkeep = diaries:keep\nbad = diaries:bad\n")
    paths = f"{ROOT / 'src'}:{ROOT}:{site}"
    with running(tmp_path, PYTHONPATH=paths) as daemon:
        assert daemon.door.post("/v1/call/join", name="ada").status == 200

        def heard() -> bool:
            said = daemon.door.post("/v1/call/send", to=["ada"], subject="s", agentId="ada")
            assert said.status == 200, said.body
            return diary.exists() and "message" in diary.read_text()

        until(heard, "the listener to be called")
        assert daemon.door.post("/v1/call/who").status == 200
