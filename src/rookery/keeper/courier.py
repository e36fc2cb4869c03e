"""The courier: mail that waits, taken to whoever it is for.

A background service with a part per team in which anyone can be reached, which waits until the bell rings or something
is due, and a job per agent while there is something to hand over to it, so that a slow one keeps nobody waiting. The
text is made at the last moment: whatever came while the agent was busy is in it, and a burst is one wake.

    due ──> own ──> the hand waits for its moment ──> offer ──> put ──> done
                                  │                              │
                                  └── busy, gone, failed ────────┴────> failed (tried again, or given up)
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from rookery.core import delivery, errors
from rookery.core.delivery import Outcome, Reason
from rookery.core.record import NamedTuple
from rookery.wake.port import Bell

from . import bells
from .services import BackgroundService

SERVICE = "dispatcher"
TEAMS_EVERY_S = 2.0  # how soon a team in which someone can now be reached is found
log = logging.getLogger("rookery.courier")


class Verbs(Protocol):
    """A resident process, as the courier knows it."""

    async def teams(self) -> list[str]: ...
    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any: ...


class Job(NamedTuple):
    """Mail for one agent, and all that a hand needs to put it somewhere."""

    team: str
    agent: str
    channel: str
    address: Mapping[str, Any]
    program: str  # the agent program, "" if unknown
    live: bool
    pid: int | None
    started: str
    compose: Callable[[], Awaitable[str]]  # the text, now; "" if nothing waits any more
    phase: Callable[[], Awaitable[str]]  # busy, idle, blocked or "", as its hooks told
    clear: bool = False  # its program is made to forget first
    interrupt: bool = False  # its turn may be broken off


Hand = Callable[[Job], Awaitable[Outcome]]
Reached = Callable[[str], None]  # a named point, for tests that stop the program there


def _nowhere(_point: str) -> None:
    return None


class Files(Protocol):
    """Messages as files, for programs that take a reference better than a long text."""

    def place(self, job: Mapping[str, Any], team: str) -> str:
        """How the program of this job is given the file of a message, with {id} in it; "" if it is given none."""
        ...

    async def make(self, team: str, agent: str, ids: Sequence[str]) -> None: ...


Proof = Callable[[str, Mapping[str, Any], Sequence[str]], Awaitable[None]]  # team, job, the messages that were shown


class Courier:
    def __init__(
        self, verbs: Verbs, bell: Bell, hands: Mapping[str, Hand], *, owner: str, poll_s: float,
        files: Files | None = None, proof: Proof | None = None, reached: Reached = _nowhere,
    ) -> None:  # fmt: skip
        self._verbs = verbs
        self._bell = bell
        self._hands = hands
        self._owner = owner
        self._poll_s = poll_s
        self._files = files
        self._proof = proof
        self._reached = reached
        self._jobs: set[tuple[str, str]] = set()  # (team, agent)
        self.service = BackgroundService(SERVICE, self._find_teams, every_s=TEAMS_EVERY_S)
        self.handed = 0
        self.failed = 0

    async def run(self) -> None:
        """Until it is cancelled. What is under way then is left as it is: pending, or about to be written down."""
        await self.service.run()

    async def _find_teams(self) -> None:
        for team in await self._verbs.teams():
            self.service.part(
                team, partial(self._look, team), every_s=self._poll_s,
                listening=partial(bells.listening, self._bell, team, delivery.KEEPER),
            )  # fmt: skip

    async def _look(self, team: str) -> float:
        found = await self._verbs.call(team, "delivery.due", {"owner": self._owner})
        for each in found["due"]:
            key = (team, each["agent"])
            if key not in self._jobs:
                self._jobs.add(key)
                task = self.service.job(" ".join(key), self._deliver(team, each))
                task.add_done_callback(lambda task, key=key: self._finished(key, task))
        next_ms: int | None = found["next_ms"]
        return self._poll_s if next_ms is None else min(self._poll_s, max(next_ms, 10) / 1000)

    def _finished(self, key: tuple[str, str], task: "asyncio.Task[None]") -> None:
        self._jobs.discard(key)
        if not task.cancelled() and task.exception() is None:  # after an error the slow poll looks again: not at once
            self.service.notify_part(key[0])  # more may have come, or another way is next

    # -- one delivery ----------------------------------------------------------------------------------------------

    async def _deliver(self, team: str, due: Mapping[str, Any]) -> None:
        where = {"agent": due["agent"], "channel": due["channel"], "owner": self._owner}
        owned = await self._verbs.call(team, "delivery.own", where)
        if not owned["owned"]:
            return
        lease = f"lease {team} {due['agent']}"
        every_s = owned["lease_ms"] / 3000
        self.service.part(lease, lambda: self._renew(team, where), every_s=every_s, waits_first=True, longest_s=every_s)
        offered: dict[str, Any] = {}
        try:
            outcome = await self._handed(team, due, offered)
            if outcome.done:
                self._reached("handed_over")
        finally:
            self.service.end_part(lease)
        await self._written_down(team, where, outcome, offered)
        if outcome.done and self._proof and offered.get("shown"):
            self.service.job(f"proof {team} {due['agent']}", self._proved(team, due, offered))

    async def _proved(self, team: str, due: Mapping[str, Any], offered: Mapping[str, Any]) -> None:
        assert self._proof is not None
        try:
            await self._proof(team, due, offered["shown"])
        except (errors.RookError, OSError) as error:
            log.info("no proof that %s of %s has its mail: %s", due["agent"], team, error)

    async def _renew(self, team: str, where: Mapping[str, Any]) -> None:
        await self._verbs.call(team, "delivery.own", where)

    async def _handed(self, team: str, due: Mapping[str, Any], offered: dict[str, Any]) -> Outcome:
        async def compose() -> str:
            place = self._files.place(due, team) if self._files else ""
            offered.clear()
            offered.update(await self._verbs.call(team, "delivery.offer", {"agent": due["agent"], "file": place}))
            if self._files and offered["files"]:
                await self._files.make(team, due["agent"], offered["files"])
            return offered["text"]

        async def phase() -> str:
            told = await self._verbs.call(team, "delivery.phase", {"agent": due["agent"]})
            return told["phase"]

        job = Job(team, due["agent"], due["channel"], due["address"], due["program"], due["live"], due["pid"],
                  due["started"], compose, phase, due["clear"], due["interrupt"])  # fmt: skip
        try:
            return await self._hands[due["channel"]](job)
        except errors.RookError as error:
            return Outcome(False, Reason.INJECTION_FAILED, error.message)
        except Exception as error:  # whatever a way does, the mail stays pending with the reason on it
            log.exception("%s to %s of %s", due["channel"], due["agent"], team)
            return Outcome(False, Reason.INJECTION_FAILED, f"{type(error).__name__}: {error}")

    async def _written_down(
        self, team: str, where: Mapping[str, Any], outcome: Outcome, offered: Mapping[str, Any]
    ) -> None:
        if outcome.nothing or (outcome.done and not offered.get("text")):
            await self._verbs.call(team, "delivery.leave", where)
        elif outcome.done:
            await self._verbs.call(team, "delivery.done", {**where, "shown": offered["shown"], "upto": offered["upto"]})
            self.handed += 1
            log.info("%s to %s of %s: %d messages", where["channel"], where["agent"], team, offered["count"])
        else:
            told = {**where, "reason": outcome.reason, "detail": outcome.detail}
            next = await self._verbs.call(team, "delivery.failed", told)
            self.failed += 1
            log.info("%s to %s of %s: %s (%s); again in %d ms, %s", where["channel"], where["agent"], team,
                     outcome.reason, outcome.detail, next["next_ms"], next["circuit"])  # fmt: skip
