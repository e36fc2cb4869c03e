"""Listeners: programs of others that are called with each event, after its commit.

Each has a thread, a cursor and a page of events of its own, so that one that is slow slows nobody. One that fails, or
takes too long over one event, is logged and dropped for as long as this process runs. At most once, and from when the
process began on: whoever must not miss anything follows the ledger by a cursor of its own (`rook events --after`).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from rookery.core import errors
from rookery.core.text import one_line
from rookery.wake.port import EVERYONE, Bell

from . import bells
from .courier import Verbs
from .services import BackgroundService, Finished

SERVICE = "listeners"
PAGE = 100
TEAMS_EVERY_S = 1.0
Listener = Callable[[dict[str, Any]], Any]
Changes = Callable[[Callable[[], None]], AbstractContextManager[Any]]  # calls back when listeners come or go
log = logging.getLogger("rookery.listeners")


class Listening:
    """All listeners in all teams. `listeners` says which there are now; `changes` calls back when that changes."""

    def __init__(
        self, verbs: Verbs, bell: Bell, listeners: Callable[[], Mapping[str, Listener]], *, poll_s: float,
        limit_s: float, changes: Changes = lambda notify: nullcontext(),
    ) -> None:  # fmt: skip
        self._verbs = verbs
        self._bell = bell
        self._listeners = listeners
        self._poll_s = poll_s
        self.limit_s = limit_s
        self._begun: set[str] = set()
        self.dropped: set[str] = set()
        self.service = BackgroundService(SERVICE, self.look, every_s=TEAMS_EVERY_S, listening=changes)

    @property
    def count(self) -> int:
        """Listeners that are called now, in each team."""
        return len(self.service.parts)

    async def look(self) -> None:
        """A part for each listener in each team; those that are gone or were dropped end."""
        listeners = {name: each for name, each in self._listeners().items() if name not in self.dropped}
        teams = await self._verbs.teams() if listeners else []
        wanted = {f"{name} {team}": (name, team) for name in listeners for team in teams}
        for key in self.service.parts - wanted.keys():
            self.service.end_part(key)
        for key in wanted.keys() - self.service.parts:
            name, team = wanted[key]
            cursor = 0 if name in self._begun else await self._newest(team)  # a team that came later is told whole
            followed = Followed(self, Called(name, listeners[name]), team, cursor)
            self.service.part(
                key, followed.look, every_s=self._poll_s, close=followed.close,
                listening=partial(bells.listening, self._bell, team, EVERYONE),
            )  # fmt: skip
        self._begun |= set(listeners)

    async def _newest(self, team: str) -> int:
        return (await self._verbs.call(team, "events", {"after": 0, "limit": 1}))["newest"]

    def drop(self, name: str, error: "Failed") -> None:
        """A listener that failed is not called again by this process."""
        self.dropped.add(name)
        log.warning("%s was dropped: %s", name, error)
        self.service.note_failure(error)
        self.service.notify()

    async def page(self, team: str, cursor: int) -> Any:
        return await self._verbs.call(team, "events", {"after": cursor, "limit": PAGE})


class Followed:
    """One listener in one team, and the last event that it was called with."""

    def __init__(self, listening: Listening, called: "Called", team: str, cursor: int) -> None:
        self._listening = listening
        self._called = called
        self._team = team
        self._cursor = cursor

    async def look(self) -> None:
        try:
            while await self._tell_page():
                pass
        except Failed as error:
            self._listening.drop(self._called.name, error)
            raise Finished from error

    async def _tell_page(self) -> bool:
        """Whether there may be more."""
        try:
            page = await self._listening.page(self._team, self._cursor)
        except errors.CursorTooOld as error:
            self._cursor = int(error.facts["horizon"])
            return True
        for event in page["events"]:
            await self._called.tell({"team": self._team, **event}, self._listening.limit_s)
            self._cursor = event["seq"]
        return bool(page["events"])

    async def close(self) -> None:
        self._called.close()


class Failed(Exception):
    pass


class Called:
    """A listener and its thread, which nobody waits for: one that never comes back keeps no process alive."""

    def __init__(self, name: str, listener: Listener) -> None:
        self.name = name
        self._listener = listener
        self._asked: SimpleQueue[tuple[dict[str, Any], asyncio.Future[None]] | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name=f"listener {name}", daemon=True).start()

    async def tell(self, event: dict[str, Any], limit_s: float) -> None:
        done: asyncio.Future[None] = self._loop.create_future()
        self._asked.put((event, done))
        try:
            async with asyncio.timeout(limit_s):
                await done
        except TimeoutError:
            raise Failed(f"it took longer than {limit_s:g} s over one event") from None

    def close(self) -> None:
        self._asked.put(None)

    def _run(self) -> None:
        while (asked := self._asked.get()) is not None:
            event, done = asked
            failure: Failed | None = None
            try:
                self._listener(event)
            except BaseException as error:  # whatever it is: it ends this listener and nothing else
                failure = Failed(one_line(f"{type(error).__name__}: {error}", 300))
            with suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(_settle, done, failure)


def _settle(done: "asyncio.Future[None]", failure: Failed | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)


def told(problems: Sequence[str]) -> None:
    for each in problems:
        log.warning("%s", each)
