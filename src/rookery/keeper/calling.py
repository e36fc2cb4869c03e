"""Ways that the user set up: a command that is given the mail, a webhook it is posted to, a notification for a person.

A command gets JSON on standard input, a webhook the same as its body, signed: nothing that an agent wrote is ever part
of a command line but the words of a notification, which are one argument.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rookery.core.delivery import Outcome, Reason
from rookery.core.text import one_line
from rookery.runtime import posting

from . import programs
from .blocking import BlockingPool
from .courier import Job

SCHEMA = 1
WORDS = 200  # characters of a notification
PASSED_ON = ("PATH", "HOME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """What a program of the user's needs to find its way."""
    return {name: environ[name] for name in PASSED_ON if name in environ}


class Caller:
    """The three hands, for one resident process."""

    def __init__(
        self, *, environ: Mapping[str, str], cwd: str, secret: Callable[[], bytes], limit_s: float,
        pool: BlockingPool | None = None,
    ) -> None:  # fmt: skip
        self._environ = surroundings(environ)
        self._cwd = cwd
        self._secret = secret
        self._limit_s = limit_s
        self._pool = pool or BlockingPool("programs", 1)

    async def command(self, job: Job) -> Outcome:
        text = await job.compose()
        if not text:
            return Outcome(False, nothing=True)
        environ = {**self._environ, "ROOK_TEAM": job.team, "ROOK_AGENT": job.agent}
        return await self._handed(job.address["argv"], _document(job, text), environ)

    async def notify(self, job: Job) -> Outcome:
        text = await job.compose()
        if not text:
            return Outcome(False, nothing=True)
        words = one_line(text.split("\n", 1)[0], WORDS)
        return await self._handed([*job.address["argv"], words], "", self._environ)

    async def _handed(self, argv: Sequence[str], given: str, environ: Mapping[str, str]) -> Outcome:
        return await programs.handed(
            argv, given, environ=environ, cwd=self._cwd, limit_s=self._limit_s, pool=self._pool
        )

    async def webhook(self, job: Job) -> Outcome:
        text = await job.compose()
        if not text:
            return Outcome(False, nothing=True)
        body = _document(job, text).encode()
        told = await self._pool.run(posting.post, job.address["url"], body, self._secret(), self._limit_s)
        return Outcome(True) if not told else Outcome(False, Reason.INJECTION_FAILED, told)


def _document(job: Job, text: str) -> str:
    told: dict[str, Any] = {"schemaVersion": SCHEMA, "team": job.team, "agent": job.agent, "text": text}
    return json.dumps(told)
