"""The resident process: a socket, the lock of its scope, runtime.json, the sweeper, and an orderly end."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import uvicorn

from rookery import app
from rookery.client.queued import TeamOfQueue
from rookery.core import errors, names
from rookery.core.caller import Caller
from rookery.front.cli.resident import FastDoor
from rookery.front.maildrop import watching
from rookery.front.maildrop.watching import Follower
from rookery.keeper.supervisor import Supervisor
from rookery.keeper.tidying import Tidier
from rookery.runtime import doorway, files, instance, logs, places
from rookery.version import VERSION

from . import keeping
from .daemon import Daemon
from .mcp import Mcp
from .routes import application
from .wire import Protocol

HOST = "127.0.0.1"
BACKLOG = 512
KEEP_ALIVE_S = 75  # longer than our own client keeps an idle connection
GRACE_S = 10
SWEPT_TEAMS = 50  # per tick; the others wait for the next ones
SETTINGS: Mapping[str, Any] = {
    "log_config": None, "access_log": False, "lifespan": "off", "ws": "none", "http": "httptools",
    "server_header": False, "proxy_headers": False, "timeout_keep_alive": KEEP_ALIVE_S,
    "timeout_graceful_shutdown": GRACE_S, "backlog": BACKLOG,
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
                asyncio.run(_serve(daemon, listener, lambda: told(_announced(holder, listener, token, house.team))))
            log.info("down")
    finally:
        holder.close()


@contextmanager
def _logged(house: app.House, scope: instance.Scope, token: str) -> Generator[None]:
    settings = house.settings
    handler = logs.start(scope.log, size=settings["log.bytes"], count=settings["log.files"], secrets=[token])
    try:
        yield
    finally:
        logs.stop(handler)


def _announced(holder: instance.Instance, listener: socket.socket, token: str, team: str) -> dict[str, Any]:
    where = holder.announce(f"http://{HOST}:{listener.getsockname()[1]}", token) | {"teamId": team}
    log.info("up at %s for team %s, pid %d, version %s", where["url"], team, where["pid"], VERSION)
    return where


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(BACKLOG)  # whoever reads runtime.json can connect at once
    except OSError as error:
        listener.close()
        raise errors.Refused(
            f"Port {port} can not be used: {os.strerror(error.errno or 0)}.",
            "`rook up --port 0` takes any free one.",
            code="PORT_TAKEN",
        ) from error
    listener.setblocking(False)
    return listener


async def _serve(daemon: Daemon, listener: socket.socket, announce: Callable[[], None]) -> None:
    mcp = Mcp(daemon)
    server = Server(uvicorn.Config(application(daemon, mcp), **{**SETTINGS, "http": Protocol}))
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
    ends: list[asyncio.Task[None]] = []
    loop.add_signal_handler(
        instance.WITH_WORKERS, lambda: ends.append(asyncio.create_task(_drain(supervisor, tidier, stop)))
    )
    await fast.open()
    announce()  # from here on a signal ends it well, and requests are taken
    chores = [
        asyncio.create_task(_sweep(daemon)),
        asyncio.create_task(keeping.courier(daemon).run()),
        asyncio.create_task(keeping.monitor(daemon).run()),
        asyncio.create_task(keeping.reader(daemon).run()),
        asyncio.create_task(supervisor.run()),
        asyncio.create_task(tidier.run()),
        asyncio.create_task(keeping.crews(daemon).run()),
        asyncio.create_task(keeping.lander(daemon).run()),
        asyncio.create_task(keeping.listen(daemon)),
        asyncio.create_task(keeping.notifier(daemon).run()),
    ]
    maildrop = _maildrop(daemon)
    try:
        await server.serve(sockets=[listener])
    finally:
        await asyncio.to_thread(maildrop.close)
        await fast.close(GRACE_S)
        await mcp.closed()
        for chore in (*chores, *ends):
            chore.cancel()
        await asyncio.gather(*chores, *ends, return_exceptions=True)


async def _drain(supervisor: Supervisor, tidier: Tidier, stop: Callable[[], None]) -> None:
    """Requests are served until the last worker has ended: they may have something to report."""
    try:
        await supervisor.drain()
        await tidier.look()
    finally:
        stop()


def _fast_door(daemon: Daemon) -> FastDoor:
    """For commands of a whole home. One team of it, or a store elsewhere, is not what a command would look for."""
    house = daemon.house
    whole = not daemon.only_team and house.places.store == os.path.join(house.places.home, places.DATABASE)
    listener = doorway.opened(house.places.home) if whole else None
    return FastDoor(listener, house, app.open_guests(house, daemon.queue), daemon.numbers)


def _maildrop(daemon: Daemon) -> Follower:
    """Messages that are written as files in this daemon's own workspace; in a thread of its own, for it reads disks."""
    house = daemon.house
    try:
        places = watching.folders(house.settings, house.places.root, house.places.repo_file)
    except errors.StoreUnusable as error:
        log.warning("maildrop: %s", error)
        places = []
    client = TeamOfQueue(daemon.queue, daemon.team)
    boxes = watching.boxes(client, house.caller(names.SYSTEM), house.settings, places)
    follower = Follower(boxes, house.settings["maildrop.poll_s"], watching.logged)
    follower.start()
    return follower


CHORES = (("sweep", "sweep"), ("settle", "leases"), ("chase", "unanswered"))  # verbs, and what `due` calls for them


# -- the sweeper -----------------------------------------------------------------------------------------------------


async def _sweep(daemon: Daemon) -> None:
    """Looks now and then, and writes only where there is something to write. Any number of daemons may do so."""
    every = daemon.house.settings["daemon.sweep_s"]
    start = 0
    while True:
        await asyncio.sleep(every)
        try:
            start = await _tick(daemon, start)
        except errors.Unreachable as error:
            log.warning("sweep: %s", error.message)


async def _tick(daemon: Daemon, start: int) -> int:
    teams = await _teams(daemon)
    chosen = [teams[(start + i) % len(teams)] for i in range(min(SWEPT_TEAMS, len(teams)))]
    caller = Caller(agent=names.SYSTEM, open_addresses=True)
    for team in chosen:
        due = await daemon.call(team, "due", {}, caller)
        for verb in (name for name, wanted in CHORES if due[wanted]):
            done = await daemon.call(team, verb, {}, caller)
            log.info("%s of %s: %s", verb, team, {name: count for name, count in done.items() if count})
            daemon.numbers.swept += 1
    return (start + len(chosen)) % max(1, len(teams))


async def _teams(daemon: Daemon) -> list[str]:
    if daemon.only_team:
        return [daemon.team]
    found = await daemon.call(daemon.team, "team.list", {}, Caller())
    return [team["teamId"] for team in found["teams"]]
