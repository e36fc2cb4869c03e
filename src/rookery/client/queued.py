"""The verbs in a resident process that many talk to: one thread writes, the asking thread reads.

The writer commits whatever gathered while its last commit was on its way to the disk: no timer, so a single call waits
for nobody, and under load one fsync carries up to BATCH calls. A call is answered after the commit it was judged in.

Whoever asks says how it is told, and on which thread: all answers of a commit are handed over at once.

A read runs at once where it was asked for, on a connection of its own, for no longer than a moment; one that takes
longer is cut off and done again in a small pool, with the patience of any other read.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from rookery.core import errors
from rookery.core.caller import Caller, Grant
from rookery.core.record import NamedTuple
from rookery.service import tokens
from rookery.service.tx import Attempt, Tx
from rookery.service.world import ReadFirst, World
from rookery.store.port import Store, Transaction
from rookery.wake.port import Bell, Listener

from .deed import Deed, ring

BATCH = 64
POOL = 2
CUT_OFF = "READ_TOO_LONG"


Tell = Callable[[Any], None]  # is given the result, or the error instead of it
HandOver = Callable[[Callable[[], None]], object]  # runs it where answers belong


class _Job(NamedTuple):
    team: str
    work: Callable[[Transaction], Any]
    deed: Deed | None  # none for what nobody waits for
    wanted: Callable[[], bool]  # asked once, before it is begun
    tell: Tell
    anywhere: bool = False  # told on the writer's own thread: whoever waits on another needs no loop for it


def _here(tell: Callable[[], None]) -> None:
    tell()


def _always() -> bool:
    return True


def _nobody(_result: Any) -> None:
    return None


class Stores(NamedTuple):
    """A connection each for the writer and for quick reads, and more for the pool when it needs them."""

    writer: Store
    quick: Store
    another: Callable[[], Store]


class Writer:
    """The thread, its queue, and how much it has done."""

    def __init__(self, store: Store, bell: Bell) -> None:
        self.commits = 0
        self.calls = 0
        self.hand_over: HandOver = _here
        self._store = store
        self._bell = bell
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()  # None is the last
        self._closing = False
        self._door = threading.Lock()  # nothing comes in after the last
        self._thread = threading.Thread(target=self._run, name="rookery-writer", daemon=True)
        self._thread.start()

    def put(self, job: _Job) -> None:
        with self._door:
            if self._closing:
                raise errors.Unreachable("The daemon is going down.", "Try again when it is back: `rook up`.")
            self._queue.put(job)

    def close(self) -> None:
        """What was accepted is done first."""
        with self._door:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        more = True
        while more:
            batch, more = self._gathered()
            if batch:
                self._commit(batch)

    def _commit(self, batch: list[_Job]) -> None:
        try:
            results = self._store.write_batch([(job.team, job.work) for job in batch])
        except BaseException as error:  # nothing may end this thread: whoever waits is told, and it goes on
            results = [error] * len(batch)
        batch, results = self._without_early(batch, results)
        self.commits += 1
        self.calls += len(batch)
        if any(job.deed and job.deed.follows_up for job in batch):  # an answer tells who heard the bell
            self._hand_over(batch, self._followed_up(batch, results))
        else:
            self._hand_over(batch, results)
            self._ring_all(batch, results)
        for job in batch:
            if job.deed and job.deed.is_attempt:
                self._queue.put(_Job(job.team, job.deed.record_attempt, None, _always, _nobody))

    def _without_early(self, batch: list[_Job], results: list[Any]) -> tuple[list[_Job], list[Any]]:
        """A call that wants files read first wrote nothing: a thread of its own reads them and queues it again."""
        answered: list[tuple[_Job, Any]] = []
        for job, result in zip(batch, results, strict=True):
            if isinstance(result, ReadFirst):
                threading.Thread(target=self._read_first, args=(job, result), name="rookery-files", daemon=True).start()
            else:
                answered.append((job, result))
        return [job for job, _ in answered], [result for _, result in answered]

    def _read_first(self, job: _Job, wanted: ReadFirst) -> None:
        try:
            wanted.read()
            self.put(job._replace(wanted=_always))  # it was asked before: a future tells only once that it runs
        except Exception as error:  # whoever waits is told
            self._hand_over([job], [error])

    def _hand_over(self, batch: list[_Job], answers: list[Any]) -> None:
        answered = list(zip(batch, answers, strict=True))
        _tell_all([each for each in answered if each[0].anywhere])
        if others := [each for each in answered if not each[0].anywhere]:
            with suppress(RuntimeError):  # where answers belong nobody is left to hear them
                self.hand_over(lambda: _tell_all(others))

    def _gathered(self) -> tuple[list[_Job], bool]:
        """Up to BATCH of those who still want it, once there is any; and whether more can come."""
        taken: list[_Job] = []
        job = self._queue.get()
        while job is not None:
            if job.wanted():
                taken.append(job)
            if len(taken) == BATCH or self._queue.empty():
                return taken, True
            job = self._queue.get()
        return taken, False

    def _ring_all(self, batch: list[_Job], results: list[Any]) -> dict[str, dict[str, int]]:
        return {team: self._ring(team, names) for team, names in _rings(batch, results).items()}

    def _followed_up(self, batch: list[_Job], results: list[Any]) -> list[Any]:
        heard = self._ring_all(batch, results)
        return [_followed_up(job, result, heard) for job, result in zip(batch, results, strict=True)]

    def _ring(self, team: str, names: set[str]) -> dict[str, int]:
        try:
            return ring(self._bell, team, names)
        except OSError:
            return {}  # a lost ring, never a lost fact


def _followed_up(job: _Job, result: Any, heard: Mapping[str, Mapping[str, int]]) -> Any:
    if job.deed and not isinstance(result, BaseException):
        try:
            job.deed.follow_up(heard[job.team])
        except BaseException as error:
            return error
    return result


def _tell_all(answered: list[tuple[_Job, Any]]) -> None:
    for job, answer in answered:
        job.tell(answer)


def _rings(batch: list[_Job], results: list[Any]) -> dict[str, set[str]]:
    """Whom to ring, by team: once for all that was committed together."""
    rings: dict[str, set[str]] = {}
    for job, result in zip(batch, results, strict=True):
        if job.deed and not isinstance(result, BaseException):
            rings.setdefault(job.team, set()).update(job.deed.rings())
    return rings


def _settle(future: "Future[Any]", result: Any) -> None:
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)


class QueuedClient:
    """Calls of every team of one store. `quick` is used by one thread only: the one that calls `look`."""

    def __init__(self, stores: Stores, bell: Bell, world_of: Callable[[str], World]) -> None:
        self.writer = Writer(stores.writer, bell)
        self.quick_reads = 0
        self.slow_reads = 0
        self.bell = bell
        self._stores = stores
        self._world_of = world_of
        self._pool = ThreadPoolExecutor(POOL, "rookery-reader")
        self._local = threading.local()
        self._opened: list[Store] = []

    def deed(self, team: str, verb: str, args: Mapping[str, Any], caller: Caller, world: World | None = None) -> Deed:
        """Of a verb that looks before it begins: by a thread that has the time."""
        return Deed(verb, args, caller, world or self._world_of(team), partial(self._read, team))

    def _read(self, team: str, work: Callable[[Transaction], Any]) -> Any:
        return self._own_store().read(team, work)

    def submit(self, team: str, verb: str, args: Mapping[str, Any], caller: Caller) -> "Future[Any]":
        """A write to the queue, a read to the pool: answered by a future, in neither case by this thread."""
        deed = self.deed(team, verb, args, caller)
        return self.written(team, deed) if deed.writes else self.read_in_pool(team, deed)

    def written(self, team: str, deed: Deed) -> "Future[Any]":
        """A write, for a thread that waits."""
        future: Future[Any] = Future()
        self.writer.put(
            _Job(team, deed.work, deed, future.set_running_or_notify_cancel, partial(_settle, future), anywhere=True)
        )
        return future

    def write(self, team: str, deed: Deed, wanted: Callable[[], bool], tell: Tell) -> None:
        """To the queue. `tell` is called once, after the commit, wherever the writer hands answers over."""
        self.writer.put(_Job(team, deed.work, deed, wanted, tell))

    def presented(self, digest: str) -> Grant | None:
        """Whose token this is: one indexed read, at once."""
        return self._stores.quick.read("", lambda db: tokens.presented(db, digest))

    def look(self, team: str, deed: Deed) -> Any:
        """A read at once; raises `StoreBusy` with CUT_OFF when it took too long for that."""
        result = self._looked(self._stores.quick, team, deed)
        self.quick_reads += 1
        self._after_read(team, deed)
        return result

    def _looked(self, store: Store, team: str, deed: Deed) -> Any:
        try:
            return store.read(team, deed.work)
        except errors.NotYours:
            if deed.is_attempt:
                self._note(team, deed.record_attempt)
            raise

    def note_attempt(self, team: str, verb: str, caller: Caller, attempt: Attempt) -> None:
        """Record a call that was refused before it became one."""
        from rookery.service import decide

        world = self._world_of(team)
        self._note(team, lambda db: decide.record_attempt(Tx(db, caller, world), attempt, verb))

    def _note(self, team: str, work: Callable[[Transaction], None]) -> None:
        """Write what nobody waits for."""
        with suppress(errors.Unreachable):  # going down: it no longer matters
            self.writer.put(_Job(team, work, None, _always, _nobody))

    def read_in_pool(self, team: str, deed: Deed) -> "Future[Any]":
        return self._pool.submit(self.read_here, team, deed)

    def read_here(self, team: str, deed: Deed) -> Any:
        """By the calling thread, which has the time, on a connection that it keeps."""
        result = self._looked(self._own_store(), team, deed)
        self.slow_reads += 1
        self._after_read(team, deed)
        return result

    def _own_store(self) -> Store:
        if not hasattr(self._local, "store"):
            self._local.store = self._stores.another()
            self._opened.append(self._local.store)
        return self._local.store

    def _after_read(self, team: str, deed: Deed) -> None:
        deed.follow_up({})
        if deed.beat_is_due():
            self._note(team, deed.beat)

    def close(self) -> None:
        self._pool.shutdown()
        self.writer.close()
        for store in (self._stores.quick, *self._opened):
            store.close()
        self._stores.writer.close()


class TeamOfQueue:
    """One team of it, as any other client: for what in the resident process is written against the port.

    `world` is where the settings come from, if not from the resident process.
    """

    def __init__(self, queued: QueuedClient, team: str, world: World | None = None) -> None:
        self.team = team
        self._queued = queued
        self._world = world

    def call(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        queued = self._queued
        deed = queued.deed(self.team, verb, args, caller, self._world)
        return queued.written(self.team, deed).result() if deed.writes else queued.read_here(self.team, deed)

    def listen(self, name: str) -> Listener:
        return self._queued.bell.listen(self.team, name)

    def close(self) -> None:
        return None  # the queue belongs to others too
