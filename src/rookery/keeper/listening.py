"""Listeners: programs of others that are called with each event, after its commit.

Each has a thread, a cursor and a page of events of its own, so that one that is slow slows nobody. One that fails, or
takes too long over one event, is logged and dropped for as long as this process runs. At most once, and from when the
process began on: whoever must not miss anything follows the ledger by a cursor of its own (`rook events --after`).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from rookery.core import errors
from rookery.core.text import one_line
from rookery.wake.port import EVERYONE, Bell

from . import bells
from .courier import Verbs

PAGE = 100
TEAMS_EVERY_S = 1.0
Listener = Callable[[dict[str, Any]], Any]
log = logging.getLogger("rookery.listeners")


class Listening:
    """All listeners in all teams. `listeners` says which there are now; `changed` calls back when that changes."""

    def __init__(
        self, verbs: Verbs, bell: Bell, listeners: Callable[[], Mapping[str, Listener]], *, poll_s: float,
        limit_s: float,
    ) -> None:  # fmt: skip
        self._verbs = verbs
        self._bell = bell
        self._listeners = listeners
        self._poll_s = poll_s
        self._limit_s = limit_s
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._begun: set[str] = set()
        self.dropped: set[str] = set()
        self.changed = asyncio.Event()

    async def run(self) -> None:
        try:
            while True:
                with suppress(errors.Unreachable):
                    await self.look()
                with suppress(TimeoutError):
                    async with asyncio.timeout(TEAMS_EVERY_S):
                        await self.changed.wait()
                self.changed.clear()
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    @property
    def count(self) -> int:
        """Listeners that are called now, in each team."""
        return len(self._running)

    async def look(self) -> None:
        """A task for each listener in each team; those that are gone or were dropped end."""
        listeners = {name: each for name, each in self._listeners().items() if name not in self.dropped}
        teams = await self._verbs.teams() if listeners else []
        wanted = {(name, team) for name in listeners for team in teams}
        for key in self._running.keys() - wanted:
            self._running.pop(key).cancel()
        for name, team in wanted - self._running.keys():
            cursor = 0 if name in self._begun else await self._newest(team)  # a team that came later is told whole
            self._running[name, team] = asyncio.create_task(self._follow(name, listeners[name], team, cursor))
        self._begun |= set(listeners)

    async def _newest(self, team: str) -> int:
        return (await self._verbs.call(team, "events", {"after": 0, "limit": 1}))["newest"]

    async def _follow(self, name: str, listener: Listener, team: str, cursor: int) -> None:
        called = Called(name, listener)
        try:
            with bells.listening(self._bell, team, EVERYONE) as ears:
                while True:
                    cursor = await self._caught_up(called, team, cursor)
                    await ears.wait(self._poll_s)
        except Failed as error:
            self.dropped.add(name)
            log.warning("%s was dropped: %s", name, error)
            self.changed.set()
        finally:
            called.close()

    async def _caught_up(self, called: "Called", team: str, cursor: int) -> int:
        while True:
            try:
                page = await self._verbs.call(team, "events", {"after": cursor, "limit": PAGE})
            except errors.CursorTooOld as error:
                cursor = int(error.facts["horizon"])
                continue
            except errors.RookError as error:
                log.warning("%s in %s: %s", called.name, team, error.message)
                return cursor
            if not page["events"]:
                return cursor
            for event in page["events"]:
                await called.tell({"team": team, **event}, self._limit_s)
                cursor = event["seq"]


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
