"""The lander with real verbs on a real store and real repositories: what lands, what fails, what waits, what is found
after a crash at any point."""

import asyncio
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.core.caller import Caller
from rookery.keeper.lander import Lander
from tests.support import ledger
from tests.support.crew_rows import Worker, history, landings
from tests.support.fakes import BOOT, HOST, FakeListener
from tests.support.stage import Stage
from tests.unit.gitrepo import git, repository

PATIENCE_S = 60
OWNER = f"{HOST}:1:a"


class Verbs:
    def __init__(self, stage: Stage, pid: int = 1) -> None:
        self._stage = stage
        self.made: list[str] = []
        self.news = asyncio.Event()
        self.process = (pid, "a")
        stage.prober.states[self.process] = "running"

    async def teams(self) -> list[str]:
        return [self._stage.team]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        caller = Caller(agent="system", host=HOST, boot=BOOT, process=self.process, open_addresses=True)
        told = self._stage.client.call(verb, args, caller)
        self.made.append(verb)
        self.news.set()
        return told

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self.news.clear()
                await self.news.wait()


class SilentBell:
    def listen(self, team: str, name: str) -> FakeListener:
        return FakeListener()

    def ring(self, team: str, names: Any) -> dict[str, int]:
        return {}


class Killed(BaseException):
    """Not caught by anything: as good as SIGKILL for what runs in the loop."""


class Yard:
    """A repository, its team, and landers to be."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.root = repository(folder / "repo")
        (self.root / "base.txt").write_text("one\ntwo\nthree\n")
        git("add", "-A", cwd=self.root)
        git("commit", "-qm", "base", cwd=self.root)
        self.stage = Stage(folder / "ledger.db", **{"land__auto": True, "land__retry_s": 0.05, **settings})
        self.pids = 0

    def worker(self, name: str, **more: Any) -> Worker:
        return Worker(self.stage, self.root, name, **more)

    def change(self, name: str, **files: str | None) -> str:
        """A task done by a worker of that name."""
        worker = self.worker(name)
        task = self.stage.call("task.add", title=f"Task of {name}")["id"]
        return worker.done(task, **files)

    def tree(self, team: str, root: str, branch: str) -> str:
        return str(self.folder / "home" / "landing")

    def lander(self, verbs: Verbs, reached: Callable[[str], None] = lambda point: None) -> Lander:
        owner = f"{HOST}:{verbs.process[0]}:a"
        return Lander(verbs, SilentBell(), owner=owner, trees=self.tree, poll_s=0.01, reached=reached)

    def run(self, condition: Callable[[], bool]) -> Verbs:
        """A lander at work until something is so."""

        async def go() -> Verbs:
            self.pids += 1
            verbs = Verbs(self.stage, self.pids)
            work = asyncio.create_task(self.lander(verbs).run())
            try:
                await verbs.until(condition)
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
            return verbs

        return asyncio.run(go())

    def settle(self) -> Verbs:
        return self.run(lambda: not self.states & {"queued", "working", "undoing"})

    @property
    def states(self) -> set[str]:
        return set(landings(self.stage).values())

    def tip(self, branch: str = "main") -> str:
        return git("rev-parse", branch, cwd=self.root)

    def close(self) -> None:
        assert ledger.faults(self.stage.store.location) == []
        self.stage.close()


@pytest.fixture
def yards(tmp_path: Path) -> Generator[Callable[..., Yard]]:
    made: list[Yard] = []

    def make(**settings: Any) -> Yard:
        made.append(Yard(tmp_path / str(len(made)), **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


def check(source: str) -> list[str]:
    return [sys.executable, "-c", source]


# --- landing ----------------------------------------------------------------------------------------------------------


def test_what_is_done_lands_on_the_branch_and_in_the_persons_own_copy(yards: Callable[..., Yard]) -> None:
    yard = yards()
    change = yard.change("ada", a__txt="hello\n")
    assert landings(yard.stage) == {change: "queued"}
    yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    assert (yard.root / "a.txt").read_text() == "hello\n"
    assert git("status", "--porcelain", cwd=yard.root) == ""
    assert history(yard.root)[0] == f"Land {change}: Task of ada"
