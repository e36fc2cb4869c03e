"""The hands that call an agent program itself: a message queued for an open session, or a turn begun in one that was.

A queue is the program's own: it takes the text now and shows it before its next turn, which an idle one begins by
itself. A turn that is begun runs the program's hooks, and it is these that put the mail before the agent and write that
down; so what it is begun with only knocks, and nothing is shown twice.
"""

from collections.abc import Mapping
from typing import Any

from rookery.core.delivery import Outcome, Reason
from rookery.hosts import reaching

from . import programs
from .blocking import BlockingPool
from .courier import Job

KNOCK = "Rookery: mail came for you. What your hooks show of it is all there is, or `rook inbox` shows it."
NOTHING = Outcome(False, nothing=True)
SECRETS = ("ROOK_TOKEN", "ROOK_TOKEN_FILE", "ROOK_URL", "ROOK_AGENT")  # the resident process's own


class Reacher:
    """Both hands, for one resident process."""

    def __init__(
        self, *, environ: Mapping[str, str], queue_s: float, turn_s: float, queues: BlockingPool | None = None,
        turns: BlockingPool | None = None,
    ) -> None:  # fmt: skip
        self._environ = {name: value for name, value in environ.items() if name not in SECRETS}
        self._queue_s = queue_s
        self._turn_s = turn_s
        self._queues = queues or BlockingPool("programs", 1)
        self._turns = turns or BlockingPool("turns", 1)

    async def queue(self, job: Job) -> Outcome:
        if not job.live:
            return Outcome(False, Reason.SESSION_NOT_FOUND, "its program is gone")
        text = await job.compose()
        return await queued(job.address, text, self._queue_s, self._queues) if text else NOTHING

    async def resume(self, job: Job) -> Outcome:
        """Done is what the hooks of that turn have done: if the mail still waits after it, they did not run."""
        if job.live:
            return Outcome(False, Reason.BUSY, "its program runs")
        if not await job.compose():
            return NOTHING
        environ = {**self._environ, "ROOK_TEAM": job.team, "ROOK_AGENT": job.agent}
        told = await resumed(job.address, KNOCK, self._turn_s, self._turns, environ)
        if not told.done:
            return told
        if await job.compose():
            return Outcome(False, Reason.INJECTION_FAILED, "a turn was begun, and its hooks did not show the mail")
        return NOTHING


async def queued(address: Mapping[str, Any], text: str, limit_s: float, pool: BlockingPool) -> Outcome:
    call = reaching.queued(address, text)
    if call is None:
        return Outcome(False, Reason.INJECTION_FAILED, f"{address['host']} has no queue for a text like this")
    return await _run(call, call.environ, limit_s, pool)


async def resumed(
    address: Mapping[str, Any], text: str, limit_s: float, pool: BlockingPool, environ: Mapping[str, str] | None = None
) -> Outcome:
    """A whole turn, to its end. `environ` is where its keys come from, which an address does not have."""
    call = reaching.resumed(address, text)
    if call is None:
        return Outcome(False, Reason.INJECTION_FAILED, f"{address['host']} can not be resumed without a terminal")
    return await _run(call, {**(environ or {}), **call.environ}, limit_s, pool)


async def _run(call: reaching.Call, environ: Mapping[str, str], limit_s: float, pool: BlockingPool) -> Outcome:
    return await programs.handed(
        call.argv, call.stdin, environ=environ, cwd=call.cwd, limit_s=limit_s, pool=pool,
        says_unknown=reaching.is_unknown,
    )  # fmt: skip
