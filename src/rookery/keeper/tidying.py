"""Old workers put away: off the list after a while, and forgotten with their files later.

The worktree of a task that has landed goes soon after its worker is over. Any other goes with its worker, and only when
it is clean and its head is held by a branch or another name of the repository, as change sets are; otherwise it stays,
and the list says why. What counts as old the rows say; the folders say what is there to look at, so that nothing is
left behind of a worker whose row is gone.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic

from rookery.core import errors, landing
from rookery.runtime import changesets, starting

from .courier import Verbs
from .services import BackgroundService

SERVICE = "worker-gc"
EVERY_S = 20.0
AGAIN_S = 60.0  # a worktree that stays is looked at again after this
log = logging.getLogger("rookery.tidying")


class Tidier:
    def __init__(
        self, verbs: Verbs, home: str, serves: Callable[[str], bool], *, owner: str, every_s: float = EVERY_S
    ) -> None:
        self._verbs = verbs
        self._home = home
        self._serves = serves
        self._owner = owner
        self.service = BackgroundService(SERVICE, self.look, every_s=every_s)
        self._kept: dict[tuple[str, str], float] = {}
        self._one = asyncio.Lock()  # nobody takes away what another takes away

    async def look(self) -> None:
        async with self._one:
            for team in await asyncio.to_thread(starting.teams_with_folders, self._home):
                if self._serves(team):
                    await self._tidy(team)
            await self._close_left()

    async def _close_left(self) -> None:
        """Windows first, rows after them: what is begun in between is not taken for one that is left."""
        over = await asyncio.to_thread(starting.windows_over, self._home)
        if not over:
            return
        running: set[str] = set()
        for team in await self._verbs.teams():
            found = await self._verbs.call(team, "worker.due", {})
            running |= {each["run"] for each in found["watch"]}
        closed = await asyncio.to_thread(starting.close_windows, self._home, over, running)
        if closed:
            log.info("windows that were left behind: %d", closed)

    async def _tidy(self, team: str) -> None:
        ids = await asyncio.to_thread(starting.folders_in, self._home, team)
        found = await self._verbs.call(team, "worker.left", {"ids": ids})
        if found["evict"]:
            await self._verbs.call(team, "worker.evict", {})
        for each in found["forget"]:
            if self._may_look(team, each["id"]):
                async with self._held(team, each["id"], forget=True) as held:
                    if held is not None:
                        await self._put_away(team, each["id"], each["root"], held)
        await self._reclaim(team)

    def _may_look(self, team: str, id: str) -> bool:
        return monotonic() >= self._kept.get((team, id), 0.0)

    async def _reclaim(self, team: str) -> None:
        """Worktrees that nobody needs any more go, before their workers are forgotten."""
        ids = await asyncio.to_thread(starting.with_worktree, self._home, team)
        due = (await self._verbs.call(team, "worker.trees", {"ids": ids}))["ids"] if ids else []
        for id in due:
            if self._may_look(team, id):
                async with self._held(team, id) as held:
                    if held is not None:
                        await self._take_away(team, id)

    @asynccontextmanager
    async def _held(self, team: str, id: str, *, forget: bool = False) -> AsyncIterator[Sequence[str] | None]:
        """Nothing is begun for it meanwhile. The commits of it that are still needed; None: all of it is."""
        asked = {"id": id, "owner": self._owner}
        told = await self._verbs.call(team, "worker.away", {**asked, "forget": forget})
        try:
            yield told["open"] if told["held"] else None
        finally:
            if told["held"]:
                await self._verbs.call(team, "worker.away", {**asked, "over": True})

    async def _take_away(self, team: str, id: str) -> None:
        told = await self._verbs.call(team, "worker.reclaim", {"id": id})
        if not told["root"]:
            return
        left = await asyncio.to_thread(starting.reclaim, self._home, team, told)
        if left:
            await self._stays(team, id, left)
        else:
            log.info("worktree of %s of %s is reclaimed", id, team)

    async def _stays(self, team: str, id: str, held: str) -> None:
        self._kept[team, id] = monotonic() + AGAIN_S
        log.info("worker %s of %s stays: its worktree holds %s", id, team, held)
        await self._verbs.call(team, "worker.keep", {"id": id, "why": held})

    async def _put_away(self, team: str, id: str, root: str, needed: Sequence[str]) -> None:
        held = await asyncio.to_thread(starting.put_away, self._home, team, id)
        if held:
            await self._stays(team, id, held)
            return
        gone = (await self._verbs.call(team, "worker.forget", {"id": id}))["forgotten"]
        if gone and root:
            with suppress(errors.RookError):  # the repository may be gone too
                await asyncio.to_thread(changesets.forget_worker, root, landing.keep_under(team, id), needed)
        log.info("worker %s of %s is %s", id, team, "forgotten" if gone else "wanted again")
