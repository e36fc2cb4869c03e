"""A whole daemon on the event loop of a test, so that the test sees its tasks and can break its services.

Requests come from threads of their own pool, as from other processes: none of asyncio's threads are taken.
"""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeVar

from rookery import app
from rookery.front.http import serve
from rookery.front.http.daemon import Daemon
from rookery.keeper.services import BackgroundService, Services
from rookery.runtime import instance
from tests.support.doors import TOKEN, Door, environment
from tests.support.procs import PATIENCE_S
from tests.support.stores import prepared_home

T = TypeVar("T")


class Here:
    def __init__(self, daemon: Daemon, door: Door, folder: Path, callers: ThreadPoolExecutor) -> None:
        self.daemon = daemon
        self.door = door
        self.folder = folder
        self._callers = callers
        self.left: dict[str, Any] = {}  # what the daemon told of its end

    @property
    def services(self) -> Services:
        return self.daemon.services

    def names(self) -> list[str]:
        return [each["name"] for each in self.services.report()]

    def all(self) -> list[BackgroundService]:
        return [self.services.find(name) for name in self.names()]

    def outside(self, call: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        """Begun at once. A future and no task: all tasks are the daemon's."""
        return asyncio.get_running_loop().run_in_executor(self._callers, call, *args)

    async def until(self, condition: Callable[[], Any], what: Callable[[], Any] = lambda: "") -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"waited in vain: {what()}") from None


@asynccontextmanager
async def daemon_here(folder: Path, **environ: str) -> AsyncGenerator[Here]:
    """Stopped by a signal, as any daemon."""
    environment_ = environment(folder, **environ)
    home = prepared_home(environment_["ROOK_HOME"])
    house = app.open_house(cwd=str(folder), environ=environment_)
    holder = instance.Instance(instance.scopes(str(home), house.team)["home"])
    (Path(home) / "logs" / "daemon.log").touch()
    test = asyncio.current_task()
    with ThreadPoolExecutor(32) as callers, closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with closing(Daemon(house, token=TOKEN, only_team=False)) as daemon:
            here = Here(daemon, Door(url, TOKEN, home=str(home)), folder, callers)
            daemon.services.own("test", lambda: [test] if test else [])
            is_up = asyncio.Event()

            def announce() -> None:
                holder.announce(url, TOKEN)
                is_up.set()

            serving = asyncio.create_task(serve.serve(daemon, listener, announce))
            try:
                await is_up.wait()
                await here.until(lambda: here.names())
                yield here
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                here.left = await serving
                holder.close()
    house.close()
