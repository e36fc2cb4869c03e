"""The resident process: a socket, the lock of its scope, runtime.json, the sweeper, and an orderly end."""

import asyncio
import errno
import json
import logging
import os
import signal
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import anyio
import uvicorn

from rookery import app
from rookery.client.queued import TeamOfQueue
from rookery.core import errors, names
from rookery.core.caller import Caller
from rookery.front.cli.resident import FastDoor
from rookery.front.maildrop import watching
from rookery.front.maildrop.watching import Follower
from rookery.keeper import listening
from rookery.keeper.services import BackgroundService
from rookery.keeper.supervisor import Supervisor
from rookery.keeper.tidying import Tidier
from rookery.runtime import doorway, files, instance, logs, places
from rookery.version import VERSION

from . import keeping
from .admission import BACKLOG, SEND_BUFFER
from .daemon import Daemon
from .mcp import Mcp
from .routes import application
from .wire import Protocol

HOST = "127.0.0.1"
GRACE_S = 10
TEAM_FILE, TEAM_FILE_LIMIT = "team.json", 1 << 20
SSE_WATCHER = "_shutdown_watcher"
PORTS_TRIED = 50
DRAIN_S = 10  # for a drain, besides the time that workers are given
SWEPT_TEAMS = 50  # per tick; the others wait for the next ones
SETTINGS: Mapping[str, Any] = {
    "log_config": None, "access_log": False, "lifespan": "off", "ws": "none", "http": "httptools",
    "server_header": False, "proxy_headers": False, "timeout_graceful_shutdown": GRACE_S, "backlog": BACKLOG,
}  # fmt: skip

log = logging.getLogger("rookery.daemon")


class Server(uvicorn.Server):
    """Signals are ours: the process ends well, having removed what it wrote."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def run(
    house: app.House,
    scope: instance.Scope,
    *,
    port: int,
    token: str,
    only_team: bool,
    told: Callable[[dict[str, Any]], None],
) -> None:
    """Serve until told to stop. `told` hears where, once requests are taken."""
    places.prepare_home(house.places.home)
    holder = instance.Instance(scope)
    try:
        kept = files.kept_closed(*(house.places.store + end for end in ("", "-wal", "-shm")))
        with closing(_bound(port)) as listener, _logged(house, scope, token), kept:
            with closing(Daemon(house, token=token, only_team=only_team)) as daemon:
                if scope.mark:
                    _define_team(house, os.path.join(os.path.dirname(scope.mark), TEAM_FILE))
                left = asyncio.run(
                    serve(daemon, listener, lambda: told(_announced(holder, listener, token, house.team, port)))
                )
            holder.tell_end(left)
            log.info("down; %s", "; ".join(f"{what}: {some or 'none'}" for what, some in left.items()))
    finally:
        holder.close()


def _define_team(house: app.House, path: str) -> None:
    """Take the agents of a `team.json` that pi-team left, where nothing is known of the team yet. The file proves as
    little as the daemon's token: what that may not say (who leads a team that has agents, budgets), it does not say."""
    caller = Caller(daemon_token=True, open_addresses=True)
    if not os.path.exists(path):
        return
    try:
        definition = json.loads(files.read_limited(path, TEAM_FILE_LIMIT))
        known = [team["teamId"] for team in house.client.call("team.list", {}, caller)["teams"]]
        if house.team not in known and definition.get("agents"):
            house.client.call("team.new", {"agents": definition["agents"]}, caller)
    except (errors.RookError, ValueError, AttributeError) as error:
        log.warning("%s was not taken over: %s", path, error)


@contextmanager
def _logged(house: app.House, scope: instance.Scope, token: str) -> Generator[None]:
    settings = house.settings
    handler = logs.start(scope.log, size=settings["log.bytes"], count=settings["log.files"], secrets=[token])
    try:
        yield
    finally:
        logs.stop(handler)


def _announced(holder: instance.Instance, listener: socket.socket, token: str, team: str, asked: int) -> dict[str, Any]:
    """Where the daemon answers; with `busyPort` if another process has the port that was asked for."""
    port = listener.getsockname()[1]
    where = holder.announce(f"http://{HOST}:{port}", token) | {"teamId": team}
    where |= {"busyPort": asked} if asked not in (0, port) else {}
    log.info("up at %s for team %s, pid %d, version %s", where["url"], team, where["pid"], VERSION)
    return where


def _bound(port: int) -> socket.socket:
    """Listen on the port, or on the next free one if it is in use; 0 means any."""
    for each in range(port, min(port + PORTS_TRIED, 1 << 16) if port else 1):
        try:
            return _bound_to(each)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise _no_port(f"Port {each} can not be used: {os.strerror(error.errno or 0)}.") from error
    raise _no_port(f"Port {port} and the {PORTS_TRIED - 1} after it are in use.")


def _no_port(what: str) -> errors.Refused:
    return errors.Refused(what, "`rook up --port 0` takes any free one.", code="PORT_TAKEN")


def _bound_to(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # connections inherit it
    try:
        listener.bind((HOST, port))
        listener.listen(BACKLOG)  # whoever reads runtime.json can connect at once
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


async def serve(daemon: Daemon, listener: socket.socket, announce: Callable[[], None]) -> dict[str, Any]:
    """Until a signal comes. What was ended and what was left, as `rook down` tells it."""
    mcp = Mcp(daemon)
    admission, keep_alive_s = daemon.admission, daemon.house.settings["daemon.keep_alive_s"]
    own = {"http": partial(Protocol, admission=admission), "timeout_keep_alive": keep_alive_s,
           "backlog": admission.limits.backlog}  # fmt: skip
    server = Server(uvicorn.Config(application(daemon, mcp), **{**SETTINGS, **own}))
    fast = _fast_door(daemon)

    def stop() -> None:
        server.should_exit = True
        daemon.news.close()
        mcp.close()
        fast.shut()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop)  # workers go on, and are found again by the next daemon
    supervisor, tidier = keeping.supervisor(daemon), keeping.tidier(daemon)
    drain = Drain(daemon, supervisor, tidier, stop)
    loop.add_signal_handler(instance.WITH_WORKERS, drain.begin)
    await fast.open()
    announce()  # from here on a signal ends it well, and requests are taken
    _start_services(daemon, supervisor, tidier, mcp)
    _name_owners(daemon, server, fast, drain)
    try:
        await server.serve(sockets=[listener])
    finally:
        await fast.close(GRACE_S)
        await mcp.closed(GRACE_S)
        stopped = await daemon.services.stop()
    return {"workers": await drain.left(), **stopped}


def _start_services(daemon: Daemon, supervisor: Supervisor, tidier: Tidier, mcp: Mcp) -> None:
    daemon.services.add(Sweeper(daemon).service)
    keeping.add_services(daemon, supervisor, tidier)
    daemon.services.add(_maildrop(daemon))
    daemon.services.add(mcp.service)
    daemon.services.start()
    daemon.services.find(listening.SERVICE).job("problems", keeping.tell_problems(daemon))


def _name_owners(daemon: Daemon, server: Server, fast: FastDoor, drain: "Drain") -> None:
    """Whoever creates tasks besides the services."""
    main = asyncio.current_task()
    daemon.services.own("main", lambda: [main] if main else [])
    daemon.services.own("server", lambda: server.server_state.tasks)
    daemon.services.own("fast path", fast.tasks)
    daemon.services.own("drain", drain.tasks)
    daemon.services.own("task groups", _in_task_groups)
    daemon.services.own("libraries", _of_libraries)


def _in_task_groups() -> list["asyncio.Task[Any]"]:
    """A task group of anyio (starlette, mcp) awaits its tasks and raises their exceptions."""
    children = {each.id for each in anyio.get_running_tasks() if each.parent_id is not None}
    return [task for task in asyncio.all_tasks() if id(task) in children]


def _of_libraries() -> list["asyncio.Task[Any]"]:
    """One task that `sse_starlette` (of the mcp package) keeps for each event loop: it holds nothing, and is cancelled
    with the loop."""
    return [task for task in asyncio.all_tasks() if getattr(task.get_coro(), "__qualname__", "") == SSE_WATCHER]


class Drain:
    """The end of a daemon with its workers. Requests are served until the last one has ended: they may report."""

    def __init__(self, daemon: Daemon, supervisor: Supervisor, tidier: Tidier, stop: Callable[[], None]) -> None:
        settings = daemon.house.settings
        self._limit_s: float = settings["worker.grace_s"] + settings["worker.term_s"] + DRAIN_S
        self._supervisor = supervisor
        self._tidier = tidier
        self._stop = stop
        self._task: asyncio.Task[list[dict[str, Any]]] | None = None

    def begin(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="drain")

    def tasks(self) -> list["asyncio.Task[Any]"]:
        return [self._task] if self._task else []

    async def left(self) -> list[dict[str, Any]]:
        """Workers that did not end in time; none if nobody asked them to."""
        if self._task is None:
            return []
        self._task.cancel()  # where a second signal ends the daemon at once
        await asyncio.wait([self._task])
        return [] if self._task.cancelled() else self._task.result()

    async def _run(self) -> list[dict[str, Any]]:
        left = [{"team": "", "id": "unknown", "state": "unknown", "pid": None}]
        try:
            async with asyncio.timeout(self._limit_s + DRAIN_S):
                left = await self._supervisor.drain(self._limit_s)
                await self._tidier.look()
        except Exception:  # whatever goes wrong, the daemon ends: whoever asked for that waits
            log.exception("the workers could not be ended")
        finally:
            self._stop()
        return left


def _fast_door(daemon: Daemon) -> FastDoor:
    """For commands of a whole home. One team of it, or a store elsewhere, is not what a command would look for."""
    house = daemon.house
    whole = not daemon.only_team and house.places.store == os.path.join(house.places.home, places.DATABASE)
    listener = doorway.opened(house.places.home) if whole else None
    return FastDoor(listener, house, app.open_guests(house, daemon.queue), daemon.numbers)


def _maildrop(daemon: Daemon) -> BackgroundService:
    """Messages that are written as files in this daemon's own workspace; in a thread of its own, for it reads disks."""
    house = daemon.house
    where = house.places
    places = watching.folders(
        house.settings, where.root, where.repo_file, lambda error: log.warning("maildrop: %s", error)
    )
    client = TeamOfQueue(daemon.queue, daemon.team)
    boxes = watching.boxes(client, house.caller(names.SYSTEM), house.settings, places)
    follower = Follower(boxes, house.settings["maildrop.poll_s"], watching.logged)
    pool = daemon.services.pool("maildrop", 1)

    async def look() -> float:
        await pool.run(follower.round)
        return 0.0  # a round waits by itself

    async def close() -> None:
        follower.stop()
        await pool.close(GRACE_S)
        if not pool.running():
            follower.close()

    return BackgroundService("maildrop", look, every_s=0.0, close=close)


# -- the sweeper -----------------------------------------------------------------------------------------------------

CHORES = (("sweep", "sweep"), ("settle", "leases"), ("chase", "unanswered"))  # verbs, and what `due` calls for them


class Sweeper:
    """Looks now and then, and writes only where there is something to write. Any number of daemons may do so."""

    def __init__(self, daemon: Daemon) -> None:
        every_s = daemon.house.settings["daemon.sweep_s"]
        self._daemon = daemon
        self._next = 0  # a team that fails keeps the others from being swept once, not for ever
        self.service = BackgroundService("sweeper", self._look, every_s=every_s, waits_first=True)

    async def _look(self) -> None:
        teams = await _teams(self._daemon)
        for _ in range(min(SWEPT_TEAMS, len(teams))):
            team = teams[self._next % len(teams)]
            self._next = (self._next + 1) % len(teams)
            await self._sweep(team)

    async def _sweep(self, team: str) -> None:
        caller = Caller(agent=names.SYSTEM, open_addresses=True)
        due = await self._daemon.call(team, "due", {}, caller)
        for verb in (name for name, wanted in CHORES if due[wanted]):
            done = await self._daemon.call(team, verb, {}, caller)
            log.info("%s of %s: %s", verb, team, {name: count for name, count in done.items() if count})
            self._daemon.numbers.swept += 1


async def _teams(daemon: Daemon) -> list[str]:
    if daemon.only_team:
        return [daemon.team]
    found = await daemon.call(daemon.team, "team.list", {}, Caller())
    return [team["teamId"] for team in found["teams"]]
