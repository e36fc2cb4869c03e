"""People told of what needs them: on their desktop, by a bell in their terminal, by a webhook. One digest an interval.

What is due, and who tells it, is for a verb to say; here it is handed over and written down. Nothing that an agent
wrote is more than one argument of a program, or words in a body.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from time import localtime
from typing import Any

from rookery.core import notifying
from rookery.core.notifying import BELL, DESKTOP, WEBHOOK, Digest
from rookery.runtime import posting, ttys

from . import programs
from .blocking import BlockingPool
from .courier import Verbs
from .services import BackgroundService

SERVICE = "notifications"
PROGRAM = "notify-send"
Hand = Callable[[Digest], Awaitable[str]]  # "" if it was told, otherwise why not
log = logging.getLogger("rookery.notifying")


class Notifier:
    def __init__(
        self, verbs: Verbs, team: str, hands: Mapping[str, Hand], *, owner: str, poll_s: float,
        serves: Callable[[str], bool] = lambda team: True, quiet: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._verbs = verbs
        self._team = team
        self._hands = hands
        self._owner = owner
        self.service = BackgroundService(SERVICE, self._notify, every_s=poll_s)
        self._serves = serves
        self._quiet = quiet

    @property
    def has_hands(self) -> bool:
        return bool(self._hands)

    async def _notify(self) -> None:
        await self.look()

    async def look(self) -> int:
        """How many digests were handed over."""
        if self._quiet():
            return 0
        untold = (await self._verbs.call(self._team, "notify.teams", {"ways": [*self._hands]}))["untold"]
        return sum([await self._tell(each["team"], each["way"]) for each in untold if self._serves(each["team"])])

    async def _tell(self, team: str, way: str) -> int:
        mine = {"way": way, "owner": self._owner}
        told = await self._verbs.call(team, "notify.take", mine)
        if not told["count"]:
            return 0
        problem = await self._hands[way](notifying.digest(team, told["items"], told["count"]))
        if problem:
            log.warning("%s of %s: %s", way, team, problem)
            await self._verbs.call(team, "notify.failed", mine)
            return 0
        await self._verbs.call(team, "notify.done", {**mine, "upto": told["upto"]})
        return 1


def by_clock(hours: tuple[int, int] | None) -> Callable[[], bool]:
    """Quiet hours are those of the clock on the person's wall."""

    def quiet() -> bool:
        now = localtime()
        return notifying.is_quiet(hours, now.tm_hour * 60 + now.tm_min)

    return quiet


# -- ways ------------------------------------------------------------------------------------------------------------


def hands(
    settings: Mapping[str, Any], *, environ: Mapping[str, str], cwd: str, secret: Callable[[], bytes],
    pool: BlockingPool | None = None,
) -> dict[str, Hand]:  # fmt: skip
    """Those that the settings ask for."""
    pool = pool or BlockingPool("programs", 1)
    limit_s = settings["delivery.command_s"]
    found: dict[str, Hand] = {}
    if settings["notify.desktop"]:
        found[DESKTOP] = _desktop(environ, cwd, limit_s, pool)
    if settings["notify.terminal"]:
        found[BELL] = _bell(settings["notify.terminal"], pool)
    if settings["notify.webhook"]:
        found[WEBHOOK] = _webhook(settings["notify.webhook"], secret, limit_s, pool)
    return found


def _desktop(environ: Mapping[str, str], cwd: str, limit_s: float, pool: BlockingPool) -> Hand:
    async def tell(digest: Digest) -> str:
        body = notifying.marked_up("\n".join(digest.lines))
        argv = [PROGRAM, "--app-name=Rookery", "--", digest.title, body]
        return (await programs.handed(argv, "", environ=environ, cwd=cwd, limit_s=limit_s, pool=pool)).detail

    return tell


def _bell(path: str, pool: BlockingPool) -> Hand:
    async def tell(digest: Digest) -> str:
        return await pool.run(ttys.ring, path)

    return tell


def _webhook(url: str, secret: Callable[[], bytes], limit_s: float, pool: BlockingPool) -> Hand:
    async def tell(digest: Digest) -> str:
        said = notifying.marked_up("\n".join([digest.title, *(f"- {line}" for line in digest.lines)]))
        body = json.dumps({"text": said}).encode()
        return await pool.run(lambda: posting.post(url, body, secret(), limit_s), label="webhook")

    return tell
