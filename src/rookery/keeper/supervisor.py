"""The supervisor: worker rows made true on this machine. It begins what is due, watches, stops, and tells how it ended.

    due ──> begin ──> start ──> started ──> beat, beat ... ──> its process is gone ──> emptied, harvested ──> ended
              └── killed here? the next one gives the run up, or finds what it began, and goes on

It keeps nothing that it could not find again: rows say what is wanted, the run's folder and its processes what is so.
What it may be killed at is named (`reached`), and tests kill it there. Blocking work is done in threads, any number of
workers at once; the event loop only waits and decides.
"""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from rookery.core import errors, workers
from rookery.core.record import NamedTuple
from rookery.core.workers import Ending, State, Step
from rookery.runtime import files, git, installed, process, repository, runs, starting, store_claim
from rookery.runtime.process import Process
from rookery.runtime.starting import Begun, Place
from rookery.wake.port import Bell

from . import bells, giving, metering, orders
from .blocking import BlockingPool
from .courier import Reached, Verbs
from .metering import Meter
from .services import BackgroundService
from .telling import ARTIFACTS, BACK, PAGE, PAGES, Teller

SERVICE = "supervisor"
TEAMS_EVERY_S = 1.0
THREADS = 16
DRAIN_LOOK_S = 0.5  # between two looks at who is left, where nothing calls
log = logging.getLogger("rookery.supervisor")

Watched = Mapping[str, Any]
T = TypeVar("T")


class Ground(NamedTuple):
    """Where workers are started, and what they are given."""

    home: str
    environ: Mapping[str, str]  # of the resident process
    passed_on: tuple[str, ...]  # its variables that they get besides
    owner: str
    boot: str
    store: str = ""  # where the ledger is, if that was said
    ledger: str = ""  # where the ledger is
    hosts: Mapping[str, Any] = {}  # how agent programs are called here
    capture: bool = False  # all that terminals show is kept


class Supervisor:
    def __init__(
        self, verbs: Verbs, bell: Bell, ground: Ground, *, poll_s: float, reached: Reached,
        pool: BlockingPool | None = None,
    ) -> None:  # fmt: skip
        self._verbs = verbs
        self._bell = bell
        self._ground = ground
        self._poll_s = poll_s
        self._reached = reached
        self._starter = starting.Starter(ground.home)
        self._pool = pool or BlockingPool("workers", THREADS)
        self._jobs: set[tuple[str, str]] = set()  # (team, worker)
        self._eyes: dict[str, int] = {}  # descriptors that tell when a run's process is over
        self._beaten: dict[str, float] = {}
        self._meters: dict[str, Meter] = {}  # by run
        self._tellers: dict[str, Teller] = {}
        self._drained = False  # once it is to end with its workers
        self._did_something = asyncio.Event()
        self.service = BackgroundService(SERVICE, self._find_teams, every_s=TEAMS_EVERY_S, close=self._close)

    async def _close(self) -> None:
        for descriptor in self._eyes.values():
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        self._eyes.clear()

    async def _find_teams(self) -> None:
        for team in await self._verbs.teams():
            self.service.part(
                team, partial(self._look, team), every_s=self._poll_s,
                listening=partial(bells.listening, self._bell, team, workers.KEEPER),
            )  # fmt: skip

    # -- going down with its workers ---------------------------------------------------------------------------------

    async def drain(self, limit_s: float) -> list[dict[str, Any]]:
        """Nothing is begun any more, and all workers are stopped, in parallel, each with the time it is given. Those
        that are left after `limit_s`: the next supervisor finds and ends them."""
        self._drained = True
        ends = monotonic() + limit_s
        left = await self._trying(self._all_down, ends)
        log.info("workers that are stopped: %d", len(left))
        while (left := await self._trying(self._still_there, ends)) and (rest_s := ends - monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(rest_s, DRAIN_LOOK_S)):
                    await self._did_something.wait()
            self._did_something.clear()
        if left:
            log.warning("workers that did not end in %.0f s: %s", limit_s, ", ".join(each["id"] for each in left))
        over = await self._aside(starting.windows_over, self._ground.home)
        await self._aside(starting.close_windows, self._ground.home, over)
        return left

    async def _trying(self, deed: Callable[[], Awaitable[T]], until: float) -> T:
        """A store that is busy for a moment does not end a drain."""
        while True:
            try:
                return await deed()
            except errors.RookError as error:
                if monotonic() >= until:
                    raise
                log.warning("drain: %s", error.message)
                await asyncio.sleep(DRAIN_LOOK_S)

    async def _all_down(self) -> list[str]:
        told = [await self._verbs.call(team, "worker.down", {}) for team in await self._verbs.teams()]
        return [id for each in told for id in each["stopping"]]

    async def _still_there(self) -> list[dict[str, Any]]:
        left: list[dict[str, Any]] = []
        for team in await self._verbs.teams():
            found = (await self._verbs.call(team, "worker.due", {}))["watch"]
            left += [{"team": team, "id": each["id"], "state": each["state"], "pid": each["pid"]} for each in found]
        return left

    # -- one look ------------------------------------------------------------------------------------------------------

    async def _look(self, team: str) -> float:
        """What is to be done now is begun; how long until there may be more, if nobody rings."""
        self._starter.reap()
        found = await self._verbs.call(team, "worker.due", {})
        for id in () if self._drained else found["begin"]:
            self._do(team, id, lambda id=id: self._begin(team, id))
        waits = [self._poll_s * 1000, *filter(None, [found["next_ms"]])]
        waits += [self._watch(team, each, found["terms"]) for each in found["watch"]]
        running = [each for each in found["watch"] if self._is_running(each)]
        waits.append(await self._beat(team, running, found["terms"]["heartbeat"]))
        return max(min(waits), 10) / 1000

    def _watch(self, team: str, each: Watched, terms: Mapping[str, int]) -> float:
        """See to one that was begun; in how many milliseconds it is to be looked at again at the latest."""
        later = self._poll_s * 1000
        if each["boot"] != self._ground.boot:
            self._do(team, each["id"], lambda: self._over(team, each, terms, Ending.LOST))
        elif each["state"] == State.STARTING:
            if each["mine"] or each["owner"] == self._ground.owner:
                self._do(team, each["id"], lambda: self._recover(team, each, terms))
        elif process.state(each["pid"], each["started"]) == process.DEAD:
            self._do(team, each["id"], lambda: self._over(team, each, terms))
        else:
            self._look_out(team, each)
            if each["wish"]:
                return min(later, self._to_end(team, each, terms))
        return later

    def _to_end(self, team: str, each: Watched, terms: Mapping[str, int]) -> float:
        it = workers.Stopping(each["wish"], each["wish_ms"], terms["grace"], each["report"], each["phase"])
        step = workers.stopping(it)
        if step is not Step.WAIT:  # whatever comes of it wakes this loop: there is nothing to poll for
            self._do(team, each["id"], lambda: self._end(team, each, terms, step))
            return self._poll_s * 1000
        if each["state"] == State.RUNNING:
            told = {"id": each["id"], "run": each["run"]}
            self._do(team, each["id"], lambda: self._verbs.call(team, "worker.stopping", told))
        return max(0, terms["grace"] - each["wish_ms"])

    @staticmethod
    def _is_running(each: Watched) -> bool:
        return each["state"] in (State.RUNNING, State.STOPPING) and each["pid"] is not None

    async def _beat(self, team: str, running: Sequence[Watched], every_ms: int) -> float:
        now = monotonic() * 1000
        left = self._beaten.get(team, 0) + every_ms - now
        if left > 0 or not running:
            return max(left, 10) if running else every_ms
        self._beaten[team] = now
        # Whoever is being seen to is measured by that.
        free = [each for each in running if (team, each["id"]) not in self._jobs]
        moved = [each["id"] for each in free if await self._measured(team, each)]
        # One that is over beats no more: what it held was taken from it, and it is not stopped for that.
        there = [each for each in running if process.state(each["pid"], each["started"]) != process.DEAD]
        runs_now = {each["id"]: each["run"] for each in there}
        told = await self._verbs.call(team, "worker.beat", {"runs": runs_now, "moved": moved})
        await self._told(team, running)
        if told["lost"]:
            log.info("workers of %s that lost their task: %s", team, ", ".join(told["lost"]))
            self.service.notify_part(team)
        return every_ms

    async def _measured(self, team: str, each: Watched) -> bool:
        """What it has used so far is told; whether its program has said anything since."""
        meter = self._meter(team, each)
        async with meter.lock:
            before = meter.tally.input, meter.tally.output
            moved = await self._aside(meter.look, each["transcript"])
            used = meter.tally
            if (used.input, used.output) != before:
                told = {"id": each["id"], "run": each["run"], "input": used.input, "output": used.output,
                        "model": used.model}  # fmt: skip
                await self._verbs.call(team, "worker.used", told)
            await self._gave(team, each, meter)
        return moved

    def _meter(self, team: str, each: Watched) -> Meter:
        if each["run"] not in self._meters:
            self._meters[each["run"]] = Meter(each["host"], self._place(team, each), each["run"], each["tree"])
        return self._meters[each["run"]]

    async def _gave(self, team: str, each: Watched, meter: Meter) -> None:
        """What it was seen to do becomes evidence."""
        await giving.give(self._verbs, team, meter.found, {"worker": each["id"], "run": each["run"]})

    async def _told(self, team: str, those: Sequence[Watched]) -> None:
        """The files that outside readers look at are made; that this fails concerns nobody else."""
        try:
            await self._tell(team, those)
        except errors.CursorTooOld:
            self._tellers.pop(team, None)
        except (errors.RookError, OSError) as error:
            log.warning("files of workers of %s: %s", team, error)

    async def _tell(self, team: str, those: Sequence[Watched]) -> None:
        ids = [each["id"] for each in those]
        teller = self._tellers.setdefault(team, Teller(self._ground.home, team))
        cards = (await self._verbs.call(team, "workers", {"all": True}))["workers"]
        await self._aside(teller.status, [card for card in cards if card["id"] in ids])
        names = {card["name"]: card["id"] for card in cards}
        if teller.cursor is None:
            newest = (await self._verbs.call(team, "feed", {"limit": 1}))["cursor"]
            teller.cursor = max(0, newest - BACK)
        for _ in range(PAGES):
            page = await self._verbs.call(team, "events", {"after": teller.cursor, "limit": PAGE})
            await self._aside(teller.events, page["events"], names)
            teller.cursor = page["cursor"]
            if len(page["events"]) < PAGE:
                break
        for id in await self._aside(teller.unlisted, ids):
            made = await self._verbs.call(team, "artifacts", {"worker": id, "limit": ARTIFACTS})
            await self._aside(teller.artifacts, id, made)

    def _look_out(self, team: str, each: Watched) -> None:
        """Be woken the moment its process is over."""
        run = each["run"]
        if run in self._eyes:
            return
        descriptor = runs.watched(Process(each["pid"], each["started"]))
        if descriptor is None:
            return
        self._eyes[run] = descriptor
        loop = asyncio.get_running_loop()

        def over() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            del self._eyes[run]
            self.service.notify_part(team)

        loop.add_reader(descriptor, over)

    # -- what takes a while --------------------------------------------------------------------------------------------

    def _do(self, team: str, id: str, deed: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """One thing at a time for each worker; all of them at once."""
        key = (team, id)
        if key not in self._jobs:
            self._jobs.add(key)
            task = self.service.job(f"{team} {id}", deed())
            task.add_done_callback(lambda task: self._did(key, task))

    def _did(self, key: tuple[str, str], task: "asyncio.Task[Any]") -> None:
        self._jobs.discard(key)
        self._did_something.set()
        if not task.cancelled() and task.exception() is None:  # after an error the slow poll looks again: not at once
            self.service.notify_part(key[0])

    async def _aside(self, deed: Callable[..., T], *args: Any) -> T:
        return await self._pool.run(deed, *args)

    # -- starting ------------------------------------------------------------------------------------------------------

    async def _begin(self, team: str, id: str) -> None:
        order = (await self._verbs.call(team, "worker.begin", {"id": id, "owner": self._ground.owner}))["worker"]
        if order is None:
            return
        self._reached("worker_begun")
        where = self._place(team, order)
        try:
            begun = await self._aside(self._start, team, order, where)
        except (errors.RookError, OSError) as error:
            await self._not_started(team, order, where, error)
            return
        self._reached("worker_launched")
        await self._tell_started(team, order, where, begun)
        log.info("worker %s of %s began as process %d (%s)", id, team, begun.process.pid, order["run"])

    def _place(self, team: str, each: Watched) -> Place:
        return starting.place(self._ground.home, team, each["id"], each["n"])

    def _start(self, team: str, order: orders.Order, where: Place) -> Begun:
        starting.prepare(self._ground.home, where)
        tree, base = self._tree(order, where)
        files.write_atomic(where.of_run("order.json"), json.dumps({"tree": tree, "base": base}).encode())
        files.write_atomic(where.of("token"), order["token"].encode())
        text = orders.brief(order, team, tree, base)
        for path in (where.of("task.md"), where.of_run("prompt.md")):
            files.write_atomic(path, text.encode("utf-8", "replace"))
        environ = self._environment(team, order, where, tree)
        cwd = tree or order["root"]
        made = orders.launch(order, where, text, cwd, environ, self._ground.hosts)
        self._reached("worker_prepared")
        return self._starter.start(
            where, order["backend"], made.argv, run=order["run"], cwd=cwd,
            environ=environ | dict(made.environ), stdin=made.stdin or "", streams=made.streams,
            private=self._ground.passed_on, capture=self._ground.capture,
        )  # fmt: skip

    def _tree(self, order: orders.Order, where: Place) -> tuple[str, str]:
        """Its own worktree and the commit that began at, or nothing. One that no run has worked in yet is made anew:
        whoever made it may have been killed over it."""
        if not orders.wants_tree(order):
            return "", ""
        root, path = order["root"], where.tree
        if git.find(root) is None:
            raise errors.Refused(
                f"{root} is no git repository, so there is no worktree of it.", "Spawn with --no-worktree.",
                code="NO_REPOSITORY",
            )  # fmt: skip
        store_claim.take(root, self._ground.ledger)
        base = order["base"]
        if not order["tree"]:
            repository.remove_worktree(root, path)
        elif os.path.isdir(path):
            repository.unlock(path)  # the run before may have been killed in a git of its own
        if not base or not os.path.isdir(path):
            base = repository.commit_of(root, base or "HEAD")
        repository.add_worktree(root, path, base, environ={runs.VARIABLE: order["run"]})
        return path, base

    def _environment(self, team: str, order: orders.Order, where: Place, tree: str) -> dict[str, str]:
        own = {
            "ROOK_HOME": self._ground.home, "ROOK_TEAM": team, "ROOK_AGENT": order["name"], "ROOK_WORKER": order["id"],
            "ROOK_RUN": order["run"], "ROOK_TASK": order["task"], "ROOK_BRIEF": where.of("task.md"),
            "ROOK_TOKEN_FILE": where.of("token"),
        }  # fmt: skip
        if tree:
            own |= {"ROOK_TREE": tree, "ROOK_BRANCH": git.branch(order["root"]) or ""}
        if self._ground.store:
            own["ROOK_STORE"] = self._ground.store
        made = starting.environment(self._ground.environ, self._ground.passed_on, own)
        with suppress(errors.RookError):  # a worker speaks through `rook`, wherever that is
            if (rook := installed.rook(made)) != installed.OWN:
                made["PATH"] = os.pathsep.join(filter(None, (os.path.dirname(rook), made.get("PATH", ""))))
        return made

    async def _tell_started(self, team: str, each: Watched, where: Place, begun: Begun) -> None:
        said = await self._aside(_order_kept, where)
        told = {
            "id": each["id"], "run": each["run"], "pid": begun.process.pid, "since": begun.process.started,
            "terminal": dict(begun.terminal) or None, "tree": said.get("tree", ""), "base": said.get("base", ""),
            "branch": git.branch(said.get("tree") or each["root"]) or "",
        }  # fmt: skip
        await self._verbs.call(team, "worker.started", told)
        self._reached("worker_told")

    async def _not_started(self, team: str, order: orders.Order, where: Place, error: Exception) -> None:
        why = f"{error.message} {error.hint}" if isinstance(error, errors.RookError) else str(error)
        log.warning("worker %s of %s was not started: %s", order["id"], team, why)
        if not await self._aside(starting.give_up, where):
            return  # it began after all: the next look finds it
        await self._aside(self._emptied, order["run"], None, 0.0)
        await self._aside(starting.close, self._ground.home, where, {}, order["run"])
        told = {"id": order["id"], "run": order["run"], "reason": Ending.NOT_STARTED, "tail": why}
        await self._verbs.call(team, "worker.ended", told)

    async def _recover(self, team: str, each: Watched, terms: Mapping[str, int]) -> None:
        """Whoever was starting it is gone. What it began goes on; what it did not never will, and is begun anew."""
        where = self._place(team, each)
        if await self._aside(starting.give_up, where):
            await self._over(team, each, terms, Ending.INTERRUPTED)
            return
        begun = await self._aside(starting.found_again, self._ground.home, where, each["backend"], each["run"])
        if begun is None or process.state(*begun.process) == process.DEAD:
            terminal = dict(begun.terminal) if begun else {}
            await self._over(team, {**each, "terminal": terminal}, terms)
            return
        log.info("worker %s of %s is found again as process %d", each["id"], team, begun.process.pid)
        await self._tell_started(team, each, where, begun)

    # -- ending --------------------------------------------------------------------------------------------------------

    async def _end(self, team: str, each: Watched, terms: Mapping[str, int], step: Step) -> None:
        """It was asked to wrap up, or is not asked: all its processes are ended."""
        await self._verbs.call(team, "worker.stopping", {"id": each["id"], "run": each["run"]})
        term_s = 0.0 if step is Step.KILL else terms["term"] / 1000
        first = Process(each["pid"], each["started"])
        done = await self._aside(self._emptied, each["run"], first, term_s)
        await self._over(team, each, terms, killed=bool(done.killed))

    def _emptied(self, run: str, first: Process | None, term_s: float) -> runs.Ended:
        return runs.end(run, first, term_s, reap=self._starter.reap)

    async def _over(
        self, team: str, each: Watched, terms: Mapping[str, int], ending: Ending | None = None, *, killed: bool = False
    ) -> None:
        """Its process is gone: so are all that it started; its last lines are kept, its terminal closed, and its end
        written down, each once however often this is begun."""
        self._reached("worker_noticed")
        where, terminal = self._place(team, each), each["terminal"]
        left = await self._aside(self._emptied, each["run"], None, terms["term"] / 1000)
        self._reached("worker_emptied")
        code, tail = await self._aside(self._harvested, where, terminal)
        self._reached("worker_harvested")
        await self._aside(starting.close, self._ground.home, where, terminal, each["run"])
        self._reached("worker_closed")
        reason = ending or workers.ending_of(each["wish"], code, killed=killed or bool(left.killed))
        told = {"id": each["id"], "run": each["run"], "reason": reason, "exit_code": code, "tail": tail}
        if reason is not Ending.INTERRUPTED:
            await self._record(team, each, where, told)
        elif meter := self._meters.pop(each["run"], None):
            meter.over()
        done = await self._verbs.call(team, "worker.ended", told)
        self._reached("worker_over")
        await self._told(team, [each])
        if not done["fenced"]:
            log.info("worker %s of %s: %s, exit code %s; now %s", each["id"], team, reason, code, done["state"])

    async def _record(self, team: str, each: Watched, where: Place, told: Mapping[str, Any]) -> None:
        """What it used and said is kept. A ledger that has no room for it must not keep the run from being over."""
        try:
            while await self._measured(team, each):
                pass  # to its end: one look reads no more than the ledger takes at once
            meter = self._meters.pop(each["run"])
            meter.over()
            meter.found += metering.tail(each["run"], each["id"], told)
            await self._gave(team, each, meter)
            kept = await self._aside(metering.record, where, meter, {**told, "age_ms": each["age_ms"]})
            await self._verbs.call(team, "worker.record", kept)
        except errors.RookError as error:
            log.warning("run %s of %s is not recorded: %s", each["run"], team, error.message)

    @staticmethod
    def _harvested(where: Place, terminal: Mapping[str, str]) -> tuple[int | None, str]:
        if not os.path.isdir(where.run):
            return None, ""
        return starting.exit_code(where, terminal), starting.harvest(where, terminal)


def _order_kept(where: Place) -> dict[str, str]:
    data, _ = files.read_from(where.of_run("order.json"), 0, 1 << 16)
    with suppress(ValueError):
        said = json.loads(data)
        return said if isinstance(said, dict) else {}
    return {}
