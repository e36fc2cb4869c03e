"""Background services: everything the daemon does by itself runs in the loop of `BackgroundService`.

    look ──> wait, until a time or a notification ──> look ...
      └── exception: logged, counted, looked again after 0.5, 1, 2 ... 30 s

A service owns its tasks: its own loop, a loop for each part (one team, one listener, one lease) and jobs, which take a
while and end. When the service stops, all of them are cancelled. `Services` is the registry of a daemon: it starts and
stops the services, reports on each of them, and names the asyncio tasks that have no owner.

Every exception is an expected one here: an exception that ends a loop is the failure this module exists to prevent.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractContextManager, nullcontext
from time import monotonic, time
from typing import Any, TypeVar

from rookery.core import errors, times
from rookery.core.health import ServiceState
from rookery.core.text import one_line

from .blocking import BlockingPool

FIRST_S, LONGEST_S = 0.5, 30.0  # backoff: the first pause, and the longest
STOP_S = 5.0  # as long as the tasks of a service that stops are waited for
ERROR_LIMIT = 300  # characters of an error in a report
NAMED = 5  # failing parts in a report
log = logging.getLogger("rookery.services")

Look = Callable[[], Awaitable[float | None]]  # seconds until the next look; None: the service's own interval
Notify = Callable[[], None]
Listening = Callable[[Notify], AbstractContextManager[Any]]  # calls `Notify` when there is something to look at
T = TypeVar("T")


class Finished(Exception):
    """Raised by a look: this part has nothing more to do, and ends."""


class BackgroundService:
    def __init__(
        self, name: str, look: Look, *, every_s: float, waits_first: bool = False,
        listening: Listening = lambda notify: nullcontext(), close: Callable[[], Awaitable[None]] | None = None,
        longest_s: float = LONGEST_S, parent: "BackgroundService | None" = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.look = look
        self._every_s = every_s
        self._waits_first = waits_first
        self._listening = listening
        self._close = close
        self._longest_s = longest_s
        self._parent = parent
        self._notified = asyncio.Event()
        self._parts: dict[str, BackgroundService] = {}
        self._running: dict[asyncio.Task[None], BackgroundService] = {}  # loops of parts, also of those told to end
        self._jobs: set[asyncio.Task[Any]] = set()
        self._task: asyncio.Task[None] | None = None
        self.looks = self.failures = self.restarts = 0  # of the parts too
        self.failures_in_row = 0
        self.job_failures_in_row = 0
        self.last_success_ms: int | None = None
        self.last_error_ms: int | None = None
        self.last_error = ""
        self._looking_since: float | None = None

    def notify(self) -> None:
        """Look again now, or right after the look that is under way."""
        self._notified.set()

    # -- the loop ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until it is cancelled, or a look raises `Finished`."""
        try:
            while True:
                try:
                    with self._listening(self.notify):
                        await self._keep_looking()
                except Finished:
                    return
                except asyncio.CancelledError:
                    if _is_being_cancelled():
                        raise
                    self._failed(RuntimeError("something it waited for was cancelled"))
                except Exception as error:  # see the module: whatever it is, it ends no service
                    self._failed(error)
                await asyncio.sleep(self.backoff_s)
                self._restarted()
        finally:
            await self._stop()

    async def _keep_looking(self) -> None:
        if self._waits_first:
            self._waits_first = False
            await self._wait(self._every_s)
        while True:
            self._looking_since = monotonic()
            try:
                wait_s = await self.look()
            finally:
                self._looking_since = None
            self._succeeded()
            await self._wait(self._every_s if wait_s is None else wait_s)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._notified.wait()
        except TimeoutError:
            return
        self._notified.clear()

    @property
    def backoff_s(self) -> float:
        """The pause after the last failure."""
        return min(self._longest_s, FIRST_S * 2 ** min(self.failures_in_row - 1, 16))

    # -- parts and jobs ------------------------------------------------------------------------------------------------

    def part(self, key: str, look: Look, **how: Any) -> "BackgroundService":
        """The loop of this name below the service; it is started unless it runs."""
        if key not in self._parts:
            made = self._parts[key] = BackgroundService(f"{self.name}/{key}", look, parent=self, **how)
            made._task = asyncio.create_task(made.run(), name=made.name)
            self._running[made._task] = made
            made._task.add_done_callback(lambda task: self._part_ended(key, task))
        return self._parts[key]

    def end_part(self, key: str) -> None:
        part = self._parts.pop(key, None)
        if part is not None and part._task is not None:
            part._task.cancel()

    @property
    def parts(self) -> set[str]:
        """The keys of those that are to run."""
        return set(self._parts)

    def notify_part(self, key: str) -> None:
        if key in self._parts:
            self._parts[key].notify()

    def job(self, name: str, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """A task that ends by itself. Its exception is logged and counted; whoever awaits it gets it too."""
        task = asyncio.create_task(work, name=f"{self.name}:{name}")
        self._jobs.add(task)
        task.add_done_callback(self._job_ended)
        return task

    def tasks(self) -> set["asyncio.Task[Any]"]:
        """All that it owns but its own loop."""
        return {*self._jobs, *self._running, *(task for part in self._running.values() for task in part.tasks())}

    def _part_ended(self, key: str, task: "asyncio.Task[None]") -> None:
        part = self._running.pop(task)
        if self._parts.get(key) is part:
            del self._parts[key]
        if not task.cancelled() and (error := task.exception()):
            part._failed(error)

    def _job_ended(self, task: "asyncio.Task[Any]") -> None:
        self._jobs.discard(task)
        if task.cancelled():
            return
        if error := task.exception():
            self.job_failures_in_row += 1
            self.note_failure(error)
            _log_failure(task.get_name(), error, "")
        else:
            self.job_failures_in_row = 0
            self._note_success()

    async def _stop(self) -> None:
        tasks = [*self._jobs, *self._running]
        for task in tasks:
            task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_S)
            for task in late:
                log.error("%s did not end in %.0f s", task.get_name(), STOP_S)
        if self._close:
            await self._close()

    # -- the record ----------------------------------------------------------------------------------------------------

    def _succeeded(self) -> None:
        self.failures_in_row = 0
        self._note_success()

    def _note_success(self) -> None:
        self.looks += 1
        self.last_success_ms = round(time() * 1000)
        if self._parent:
            self._parent._note_success()

    def _failed(self, error: BaseException) -> None:
        self.failures_in_row += 1
        self.note_failure(error)
        _log_failure(self.name, error, f"; it looks again in {self.backoff_s:g} s")

    def note_failure(self, error: BaseException) -> None:
        """For the record alone: it neither restarts nor delays anything."""
        self.failures += 1
        self.last_error_ms = round(time() * 1000)
        self.last_error = one_line(_words(error), ERROR_LIMIT)
        if self._parent:
            self._parent.note_failure(error)

    def _restarted(self) -> None:
        self.restarts += 1
        if self._parent:
            self._parent._restarted()

    def failing(self) -> list[tuple[str, int]]:
        """Its loop, its parts and its jobs as far as their last try failed, with how often in a row."""
        found = [(self.name, self.failures_in_row), (f"{self.name} (jobs)", self.job_failures_in_row)]
        for part in list(self._parts.values()):
            found += part.failing()
        return sorted((each for each in found if each[1]), key=lambda each: -each[1])

    def report(self, state: ServiceState = ServiceState.RUNNING) -> dict[str, Any]:
        failing = self.failing()
        if failing and state is ServiceState.RUNNING:
            state = ServiceState.FAILING
        since = self._looking_since
        return {
            "name": self.name, "state": state.value, "parts": len(self._parts), "jobs": len(self._jobs),
            "looks": self.looks, "failures": self.failures,
            "failures_in_row": failing[0][1] if failing else 0, "restarts": self.restarts,
            "failing": [name for name, _ in failing[:NAMED]],
            "looking_s": round(monotonic() - since, 1) if since is not None else None,
            "last_success": times.iso_or_none(self.last_success_ms),
            "last_error_at": times.iso_or_none(self.last_error_ms), "last_error": self.last_error,
        }  # fmt: skip


def _is_being_cancelled() -> bool:
    """Was this very task cancelled, or only something that it awaited?"""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _words(error: BaseException) -> str:
    if isinstance(error, errors.RookError):
        return f"{error.message} {error.hint}".strip()
    return f"{type(error).__name__}: {error}"


def _log_failure(name: str, error: BaseException, then: str) -> None:
    """What a rule or a busy store refuses needs no traceback."""
    if isinstance(error, errors.RookError):
        log.warning("%s: %s%s", name, _words(error), then)
    else:
        log.error("%s: %s%s", name, _words(error), then, exc_info=error)


# -- the registry ------------------------------------------------------------------------------------------------------


class Services:
    """The background services of one daemon, its pools of threads, and who owns its tasks."""

    def __init__(self) -> None:
        self._services: dict[str, BackgroundService] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._owners: dict[str, Callable[[], Iterable[asyncio.Task[Any]]]] = {}
        self._pools: dict[str, BlockingPool] = {}
        self._is_started = False

    def add(self, service: BackgroundService) -> BackgroundService:
        """Started now if the others are, else with them."""
        assert service.name not in self._services, service.name
        self._services[service.name] = service
        if self._is_started:
            self._start(service)
        return service

    def find(self, name: str) -> BackgroundService:
        if name not in self._services:
            raise errors.Unreachable(f"The service {name} does not run.", "Try again; `rook health` tells more.")
        return self._services[name]

    def pool(self, name: str, threads: int) -> BlockingPool:
        """Threads for work that blocks; they end with the services."""
        return self._pools.setdefault(name, BlockingPool(name, threads))

    def own(self, name: str, tasks: Callable[[], Iterable["asyncio.Task[Any]"]]) -> None:
        """Tasks that another part of the daemon creates, observes and ends."""
        self._owners[name] = tasks

    def start(self) -> None:
        self._is_started = True
        for service in self._services.values():
            self._start(service)

    def _start(self, service: BackgroundService) -> None:
        task = self._tasks[service.name] = asyncio.create_task(service.run(), name=service.name)
        task.add_done_callback(lambda task: self._ended(service, task))

    def _ended(self, service: BackgroundService, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            service.note_failure(error)
            _log_failure(service.name, error, "; it has ended")

    async def remove(self, name: str) -> None:
        service, task = self._services.pop(name), self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task], timeout=2 * STOP_S)
        log.debug("%s is removed after %d looks", name, service.looks)

    async def stop(self) -> dict[str, list[str]]:
        """Within a bounded time. What blocking work was ended, and which tasks and work did not end in time."""
        self._is_started = False
        running = [each for pool in self._pools.values() for each in pool.named()]
        for task in self._tasks.values():
            task.cancel()
        late: set[asyncio.Task[None]] = set()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks.values(), timeout=2 * STOP_S)
        await asyncio.gather(*(pool.close(STOP_S) for pool in self._pools.values()))
        left = [each for pool in self._pools.values() for each in pool.running()]
        left += [task.get_name() for task in late]
        return {"ended": sorted((Counter(running) - Counter(left)).elements()), "left": sorted(left)}

    # -- reports -------------------------------------------------------------------------------------------------------

    def report(self) -> list[dict[str, Any]]:
        """Of every service, by name. May be called by any thread."""
        return [service.report(self._state(name)) for name, service in sorted(self._services.items())]

    def _state(self, name: str) -> ServiceState:
        task = self._tasks.get(name)
        if task is None:
            return ServiceState.NOT_STARTED
        return ServiceState.ENDED if task.done() else ServiceState.RUNNING

    def pools(self) -> list[dict[str, Any]]:
        return [pool.report() for _, pool in sorted(self._pools.items())]

    def unowned(self) -> list[str]:
        """The names of asyncio tasks that nobody would observe or end. On the event loop only."""
        owned: set[asyncio.Task[Any]] = {*self._tasks.values()}
        for service in self._services.values():
            owned |= service.tasks()
        for tasks in self._owners.values():
            owned |= set(tasks())
        return sorted(_described(task) for task in asyncio.all_tasks() - owned if not task.done())


def _described(task: "asyncio.Task[Any]") -> str:
    return f"{task.get_name()}: {getattr(task.get_coro(), '__qualname__', '')}"
