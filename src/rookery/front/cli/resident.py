"""The fast door, from inside: commands of other processes, run here. `rookery.door` tells what is said on the wire.

The event loop does all waiting: for requests, for standard input, for readers that are slow. A thread is taken only
while a command runs, so nobody can keep one. A command that wants standard input is given up before it did anything,
and started over when the text is there.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, NoReturn, Protocol

from rookery import app, door
from rookery.core import errors
from rookery.runtime import doorway, files, process
from rookery.version import VERSION

from . import router
from .call import Call, Reply

WORKERS = 4
VISITS = 64  # more at once run in their own processes
REQUEST_S = 5.0
REPLY_S = 30.0
BEAT_S = 5.0  # so often a caller hears that its command is still at work

log = logging.getLogger("rookery.door")


class Count(Protocol):
    commands: int


class StdinWanted(BaseException):
    """Not an error, and nobody on the way up may take it for one."""


class Request(NamedTuple):
    argv: list[str]
    cwd: str
    environ: dict[str, str]
    width: int
    terminal: bool


def parsed(words: bytes) -> Request:
    cwd, width, terminal, count, *rest = door.decoded(words).split("\0")
    argv, variables = rest[: int(count)], rest[int(count) :]
    if len(argv) != int(count) or not os.path.isabs(cwd):
        raise ValueError("no request of ours")
    environ = dict(variable.split("=", 1) for variable in variables)
    return Request(argv, cwd, environ, int(width), bool(terminal))


class FastDoor:
    def __init__(
        self,
        listener: socket.socket | None,
        house: app.House,
        open_house: Callable[..., app.House],
        count: Count,
        run: Callable[[Call], Reply] = router.run,
    ) -> None:
        self._listener = listener
        self._home = house.places.home
        self._store = house.places.store
        self._ledger = files.identity(self._store)
        self._open_house = open_house
        self._count = count
        self._run = run
        self._pool = ThreadPoolExecutor(WORKERS, "rookery-door")
        self._visits: set[asyncio.Task[Any] | None] = set()
        self._shut = asyncio.Event()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        if self._listener is not None:
            self._server = await asyncio.start_server(self._visit, sock=self._listener)

    def shut(self) -> None:
        """Nobody new comes in; whoever is in is served to the end."""
        if self._server is not None and not self._shut.is_set():
            doorway.remove(self._home)
            self._server.close()
        self._shut.set()

    async def close(self, grace_s: float) -> None:
        self.shut()
        if self._visits:
            _, late = await asyncio.wait([task for task in self._visits if task], timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)

    # -- a visit -------------------------------------------------------------------------------------------------------

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = asyncio.current_task()
        self._visits.add(visit)
        try:
            peer = self._welcomed(writer)
            if peer:
                async with asyncio.timeout(REQUEST_S):
                    request = parsed(await _frame(reader, door.REQUEST_LIMIT))
                reply = await self._answered(request, peer, reader, writer)
                await _hand_over(writer, door.reply(reply.code, reply.out, reply.err))
        except (OSError, EOFError, ValueError):
            pass  # gone, too slow, or no client of ours: nothing was begun, or nobody is left who could be told
        finally:
            writer.transport.abort()
            self._visits.discard(visit)

    def _welcomed(self, writer: asyncio.StreamWriter) -> int:
        """The pid of whoever may ask here; 0 for others, who find the door closed and run in their own process."""
        pid, uid = door.peer_of(writer.get_extra_info("socket"))
        if self._shut.is_set() or len(self._visits) > VISITS or uid != os.geteuid():
            return 0
        if files.identity(self._store) != self._ledger or not process.sees_the_same(pid):
            return 0
        writer.write(door.framed(door.greeting(VERSION, self._home)))
        return pid

    async def _answered(
        self, request: Request, peer: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Reply:
        call = Call(
            request.argv, request.cwd, request.environ, _want_stdin, _no_stream, request.width, request.terminal, peer,
            self._open_house,
        )  # fmt: skip
        self._count.commands += 1
        reply = await self._at_work(call, writer)
        if reply is not None:
            return reply
        writer.write(door.framed(door.WANTS_STDIN))
        data = await self._stdin(reader)
        if data is None:
            down = errors.Unreachable("The daemon is going down; nothing was done.", "Do it again: none is needed.")
            return router.refused(down, "--json" in request.argv)
        text = data.decode("utf-8", "surrogateescape")
        return await self._at_work(call._replace(read_stdin=lambda: text), writer) or Reply()

    async def _at_work(self, call: Call, writer: asyncio.StreamWriter) -> Reply | None:
        command = asyncio.get_running_loop().run_in_executor(self._pool, self._command, call)
        while not (await asyncio.wait([command], timeout=BEAT_S))[0]:
            if not writer.is_closing():
                writer.write(door.framed(door.AT_WORK))
        return command.result()

    async def _stdin(self, reader: asyncio.StreamReader) -> bytes | None:
        """However long it takes: it costs a place among the visits, and no thread."""
        text = asyncio.ensure_future(_frame(reader, door.STDIN_LIMIT))
        end = asyncio.ensure_future(self._shut.wait())
        try:
            await asyncio.wait([text, end], return_when=asyncio.FIRST_COMPLETED)
            return text.result() if text.done() else None
        finally:
            text.cancel()
            end.cancel()

    def _command(self, call: Call) -> Reply | None:
        """In a thread of the pool. None: it wants standard input."""
        wants_json = "--json" in call.argv
        if door.runs_alone(call.argv):
            alone = errors.BadInput("This command runs in a process of its own.", "Run `rook`.", code="RUNS_ALONE")
            return router.refused(alone, wants_json)
        try:
            return self._run(call)
        except StdinWanted:
            return None
        except Exception:  # a door: whatever went wrong, the caller gets an answer, and the log the reason
            log.exception("rook %s", call.argv)
            broken = errors.RookError("Something broke in the daemon.", "Its log tells more.", code="INTERNAL")
            return router.refused(broken, wants_json)


def _want_stdin() -> NoReturn:
    raise StdinWanted


def _no_stream(_text: str) -> NoReturn:
    raise errors.BadInput("This command runs in a process of its own.", "Run `rook`.", code="RUNS_ALONE")


async def _frame(reader: asyncio.StreamReader, limit: int) -> bytes:
    size = int.from_bytes(await reader.readexactly(door.HEAD), "big")
    if size > limit:
        raise ValueError("a frame beyond its limit")
    return await reader.readexactly(size)


async def _hand_over(writer: asyncio.StreamWriter, reply: bytes) -> None:
    async with asyncio.timeout(REPLY_S):
        writer.write(door.framed(reply))
        writer.close()
        await writer.wait_closed()
