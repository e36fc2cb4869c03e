"""`/mcp`: the door for models in the resident process, opened by the first who knocks.

The `mcp` package costs most of a second and tens of megabytes. Whoever never speaks it pays neither: what needs it is
in `guests`, and that is imported beside the event loop when the first request comes.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import Receive, Scope

from rookery.core import errors

from .ask import Ask, read_bytes
from .daemon import Daemon

if TYPE_CHECKING:
    from .guests import Guests

PATH = "/mcp"


class Mcp:
    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._closing = asyncio.Event()
        self._opening: asyncio.Task[Guests] | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        body = await read_bytes(scope, receive, self._daemon.body_limit) if scope["method"] == "POST" else b""
        if self._closing.is_set():
            raise errors.Unreachable("The daemon is going down.", "Try again when it is back: `rook up`.")
        if self._opening is None:
            self._opening = asyncio.create_task(self._opened())
        guests = await asyncio.shield(self._opening)  # whoever knocked first may go; the others still want it
        return guests.answer(Ask(self._daemon, scope, {}, {}), body)

    async def _opened(self) -> "Guests":
        module = await asyncio.to_thread(import_module, "rookery.front.http.guests")
        guests: Guests = module.Guests(self._daemon)
        ready = asyncio.Event()
        self._keeper = asyncio.create_task(guests.keep(ready, self._closing))
        await ready.wait()
        return guests

    def close(self) -> None:
        """Streams end; what was asked for is answered first. Nobody is made to leave: they may come back."""
        self._closing.set()

    async def closed(self) -> None:
        """It is over."""
        if self._opening is not None:
            await asyncio.wait([self._opening])
        if self._keeper is not None:
            await self._keeper
