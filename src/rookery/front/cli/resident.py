"""The fast door, from inside: commands of other processes, run here. `rookery.door` tells what is said on the wire.

The event loop does all waiting: for requests, for standard input, for readers that are slow. A thread is taken only
while a command runs, so nobody can keep one. A command that wants standard input is given up before it did anything,
and started over when the text is there. Each time the process that connected must still run: once it has ended, its pid
may be that of a process of the user, and whoever kept the connection would act as the user.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NoReturn, Protocol

from rookery import app, door
from rookery.core import errors
from rookery.core.record import NamedTuple
from rookery.runtime import caller_process, doorway, files, process
from rookery.runtime.caller_process import CallerProcess
from rookery.version import VERSION

from . import router
from .call import Call, Later, Reply

WORKERS = 4
VISITS = 64  # more at once run in their own processes
REQUEST_S = 5.0
REPLY_S = 30.0
STDIN_S = 3600.0  # a build may be piped into a command
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
        self._visits: set[asyncio.Task[None]] = set()
        self._waits: set[asyncio.Future[Any]] = set()  # of visits, which end them
        self._shut = asyncio.Event()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        if self._listener is not None:
            self._server = await asyncio.start_server(self._begin_visit, sock=self._listener)

    def tasks(self) -> set["asyncio.Task[Any]"]:
        """All that it keeps and ends."""
        return {*self._visits, *(each for each in self._waits if isinstance(each, asyncio.Task))}

    def shut(self) -> None:
        """Nobody new comes in; whoever is in is served to the end."""
        if self._server is not None and not self._shut.is_set():
            doorway.remove(self._home)
            self._server.close()
        self._shut.set()

    async def close(self, grace_s: float) -> None:
        self.shut()
        if self._visits:
            _, late = await asyncio.wait(self._visits, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)

    # -- a visit -------------------------------------------------------------------------------------------------------

    def _begin_visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = asyncio.create_task(self._visit(reader, writer, caller_process.now()), name="fast path")
        self._visits.add(visit)
        visit.add_done_callback(self._end_visit)

    def _end_visit(self, visit: "asyncio.Task[None]") -> None:
        self._visits.discard(visit)
        if not visit.cancelled() and (error := visit.exception()):
            log.error("a visit failed: %r", error, exc_info=error)

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted_s: float) -> None:
        try:
            caller = self._welcomed(writer, accepted_s)
            if caller is not None:
                async with asyncio.timeout(REQUEST_S):
                    request = parsed(await _frame(reader, door.REQUEST_LIMIT))
                call = self._call(request, caller.pid)
                reply = await self._answered(call, caller, reader, writer)
                if reply.later is None:
                    await _hand_over(writer, door.reply(reply.code, reply.out, reply.err))
                else:
                    await self._shown(call, caller, reply, reply.later, reader, writer)
        except (OSError, EOFError, ValueError):
            pass  # gone, too slow, or no client of ours: nothing was begun, or nobody is left who could be told
        finally:
            with suppress(AttributeError):  # a transport that lost its connection after `close` has no loop any more
                writer.transport.abort()

    def _welcomed(self, writer: asyncio.StreamWriter, accepted_s: float) -> CallerProcess | None:
        """The caller if it is served here; None for others, who find the door closed and run in their own process."""
        line = writer.get_extra_info("socket")
        if line is None:  # whoever knocked has gone, and the event loop has let go of the socket
            return None
        pid, uid = door.peer_of(line)
        if self._shut.is_set() or len(self._visits) > VISITS or uid != os.geteuid():
            return None
        caller = CallerProcess(line, pid, accepted_s)
        if files.identity(self._store) != self._ledger or not process.sees_the_same(pid) or not caller.is_alive():
            return None
        writer.write(door.framed(door.greeting(VERSION, self._home)))
        return caller

    def _call(self, request: Request, peer: int) -> Call:
        return Call(
            request.argv, request.cwd, request.environ, _want_stdin, _no_stream, request.width, request.terminal, peer,
            self._open_house,
        )  # fmt: skip

    async def _shown(
        self, call: Call, caller: CallerProcess, reply: Reply, later: Later,
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    ) -> None:  # fmt: skip
        """What is recorded after it happened: the caller says that it did, and waits until that is written down."""
        writer.write(door.framed(door.reply(reply.code, reply.out, reply.err, then=True)))
        async with asyncio.timeout(REPLY_S):
            said = await _frame(reader, door.HEAD)
        if said == door.SHOWN and caller.is_alive():
            call = call._replace(sight=caller.sight)  # known since the command ran
            await asyncio.get_running_loop().run_in_executor(self._pool, router.follow_up, call, later)
            await _hand_over(writer, door.SHOWN)

    async def _answered(
        self, call: Call, caller: CallerProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Reply:
        self._count.commands += 1
        reply = await self._at_work(call, caller, writer)
        if reply is not None:
            return reply
        writer.write(door.framed(door.WANTS_STDIN))
        data = await self._stdin(reader)
        if data is None:
            return _without_stdin(call._replace(sight=caller.sight), is_down=self._shut.is_set())
        text = data.decode("utf-8", "surrogateescape")
        return await self._at_work(call._replace(read_stdin=lambda: text), caller, writer) or Reply()

    async def _at_work(self, call: Call, caller: CallerProcess, writer: asyncio.StreamWriter) -> Reply | None:
        command = asyncio.get_running_loop().run_in_executor(self._pool, self._command, call, caller)
        while not (await asyncio.wait([command], timeout=BEAT_S))[0]:
            if not writer.is_closing():
                writer.write(door.framed(door.AT_WORK))
        return command.result()

    async def _stdin(self, reader: asyncio.StreamReader) -> bytes | None:
        """It costs a place among the visits, and no thread. None: it did not come in time, or the daemon ends."""
        text = asyncio.ensure_future(_frame(reader, door.STDIN_LIMIT))
        end = asyncio.ensure_future(self._shut.wait())
        self._waits |= {text, end}
        try:
            await asyncio.wait([text, end], timeout=STDIN_S, return_when=asyncio.FIRST_COMPLETED)
            return text.result() if text.done() else None
        finally:
            for wait in (text, end):
                wait.cancel()
                wait.add_done_callback(self._waits.discard)

    def _command(self, call: Call, caller: CallerProcess) -> Reply | None:
        """In a thread of the pool. None: it wants standard input."""
        wants_json = "--json" in call.argv
        call = call._replace(sight=caller.sight)
        if not caller.is_alive():  # after the look: what was seen is the caller's
            return router.refused(_caller_gone(), wants_json)
        if door.runs_alone(call.argv):
            alone = errors.BadInput("This command runs in a process of its own.", "Run `rook`.", code="RUNS_ALONE")
            return router.refused(alone, wants_json)
        try:
            return self._run(call)
        except StdinWanted:
            return None
        except Exception as error:  # a door: whatever went wrong, the caller gets an answer, and the log the reason
            log.exception("rook %s", call.argv)
            if door.is_hook(call.argv):
                return router.hook_failed(call, error)
            broken = errors.RookError("Something broke in the daemon.", "Its log tells more.", code="INTERNAL")
            return router.refused(broken, wants_json)


def _caller_gone() -> errors.NotYours:
    return errors.NotYours(
        "The process that connected has ended, so nobody knows who sends this. Nothing was done.",
        "Run `rook` again, in a process that waits for the answer.", code="CALLER_GONE",
    )  # fmt: skip


def _without_stdin(call: Call, *, is_down: bool) -> Reply:
    error: errors.RookError
    if is_down:
        error = errors.Unreachable("The daemon is going down; nothing was done.", "Do it again: none is needed.")
    else:
        error = errors.BadInput(
            f"Standard input did not end within {STDIN_S:.0f} s; nothing was done.",
            "Write the text to a file, then run the command again with `< FILE`.", code="STDIN_LATE",
        )  # fmt: skip
    return router.hook_failed(call, error) if door.is_hook(call.argv) else router.refused(error, "--json" in call.argv)


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
