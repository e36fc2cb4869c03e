"""Waiting for the bell on the event loop: one listener per team, however many requests wait for it."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from rookery.wake.port import EVERYONE, Bell, Listener


class Waiter:
    """Listens from its first moment on, so that nothing which happens between a look and a wait is missed."""

    def __init__(self) -> None:
        self.rang = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self.rang.wait()
        except TimeoutError:
            return
        self.rang.clear()


class News:
    def __init__(self, bell: Bell) -> None:
        self.closing = False
        self._bell = bell
        self._waiting: dict[str, set[Waiter]] = {}
        self._listeners: dict[str, Listener] = {}

    @contextmanager
    def of(self, team: str) -> Generator[Waiter]:
        waiter = Waiter()
        waiting = self._waiting.setdefault(team, set())
        if not waiting:
            self._listen(team)
        waiting.add(waiter)
        try:
            yield waiter
        finally:
            waiting.discard(waiter)
            if not waiting:
                del self._waiting[team]
                self._stop(team)

    def count(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())

    def close(self) -> None:
        """Everyone who waits is answered with what there is."""
        self.closing = True
        for waiting in self._waiting.values():
            for waiter in waiting:
                waiter.rang.set()

    def _listen(self, team: str) -> None:
        listener = self._listeners[team] = self._bell.listen(team, EVERYONE)
        if listener.fileno() >= 0:  # without a bell the slow poll beneath still finds everything
            asyncio.get_running_loop().add_reader(listener.fileno(), self._rang, team)

    def _rang(self, team: str) -> None:
        self._listeners[team].wait(0)  # takes the rings off the socket
        for waiter in self._waiting[team]:
            waiter.rang.set()

    def _stop(self, team: str) -> None:
        listener = self._listeners.pop(team)
        if listener.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(listener.fileno())
        listener.close()
