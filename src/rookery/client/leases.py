"""A held task in Python: renewed in the background while it is held, and honest about having lost it.

One daemon thread per process renews every lease of the process at a third of its TTL, on a connection of its own, so
that a slow call elsewhere never costs a lease. A lease is trusted no longer than the moment the request was *started*
plus its TTL: whatever the network or the scheduler did afterwards, the ledger cannot have given it away earlier.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from rookery.core import errors
from rookery.core.caller import Caller

from .port import Client

Another = Callable[[], Client]


class Lease:
    def __init__(self, client: Client, caller: Caller, claimed: dict[str, Any], ttl_ms: int, asked_at: float) -> None:
        self.task_id: str = claimed["taskId"]
        self.task: dict[str, Any] = claimed["task"]
        self.epoch: int = claimed["lease"]["epoch"]
        self.ttl_s = ttl_ms / 1000
        self.lost: errors.RookError | None = None
        self.finished = False
        self.trusted_until = asked_at + self.ttl_s
        self._client = client
        self._caller = caller

    def __repr__(self) -> str:
        return f"<Lease {self.task_id} epoch {self.epoch}{' lost' if self.lost else ''}>"

    # -- what a holder does ------------------------------------------------------------------------------------------

    def renew(self, ttl_ms: int | None = None) -> None:
        self.check()
        self._renew_on(self._client, ttl_ms)

    def progress(self, said: str) -> None:
        self._call("task.progress", said=said)

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
        result = self._call(verb, **args)
        self.finished = True
        _renewer.forget(self)
        return result

    def _call(self, verb: str, **args: Any) -> dict[str, Any]:
        self.check()
        try:
            return self._client.call(verb, {"id": self.task_id, "epoch": self.epoch, **args}, self._caller)
        except errors.RookError as error:
            self._learn(error)
            raise

    def check(self) -> None:
        """Raise if the lease is lost, as far as is known or can be ruled out."""
        if self.lost is None and not self.finished and time.monotonic() >= self.trusted_until:
            self.lost = errors.LeaseLost("The lease was not renewed in time.", "Stop: someone else may hold the task.")
        if self.lost is not None:
            raise self.lost

    # -- renewing ----------------------------------------------------------------------------------------------------

    def due_at(self) -> float:
        return self.trusted_until - self.ttl_s * 2 / 3

    def _renew_on(self, client: Client, ttl_ms: int | None = None) -> None:
        asked_at = time.monotonic()
        args: dict[str, Any] = {"id": self.task_id, "epoch": self.epoch, "ttl_ms": ttl_ms or round(self.ttl_s * 1000)}
        try:
            client.call("task.renew", args, self._caller)
        except errors.RookError as error:
            self._learn(error)
            raise
        self.ttl_s = args["ttl_ms"] / 1000
        self.trusted_until = asked_at + self.ttl_s

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

    def __enter__(self) -> "Lease":
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
            self.release(reason)
        except errors.RookError:
            if error is None:
                raise


class _Renewer:
    """The one thread. It sleeps until the next lease is due and ends with the process."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """After a fork too: the thread stayed behind, its lock may have been held, and the leases are the parent's."""
        self._leases: dict[Lease, Another] = {}
        self._changed = threading.Condition()
        self._runs = False
        self._clients: dict[Another, Client] = {}

    def keep(self, lease: Lease, another: Another) -> None:
        with self._changed:
            self._leases[lease] = another
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="rookery-leases", daemon=True).start()
            self._changed.notify()

    def forget(self, lease: Lease) -> None:
        with self._changed:
            self._leases.pop(lease, None)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                used = set(self._leases.values())
            for another in self._clients.keys() - used:  # only this thread opens and closes them
                self._clients.pop(another).close()
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

    def _renew(self, lease: Lease, another: Another) -> None:
        try:
            if another not in self._clients:
                self._clients[another] = another()
            lease.renew_quietly(self._clients[another])
        except errors.RookError:  # its store can not be opened just now
            pass
        if lease.lost is not None:
            self.forget(lease)
        elif lease.due_at() <= time.monotonic():  # not renewed: do not spin
            with self._changed:
                self._changed.wait(min(1.0, lease.ttl_s / 6))


_renewer = _Renewer()
os.register_at_fork(after_in_child=_renewer.start_anew)


def keep(lease: Lease, another: Another) -> Lease:
    _renewer.keep(lease, another)
    return lease
