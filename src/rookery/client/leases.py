"""What a program holds: a task here, a reservation or slot in holds.py. Renewed in the background while it is held,
and honest about having lost it.

One daemon thread per process renews every lease of the process at a third of its TTL, on a connection of its own, so
that a slow call elsewhere never costs a lease. A lease is trusted no longer than the moment the request was *started*
plus its TTL: whatever the network or the scheduler did afterwards, the ledger cannot have given it away earlier.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TypeVar

from rookery.core import errors
from rookery.core.caller import Caller

from .port import Client

Another = Callable[[], Client]
K = TypeVar("K", bound="Kept")


class Kept:
    """Something with a lease, that the background renews: what it is, `renewal` and `give_back` say."""

    what = "it"

    def __init__(self, client: Client, caller: Caller, ttl_ms: int, asked_at: float) -> None:
        self.ttl_s = ttl_ms / 1000
        self.lost: errors.RookError | None = None
        self.finished = False
        self.trusted_until = asked_at + self.ttl_s
        self.on_lost: Callable[[], None] | None = None  # called by the background, once
        self._client = client
        self._caller = caller

    def renewal(self) -> tuple[str, dict[str, Any]]:
        """The verb that renews it, and its arguments but `ttl_ms`."""
        raise NotImplementedError

    def give_back(self, reason: str) -> object:
        raise NotImplementedError

    def renew(self, ttl_ms: int | None = None) -> None:
        self.check()
        self._renew_on(self._client, ttl_ms)

    def check(self) -> None:
        """Raise if the lease is lost, as far as is known or can be ruled out."""
        if self.lost is None and not self.finished and time.monotonic() >= self.trusted_until:
            hint = f"Stop: someone else may hold {self.what}."
            self.lost = errors.LeaseLost("The lease was not renewed in time.", hint)
        if self.lost is not None:
            raise self.lost

    def finish(self) -> None:
        self.finished = True
        _renewer.forget(self)

    def _call(self, verb: str, args: dict[str, Any]) -> Any:
        self.check()
        try:
            return self._client.call(verb, args, self._caller)
        except errors.RookError as error:
            self._learn(error)
            raise

    # -- renewing ----------------------------------------------------------------------------------------------------

    def due_at(self) -> float:
        return self.trusted_until - self.ttl_s * 2 / 3

    def _renew_on(self, client: Client, ttl_ms: int | None = None) -> None:
        asked_at = time.monotonic()
        verb, args = self.renewal()
        ttl = ttl_ms or round(self.ttl_s * 1000)
        try:
            self.renewed(client.call(verb, {**args, "ttl_ms": ttl}, self._caller))
        except errors.RookError as error:
            self._learn(error)
            raise
        self.ttl_s = ttl / 1000
        self.trusted_until = asked_at + self.ttl_s

    def renewed(self, answer: Any) -> None:
        """What the ledger said to a renewal; raises LeaseLost if not all of it is held any more."""

    def renew_quietly(self, client: Client) -> None:
        """For the background: a refusal is kept for the holder, an unreachable store is tried again."""
        try:
            self._renew_on(client)
        except (errors.Unreachable, errors.LeaseLost):
            return
        except errors.RookError as error:  # put out of its name, or its task is gone: it holds nothing either
            self.lost = errors.LeaseLost(error.message, error.hint, code=error.code, http=error.http_status)

    def _learn(self, error: errors.RookError) -> None:
        if isinstance(error, errors.LeaseLost):
            self.lost = error

    # -- a block -----------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        """Unfinished work is given back, with the exception as the reason; a lost lease is said so."""
        _renewer.forget(self)
        if self.finished:
            return
        if error is None:
            self.check()
        elif self.lost is not None:
            return
        reason = f"{kind.__name__}: {error}"[:500] if kind else "left unfinished"
        try:
            self.give_back(reason)
        except errors.RookError:
            if error is None:
                raise


class Lease(Kept):
    """A task, held."""

    what = "the task"

    def __init__(self, client: Client, caller: Caller, claimed: dict[str, Any], ttl_ms: int, asked_at: float) -> None:
        super().__init__(client, caller, ttl_ms, asked_at)
        self.task_id: str = claimed["taskId"]
        self.task: dict[str, Any] = claimed["task"]
        self.epoch: int = claimed["lease"]["epoch"]

    def __repr__(self) -> str:
        return f"<Lease {self.task_id} epoch {self.epoch}{' lost' if self.lost else ''}>"

    def renewal(self) -> tuple[str, dict[str, Any]]:
        return "task.renew", {"id": self.task_id, "epoch": self.epoch}

    def give_back(self, reason: str) -> object:
        return self.release(reason)

    # -- what a holder does ------------------------------------------------------------------------------------------

    def progress(self, said: str) -> None:
        self._under("task.progress", said=said)

    def complete(self, summary: str = "", evidence: list[str] | dict[str, Any] | None = None) -> dict[str, Any]:
        shown = evidence if isinstance(evidence, dict) else {"evidence": list(evidence or [])}
        return self._end("task.done", summary=summary, **shown)

    def fail(self, reason: str) -> dict[str, Any]:
        return self._end("task.fail", reason=reason)

    def block(self, reason: str) -> dict[str, Any]:
        return self._end("task.block", reason=reason)

    def release(self, reason: str = "") -> dict[str, Any]:
        return self._end("task.release", reason=reason)

    def _end(self, verb: str, **args: Any) -> dict[str, Any]:
        result = self._under(verb, **args)
        self.finish()
        return result

    def _under(self, verb: str, **args: Any) -> dict[str, Any]:
        return self._call(verb, {"id": self.task_id, "epoch": self.epoch, **args})


class _Renewer:
    """The one thread. It sleeps until the next lease is due and ends with the process."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """After a fork too: the thread stayed behind, its lock may have been held, and the leases are the parent's."""
        self._leases: dict[Kept, Another] = {}
        self._changed = threading.Condition()
        self._runs = False
        self._clients: dict[Another, Client] = {}

    def keep(self, lease: Kept, another: Another) -> None:
        with self._changed:
            self._leases[lease] = another
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="rookery-leases", daemon=True).start()
            self._changed.notify()

    def forget(self, lease: Kept) -> None:
        with self._changed:
            self._leases.pop(lease, None)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                used = set(self._leases.values())
            for another in self._clients.keys() - used:  # only this thread opens and closes them
                _carefully(self._clients.pop(another).close)
            with self._changed:
                due = min((lease.due_at() for lease in self._leases), default=None)
                wait = None if due is None else due - time.monotonic()
                if (wait is None and not self._clients) or (wait is not None and wait > 0):
                    self._changed.wait(wait)
                    continue
                now = time.monotonic()
                ready = [(lease, another) for lease, another in self._leases.items() if lease.due_at() <= now]
            for lease, another in ready:
                self._renew(lease, another)

    def _renew(self, lease: Kept, another: Another) -> None:
        _carefully(lambda: self._renew_once(lease, another))
        if lease.on_lost is not None and time.monotonic() >= lease.trusted_until:
            with suppress(errors.LeaseLost):
                lease.check()  # the store did not answer until it was too late
        if lease.lost is not None:
            self.forget(lease)
            if lease.on_lost is not None:
                _carefully(lease.on_lost)
        elif lease.due_at() <= time.monotonic():  # not renewed: do not spin
            with self._changed:
                self._changed.wait(min(1.0, lease.ttl_s / 6))

    def _renew_once(self, lease: Kept, another: Another) -> None:
        with suppress(errors.RookError):  # its store can not be opened just now
            if another not in self._clients:
                self._clients[another] = another()
            lease.renew_quietly(self._clients[another])


def _carefully(call: Callable[[], object]) -> None:
    """What fails for one lease is reported as any error of a thread, and the others are renewed all the same."""
    try:
        call()
    except Exception as error:
        threading.excepthook(
            threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread()))
        )


_renewer = _Renewer()
os.register_at_fork(after_in_child=_renewer.start_anew)


def keep(lease: K, another: Another) -> K:
    _renewer.keep(lease, another)
    return lease
