"""Crews: a step is taken whenever one may be due. What is due, and what is done about it, are the verbs' to say.

A worktree that waited in the lobby is brought to where its next task begins, before its worker is given that.
"""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from rookery.core import errors, names
from rookery.runtime import repository
from rookery.wake.port import Bell

from . import bells
from .courier import Verbs
from .services import BackgroundService

SERVICE = "crews"
TEAMS_EVERY_S = 1.0  # how soon a crew in a team that had none is found
STEPS = 50  # in a row: a step that leads to the next
log = logging.getLogger("rookery.crews")


class Crews:
    def __init__(self, verbs: Verbs, bell: Bell, *, poll_s: float) -> None:
        self._verbs = verbs
        self._bell = bell
        self._poll_s = poll_s
        self.service = BackgroundService(SERVICE, self._look, every_s=TEAMS_EVERY_S)

    async def _look(self) -> None:
        wanted = set(await self._verbs.teams())
        for team in wanted:
            self.service.part(
                team, partial(self.steps, team), every_s=self._poll_s,
                listening=partial(bells.listening, self._bell, team, names.CREWS),
            )  # fmt: skip
        for team in self.service.parts - wanted:
            self.service.end_part(team)

    async def steps(self, team: str) -> None:
        for _ in range(STEPS):
            due = (await self._verbs.call(team, "crew.due", {}))["crews"]
            if not due:
                return
            moved = 0
            for crew in due:
                told = await self._verbs.call(team, "crew.step", {"id": crew})
                moved += len(told["done"])
                if told["done"]:
                    log.info("%s of %s: %s", crew, team, ", ".join(told["done"]))
                for given in told["give"]:
                    await self._give(team, given)
            if not moved:
                return

    async def _give(self, team: str, given: Mapping[str, Any]) -> None:
        try:
            base = await asyncio.to_thread(_refreshed, given["root"], given["tree"], given["start"])
            await self._verbs.call(team, "crew.give", {"id": given["worker"], "task": given["task"], "base": base})
        except errors.RookError as error:  # its worker is of no use, and another gets the task
            log.warning("%s of %s: %s", given["worker"], team, error.message)
            await self._verbs.call(team, "stop", {"id": given["worker"], "reason": error.message[:200]})


def _refreshed(root: str, tree: str, start: str = "") -> str:
    """Where its work begins: at the tip of the branch that it will land on, or where it left off before. Nothing there
    is lost: a worker that waits has none."""
    tip = repository.commit_of(root, start or repository.branch_of(root) or "HEAD")
    repository.told(tree, "checkout", "--quiet", "--detach", tip, "--")
    return tip
