"""Models that came through the network: who each of them is, and how long it stays.

Up to 2025-11-25 the protocol has sessions: a guest is whoever opened one, and nobody else can use it. Since 2026-07-28
each request stands for itself: a guest is then who the request names, by its token or its header, and what such a
name has joined is kept for it between requests. Whoever is named by neither is told to speak an older version: only
there it can keep a name that it took by `join`.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from time import monotonic
from typing import Any

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rookery.core import errors, names, text
from rookery.core.caller import Caller, Grant
from rookery.core.record import NamedTuple
from rookery.front.mcp.news import ALL, NEWEST, PAGE, touched
from rookery.front.mcp.seat import Seat
from rookery.front.mcp.server import Door

from .answer import json_answer
from .ask import Ask
from .daemon import Daemon
from .guard import GONE

SEAT = "rook.seat"  # in the scope of a request: who sits there
SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"
MOST = 10_000
LAST_WORDS_S = 5.0
HERE = b": here\n\n"  # a comment: the head of an answer leaves together with what follows it
SYSTEM = Caller(agent=names.SYSTEM, open_addresses=True)

logging.getLogger("mcp").setLevel(logging.WARNING)  # below that it tells every request, with the ids of sessions


class Known(NamedTuple):
    """What a connection proves and says of itself; the same in every request of it."""

    team: str
    agent: str | None
    grant: Grant | None

    @property
    def key(self) -> tuple[str, str, str]:
        """A token stays the same when its agent is renamed."""
        return self.team, self.grant.id if self.grant else "", names.key(self.agent) if self.agent else ""

    @property
    def is_somebody(self) -> bool:
        return self.agent is not None or self.grant is not None


class Guest(Seat):
    """A model somewhere: no process can be looked at, so what it does and the stream it keeps open show that it is."""

    def __init__(self, daemon: Daemon, known: Known) -> None:
        super().__init__(known.agent or "")
        self.team = known.team
        self.reads_only = known.grant is not None and known.grant.reads_only
        self.program = ""
        self.who = known
        self._daemon = daemon
        self._requests = 0
        self._quiet_since = monotonic()

    async def done(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        return await self._daemon.call(self.team, verb, self._daemon.placed(self.team, verb, args), caller)

    def given(self) -> Caller:
        return Caller(agent=self.who.agent, grant=self.who.grant)

    def binding(self) -> Caller:
        return Caller(grant=self.who.grant)

    def known(self) -> Mapping[str, Any]:
        return {"program": self.program, "resume": True}

    async def changes(self) -> AsyncGenerator[set[str]]:
        daemon = self._daemon
        with daemon.news.of(self.team) as bell:
            cursor, found = await self._newest(), set[str]()
            while not daemon.news.closing:
                yield found
                if not found:
                    await bell.wait(daemon.poll_s)
                cursor, found = await self._after(cursor)

    async def _newest(self) -> int:
        while True:
            try:
                return (await self._daemon.call(self.team, "events", NEWEST, SYSTEM))["newest"]
            except errors.Unreachable:
                await asyncio.sleep(self._daemon.poll_s)

    async def _after(self, cursor: int) -> tuple[int, set[str]]:
        try:
            page = await self._daemon.call(self.team, "events", {"after": cursor, "limit": PAGE}, SYSTEM)
        except errors.CursorTooOld:
            return await self._newest(), set(ALL)
        except errors.Unreachable:  # a change that waits is not lost
            return cursor, set()
        return page["cursor"], touched(page["events"])

    # -- coming and going --------------------------------------------------------------------------------------

    @contextmanager
    def busy(self) -> Generator[None]:
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            self._quiet_since = monotonic()

    def quiet_s(self) -> float:
        return 0.0 if self._requests else monotonic() - self._quiet_since

    @asynccontextmanager
    async def present(self) -> AsyncGenerator[None]:
        beating = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._daemon.house.settings["mesh.heartbeat_s"])
            if self._session is not None:
                with suppress(errors.RookError):  # it was put out, or its token revoked: its next call tells it
                    await self.call("heartbeat", {})

    async def leave(self) -> None:
        if self._session is not None:
            with suppress(errors.RookError):
                await self.call("leave", {})


class Guests:
    """Everyone who is here."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._idle_s: float = daemon.house.settings["mcp.idle_s"]
        self._door = Door(_seat_of)
        self._manager = StreamableHTTPSessionManager(
            self._door.server, json_response=True, session_idle_timeout=self._idle_s, max_sessions=MOST,
            max_request_body_size=daemon.body_limit,
        )  # fmt: skip
        self._by_session: dict[str, Guest] = {}
        self._by_name: dict[tuple[str, str, str], Guest] = {}
        self._asking: set[asyncio.Task[Any]] = set()

    async def keep(self, ready: asyncio.Event, closing: asyncio.Event) -> None:
        """Open until told to close."""
        async with self._manager.run():
            reaper = asyncio.create_task(self._reap())
            ready.set()
            try:
                await closing.wait()
                if self._asking:
                    await asyncio.wait(self._asking, timeout=LAST_WORDS_S)
            finally:
                reaper.cancel()
                await asyncio.gather(reaper, return_exceptions=True)

    # -- who it is ---------------------------------------------------------------------------------------------

    def answer(self, ask: Ask, body: bytes) -> Response:
        known = Known(ask.team(), ask.caller().agent, ask.grant)
        version, session = ask.header(VERSION), ask.header(SESSION)
        if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            if not known.is_somebody:
                return _older(body, version)
            return self._handed(self._named(known), body, None)
        return self._handed(self._of_session(session, known), body, session)

    def _named(self, known: Known) -> Guest:
        guest = self._by_name.get(known.key)
        if guest is None:
            if len(self._by_name) >= MOST:
                raise errors.Unreachable("Too many models are here.", "Try again when some have gone.")
            guest = self._by_name[known.key] = Guest(self._daemon, known)
        return guest

    def _of_session(self, session: str, known: Known) -> Guest:
        if not session:
            return Guest(self._daemon, known)  # kept once the protocol has accepted it
        guest = self._by_session.get(session)
        if guest is None or guest.who.key != known.key:
            raise errors.UnknownName(
                "There is no such session, or it was opened with another token, name or team.",
                "Open one: initialize.",
                code="NO_SESSION",
            )
        return guest

    # -- a request ---------------------------------------------------------------------------------------------

    def _handed(self, guest: Guest, body: bytes, session: str | None) -> Response:
        """Without a session the request stands for itself, and nothing of the protocol's ends it."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            scope[SEAT] = guest
            method, replayed = scope["method"], _replayed(body, receive)
            watched = send if session is None else self._watched(guest, method, session, send)
            with guest.busy(), self._answering() if method == "POST" and session is not None else nullcontext():
                async with guest.present() if method == "GET" else nullcontext():
                    await self._manager.handle_request(scope, replayed, watched)

        async def ended() -> None:
            if session and self._by_session.pop(session, None) is not None:
                await self._end(guest)

        return Handed(serve, ended)

    @contextmanager
    def _answering(self) -> Generator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._asking.add(task)
        try:
            yield
        finally:
            self._asking.discard(task)

    def _watched(self, guest: Guest, method: str, session: str, send: Send) -> Send:
        """Whoever opened a session is known by it from then on."""

        async def sent(message: Message) -> None:
            await send(message)
            if message["type"] != "http.response.start" or message["status"] >= 400:
                return
            headers = {name.lower(): value for name, value in message.get("headers", ())}
            if opened := session or headers.get(SESSION.encode(), b"").decode("latin-1"):
                self._by_session.setdefault(opened, guest)
            if method == "GET":
                await send({"type": "http.response.body", "body": HERE, "more_body": True})

        return sent

    # -- the end -----------------------------------------------------------------------------------------------

    async def _reap(self) -> None:
        """Of a client that fell silent nothing else tells that it is gone."""
        while True:
            await asyncio.sleep(min(self._idle_s / 4, 10.0))
            for table in (self._by_session, self._by_name):
                for key in [key for key, guest in table.items() if guest.quiet_s() > self._idle_s]:
                    await self._end(table.pop(key))  # pyright: ignore[reportArgumentType]

    async def _end(self, guest: Guest) -> None:
        self._door.forget(guest)
        await guest.leave()


class Handed(Response):
    """An answer that the protocol's own machinery writes."""

    def __init__(self, serve: Callable[[Scope, Receive, Send], Awaitable[None]], ended: Callable[[], Any]) -> None:
        self._serve = serve
        self._ended = ended
        self.status_code = GONE
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status_code = message["status"]
            await send(message)

        await self._serve(scope, receive, sent)
        if scope["method"] == "DELETE" and self.status_code < 400:
            await self._ended()


def _seat_of(context: Any) -> Guest:
    guest: Guest = context.request.scope[SEAT]
    client: types.InitializeRequestParams | None = context.session.client_params
    if client is not None and not guest.program:
        guest.program = text.one_line(client.client_info.name, 60)
    return guest


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body was read, with our own limit; what comes after it is that the client went."""
    given = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def received() -> Message:
        return next(given, None) or await receive()

    return received


def _older(body: bytes, version: str) -> Response:
    """A client that speaks both kinds opens a session then."""
    id: Any = None
    with suppress(ValueError, RecursionError, AttributeError):
        id = json.loads(body).get("id")
    data = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": version[:40]}
    said = "This version keeps no name between requests: send X-Rook-Agent, use an agent's token, or open a session."
    error = {"code": types.UNSUPPORTED_PROTOCOL_VERSION, "message": said, "data": data}
    return json_answer({"jsonrpc": "2.0", "id": id if isinstance(id, str | int) else None, "error": error}, 400)
