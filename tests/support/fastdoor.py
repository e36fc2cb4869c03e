"""The fast door without a daemon around it: the resident side in a thread, and a stand-in for it that misbehaves."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rookery import app, door
from rookery.client.queued import QueuedClient
from rookery.front.cli import router
from rookery.front.cli.call import Call, Reply
from rookery.front.cli.resident import FastDoor
from rookery.front.http.metrics import Numbers
from rookery.runtime import doorway, places
from rookery.version import VERSION
from tests.support.procs import PATIENCE_S


class Host:
    """A resident process as far as commands can tell: a ledger kept open, and the door to it."""

    def __init__(self, house: app.House, queue: QueuedClient, run: Callable[[Call], Reply]) -> None:
        self.house = house
        self.queue = queue
        self.count = Numbers()
        self._run = run
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        listener = doorway.opened(self.house.places.home)
        fast = FastDoor(listener, self.house, app.open_guests(self.house, self.queue), self.count, self._run)
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        await fast.open()
        self._ready.set()
        await self._end.wait()
        await fast.close(PATIENCE_S)

    def start(self) -> None:
        self.thread.start()
        assert self._ready.wait(PATIENCE_S)

    def stop(self) -> None:
        """Go down as on a signal, without waiting for it."""
        assert self._loop
        assert self._end
        with suppress(RuntimeError):  # it is down already
            self._loop.call_soon_threadsafe(self._end.set)


@contextmanager
def hosted(environ: Mapping[str, str], cwd: Path, run: Callable[[Call], Reply] = router.run) -> Generator[Host]:
    house = app.open_house(cwd=str(cwd), environ=environ)
    places.prepare_home(house.places.home)
    host = Host(house, app.open_queue(house), run)
    host.start()
    try:
        yield host
    finally:
        host.stop()
        host.thread.join(PATIENCE_S)
        host.queue.close()


def ask(
    environ: Mapping[str, str], cwd: Path, *argv: str, stdin: Callable[[], bytes] = bytes, width: int = 100,
    terminal: bool = False,
) -> Reply | None:  # fmt: skip
    """What the client does, with given values; None where it would run the command itself."""
    told = None
    if not door.runs_alone(list(argv)):
        told = door.through(list(argv), str(cwd), environ, width, terminal, stdin)
    return None if told is None else Reply(told[1], told[2], told[0])


class Impostor:
    """Says what a test wants where the resident process would be, to one visitor after the other."""

    def __init__(self, home: Path, act: Callable[[socket.socket], object]) -> None:
        places.prepare_home(str(home))
        listener = doorway.opened(str(home))
        assert listener
        listener.setblocking(True)
        self._listener = listener
        self._home = home
        self._act = act
        self.visits = 0
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            self.visits += 1
            with line, suppress(BrokenPipeError):  # a visitor may leave whenever it likes
                line.settimeout(PATIENCE_S)
                self._act(line)

    def __enter__(self) -> "Impostor":
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.thread.join(PATIENCE_S)
        doorway.remove(str(self._home))


def greet(line: socket.socket, home: Path, version: str = VERSION) -> None:
    door.send(line, door.greeting(version, os.fspath(home)))


@contextmanager
def knocking(home: Path) -> Generator[socket.socket]:
    """A connection of our own, to say things on that the client would not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(PATIENCE_S)
        door.connect(line, os.fspath(home))
        yield line
