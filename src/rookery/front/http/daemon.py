"""What every request shares: the queue, the teams that are served, the tokens, the numbers."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from time import monotonic
from typing import Any, TypeVar

from rookery import app
from rookery.client.deed import Deed
from rookery.client.placed import Ground, placed
from rookery.client.queued import CUT_OFF
from rookery.core import errors, names, text, tokens
from rookery.core.caller import Caller, Grant
from rookery.keeper.services import Services
from rookery.runtime.peers import Peers
from rookery.service import verbs

from .admission import Admission, limits
from .event_pages import EventPages
from .metrics import Numbers
from .news import News

THREADS = 16  # for requests that read files or ask the system
T = TypeVar("T")


class Daemon:
    def __init__(self, house: app.House, *, token: str, only_team: bool) -> None:
        self.house = house
        self.team = house.team
        self.token = token.encode()
        self.only_team = only_team
        self.hosts: set[str] = {"127.0.0.1", "localhost", "[::1]"}
        self.body_limit: int = house.settings["daemon.body_limit"]
        self.log_requests: bool = house.settings["log.requests"]
        self.poll_s: float = house.settings["poll.s"]
        self.body_s: float = house.settings["daemon.body_s"]
        self.admission = Admission(limits(
            house.settings["daemon.connections"], house.settings["daemon.header_s"], house.settings["daemon.stall_s"]
        ))  # fmt: skip
        self.queue = app.open_queue(house)
        self.pages = EventPages(self.queue, most=house.settings["daemon.streams"], fresh_s=self.poll_s)
        self.news = News(house.bell)
        self.numbers = Numbers()
        self.peers = Peers()
        self.services = Services()
        house.services = self.services.report
        self._pool = self.services.pool("http", THREADS)
        self._tasks: set[asyncio.Task[Any]] = set()  # of requests; whoever began one awaits it
        self.services.own("http", lambda: self._tasks)
        self.recording: dict[str, asyncio.Event] = {}  # hooks whose answer is being written down, by their session
        self._loop: asyncio.AbstractEventLoop | None = None  # where answers are handed over

    def serves(self, team: str) -> str:
        """The team, if this daemon may speak of it."""
        names.check_team(team)
        if self.only_team and team != self.team:
            raise errors.UnknownName(
                f"No team {text.one_line(team, 50)} here.",
                f"This daemon serves {self.team} alone.",
                code="UNKNOWN_TEAM",
            )
        return team

    def granted(self, token: str) -> Grant:
        """What a token of the store proves. Nothing is kept of it here, so that a revoked one is over at once."""
        found = self.queue.presented(tokens.digest(token)) if tokens.is_token(token) else None
        if found is None or (self.only_team and found.team != self.team):
            raise tokens.unknown()
        return found

    def placed(self, team: str, verb: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Paths are taken from the top of our own team's workspace. Of other teams the workspace is not known here, and
        the verb refuses what is not plainly inside."""
        root = self.house.places.root
        return placed(verb, args, Ground(root, root)) if team == self.team else args

    async def call(self, team: str, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        """Writes wait for their commit. Reads are done here and now, or, when they take long, in the pool."""
        deed = await self._deed(team, verb, args, caller)
        if deed.writes:
            return await self._written(team, deed)
        try:
            return self.queue.look(team, deed)
        except errors.StoreBusy as error:
            if error.code != CUT_OFF:
                raise
        return await asyncio.wrap_future(self.queue.read_in_pool(team, deed))

    async def _written(self, team: str, deed: Deed) -> Any:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self.queue.writer.hand_over = loop, loop.call_soon_threadsafe
        future: asyncio.Future[Any] = loop.create_future()

        def tell(result: Any) -> None:
            if future.cancelled():
                return
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

        self.queue.write(team, deed, lambda: not future.cancelled(), tell)
        return await future

    async def _deed(self, team: str, verb: str, args: Mapping[str, Any], caller: Caller) -> Deed:
        """What writes a file first does so beside the event loop."""
        if verbs.find(verb).before:
            return await self.aside(self.queue.deed, team, verb, args, caller)
        return self.queue.deed(team, verb, args, caller)

    async def wait_for(self, team: str, verb: str, args: Mapping[str, Any], caller: Caller, wait_s: float) -> Any:
        """A page of events as soon as it has any, or as it is when the time is over."""
        if not wait_s:
            return await self.call(team, verb, args, caller)
        until = monotonic() + wait_s
        with self.news.of(team) as bell:
            while True:
                page = await self.call(team, verb, args, caller)
                left = until - monotonic()
                if page["events"] or left <= 0 or self.news.closing:
                    return page
                await bell.wait(min(left, self.poll_s))

    async def aside(self, work: Callable[..., T], *args: Any) -> T:
        """Beside the event loop, in threads that requests share with nothing else."""
        return await self._pool.run(work, *args)

    def task(self, name: str, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """A task of a request, which awaits it and so hears of its exception."""
        task = asyncio.create_task(work, name=f"http:{name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def close(self) -> None:
        self.pages.close()
        self.queue.close()
