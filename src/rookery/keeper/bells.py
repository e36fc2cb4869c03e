"""The bell in an event loop: rings set an event, and whoever waits looks again at least once in a while."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from rookery.wake.port import Bell, Listener


class Ears:
    """One listener. A ring between two waits is not lost."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._rang = asyncio.Event()

    def rang(self) -> None:
        """Also called by whoever has a reason of their own to look again."""
        self._rang.set()

    def take(self) -> None:
        self._listener.wait(0)  # takes the rings off the socket
        self._rang.set()

    async def wait(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._rang.wait()
        except TimeoutError:
            return False
        self._rang.clear()
        return True


@contextmanager
def listening(bell: Bell, team: str, name: str) -> Generator[Ears]:
    loop = asyncio.get_running_loop()
    with bell.listen(team, name) as listener:
        ears, number = Ears(listener), listener.fileno()
        if number >= 0:  # without a bell the slow poll beneath still finds everything
            loop.add_reader(number, ears.take)
        try:
            yield ears
        finally:
            if number >= 0:
                loop.remove_reader(number)
