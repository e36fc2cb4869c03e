"""`/mcp`: the door for models in the resident process, opened by the first who knocks.

The `mcp` package costs most of a second and tens of megabytes. Whoever never speaks it pays neither: what needs it is
in `guests`, and that is imported beside the event loop when the first request comes.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.types import Receive, Scope

from rookery.core import errors
from rookery.keeper.services import BackgroundService

from .ask import Ask, read_bytes
from .daemon import Daemon

if TYPE_CHECKING:
    from .guests import Guests

PATH = "/mcp"
LOOK_S = 1.0


class Mcp:
    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._closing = asyncio.Event()
        self._opening: asyncio.Task[Guests] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.service = BackgroundService("mcp", self._look, every_s=LOOK_S)

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        body = await read_bytes(scope, receive, self._daemon) if scope["method"] == "POST" else b""
        if self._closing.is_set():
            raise errors.Unreachable("The daemon is going down.", "Try again when it is back: `rook up`.")
        if self._opening is None:
            self._opening = self.service.job("opening", self._opened())
        guests = await asyncio.shield(self._opening)  # whoever knocked first may go; the others still want it
        return await guests.answer(Ask(self._daemon, scope, {}, {}), body)

    async def _opened(self) -> "Guests":
        module = await asyncio.to_thread(import_module, "rookery.front.http.guests")
        guests: Guests = module.Guests(self._daemon)
        ready = asyncio.Event()
        self._keeper = self.service.job("sessions", guests.keep(ready, self._closing))
        self._keeper.add_done_callback(lambda _keeper: ready.set())
        await ready.wait()
        return guests

    async def _look(self) -> None:
        """What broke is opened again by the next request."""
        broken = [task for task in (self._opening, self._keeper) if task and task.done() and _failed(task)]
        if broken and not self._closing.is_set():
            self._opening = self._keeper = None

    def close(self) -> None:
        """Streams end; what was asked for is answered first. Nobody is made to leave: they may come back."""
        self._closing.set()

    async def closed(self, limit_s: float) -> None:
        """It is over, or the time is; the service ends what is left."""
        if tasks := [task for task in (self._opening, self._keeper) if task]:
            await asyncio.wait(tasks, timeout=limit_s)


def _failed(task: "asyncio.Task[Any]") -> bool:
    return task.cancelled() or task.exception() is not None
