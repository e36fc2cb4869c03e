"""The lander: finished work, taken to its branch. One at a time a branch, or several that are checked together.

    due ──> take ──> merge ──> check ──> moving (written down) ──> the branch moves ──> done (written down)
                       │         │                                      │
                       └─────────┴── failed: back to its worker         └── not yet: waits; moved by others: anew

It keeps nothing. Whoever goes on after a crash is given what was written down, looks where the branch is, and asks
`core.landing` what that means. git and checks run in threads of their own: they take their time.
"""

import asyncio
import logging
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from rookery.core import errors, landing, shown
from rookery.core.landing import Next, Search, Step
from rookery.core.record import NamedTuple
from rookery.runtime import changesets, checking, merging, repository, shown_changes
from rookery.wake.port import Bell

from . import bells
from .blocking import BlockingPool
from .courier import Verbs
from .services import BackgroundService

SERVICE = "merge-queue"
TEAMS_EVERY_S = 1.0
GITS, CHECKS = 4, 8  # threads
UNDONE = (
    "it landed and was taken back: the branch has it and its opposite, so that nothing would land. `git revert` of "
    "what took it back brings it back, or its worker reports anew"
)
log = logging.getLogger("rookery.lander")

Work = Mapping[str, Any]  # what `land.take` answered
Reached = Callable[[str], None]  # a named point, for tests that stop the program there
Trees = Callable[[str, str, str], str]  # (team, root, branch): where the tree for merges and checks is


class Link(NamedTuple):
    """A landing in its chain: the branch before it, and after it."""

    job: Mapping[str, Any]
    expected: str
    result: str


class Red(NamedTuple):
    why: str
    tail: str


def _nowhere(_point: str) -> None:
    return None


class Pools(NamedTuple):
    """Threads for git, and for checks, which take up to half an hour."""

    git: BlockingPool
    checks: BlockingPool


class Lander:
    def __init__(
        self, verbs: Verbs, bell: Bell, *, owner: str, trees: Trees, poll_s: float, reached: Reached = _nowhere,
        pools: Pools | None = None,
    ) -> None:  # fmt: skip
        self._verbs = verbs
        self._bell = bell
        self._owner = owner
        self._trees = trees
        self._poll_s = poll_s
        self._reached = reached
        self._work: set[tuple[str, str, str]] = set()  # (team, root, branch)
        self.service = BackgroundService(SERVICE, self._find_teams, every_s=TEAMS_EVERY_S)
        self.pools = pools or Pools(BlockingPool("merges", GITS), BlockingPool("checks", CHECKS))
        self.landed = 0

    async def run(self) -> None:
        """Until it is cancelled. What is under way then is gone on with by the next one."""
        await self.service.run()

    async def _find_teams(self) -> None:
        for team in await self._verbs.teams():
            self.service.part(
                team, partial(self._look, team), every_s=self._poll_s,
                listening=partial(bells.listening, self._bell, team, landing.KEEPER),
            )  # fmt: skip

    async def _look(self, team: str) -> float:
        found = await self._verbs.call(team, "land.due", {"owner": self._owner})
        for each in found["branches"]:
            key = (team, each["root"], each["branch"])
            if key not in self._work:
                self._work.add(key)
                task = self.service.job(f"{team} {each['branch']}", self.land(*key))
                task.add_done_callback(lambda task, key=key: self._finished(key, task))
        next_ms: int | None = found["next_ms"]
        return self._poll_s if next_ms is None else min(self._poll_s, max(next_ms, 10) / 1000)

    def _finished(self, key: tuple[str, str, str], task: "asyncio.Task[None]") -> None:
        self._work.discard(key)
        if not task.cancelled() and task.exception() is None:  # after an error the slow poll looks again: not at once
            self.service.notify_part(key[0])

    # -- one turn --------------------------------------------------------------------------------------------------

    async def land(self, team: str, root: str, branch: str) -> None:
        """One turn on a branch: whatever is due there, to its end."""
        work: Work = await self._verbs.call(team, "land.take", {"owner": self._owner, "root": root, "branch": branch})
        if not work["kind"]:
            return
        self._reached("land_taken")
        ids = [job["id"] for job in work["landings"]]
        lease, every_s = f"lease {team} {root} {branch}", work["lease_ms"] / 3000
        self.service.part(lease, lambda: self._renew(team, ids), every_s=every_s, waits_first=True, longest_s=every_s)
        try:
            tree = await self.pools.git.run(self._trees, team, root, branch)
            await Turn(self, self._verbs, self._owner, team, work, tree, self._reached).go()
        except errors.LeaseLost as error:  # dropped, or another has it: what was made here is nobody's
            log.info("landing on %s of %s: %s", branch, team, error.message)
            await self._verbs.call(team, "land.again", {"owner": self._owner, "ids": ids})
        except (errors.RookError, OSError) as error:
            log.warning("landing on %s of %s: %s", branch, team, error)
            why = f"{error.message} {error.hint}" if isinstance(error, errors.RookError) else str(error)
            await self._verbs.call(team, "land.again", {"owner": self._owner, "ids": ids, "reason": why})
        finally:
            self.service.end_part(lease)

    async def _renew(self, team: str, ids: Sequence[str]) -> None:
        """Every word is fenced: if it fails for long, at worst another goes on."""
        await self._verbs.call(team, "land.keep", {"owner": self._owner, "ids": list(ids)})


class Turn:
    """What was taken on one branch, and what becomes of it."""

    def __init__(
        self, lander: Lander, verbs: Verbs, owner: str, team: str, work: Work, tree: str, reached: Reached
    ) -> None:
        self._lander = lander
        self._verbs = verbs
        self._owner = owner
        self._team = team
        self._work = work
        self._root: str = work["root"]
        self._branch: str = work["branch"]
        self._tree = tree
        self._reached = reached
        self._git = lander.pools.git.run

    async def go(self) -> None:
        await self._git(checking.end_strays, self._tree)
        jobs = self._work["landings"]
        if self._work["kind"] == "undo":
            await self._undo(jobs[0])
        elif self._work["kind"] == "resume":
            await self._move([Link(job, job["expected"], job["result"]) for job in jobs])
        else:
            await self._land(jobs)

    async def _call(self, verb: str, ids: Sequence[str], **more: Any) -> Any:
        return await self._verbs.call(self._team, verb, {"owner": self._owner, "ids": list(ids), **more})

    async def _land(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        chain = await self._merged(jobs)
        self._reached("land_merged")
        if chain and self._work["check"]:
            chain = await self._passing(chain)
            self._reached("land_checked")
        if chain:
            await self._move(chain)

    async def _merged(self, jobs: Sequence[Mapping[str, Any]]) -> list[Link]:
        """One after another. What conflicts with the branch has failed; with one before it, it waits for that."""
        seen = await self._git(merging.look, self._root, self._branch, "")
        chain: list[Link] = []
        for job in jobs:
            onto = chain[-1].result if chain else seen.tip
            work = merging.Work(job["head"], job["author"], job["message"])
            joined = await self._git(merging.join, self._root, self._tree, onto, work, self._work["strategy"])
            if job["undone"] and joined.result == onto:
                await self._failed(job, UNDONE)
            elif joined.result not in ("", onto) and (why := await self._not_shown(job, onto, joined.result)):
                await self._failed(job, why, code=shown.CODE)
            elif joined.result:
                chain.append(Link(job, onto, joined.result))
            elif chain:
                await self._call("land.again", [job["id"]])
            else:
                await self._failed(job, joined.conflict)
        return chain

    async def _not_shown(self, job: Mapping[str, Any], onto: str, result: str) -> str:
        """Compare what would land with what was recorded and shown: its author wrote the record."""
        names = ("base", "head", "files", "paths", "added", "removed")
        try:
            patch = await self._patch(job["patch"])
        except errors.StoreCorrupt as error:
            why = error.message
        else:
            record = shown.Record(*(job[name] for name in names))
            why = await self._git(shown_changes.difference, self._root, record, patch, onto, result)
        return f"it is not what was shown of {job['change']}: {why}" if why else ""

    async def _patch(self, id: str) -> bytes | None:
        """None of a change set whose patch was too large to be kept, or is gone: nobody is shown it."""
        try:
            found = await self._verbs.call(self._team, "artifacts.show", {"id": id}) if id else None
        except errors.UnknownName:
            return None
        if not found:
            return None
        content: str = found["content"]
        return b64decode(content) if found["encoding"] == "base64" else content.encode()

    async def _failed(self, job: Mapping[str, Any], why: str, tail: str = "", code: str = "") -> None:
        told = {"owner": self._owner, "id": job["id"], "reason": why, "tail": tail, "code": code}
        await self._verbs.call(self._team, "land.failed", told)
        log.info("%s of %s: %s", job["id"], self._team, why)

    # -- checking --------------------------------------------------------------------------------------------------

    async def _passing(self, chain: list[Link]) -> list[Link]:
        """As many of the first as pass together. The one that does not has failed; those after it wait."""
        red = await self._checked(chain)
        if red is None:
            return chain
        search = Search(0, len(chain))
        while not search.found:
            count = search.probe()
            found = await self._checked(chain[:count])
            red = found or red
            search = search.told(count, found is None)
        guilty = chain[search.good]
        await self._failed(guilty.job, red.why, red.tail)
        if rest := [link.job["id"] for link in chain[search.bad :]]:
            await self._call("land.again", rest)
        return chain[: search.good]

    async def _checked(self, chain: Sequence[Link]) -> Red | None:
        """None if it passes. What it said is kept either way."""
        ids, commit = [link.job["id"] for link in chain], chain[-1].result
        await self._call("land.keep", ids, step=Step.CHECKING)
        await self._hold()
        try:
            await self._git(merging.checkout, self._root, self._tree, commit)
            done = await self._run(ids, commit)
        finally:
            await asyncio.shield(self._lander.service.job(f"slot {self._team}", self._let_go()))
        told = await self._call(
            "land.checked", ids, on=commit, argv=self._work["check"], exit=done.exit, ms=done.ms,
            timed_out=done.timed_out, output=b64encode(done.output).decode(),
        )  # fmt: skip
        if done.exit == 0 and not done.timed_out:
            return None
        how = f"took longer than {self._work['check_ms'] / 1000:.0f} s" if done.timed_out else f"exit {done.exit}"
        return Red(f"the check failed ({how}): {' '.join(self._work['check'])}", told["tail"])

    async def _run(self, ids: Sequence[str], commit: str) -> checking.Checked:
        more = {"ROOK_TEAM": self._team, "ROOK_LAND": ",".join(ids), "ROOK_BRANCH": self._branch, "ROOK_COMMIT": commit}
        cancelled = checking.Cancelled()

        def run() -> checking.Checked:
            started = checking.Check(self._work["check"], self._tree, f"{self._tree}.log", more)
            return started.finished(self._work["check_ms"] / 1000, cancelled)

        try:
            return await self._lander.pools.checks.run(run, label=" ".join(self._work["check"])[:100])
        finally:
            cancelled.yes = True

    async def _hold(self) -> None:
        """The slot of the branch: whoever else has it is waited for."""
        ttl = int(self._work["check_ms"]) + 60_000
        asked = {"name": self._work["slot"], "reason": "a check before landing", "ttl_ms": ttl, "bound": True}
        while True:
            try:
                await self._verbs.call(self._team, "slot.take", asked)
                return
            except errors.Refused as error:
                if error.code != "RESERVED":
                    raise
                log.info("%s of %s: %s", self._work["slot"], self._team, error.message)
            await asyncio.sleep(self._work["retry_ms"] / 1000)

    async def _let_go(self) -> None:
        with suppress(errors.Refused):  # it was taken away meanwhile
            await self._verbs.call(self._team, "slot.give", {"name": self._work["slot"]})

    # -- moving ----------------------------------------------------------------------------------------------------

    async def _move(self, chain: Sequence[Link]) -> None:
        """Written down, then moved, then written down. Where it can not be moved yet, it is tried again and again."""
        ids = [link.job["id"] for link in chain]
        expected, result = chain[0].expected, chain[-1].result
        while True:
            await self._call("land.moving", ids, links=[[link.expected, link.result] for link in chain])
            self._reached("land_written")
            moved = await self._git(merging.move, self._root, self._branch, expected, result)
            if moved.next is not Next.MOVE:
                break
            await self._call("land.waits", ids, reason=moved.waits)
            await asyncio.sleep(self._work["retry_ms"] / 1000)
        if moved.next is Next.ANEW:
            await self._call("land.again", ids)
            return
        self._reached("land_moved")
        await self._call("land.done", ids)
        self._reached("land_told")
        self._lander.landed += len(ids)
        log.info("%s of %s is at %s: %s", self._branch, self._team, result[:12], ", ".join(ids))
        for link in chain:
            await self._git(changesets.forget, self._root, link.job["keep"], link.job["head"])

    async def _undo(self, job: Mapping[str, Any]) -> None:
        """A commit that takes it back, moved to with the same care; where one was written down, that one."""
        if job["undo"] and await self._git(repository.has_commit, self._root, job["undo"]):
            parent = await self._git(merging.parent_of, self._root, job["undo"])
            await self._move([Link(job, parent, job["undo"])])
            return
        seen = await self._git(merging.look, self._root, self._branch, job["result"])
        if not seen.has_result:
            await self._failed(job, f"{self._branch} does not have it any more")
            return
        message = f"Take back {job['change']}\n\nThis reverts {job['result']}, which landed as {job['id']}.\n"
        made = await self._git(
            merging.revert, self._root, self._tree, seen.tip, job["expected"], job["result"], message
        )
        if made.conflict:
            await self._failed(job, made.conflict)
        else:
            await self._move([Link(job, seen.tip, made.result)])


def tree_in(home: str, team: str, root: str, branch: str) -> str:
    """A tree for each repository and branch: `teams/<team>/landing/<which>`."""
    from zlib import crc32

    which = f"{crc32(repository.common_folder(root).encode()):08x}-{crc32(branch.encode()):08x}"
    folder = os.path.join(home, "teams", team, "landing")
    os.makedirs(folder, 0o700, exist_ok=True)
    return os.path.join(folder, which)
