"""Pages of the ledger, read and encoded in a thread of their own; and the turns in which streams take them.

The thread takes one page at a time, in the order they were asked for, so that no reader is in front of the others. A
full page never changes. Readers who want the same one at about the same time share it: a hundred who start at the
beginning cost one. Every reader proves its right to read once in `fresh_s`, with a page that is read for it alone.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

from rookery.client.queued import QueuedClient
from rookery.core import errors
from rookery.core.caller import Caller
from rookery.core.record import NamedTuple

from .answer import encoded

PAGE = 100  # events of a stream at a time: about as much as is buffered for one reader
KEPT = 64  # full pages

Made = TypeVar("Made")


class Page(NamedTuple):
    body: bytes
    cursor: int
    is_full: bool
    read_at: float


class EventPages:
    def __init__(self, queue: QueuedClient, *, most: int, fresh_s: float) -> None:
        self.streams = 0
        self.read = 0  # pages, so far
        self._queue = queue
        self._most = most
        self._fresh_s = fresh_s
        self._pool = ThreadPoolExecutor(1, "rookery-events")
        self._kept: OrderedDict[tuple[str, int], asyncio.Task[Page]] = OrderedDict()
        self._turn = asyncio.Lock()

    @contextmanager
    def stream(self) -> Generator[None]:
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    def check_room(self) -> None:
        if self.streams >= self._most:
            raise errors.Refused(
                f"{self.streams} streams of events are open.",
                "Read pages with `Accept: application/json`, or try again later. The limit: daemon.streams.",
                code="TOO_MANY_STREAMS",
                http=429,
            )

    async def take_turn(self) -> None:
        """Everything else on the event loop goes on between any two pages, whoever they are for."""
        async with self._turn:
            await asyncio.sleep(0)

    async def document(self, team: str, args: Mapping[str, Any], caller: Caller) -> bytes:
        """What the verb `events` answers, as JSON."""
        return await self._run(team, args, caller, _document)

    async def own(self, team: str, after: int, caller: Caller) -> Page:
        """A page of a stream, read with the right of its caller."""
        return await self._run(team, {"after": after, "limit": PAGE}, caller, _page)

    async def shared(self, team: str, after: int, caller: Caller) -> Page:
        """The same for a caller who had the right a moment ago: possibly one that is read for somebody else."""
        key = team, after
        task = self._kept.get(key)
        if task is None or self._is_stale(task):
            task = self._kept[key] = asyncio.create_task(self.own(team, after, caller))
            task.add_done_callback(lambda done: self._keep(key, done))
        try:
            return await asyncio.shield(task)  # its first reader may go; the others still want it
        except errors.RookError:  # perhaps a refusal that concerns only whoever it was read for
            return await self.own(team, after, caller)

    def _is_stale(self, task: "asyncio.Task[Page]") -> bool:
        return task.done() and monotonic() - task.result().read_at > self._fresh_s

    def _keep(self, key: tuple[str, int], task: "asyncio.Task[Page]") -> None:
        """Only full pages: to others something may be added."""
        if task.cancelled() or task.exception() is not None or not task.result().is_full:
            self._kept.pop(key, None)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    async def _run(
        self, team: str, args: Mapping[str, Any], caller: Caller, made: Callable[[dict[str, Any]], Made]
    ) -> Made:
        deed = self._queue.deed(team, "events", args, caller)
        self.read += 1
        return await asyncio.wrap_future(self._pool.submit(lambda: made(self._queue.read_here(team, deed))))

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _page(found: dict[str, Any]) -> Page:
    events = found["events"]
    return Page(b"".join(map(_sent, events)), found["cursor"], len(events) == PAGE, monotonic())


def _sent(event: dict[str, Any]) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event["seq"], event["type"].encode(), encoded(event))


def _document(found: dict[str, Any]) -> bytes:
    """Event by event: one long call of the encoder would keep the event loop waiting, from this thread too."""
    rest = encoded({name: value for name, value in found.items() if name != "events"})
    return b'{"events":[%s],%s' % (b",".join(map(encoded, found["events"])), rest[1:])
