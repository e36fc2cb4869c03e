"""The loop of background services: exceptions, restarts, parts, jobs; and the pools for work that blocks."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from rookery.core.delivery import Outcome
from rookery.core.health import ServiceState
from rookery.keeper import programs, services
from rookery.keeper.blocking import BlockingPool
from rookery.keeper.services import BackgroundService, Finished, Services
from tests.support.panes import until

PATIENCE_S = 60


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "FIRST_S", 0.001)


async def soon(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.002)


def with_registry(scene: Callable[[Services], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        registry = Services()
        test = asyncio.current_task()
        registry.own("test", lambda: [test] if test else [])
        registry.start()
        try:
            await scene(registry)
        finally:
            await registry.stop()

    asyncio.run(whole())


def failing(times: int, error: BaseException) -> Callable[[], Awaitable[None]]:
    left = iter([error] * times)

    async def look() -> None:
        if found := next(left, None):
            raise found

    return look


# -- the loop ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [OSError("disk"), errors.StoreBusy("busy"), KeyError("bug"), MemoryError(), asyncio.CancelledError()]
)
def test_no_exception_ends_a_service(error: BaseException) -> None:
    """Also not that something it awaits is cancelled while the service is not."""

    async def scene(registry: Services) -> None:
        service = registry.add(BackgroundService("one", failing(3, error), every_s=0.001))
        await soon(lambda: service.looks > 2)
        (told,) = registry.report()
        assert (told["failures"], told["restarts"], told["failures_in_row"]) == (3, 3, 0)
        assert (told["state"], bool(told["last_error"])) == ("running", True)
        assert told["last_success"] >= told["last_error_at"]

    with_registry(scene)


def test_a_service_that_keeps_failing_is_told_and_tried_less_and_less() -> None:
    async def scene(registry: Services) -> None:
        service = registry.add(BackgroundService("one", failing(10**6, OSError("disk")), every_s=0.001))
        await soon(lambda: service.failures_in_row >= 3)
        (told,) = registry.report()
        assert (told["state"], told["failing"], told["last_success"]) == ("failing", ["one"], None)
        assert "disk" in told["last_error"]

    with_registry(scene)
    service = BackgroundService("one", failing(0, OSError()), every_s=1)
    pauses = []
    for service.failures_in_row in range(1, 100):
        pauses.append(service.backoff_s)
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[5] < pauses[-1] == services.LONGEST_S


def test_a_service_that_ends_all_the_same_is_reported() -> None:
    """A bug of the loop itself, say."""

    async def scene(registry: Services) -> None:
        service = BackgroundService("one", failing(0, OSError()), every_s=1)

        async def run() -> None:
            raise RuntimeError("a bug of the loop")

        service.run = run  # type: ignore[method-assign]
        registry.add(service)
        await soon(lambda: registry.report()[0]["state"] == ServiceState.ENDED)
        assert "a bug of the loop" in registry.report()[0]["last_error"]

    with_registry(scene)


def test_parts_are_restarted_and_ended_by_the_service() -> None:
    async def scene(registry: Services) -> None:
        root = registry.add(BackgroundService("root", failing(0, OSError()), every_s=0.001))
        part = root.part("team", failing(2, OSError("disk")), every_s=0.001)
        assert root.part("team", failing(0, OSError()), every_s=1) is part
        await soon(lambda: part.looks)
        assert (registry.report()[0]["restarts"], registry.report()[0]["parts"]) == (2, 1)
        root.end_part("team")
        again = root.part("team", failing(0, OSError()), every_s=0.001)
        assert again is not part, "one that is told to end is not the one that runs"
        await soon(lambda: again.looks)

        async def over() -> None:
            raise Finished

        root.part("listener", over, every_s=1)
        await soon(lambda: root.parts == {"team"})
        assert registry.unowned() == []

    with_registry(scene)


def test_a_failed_job_is_counted_and_a_good_one_makes_up_for_it() -> None:
    async def scene(registry: Services) -> None:
        root = registry.add(BackgroundService("root", failing(0, OSError()), every_s=1))

        async def work(error: Exception | None) -> None:
            if error:
                raise error

        for _ in range(3):
            root.job("work", work(OSError("disk")))
        await soon(lambda: root.job_failures_in_row == 3)
        assert registry.report()[0]["failing"] == ["root (jobs)"]
        root.job("work", work(None))
        await soon(lambda: registry.report()[0]["state"] == "running")

    with_registry(scene)


def test_tasks_without_an_owner_are_named() -> None:
    async def scene(registry: Services) -> None:
        root = registry.add(BackgroundService("root", failing(0, OSError()), every_s=1))
        root.part("team", failing(0, OSError()), every_s=1)
        root.job("waits", asyncio.sleep(PATIENCE_S))
        await soon(lambda: root.looks)
        assert registry.unowned() == []
        stray = asyncio.create_task(asyncio.sleep(PATIENCE_S), name="a stray")
        assert registry.unowned() == ["a stray: sleep"]
        stray.cancel()

    with_registry(scene)


# -- pools -------------------------------------------------------------------------------------------------------------

DEFAULT_THREADS = min(32, (os.cpu_count() or 1) + 4)  # of asyncio's own pool


def blocked_turns(folder: Path, pool: BlockingPool, count: int) -> list["asyncio.Task[Outcome]"]:
    """Programs that never end by themselves, run as resumed agents are."""
    script = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(1000)"
    return [
        asyncio.create_task(programs.handed(
            [sys.executable, "-c", script, str(folder / f"pid-{n}")], "", environ=dict(os.environ), cwd=str(folder),
            limit_s=1000, pool=pool,
        ))
        for n in range(count)
    ]  # fmt: skip


def pids(folder: Path) -> list[int]:
    return [int(text) for path in folder.glob("pid-*") if (text := path.read_text())]


def is_gone(pid: int) -> bool:
    return not os.path.exists(f"/proc/{pid}")


def test_blocked_programs_leave_the_default_pool_free(tmp_path: Path) -> None:
    """As many as asyncio's own pool has threads: six on a machine with two cores."""

    async def scene(registry: Services) -> None:
        pool = registry.pool("turns", DEFAULT_THREADS)
        turns = blocked_turns(tmp_path, pool, DEFAULT_THREADS)
        await soon(lambda: len(pids(tmp_path)) == DEFAULT_THREADS)
        assert await asyncio.to_thread(lambda: "free") == "free"
        stopped = await registry.stop()
        assert len(stopped["left"]) == DEFAULT_THREADS, "nobody has cancelled them, so they are told of"
        for turn in turns:
            turn.cancel()
        await asyncio.gather(*turns, return_exceptions=True)
        await soon(lambda: not pool.running())

    with_registry(scene)
    until(lambda: all(map(is_gone, pids(tmp_path))))


def test_negative_control_the_default_pool_is_blocked_by_as_many(tmp_path: Path) -> None:
    async def scene(registry: Services) -> None:
        over = threading.Event()
        waits = [asyncio.ensure_future(asyncio.to_thread(over.wait)) for _ in range(DEFAULT_THREADS)]
        free = asyncio.ensure_future(asyncio.to_thread(lambda: "free"))
        pool = registry.pool("other", 1)
        assert await pool.run(lambda: "free") == "free"
        assert not free.done(), "it waits for a thread"
        over.set()
        await asyncio.gather(*waits)
        assert await free == "free"

    with_registry(scene)


def test_whoever_is_cancelled_ends_its_program_with_its_children(tmp_path: Path) -> None:
    """A child that holds the pipes open, too: the thread does not wait for it."""
    script = (
        "import os, time\n"
        f"child = os.fork()\nopen({str(tmp_path)!r} + '/pid-' + ('parent' if child else 'child'), 'w')"
        ".write(str(os.getpid()))\n"
        "os._exit(0) if child and os.environ.get('LEAVES') else time.sleep(1000)"
    )

    async def scene(registry: Services) -> None:
        pool, service = registry.pool("turns", 1), BackgroundService("turns", failing(0, OSError()), every_s=1)
        registry.add(service)
        environ = {**os.environ, "LEAVES": "1"}
        service.job("turn", programs.handed(
            [sys.executable, "-c", script], "", environ=environ, cwd="/", limit_s=1000, pool=pool
        ))  # fmt: skip
        await soon(lambda: len(pids(tmp_path)) == 2)
        stopped = await registry.stop()
        assert stopped == {"ended": [f"turns: {sys.executable}"], "left": []}

    with_registry(scene)
    until(lambda: all(map(is_gone, pids(tmp_path))))


def test_work_that_never_comes_back_keeps_no_process_alive() -> None:
    """And is told of when its time is over."""
    script = (
        "import asyncio, threading\nfrom rookery.keeper import services\nservices.STOP_S = 0.1\n"
        "async def main():\n"
        "    made = services.Services()\n    made.start()\n    pool = made.pool('checks', 1)\n"
        "    pool.submit(threading.Event().wait, 'a check')\n"
        "    print((await made.stop())['left'])\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "['checks: a check']", "")


def test_a_program_that_was_ended_before_it_began_never_begins(tmp_path: Path) -> None:
    from rookery.runtime import children

    program = children.Program(["touch", str(tmp_path / "made")], "", environ=dict(os.environ), cwd="/", limit_s=60)
    program.end()
    assert program.answer()[0] == children.ENDED
    assert not (tmp_path / "made").exists()
