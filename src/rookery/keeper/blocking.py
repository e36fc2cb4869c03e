"""Threads for work that blocks for long: programs that are waited for, checks, git.

Each kind of work has a pool of its own with a bounded number of threads, so that agents which are resumed or checked
for half an hour take no thread from the requests. The threads are daemon threads: one that never comes back keeps no
process alive.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeVar

from rookery.core import errors
from rookery.core.record import NamedTuple

LOOK_S = 0.02
UNNAMED = "work"
T = TypeVar("T")


class _Work(NamedTuple):
    label: str
    future: "Future[Any]"
    call: Callable[[], Any]


class BlockingPool:
    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self.threads = threads
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._mutex = threading.Lock()
        self._idle = threading.Semaphore(0)
        self._started = 0
        self._running: dict[int, str] = {}  # labels, by thread
        self._is_closed = False

    async def run(self, call: Callable[..., T], *args: Any, label: str = "") -> T:
        """In one of its threads. Whoever is cancelled does not wait for it. With a `label` it is reported when it is
        ended or left at the end of the daemon."""
        return await asyncio.wrap_future(self.submit(lambda: call(*args), label))

    def submit(self, call: Callable[[], T], label: str) -> "Future[T]":
        future: Future[T] = Future()
        with self._mutex:
            if self._is_closed:
                raise errors.Unreachable("The daemon is going down.", "Try again when it is back: `rook up`.")
            self._queue.put(_Work(label, future, call))
            if not self._idle.acquire(blocking=False) and self._started < self.threads:
                self._started += 1
                name = f"rookery-{self.name}-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def running(self) -> list[str]:
        """What runs now, by its label or as nothing but work."""
        return [f"{self.name}: {label or UNNAMED}" for label in list(self._running.values())]

    def named(self) -> list[str]:
        """What runs now and has a label."""
        return [f"{self.name}: {label}" for label in list(self._running.values()) if label]

    def report(self) -> dict[str, Any]:
        return {
            "name": self.name, "threads": self.threads, "running": len(self._running), "waiting": self._queue.qsize()
        }  # fmt: skip

    async def close(self, wait_s: float) -> None:
        """Nothing more is begun. What runs is waited for, for a bounded time: its callers have ended its children."""
        with self._mutex:
            self._is_closed = True
            while not self._queue.empty():
                if work := self._queue.get():
                    work.future.cancel()
            for _ in range(self._started):
                self._queue.put(None)
        until = monotonic() + wait_s
        while self._running and monotonic() < until:
            await asyncio.sleep(LOOK_S)

    def _work(self) -> None:
        mine = threading.get_ident()
        while (work := self._queue.get()) is not None:
            if work.future.set_running_or_notify_cancel():
                self._running[mine] = work.label
                try:
                    result = work.call()
                except BaseException as error:  # it belongs to whoever waits for it
                    self._running.pop(mine)
                    work.future.set_exception(error)
                else:
                    self._running.pop(mine)
                    work.future.set_result(result)
            del work
            self._idle.release()
