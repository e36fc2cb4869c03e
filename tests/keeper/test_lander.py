"""The lander with real verbs on a real store and real repositories: what lands, what fails, what waits, what is found
after a crash at any point."""

import asyncio
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from rookery.core.caller import Caller
from rookery.core.landing import Next
from rookery.keeper.lander import Lander, Pools
from rookery.keeper.services import Services
from rookery.runtime import merging, process, store_claim
from tests.support import ledger
from tests.support.crew_rows import Worker, history, landings
from tests.support.fakes import BOOT, HOST, FakeListener
from tests.support.families import few
from tests.support.panes import until
from tests.support.stage import Stage
from tests.unit.gitrepo import git, repository

PATIENCE_S = 60


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
                self.stage.prober.states[verbs.process] = "dead"
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


@pytest.mark.slow
def test_what_is_done_lands_on_the_branch_and_in_the_persons_own_copy(yards: Callable[..., Yard]) -> None:
    yard = yards()
    change = yard.change("ada", a__txt="hello\n")
    assert landings(yard.stage) == {change: "queued"}
    yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    assert (yard.root / "a.txt").read_text() == "hello\n"
    assert git("status", "--porcelain", cwd=yard.root) == ""
    assert history(yard.root)[0] == f"Land {change}: Task of ada"


@pytest.mark.slow
@pytest.mark.parametrize("strategy", few(["merge", "rebase", "squash"], "rebase"))
def test_three_changes_land_in_order_by_every_strategy(yards: Callable[..., Yard], strategy: str) -> None:
    yard = yards(land__strategy=strategy)
    before = yard.tip()
    made = [yard.change(name, **{f"{name}__txt": "x\n"}) for name in ("ada", "bob", "cy")]
    yard.settle()
    assert landings(yard.stage) == dict.fromkeys(made, "landed")
    assert {path.name for path in yard.root.glob("*.txt")} == {"ada.txt", "bob.txt", "cy.txt", "base.txt"}
    merges = git("rev-list", "--merges", "--count", "main", cwd=yard.root)
    assert merges == ("3" if strategy == "merge" else "0")
    authors = git("log", "--no-merges", "--format=%an <%ae>", f"{before}..main", cwd=yard.root).splitlines()
    assert sorted(authors) == [f"{name} <{name}@rookery.invalid>" for name in ("ada", "bob", "cy")]


@pytest.mark.slow
def test_a_branch_that_nobody_has_checked_out_moves_too(yards: Callable[..., Yard]) -> None:
    yard = yards()
    change = yard.change("ada", a__txt="x\n")
    git("checkout", "-q", "--detach", cwd=yard.root)
    yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    assert git("show", "main:a.txt", cwd=yard.root) == "x"
    assert not (yard.root / "a.txt").exists(), "a copy that does not follow the branch is left alone"


@pytest.mark.slow
def test_work_that_is_on_the_branch_already_has_landed_and_moves_nothing(yards: Callable[..., Yard]) -> None:
    yard = yards()
    change = yard.change("ada", a__txt="x\n")
    (yard.root / "a.txt").write_text("x\n")
    git("add", "-A", cwd=yard.root)
    git("commit", "-qm", "the same by hand", cwd=yard.root)
    before = yard.tip()
    yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    assert yard.tip() == before
    assert yard.stage.refused("land.undo", id="land-0001").code == "NOT_LANDED"


@pytest.mark.slow
def test_its_ref_is_let_go_once_it_is_on_the_branch(yards: Callable[..., Yard]) -> None:
    yard = yards()
    yard.change("ada", a__txt="x\n")
    kept = lambda: git("for-each-ref", "refs/rookery", cwd=yard.root)  # noqa: E731
    assert kept()
    yard.run(lambda: not kept())
    assert yard.states == {"landed"}


# --- what fails -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_conflict_goes_back_to_its_worker_with_how_to_go_on(yards: Callable[..., Yard]) -> None:
    yard = yards()
    first = yard.change("ada", base__txt="ONE\ntwo\nthree\n")
    worker = yard.worker("bob")
    task = yard.stage.call("task.add", title="The other")["id"]
    second = worker.done(task, base__txt="uno\ntwo\nthree\n")
    yard.settle()
    assert landings(yard.stage) == {first: "landed", second: "failed"}
    (landing,) = yard.stage.call("land.list", state="failed")["landings"]
    assert landing["reason"] == "it conflicts in base.txt"
    shown = yard.stage.call("task.show", id=task)
    assert (shown["status"], shown["owner"]) == ("pending", "bob")
    (mail,) = [each for each in yard.stage.inbox("bob") if each["subject"].startswith("Did not land")]
    body = yard.stage.call("read", "bob", id=mail["id"])["body"]
    assert "git merge main" in body
    assert f"rook task claim {task}" in body


@pytest.mark.slow
def test_the_second_attempt_lands(yards: Callable[..., Yard]) -> None:
    yard = yards()
    yard.change("ada", base__txt="ONE\ntwo\nthree\n")
    worker = yard.worker("bob")
    task = yard.stage.call("task.add", title="The other")["id"]
    failed = worker.done(task, base__txt="uno\ntwo\nthree\n")
    yard.settle()
    git("checkout", "-q", "-B", "tmp", "HEAD", cwd=worker.tree)
    git("merge", "-q", "-X", "theirs", "main", cwd=worker.tree)
    git("checkout", "-q", "--detach", cwd=worker.tree)
    again = worker.done(task, base__txt="ONE\ntwo\ndrei\n")
    yard.settle()
    assert landings(yard.stage) == {"change-0001": "landed", failed: "failed", again: "landed"}
    assert (yard.root / "base.txt").read_text() == "ONE\ntwo\ndrei\n"
    assert yard.stage.call("task.show", id=task)["status"] == "completed"


@pytest.mark.slow
def test_a_red_check_leaves_the_branch_and_is_told_with_its_log(yards: Callable[..., Yard]) -> None:
    yard = yards(
        land__check=check("import os; print('red: \\x1b[31m' + os.environ['ROOK_BRANCH']); raise SystemExit(3)")
    )
    before = yard.tip()
    change = yard.change("ada", a__txt="x\n")
    yard.settle()
    assert landings(yard.stage) == {change: "failed"}
    assert yard.tip() == before
    (landing,) = yard.stage.call("land.list")["landings"]
    assert "exit 3" in landing["reason"]
    assert "red: " in yard.stage.call("artifacts.show", id=landing["log"])["content"]
    (made,) = yard.stage.call("changes.show", id=change)["checks"]
    assert (made["exit"], made["log"]) == (3, landing["log"])
    (mail,) = [each for each in yard.stage.inbox("ada") if each["subject"].startswith("Did not land")]
    body = yard.stage.call("read", "ada", id=mail["id"])["body"]
    assert "red: " in body
    assert "\x1b" not in body, "what a check says is data"


@pytest.mark.slow
def test_the_check_runs_on_the_merged_tree_while_the_slot_is_held(yards: Callable[..., Yard], tmp_path: Path) -> None:
    out = tmp_path / "out"
    yard = yards(land__check=check(f"import os; open({str(out)!r}, 'w').write(' '.join(sorted(os.listdir('.'))))"))
    yard.change("ada", a__txt="x\n")
    (yard.root / "mine.txt").write_text("by the person\n")
    git("add", "-A", cwd=yard.root)
    git("commit", "-qm", "meanwhile", cwd=yard.root)
    verbs = yard.settle()
    assert out.read_text() == ".git a.txt base.txt mine.txt"
    order = [verb for verb in verbs.made if verb not in ("land.due", "land.keep", "artifacts.show")]
    assert order[:6] == ["land.take", "slot.take", "slot.give", "land.checked", "land.moving", "land.done"]


@pytest.mark.slow
def test_h42_another_store_lands_nothing(yards: Callable[..., Yard], tmp_path: Path) -> None:
    """An agent makes a store of its own, where it may decide: the branch is of the store that had workers first."""
    yard = yards()
    users, own = tmp_path / "users.db", tmp_path / "own.db"
    users.touch()
    change = yard.change("ada", a__txt="x\n")
    before = git("rev-parse", "main", cwd=yard.root)
    store_claim.take(str(yard.root), str(users))

    def tree(team: str, root: str, branch: str) -> str:
        store_claim.require(root, str(own))
        return str(tmp_path / "tree")

    yard.tree = tree  # type: ignore[method-assign]
    yard.run(lambda: bool(yard.stage.events("land.waits")))
    assert git("rev-parse", "main", cwd=yard.root) == before, change
    assert [each["state"] for each in yard.stage.call("land.list")["landings"]] == ["queued"]


@pytest.mark.slow
def test_whoever_has_the_slot_keeps_the_queue_waiting(yards: Callable[..., Yard]) -> None:
    yard = yards(land__check=check("pass"))
    yard.change("ada", a__txt="x\n")
    with pytest.raises(errors.NotYours):  # an agent does not stop the queue
        yard.stage.call("slot.take", "ada", name="land:main")
    yard.stage.call("slot.take", "user", name="land:main")
    refused: list[str] = []

    async def go() -> None:
        verbs = Verbs(yard.stage)
        real = verbs.call

        async def call(team: str, verb: str, args: Mapping[str, Any]) -> Any:
            try:
                return await real(team, verb, args)
            except Exception:
                refused.append(verb)
                if refused.count("slot.take") == 2:
                    yard.stage.call("slot.give", "user", name="land:main")
                raise

        verbs.call = call  # type: ignore[method-assign]
        await yard.lander(verbs).land(yard.stage.team, str(yard.root), "main")

    asyncio.run(go())
    assert refused == ["slot.take", "slot.take"]
    assert yard.states == {"landed"}


@pytest.mark.slow
def test_a_check_that_takes_too_long_is_ended_with_all_it_started(yards: Callable[..., Yard], tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    below = "import time; time.sleep(600)"
    source = (
        "import os, subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {below!r}], start_new_session=True)\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n{below}"
    )
    yard = yards(land__check=check(source), land__check_s=1)
    change = yard.change("ada", a__txt="x\n")
    yard.settle()
    assert landings(yard.stage) == {change: "failed"}
    assert "took longer than 1 s" in yard.stage.call("land.list")["landings"][0]["reason"]
    for pid in map(int, pids.read_text().split()):
        until(lambda pid=pid: process.identify(pid) is None, f"{pid} to end")


@pytest.mark.slow
def test_a_check_that_can_not_be_run_says_so(yards: Callable[..., Yard]) -> None:
    yard = yards(land__check=["/nowhere/check"])
    yard.change("ada", a__txt="x\n")
    yard.settle()
    (landing,) = yard.stage.call("land.list")["landings"]
    assert "can not be run" in yard.stage.call("artifacts.show", id=landing["log"])["content"]


@pytest.mark.slow
def test_after_the_last_attempt_its_owner_is_asked(yards: Callable[..., Yard]) -> None:
    yard = yards(land__check=check("raise SystemExit(1)"), tasks__attempts=1)
    task = yard.stage.call("task.add", title="T")["id"]
    yard.worker("ada").done(task, a__txt="x\n")
    yard.settle()
    shown = yard.stage.call("task.show", id=task)
    assert (shown["status"], shown["why"][:12]) == ("blocked", "did not land")
    assert any("did not land 1 times" in subject for subject in yard.stage.subjects("user"))


# --- several at once --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("guilty", few(range(4), 1))
def test_of_a_batch_only_the_guilty_one_fails(yards: Callable[..., Yard], guilty: int) -> None:
    yard = yards(land__batch=4, land__check=check("import os; raise SystemExit(os.path.exists('bad.txt'))"))
    names = ["ada", "bob", "cy", "dan"]
    made = [
        yard.change(name, **{"bad__txt" if place == guilty else f"{name}__txt": "x\n"})
        for place, name in enumerate(names)
    ]
    yard.settle()
    wanted = {change: "failed" if place == guilty else "landed" for place, change in enumerate(made)}
    assert landings(yard.stage) == wanted
    assert not (yard.root / "bad.txt").exists()
    assert len(list(yard.root.glob("*.txt"))) == 4


@pytest.mark.slow
def test_a_batch_that_passes_is_checked_once(yards: Callable[..., Yard]) -> None:
    yard = yards(land__batch=8, land__check=check("pass"))
    made = [yard.change(f"w{n}", **{f"f{n}__txt": "x\n"}) for n in range(5)]
    verbs = yard.settle()
    assert landings(yard.stage) == dict.fromkeys(made, "landed")
    assert verbs.made.count("land.checked") == 1


@pytest.mark.slow
def test_in_a_batch_a_conflict_with_another_is_judged_when_that_has_landed(yards: Callable[..., Yard]) -> None:
    yard = yards(land__batch=4)
    first = yard.change("ada", base__txt="ONE\ntwo\nthree\n")
    second = yard.change("bob", base__txt="uno\ntwo\nthree\n")
    third = yard.change("cy", c__txt="x\n")
    yard.settle()
    assert landings(yard.stage) == {first: "landed", second: "failed", third: "landed"}


# --- the person's own copy --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_a_person_has_not_committed_is_never_written_over(yards: Callable[..., Yard]) -> None:
    yard = yards()
    change = yard.change("ada", base__txt="ONE\ntwo\nthree\n")
    (yard.root / "base.txt").write_text("the person is at it\n")
    before = yard.tip()
    yard.run(lambda: yard.stage.call("land.list")["landings"][0]["reason"] != "")
    assert (yard.root / "base.txt").read_text() == "the person is at it\n"
    assert yard.tip() == before
    (landing,) = yard.stage.call("land.list")["landings"]
    assert "base.txt would be written over" in landing["reason"]
    git("checkout", "-q", "base.txt", cwd=yard.root)
    verbs = yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    assert "land.checked" not in verbs.made
    waiting = [subject for subject in yard.stage.subjects("user") if "waits to land" in subject]
    assert len(waiting) == 1, "told once, however often it is tried"


@pytest.mark.slow
def test_local_changes_elsewhere_are_in_nobodys_way(yards: Callable[..., Yard]) -> None:
    yard = yards()
    (yard.root / "base.txt").write_text("the person is at it\n")
    change = yard.change("ada", a__txt="x\n")
    yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    assert (yard.root / "base.txt").read_text() == "the person is at it\n"


@pytest.mark.slow
def test_what_waits_for_a_person_can_be_dropped(yards: Callable[..., Yard]) -> None:
    yard = yards()
    first = yard.change("ada", base__txt="ONE\n")
    second = yard.change("bob", b__txt="x\n")
    (yard.root / "base.txt").write_text("the person is at it\n")

    def dropped() -> bool:
        row = next(each for each in yard.stage.call("land.list")["landings"] if each["change"] == first)
        if row["reason"] and row["state"] == "working":
            yard.stage.call("land.drop", id=row["id"], reason="mine is better")
        return landings(yard.stage)[second] == "landed"

    yard.run(dropped)
    assert landings(yard.stage) == {first: "dropped", second: "landed"}
    assert (yard.root / "base.txt").read_text() == "the person is at it\n"


@pytest.mark.slow
def test_a_branch_that_moved_meanwhile_is_merged_with_anew(yards: Callable[..., Yard], tmp_path: Path) -> None:
    """While the check runs, a person commits."""
    flag = tmp_path / "moved"
    commit = [
        "git",
        "-C",
        "REPO",
        "-c",
        "user.name=p",
        "-c",
        "user.email=p@x",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "by hand",
    ]
    source = (
        "import os, subprocess\n"
        f"if not os.path.exists({str(flag)!r}):\n"
        f"    open({str(flag)!r}, 'w').close()\n"
        "    subprocess.run(COMMIT, check=True)"
    )
    yard = yards()
    yard.close()
    repo = str(yard.root)
    source = source.replace("COMMIT", repr(commit)).replace("REPO", repo)
    yard.stage = Stage(yard.stage.store.location, land__auto=True, land__retry_s=0.05, land__check=check(source))
    change = yard.change("ada", a__txt="x\n")
    verbs = yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    assert verbs.made.count("land.checked") == 2, "what was checked is what landed"
    assert history(yard.root)[:3].count("by hand") == 1
    assert [line for line in history(yard.root) if line.startswith("Land ")] == [f"Land {change}: Task of ada"]


# --- taking back ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("strategy", few(["merge", "rebase", "squash"], "merge"))
def test_undo_takes_back_what_landed_and_nothing_else(yards: Callable[..., Yard], strategy: str) -> None:
    yard = yards(land__strategy=strategy, land__batch=3)
    made = [yard.change(name, **{f"{name}__txt": "x\n"}) for name in ("ada", "bob", "cy")]
    yard.settle()
    yard.stage.call("land.undo", id="land-0002")
    yard.settle()
    assert landings(yard.stage) == {made[0]: "landed", made[1]: "undone", made[2]: "landed"}
    assert {path.name for path in yard.root.glob("*.txt")} == {"ada.txt", "cy.txt", "base.txt"}
    assert history(yard.root)[0] == f"Take back {made[1]}"
    assert yard.stage.refused("land.undo", id="land-0002").code == "NOT_LANDED"
    (event,) = yard.stage.events("land.undone")
    assert event["actor"] == "user"


@pytest.mark.slow
def test_what_can_not_be_taken_back_stays_and_whoever_asked_is_told(yards: Callable[..., Yard]) -> None:
    yard = yards()
    first = yard.change("ada", base__txt="ONE\ntwo\nthree\n")
    yard.settle()
    second = yard.change("bob", base__txt="ZWEI\ntwo\nthree\n")
    yard.settle()
    before = yard.tip()
    yard.stage.call("land.undo", id="land-0001")
    yard.settle()
    assert landings(yard.stage) == {first: "landed", second: "landed"}
    assert yard.tip() == before
    assert any("could not be taken back" in subject for subject in yard.stage.subjects("user"))


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "again"), [("squash", "landed"), ("merge", "failed")])
def test_what_was_taken_back_lands_again_where_the_branch_does_not_have_it(
    yards: Callable[..., Yard], strategy: str, again: str
) -> None:
    """A squash left nothing in the history; after a merge the branch has it and its opposite: nothing would land."""
    yard = yards(land__strategy=strategy)
    change = yard.change("ada", a__txt="x\n")
    yard.settle()
    yard.stage.call("land.undo", id="land-0001")
    yard.settle()
    yard.stage.call("land.add", change=change)
    yard.settle()
    newest, first = yard.stage.call("land.list")["landings"]
    assert (newest["state"], first["state"]) == (again, "undone")
    assert ("taken back" in newest["reason"]) is (again == "failed")
    assert (yard.root / "a.txt").exists() is (again == "landed")


# --- crashes ----------------------------------------------------------------------------------------------------------

POINTS = ["land_taken", "land_merged", "land_checked", "land_written", "land_moved", "land_told"]


def killed_at(yard: Yard, point: str, time: int = 1) -> None:
    """A lander that is gone at this point, and whose process is known to be dead from then on."""
    left = [time]

    def reached(name: str) -> None:
        if name == point:
            left[0] -= 1
            if left[0] == 0:
                raise Killed

    async def go() -> None:
        yard.pids += 1
        verbs = Verbs(yard.stage, yard.pids)
        with pytest.raises(Killed):
            await yard.lander(verbs, reached).land(yard.stage.team, str(yard.root), "main")
        yard.stage.prober.states[verbs.process] = "dead"

    asyncio.run(go())


@pytest.mark.parametrize("batch", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("point", few(POINTS, "land_written", "land_moved"))
def test_after_a_crash_at_any_point_each_change_lands_once(yards: Callable[..., Yard], point: str, batch: int) -> None:
    yard = yards(land__check=check("pass"), land__batch=batch)
    made = [yard.change(name, **{f"{name}__txt": "x\n"}) for name in ("ada", "bob", "cy")]
    killed_at(yard, point)
    yard.settle()
    assert landings(yard.stage) == dict.fromkeys(made, "landed")
    assert sorted(line for line in history(yard.root) if line.startswith("Land ")) == [
        f"Land {change}: Task of {name}" for change, name in zip(made, ("ada", "bob", "cy"), strict=True)
    ]
    assert len(yard.stage.events("land.landed")) == 3


@pytest.mark.slow
@pytest.mark.parametrize("point", few(["land_taken", "land_written", "land_moved", "land_told"], "land_moved"))
def test_after_a_crash_while_taking_back_it_is_taken_back_once(yards: Callable[..., Yard], point: str) -> None:
    yard = yards()
    change = yard.change("ada", a__txt="x\n")
    yard.settle()
    yard.stage.call("land.undo", id="land-0001")
    killed_at(yard, point)
    yard.settle()
    assert landings(yard.stage) == {change: "undone"}
    assert history(yard.root)[:2] == [f"Take back {change}", f"Land {change}: Task of ada"]


@pytest.mark.slow
def test_a_word_that_could_not_be_written_after_the_move_leaves_what_was_written_before(
    yards: Callable[..., Yard],
) -> None:
    """The store is away for a moment, just when the branch has moved: the next one looks, and does not land it anew."""
    yard = yards(land__strategy="squash")
    change = yard.change("ada", a__txt="x\n")

    async def go() -> None:
        yard.pids += 1
        verbs = Verbs(yard.stage, yard.pids)
        real = verbs.call

        async def call(team: str, verb: str, args: Mapping[str, Any]) -> Any:
            if verb == "land.done":
                raise errors.StoreBusy("Others write.", "Again.")
            return await real(team, verb, args)

        verbs.call = call  # type: ignore[method-assign]
        await yard.lander(verbs).land(yard.stage.team, str(yard.root), "main")

    asyncio.run(go())
    (landing,) = yard.stage.call("land.list")["landings"]
    assert (landing["state"], landing["step"], landing["result"]) == ("working", "moving", yard.tip())
    assert yard.stage.refused("land.drop", id=landing["id"]).code == "MOVING"
    git("revert", "--no-edit", "HEAD", cwd=yard.root)
    yard.stage.clock.pass_time(600_000)
    yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    assert not (yard.root / "a.txt").exists()


def landed_and_reverted_by_hand(yard: Yard) -> int:
    """How often it is in the branch, if that had moved, nobody had written that down, and a person took it back."""
    change = yard.change("ada", a__txt="x\n")
    killed_at(yard, "land_moved")
    git("revert", "--no-edit", "HEAD", cwd=yard.root)
    yard.settle()
    assert landings(yard.stage) == {change: "landed"}
    return history(yard.root).count(f"Land {change}: Task of ada")


@pytest.mark.slow
def test_what_is_in_the_branch_is_not_landed_again_whatever_came_after_it(yards: Callable[..., Yard]) -> None:
    yard = yards(land__strategy="squash")
    assert landed_and_reverted_by_hand(yard) == 1
    assert not (yard.root / "a.txt").exists()


@pytest.mark.slow
def test_control_a_lander_that_only_compares_the_tip_lands_it_twice(
    yards: Callable[..., Yard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        merging, "next_move", lambda expected, result, seen: Next.MOVE if seen.tip == expected else
        Next.LANDED if seen.tip == result else Next.ANEW
    )  # fmt: skip
    yard = yards(land__strategy="squash")
    assert landed_and_reverted_by_hand(yard) == 2


@pytest.mark.slow
@pytest.mark.parametrize("point", few(["land_taken", "land_checked", "land_written", "land_moved"], "land_written"))
def test_of_two_landers_one_has_the_branch(yards: Callable[..., Yard], point: str) -> None:
    """The other one is given nothing while the first lives; once that stalls and its lease is over, it goes on, and
    the first finds that nothing is its own any more."""
    yard = yards(land__check=check("pass"))
    change = yard.change("ada", a__txt="x\n")
    where = (yard.stage.team, str(yard.root), "main")

    async def go() -> None:
        first, second = Verbs(yard.stage, 1), Verbs(yard.stage, 2)

        def reached(name: str) -> None:
            if name == point:
                other = yard.lander(second)
                second.made.clear()
                in_thread(other.land(*where))
                assert second.made == ["land.take"], "nothing while the first has it"
                yard.stage.clock.pass_time(31_000)
                in_thread(other.land(*where))

        await yard.lander(first, reached).land(*where)

    asyncio.run(go())
    assert landings(yard.stage) == {change: "landed"}
    assert history(yard.root).count(f"Land {change}: Task of ada") == 1
    assert len(yard.stage.events("land.landed")) == 1
    yard.settle()
    assert len(history(yard.root)) == 4, "first, base, the work, its merge"


@pytest.mark.slow
def test_two_landers_at_once_land_each_change_once(yards: Callable[..., Yard]) -> None:
    yard = yards(land__check=check("pass"))
    made = [yard.change(f"w{n}", **{f"f{n}__txt": "x\n"}) for n in range(4)]

    async def go() -> None:
        both = [Verbs(yard.stage, pid) for pid in (1, 2)]
        work = [asyncio.create_task(yard.lander(verbs).run()) for verbs in both]
        await both[0].until(lambda: yard.states == {"landed"})
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    asyncio.run(go())
    assert landings(yard.stage) == dict.fromkeys(made, "landed")
    assert len([line for line in history(yard.root) if line.startswith("Land ")]) == 4


def in_thread(work: Any) -> None:
    """Another event loop, as another process has it."""
    from threading import Thread

    thread = Thread(target=lambda: asyncio.run(work))
    thread.start()
    thread.join()


@pytest.mark.slow
def test_a_tree_that_is_broken_is_made_again(yards: Callable[..., Yard]) -> None:
    yard = yards(land__check=check("pass"))
    yard.change("ada", a__txt="x\n")
    yard.settle()
    tree = Path(yard.tree("", "", ""))
    (tree / ".git").write_text("gitdir: /nowhere\n")
    change = yard.change("bob", b__txt="x\n")
    yard.settle()
    assert landings(yard.stage)[change] == "landed"


@pytest.mark.slow
def test_what_the_machine_can_not_do_is_tried_again_later_and_told_once(yards: Callable[..., Yard]) -> None:
    yard = yards()
    change = yard.change("ada", a__txt="x\n")
    away = yard.root.rename(yard.root.parent / "away")
    yard.run(lambda: yard.stage.call("land.list")["landings"][0]["tries"] >= 1 and yard.states == {"queued"})
    assert landings(yard.stage) == {change: "queued"}
    assert len([subject for subject in yard.stage.subjects("user") if "waits to land" in subject]) == 1
    away.rename(yard.root)
    yard.stage.call("land.retry", id="land-0001")
    yard.settle()
    assert landings(yard.stage) == {change: "landed"}


def test_a_check_that_blocks_ends_with_the_lander_and_is_reported(yards: Callable[..., Yard], tmp_path: Path) -> None:
    """Within the time that the daemon gives it; nothing waits for the half hour that a check may take."""
    said = tmp_path / "pid"
    source = f"import os, time; open({str(said)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    yard = yards(land__check=check(source))
    yard.change("ada", new="1\n")

    async def go() -> dict[str, list[str]]:
        registry, verbs = Services(), Verbs(yard.stage)
        made = yard.lander(verbs)
        made.pools = Pools(registry.pool("merges", 1), registry.pool("checks", 1))
        registry.add(made.service)
        registry.start()
        async with asyncio.timeout(PATIENCE_S):
            while not (said.exists() and said.read_text()):
                await asyncio.sleep(0.01)  # a look, with a deadline
        return await registry.stop()

    told = asyncio.run(go())
    (ended,) = told["ended"]
    assert ended.startswith("checks: ")
    assert told["left"] == []
    until(lambda: process.identify(int(said.read_text())) is None)
