"""The bell in an event loop: a ring calls back."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rookery.wake.port import Bell


@contextmanager
def listening(bell: Bell, team: str, name: str, rang: Callable[[], None]) -> Generator[None]:
    """`rang` is called on the event loop. Without a bell nothing calls: the poll beneath still finds everything."""
    loop = asyncio.get_running_loop()
    with bell.listen(team, name) as listener:

        def take() -> None:
            listener.wait(0)  # takes the rings off the socket
            rang()

        number = listener.fileno()
        if number >= 0:
            loop.add_reader(number, take)
        try:
            yield
        finally:
            if number >= 0:
                loop.remove_reader(number)
