"""The background services of a whole daemon: killed one by one, counted, owned; and what its end leaves."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rookery.core.delivery import Channel
from rookery.front.http import keeping
from rookery.keeper import services
from rookery.keeper.courier import Job
from tests.http.test_health import Told
from tests.support.daemons import Here, daemon_here
from tests.support.doors import Door, environment, running
from tests.support.panes import until
from tests.support.procs import PATIENCE_S

KNOWN = {
    "crews", "dispatcher", "listeners", "maildrop", "mcp", "mcp-sessions", "merge-queue", "monitor", "notifications",
    "supervisor", "sweeper", "transcripts", "worker-gc",
}  # fmt: skip
OF_TEAMS = ("dispatcher", "supervisor", "merge-queue")  # services with a part for each team
OPEN = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}  # fmt: skip
BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
DEFAULT_THREADS = min(32, (os.cpu_count() or 1) + 4)  # of asyncio's own pool: six on a machine with two cores
BLOCKS = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w').close(); time.sleep(1000)"


@pytest.fixture
def whole(tmp_path: Path) -> Callable[[Callable[[Here], Coroutine[Any, Any, None]]], Here]:
    """Runs a scene in a daemon in which every service there is was started."""

    def run(scene: Callable[[Here], Coroutine[Any, Any, None]]) -> Here:
        async def go() -> Here:
            config = tmp_path / ".config" / "rookery" / "config.toml"
            config.parent.mkdir(parents=True)
            config.write_text('[reach.ada]\ncommand = ["true"]\n')
            async with daemon_here(tmp_path, ROOK_NOTIFY_TERMINAL="/dev/null", ROOK_MAILDROP_POLL_S="0.1") as here:
                opened = await here.outside(open_session, here.door)
                assert opened.status == 200, opened
                await scene(here)
            return here

        return asyncio.run(go())

    return run


def open_session(door: Door) -> Any:
    return door.raw("POST", "/mcp", json.dumps(OPEN).encode(), BOTH)


def hook(door: Door) -> Any:
    return door.post("/v1/hook/claude", hook_event_name="PreToolUse", session_id="s", tool_name="Write",
                     tool_input={"file_path": "x"})  # fmt: skip


def by_name(door: Door) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in door.get("/v1/services").body["services"]}


def metric(text: str, name: str, service: str) -> float:
    wanted = f'rook_service_{name}{{service="{service}"'
    (line,) = [line for line in text.splitlines() if line.startswith(wanted)]
    return float(line.split()[-1])


# -- killed one by one -------------------------------------------------------------------------------------------------


def break_once(service: services.BackgroundService) -> None:
    look = service.look

    async def broken() -> float | None:
        service.look = look
        raise OSError(f"injected into {service.name}")

    service.look = broken
    service.notify()


def parts(here: Here) -> list[services.BackgroundService]:
    """The loops below the services: of teams, for the most part."""
    return [part for service in here.all() for part in service._parts.values()]


@pytest.mark.slow
def test_every_service_killed_by_an_exception_runs_again_and_reports_it(whole: Any) -> None:
    async def scene(here: Here) -> None:
        assert set(here.names()) >= KNOWN, "each of them is started"
        await here.until(lambda: {part.name.split("/")[0] for part in parts(here)} >= {*OF_TEAMS}, lambda: parts(here))
        broken = [*here.all(), *parts(here)]
        for service in broken:
            break_once(service)
        await here.until(
            lambda: all(service.restarts and service.failures_in_row == 0 for service in broken),
            lambda: here.services.report(),
        )
        reported = await here.outside(by_name, here.door)
        metrics = (await here.outside(here.door.get, "/metrics")).body
        health = await here.outside(Told, here.folder)
        (daemon,) = health.body["daemons"]
        seen = {each["name"]: each for each in daemon["services"]}
        for name in here.names():
            for told in (reported[name], seen[name]):
                assert (told["state"], told["last_error"].split("/")[0]) == (
                    "running",
                    f"OSError: injected into {name}",
                )
                assert told["last_success"] >= told["last_error_at"]
                assert told["restarts"] >= 1
            assert metric(metrics, "failures_total", name) >= 1
            assert metric(metrics, "restarts_total", name) >= 1
            assert metric(metrics, "last_error_timestamp_seconds", name) > 0
            assert metric(metrics, "last_success_timestamp_seconds", name) > 0
        assert health.body["status"] != "unhealthy", "all of them run again"

    whole(scene)


@pytest.mark.slow
def test_a_service_that_fails_repeatedly_is_unhealthy(whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "FIRST_S", 0.01)

    async def broken() -> float | None:
        raise OSError("every time")

    async def scene(here: Here) -> None:
        assert (await here.outside(Told, here.folder)).body["status"] == "healthy", "negative control"
        monitor = here.services.find("monitor")
        monitor.look = broken
        monitor.notify()
        await here.until(lambda: monitor.failures_in_row >= 3)
        told = await here.outside(Told, here.folder)
        assert (told.code, told.body["status"]) == (1, "unhealthy")
        assert "monitor: OSError: every time" in told.reasons
        assert (
            'rook_service_state{service="monitor",state="failing"} 1'
            in (await here.outside(here.door.get, "/metrics")).body.splitlines()
        )

    whole(scene)


# -- who owns the tasks ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_task_of_a_daemon_at_work_has_an_owner(whole: Any) -> None:
    async def scene(here: Here) -> None:
        busy = await work(here)
        for _ in range(20):
            assert (await here.outside(hook, here.door)).status == 200
            await here.until(lambda: not here.services.unowned(), lambda: here.services.unowned())
        assert "rook_tasks_unowned 0" in (await here.outside(here.door.get, "/metrics")).body.splitlines()
        stray = asyncio.create_task(asyncio.sleep(1000), name="a stray")
        assert here.services.unowned() == ["a stray: sleep"], "negative control"
        assert (await here.outside(here.door.get, "/v1/services")).body["unowned"] == ["a stray: sleep"]
        stray.cancel()
        await asyncio.gather(stray, return_exceptions=True)
        for each in busy:
            each.cancel()

    whole(scene)


async def work(here: Here) -> list["asyncio.Future[Any]"]:
    """Readers that wait, a stream, a session of a model that listens, and a command by the fast path."""
    door = here.door.of("busy")
    for name in ("ada", "bob"):
        assert (await here.outside(partial(door.post, "/v1/call/join", name=name))).status == 200
    streams = [
        here.outside(partial(read_some, door, path))
        for path in ("/v1/events?teamId=busy&after=0", "/v1/inbox?teamId=busy&agentId=ada&since=999&wait=5")
    ]
    session = (await here.outside(open_session, here.door)).headers["mcp-session-id"]
    streams.append(here.outside(partial(read_some, here.door, "/mcp", session)))
    done = await here.outside(rook, here.folder, "who")
    assert done.returncode == 0, done.stderr
    return streams


def read_some(door: Door, path: str, session: str = "") -> bytes:
    import http.client

    connection = http.client.HTTPConnection(door.address, timeout=PATIENCE_S)
    headers = {"Authorization": "Bearer a-token-of-the-tests", "Accept": "text/event-stream"}
    connection.request("GET", path, headers=headers | ({"mcp-session-id": session} if session else {}))
    try:
        return connection.getresponse().read(64)
    finally:
        connection.close()


def rook(folder: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "rookery", *argv], env=environment(folder), cwd=folder, capture_output=True, text=True,
        timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
    )  # fmt: skip


# -- work that blocks --------------------------------------------------------------------------------------------------


def job(folder: Path, n: int) -> Job:
    async def compose() -> str:
        return "text"

    async def phase() -> str:
        return ""

    address = {
        "host": "claude", "program": [sys.executable, "-c", BLOCKS, f"{folder}/pid-"], "session": f"s{n}",
        "cwd": str(folder), "environ": {"PATH": os.environ["PATH"]},
    }  # fmt: skip
    return Job("t", f"a{n}", Channel.RESUME, address, "claude", False, None, "", compose, phase)


def pids(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]


def is_gone(pid: int) -> bool:
    return not Path("/proc", str(pid)).exists()


@pytest.mark.slow
def test_hooks_are_answered_while_resumed_turns_block(whole: Any, tmp_path: Path) -> None:
    """As many as asyncio's own pool has threads; and the end of the daemon ends them and says so."""

    async def scene(here: Here) -> None:
        resume = keeping._hands(here.daemon, keeping.RealPace())[Channel.RESUME]
        for n in range(DEFAULT_THREADS):
            here.services.find("dispatcher").job(f"turn {n}", here_outcome(resume, job(tmp_path, n)))
        await here.until(lambda: len(pids(tmp_path)) == DEFAULT_THREADS)
        assert (await here.outside(hook, here.door)).status == 200

    left = whole(scene).left
    assert (len(left["ended"]), left["left"]) == (DEFAULT_THREADS, [])
    until(lambda: all(map(is_gone, pids(tmp_path))))


async def here_outcome(hand: Any, given: Job) -> None:
    await hand(given)


@pytest.mark.slow
def test_negative_control_hooks_wait_where_they_share_the_pool(whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool of requests replaced by asyncio's own, as it was: the hook is answered only when the others are done."""
    import threading

    async def scene(here: Here) -> None:
        over = threading.Event()
        blocked = [asyncio.ensure_future(asyncio.to_thread(over.wait)) for _ in range(DEFAULT_THREADS)]
        try:
            assert (await here.outside(hook, here.door)).status == 200, "requests have threads of their own"
            waiting = asyncio.Event()

            async def shared(work: Callable[..., Any], *args: Any) -> Any:
                waiting.set()
                return await asyncio.to_thread(work, *args)

            monkeypatch.setattr(here.daemon, "aside", shared)
            asked = here.outside(hook, here.door)
            await waiting.wait()
            assert (await here.outside(here.door.get, "/healthz")).status == 200
            assert not asked.done()
        finally:
            over.set()
        assert (await asked).status == 200
        await asyncio.gather(*blocked)

    whole(scene)


@pytest.mark.slow
def test_down_ends_commands_that_block_and_tells_so(tmp_path: Path) -> None:
    """A daemon in a process of its own, mail for agents whose command never ends, and `rook down`."""
    config = tmp_path / ".config" / "rookery" / "config.toml"
    config.parent.mkdir(parents=True)
    argv = json.dumps([sys.executable, "-c", BLOCKS, f"{tmp_path}/pid-"])
    names = [f"a{n}" for n in range(6)]
    config.write_text("".join(f"[reach.{name}]\ncommand = {argv}\n" for name in names))
    with running(tmp_path, ROOK_DELIVERY_COMMAND_S="3000") as daemon:
        sent = daemon.door.post("/v1/call/send", to=names, subject="Hello")
        assert sent.status == 200, sent
        until(lambda: len(pids(tmp_path)) == len(names))
        assert hook(daemon.door).status == 200
        done = rook(tmp_path, "down", "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["ended"], told["left"]) == ([f"programs: {sys.executable}"] * len(names), [])
        assert daemon.wait() == 0
    assert all(map(is_gone, pids(tmp_path)))


@pytest.mark.slow
def test_a_daemon_that_is_killed_tells_of_no_end(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        daemon.stop(signal.SIGKILL)
    assert not list((tmp_path / "rook" / "run").glob("*.stopped.json"))
