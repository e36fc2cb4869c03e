"""Models that came through the network: who each of them is, and how long it stays.

Up to 2025-11-25 the protocol has sessions: a guest is whoever opened one, and nobody else can use it. Since 2026-07-28
each request stands for itself: a guest is then who the request names, by its token or its header, and what such a
name has joined is kept for it between requests. Whoever is named by neither is told to speak an older version: only
there it can keep a name that it took by `join`.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from itertools import count
from time import monotonic
from typing import Any

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rookery.core import errors, names, text, tokens
from rookery.core.caller import Caller, Grant, Origin
from rookery.core.record import NamedTuple
from rookery.front.mcp.news import ALL, NEWEST, PAGE, touched
from rookery.front.mcp.seat import Seat
from rookery.front.mcp.server import Door
from rookery.keeper.services import BackgroundService

from .answer import json_answer, refusal
from .ask import Ask
from .daemon import Daemon
from .guard import GONE

SEAT = "rook.seat"  # in the scope of a request: who sits there
SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"
LAST_WORDS_S = 5.0
LOOK_S = 5.0  # how often guests are looked at
SERVICE = "mcp-sessions"
HERE = b": here\n\n"  # a comment: the head of an answer leaves together with what follows it
_numbers = count(1)
SYSTEM = Caller(agent=names.SYSTEM, open_addresses=True)

logging.getLogger("mcp").setLevel(logging.WARNING)  # below that it tells every request, with the ids of sessions


class Known(NamedTuple):
    """What a connection proves and says of itself; the same in every request of it."""

    team: str
    agent: str | None
    grant: Grant | None
    origin: Origin | None = None

    @property
    def key(self) -> tuple[str, str, str, object]:
        """A token stays the same when its agent is renamed. Another process is another guest."""
        token, agent = self.grant.id if self.grant else "", names.key(self.agent) if self.agent else ""
        return self.team, token, agent, (self.origin.found, *self.origin.chain[:1]) if self.origin else ()

    def caller(self, agent: str | None = None) -> Caller:
        return Caller(agent=agent, grant=self.grant, daemon_token=self.grant is None, origin=self.origin)

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
        self._requests: set[asyncio.Task[None]] = set()
        self._quiet_since = monotonic()

    async def done(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        return await self._daemon.call(self.team, verb, self._daemon.placed(self.team, verb, args), caller)

    def given(self) -> Caller:
        return self.who.caller(self.who.agent)

    def binding(self) -> Caller:
        return self.who.caller()

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

    async def serve(self, request: Coroutine[Any, Any, None]) -> bool:
        """Whether it was served to its end; False if the guest was dismissed meanwhile."""
        task = self._daemon.task("mcp request", request)
        self._requests.add(task)
        try:
            await task
        except asyncio.CancelledError:
            if task in self._requests:  # it is this request's own caller who ends it
                raise
            return False
        finally:
            self._requests.discard(task)
            self._quiet_since = monotonic()
        return True

    async def is_welcome(self) -> bool:
        """Does its token still prove what it proved when it came?"""
        if self.who.grant is None:
            return True
        try:
            await self.done("worker.self", {}, self.given())
        except errors.NotYours:
            return False
        except errors.RookError:  # the store is busy: asked again soon
            return True
        return True

    def dismiss(self) -> None:
        ending, self._requests = self._requests, set()
        for task in ending:
            task.cancel()

    @property
    def has_joined(self) -> bool:
        return self._session is not None

    def quiet_s(self) -> float:
        return 0.0 if self._requests else monotonic() - self._quiet_since

    @asynccontextmanager
    async def present(self) -> AsyncGenerator[None]:
        service, key = self._daemon.services.find(SERVICE), f"heartbeat {next(_numbers)}"
        service.part(key, self._beat, every_s=self._daemon.house.settings["mesh.heartbeat_s"], waits_first=True)
        try:
            yield
        finally:
            service.end_part(key)

    async def _beat(self) -> None:
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
        self._unjoined_s: float = min(self._idle_s, daemon.house.settings["mcp.unjoined_s"])
        self._door = Door(_seat_of)
        self._most: int = daemon.house.settings["mcp.sessions"]
        self._most_of_token: int = daemon.house.settings["mcp.sessions_per_token"]
        self._manager = StreamableHTTPSessionManager(
            self._door.server, json_response=True, session_idle_timeout=self._idle_s, max_sessions=self._most,
            max_request_body_size=daemon.body_limit,
        )  # fmt: skip
        self._by_session: dict[str, Guest] = {}
        self._by_name: dict[tuple[str, str, str, object], Guest] = {}
        self._opening: list[Guest] = []  # whose first request is not answered yet
        self._asking: set[asyncio.Task[Any]] = set()

    async def keep(self, ready: asyncio.Event, closing: asyncio.Event) -> None:
        """Open until told to close."""
        async with self._manager.run():
            every_s = min(self._unjoined_s / 4, LOOK_S)
            self._daemon.services.add(BackgroundService(SERVICE, self._reap, every_s=every_s, waits_first=True))
            ready.set()
            try:
                await closing.wait()
                if self._asking:
                    await asyncio.wait(self._asking, timeout=LAST_WORDS_S)
            finally:
                await self._daemon.services.remove(SERVICE)

    # -- who it is ---------------------------------------------------------------------------------------------

    async def answer(self, ask: Ask, body: bytes) -> Response:
        known = Known(ask.team(), ask.caller().agent, ask.grant, ask.origin)
        version, session = ask.header(VERSION), ask.header(SESSION)
        if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            if not known.is_somebody:
                return _older(body, version)
            return self._handed(await self._named(known), body, None)
        return self._handed(await self._of_session(session, known), body, session)

    async def _named(self, known: Known) -> Guest:
        guest = self._by_name.get(known.key)
        if guest is None:
            await self._admit(known)
            guest = self._by_name.setdefault(known.key, Guest(self._daemon, known))
        return guest

    async def _admit(self, known: Known) -> None:
        """Refuse a token of another team or agent, and more sessions than one token or all of them may have."""
        guest = Guest(self._daemon, known)
        if known.grant is not None:
            await guest.done("worker.self", {}, guest.given())
        here = [*self._by_session.values(), *self._by_name.values(), *self._opening]
        own = sum(1 for each in here if known.grant and each.who.key[:2] == known.key[:2])
        if own >= self._most_of_token:
            raise self._too_many(f"This token has {own} MCP sessions open.", "mcp.sessions_per_token")
        if len(here) >= self._most:
            raise self._too_many(f"{len(here)} MCP sessions are open.", "mcp.sessions")

    def _too_many(self, message: str, setting: str) -> errors.Refused:
        hint = f"End some (DELETE /mcp); one that is idle for {self._idle_s:g} s ends by itself. The limit: {setting}."
        return errors.Refused(message, hint, code="TOO_MANY_SESSIONS", http=429)

    async def _of_session(self, session: str, known: Known) -> Guest:
        if not session:
            await self._admit(known)
            guest = Guest(self._daemon, known)  # kept once the protocol has accepted it
            self._opening.append(guest)
            return guest
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
            with self._answering() if method == "POST" and session is not None else nullcontext():
                async with guest.present() if method == "GET" else nullcontext():
                    await guest.serve(self._manager.handle_request(scope, replayed, watched))

        async def ended(*, deleted: bool) -> None:
            if guest in self._opening:
                self._opening.remove(guest)
            if deleted and session and self._by_session.pop(session, None) is not None:
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
        """End guests that fell silent, or whose token was revoked or has expired: nothing else tells of that."""
        for guest in {*self._by_session.values(), *self._by_name.values()}:
            await asyncio.sleep(0)  # others are served between two looks at the store
            allowed_s = self._idle_s if guest.has_joined else self._unjoined_s
            if guest.quiet_s() > allowed_s or not await guest.is_welcome():
                await self._remove(guest)

    async def _remove(self, guest: Guest) -> None:
        sessions = [session for session, each in self._by_session.items() if each is guest]
        self._by_session = {key: each for key, each in self._by_session.items() if each is not guest}
        self._by_name = {key: each for key, each in self._by_name.items() if each is not guest}
        await self._end(guest)
        for session in sessions:
            await self._terminate(session)

    async def _end(self, guest: Guest) -> None:
        self._door.forget(guest)
        guest.dismiss()
        await guest.leave()

    async def _terminate(self, session: str) -> None:
        """End what the protocol's own machinery keeps of a session, as a DELETE of its client would."""
        headers = [(SESSION.encode(), session.encode())]
        scope = {"type": "http", "method": "DELETE", "path": "", "query_string": b"", "headers": headers}

        async def received() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def sent(_message: Message) -> None:
            return None

        await self._manager.handle_request(scope, received, sent)


class Handed(Response):
    """An answer that the protocol's own machinery writes."""

    def __init__(self, serve: Callable[[Scope, Receive, Send], Awaitable[None]], ended: Callable[..., Any]) -> None:
        self._serve = serve
        self._ended = ended
        self.status_code = GONE
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_over = False

        async def sent(message: Message) -> None:
            nonlocal is_over
            if message["type"] == "http.response.start":
                self.status_code = message["status"]
            is_over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            await self._serve(scope, receive, sent)
            if self.status_code == GONE:  # dismissed before a word was said
                await refusal(tokens.unknown())(scope, receive, sent)
            elif not is_over:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await self._ended(deleted=scope["method"] == "DELETE" and self.status_code < 400)


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
