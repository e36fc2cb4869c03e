"""A crew run that is killed while it works, and what has to be true of it afterwards.

Moments are counted in events of the ledger and in what programs say they are at, not in seconds: so kills fall all over
a run, however fast the machine is.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.support import crew_check, crew_program, ledger
from tests.support.doors import Running
from tests.support.panes import LOOK_EVERY_S, until
from tests.support.supervised import Site, site
from tests.support.trusting import trust_repository
from tests.unit.gitrepo import git

HERE = Path(__file__).parent
PATIENCE_S = 150.0
SETTINGS = {
    "ROOK_WORKER_LIMIT": "6", "ROOK_TASKS_ATTEMPTS": "20", "ROOK_LAND_RETRY_S": "0.2", "ROOK_WORKER_TIDY_S": "0.2",
    "ROOK_WORKER_GRACE_S": "5",
}  # fmt: skip
# Reviewers that read, and whoever writes: one kind is started anew after a crash, of the other another is.
STEADY = """\
---
name: steady
description: goes on after a crash
respawn:
  policy: on-crash
  limit: 1000
  backoff_s: 0
---
Go on.
"""


class CrewRun:
    def __init__(self, here: Site, stack: ExitStack, tasks: int, program: str, **environ: str) -> None:
        self.here = here
        self.tasks = tasks
        self._stack = stack
        self.daemon: Running = stack.enter_context(here.up(program=program, **environ))
        self.daemon_kills = 0
        self.worker_kills: Counter[str] = Counter()
        self._judges: Counter[str] = Counter()

    # -- running -------------------------------------------------------------------------------------------------------

    def start(self, workers: int = 4) -> None:
        self.here.folder.joinpath("plan.md").write_text(plan(self.tasks))
        words = ["crew", "run", str(self.here.folder / "plan.md"), "--host", "script", "--backend", "headless"]
        for word in (sys.executable, str(HERE / "crew_program.py"), str(self.here.folder)):
            words += ["--program", word]
        for word in (sys.executable, "-S", str(HERE / "crew_check.py")):
            words += [f"--check={word}"]
        done = subprocess.run(
            [sys.executable, "-m", "rookery", *words, "--workers", str(workers), "--detach", "--json"],
            env=self.daemon.environ, cwd=self.here.repo, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.id = json.loads(done.stdout)["id"]

    def state(self) -> str:
        return self.ask("SELECT state FROM crews")[0][0]

    def is_over(self) -> bool:
        return self.state() in ("finished", "failed", "stopped")

    def finish(self) -> None:
        until(self.is_over, self.story, PATIENCE_S)
        assert self.state() == "finished", self.story()

    def story(self) -> Any:
        """For whoever reads why it hangs."""
        return (
            self.here.call("crew.status", id=self.id),
            self.ask("SELECT id, state, report, role, task, wish, runs FROM workers WHERE state <> 'ended'"),
            self.ask("SELECT id, status, review, why FROM tasks WHERE status <> 'completed' OR review = 'pending'"),
            self.ask("SELECT id, state, step, reason FROM landings WHERE state <> 'landed'"),
            self.here.log(),
        )

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        return ledger.ask(str(self.here.home / "rookery.db"), statement)

    # -- killing -------------------------------------------------------------------------------------------------------

    def events(self) -> int:
        return self.ask("SELECT max(seq) FROM events")[0][0] or 0

    def kill_daemon(self, chance: random.Random) -> bool:
        """After a few more events, and another takes its place; False if the crew was over before."""
        moment = self.events() + chance.randrange(1, 3 * self.tasks // 2)
        until(lambda: self.events() >= moment or self.is_over(), self.story, PATIENCE_S, at_most_s=LOOK_EVERY_S)
        if self.is_over():
            return False
        self.replace_daemon()
        return True

    def replace_daemon(self, program: str = "rookery", **environ: str) -> None:
        self.daemon.process.kill()
        self.daemon.wait()
        self.daemon_kills += 1
        self.daemon = self._stack.enter_context(self.here.up(program=program, **environ))

    def kill_worker(self, chance: random.Random) -> bool:
        """One that is at a chosen step; False if the crew was over before. A reviewer is not killed three times over
        the same result: a person would be asked then, as it should be."""
        step = chance.choice(("begun", *crew_program.STEPS))
        until(lambda: self._kill_one(step, chance) or self.is_over(), self.story, PATIENCE_S, at_most_s=LOOK_EVERY_S)
        return not self.is_over()

    def _kill_one(self, step: str, chance: random.Random) -> bool:
        found = sorted(self.at(step).items())
        if not found:
            return False
        run, pid = chance.choice(found)
        role = self.ask(f"SELECT w.role, w.task FROM workers w JOIN runs r ON r.worker = w.id WHERE r.id = '{run}'")
        if role and role[0][0] == "review":
            if self._judges[role[0][1]] >= 2:
                return False
            self._judges[role[0][1]] += 1
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.worker_kills[step] += 1
        return True

    def at(self, step: str) -> dict[str, int]:
        """Runs that are at this step now, with their process; "begun": its shell runs, and nothing was heard yet."""
        now: dict[str, tuple[str, int]] = {}
        path = self.here.folder / "steps"
        for line in path.read_text().splitlines() if path.exists() else ():
            run, pid, at = line.split()
            now[run] = at, int(pid)
        carried = {pid: run_of(pid) for pid in self.here.processes()}
        if step == "begun":
            return {run: pid for pid, run in carried.items() if run and run not in now}
        return {run: pid for run, (at, pid) in now.items() if at == step and carried.get(pid) == run}

    # -- afterwards ----------------------------------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """What is not as it should be of a crew that has finished."""
        return [*self._epochs(), *self._landings(), *self._history(), *self._tree()]

    def _epochs(self) -> Generator[str]:
        """One completion for each epoch that was completed, and the last one is the task's."""
        for id, status, epoch, review in self.ask("SELECT id, status, epoch, review FROM tasks"):
            if status != "completed" or review == "pending":
                yield f"{id} is {status}, {review}"
            claimed, done = 0, []
            told = (
                f"SELECT type, data FROM events WHERE ref = '{id}' AND type IN ('task.start', 'task.done') ORDER BY seq"
            )
            for kind, more in self.ask(told):
                if kind == "task.start":
                    claimed = json.loads(more)["epoch"]
                else:
                    done.append(claimed)
            if not done or done[-1] != epoch or len(done) != len(set(done)):
                yield f"{id} is at epoch {epoch}, and was completed in {done}"
            sent_back = self.ask(f"SELECT 1 FROM reviews WHERE task = '{id}' AND verdict <> 'SHIP'")
            if len(done) != 1 + len(sent_back):
                yield f"{id} was completed {len(done)} times, and sent back {len(sent_back)} times"

    def _landings(self) -> Generator[str]:
        for task, states in self.ask("SELECT task, group_concat(state) FROM landings GROUP BY task"):
            if states != "landed":
                yield f"{task}: {states}"
        landed = self.ask("SELECT count(DISTINCT task) FROM landings")[0][0]
        if landed != self.tasks:
            yield f"{landed} tasks landed"

    def _history(self) -> Generator[str]:
        said = git("log", "--first-parent", "--format=%s", "main", cwd=self.here.repo).splitlines()
        wanted = sorted([f"Task {number}" for number in range(1, self.tasks + 1)] + ["first"])
        if sorted(line.rpartition(": ")[2] for line in said) != wanted:
            yield f"the branch has {said}"
        for number in range(1, self.tasks + 1):
            words = ("log", "--first-parent", "-m", "--format=%h", "main", "--", f"work/{number}.txt")
            if len(git(*words, cwd=self.here.repo).splitlines()) != 1:
                yield f"task {number} did not land once"

    def _tree(self) -> Generator[str]:
        with tempfile.TemporaryDirectory() as folder:
            expected(Path(folder), self.tasks)
            for tree in (folder, str(self.here.repo)):
                yield from crew_check.problems(Path(tree))
            if contents(Path(folder)) != contents(self.here.repo):
                yield f"the branch has {sorted(contents(self.here.repo))}"
        if said := git("status", "--porcelain", cwd=self.here.repo):
            yield f"the working copy is not clean: {said}"

    def lost(self) -> list[tuple[Any, ...]]:
        """Runs that count as running, of which nothing runs."""
        carried = {run_of(pid) for pid in self.here.processes()}
        return [row for row in self.ask("SELECT id FROM runs WHERE ended_at IS NULL") if row[0] not in carried]

    def crashed(self) -> list[tuple[Any, ...]]:
        """Runs that ended otherwise than they should, with their last words."""
        return self.ask(
            "SELECT worker, n, reason, exit_code, tail FROM runs WHERE reason IN ('crashed', 'not-started')"
        )

    def _refs(self) -> list[str]:
        return git("for-each-ref", "--format=%(refname)", "refs/rookery", cwd=self.here.repo).splitlines()

    def left_behind(self) -> list[str]:
        """What a crew that is over, and a daemon that went down, have left; each should be nothing."""
        home = self.here.home
        landing = f"{home}/teams/{self.here.team}/landing/"
        found: dict[str, Any] = {
            "processes": self.here.processes(), "windows": self.here.windows(),
            "a tmux server": (home / "run" / "tmux").exists() and self.here.windows(),
            "worktrees": [each for each in self.here.worktrees() if not each.startswith(landing)],
            "workspaces": list(home.glob("teams/*/workers/*/workspace")),
            "tokens": list(home.glob("teams/*/workers/*/token")),
            "refs": [each for each in self._refs() if not each.endswith("/left")],
            "locks": [str(path) for path in (self.here.repo / ".git").rglob("*.lock")],
            "leases": self.ask("SELECT id FROM tasks WHERE holder IS NOT NULL AND status = 'in_progress'"),
            "reservations and slots": self.ask("SELECT id, pattern, agent, task FROM reservations"),
            "workers": self.ask("SELECT id, state FROM workers WHERE state <> 'ended'"),
            "runs": self.ask("SELECT id FROM runs WHERE ended_at IS NULL"),
            "sessions": self.ask("SELECT s.id FROM runs r JOIN sessions s ON s.id = session WHERE s.ended_at IS NULL"),
            "live tokens": self.ask("SELECT t.id FROM runs r JOIN tokens t ON t.id = r.token WHERE revoked_at IS NULL"),
        }  # fmt: skip
        return [f"{what}: {each}" for what, each in found.items() if each]


def run_of(pid: int) -> str:
    try:
        said = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return next((each[len(b"ROOK_RUN=") :].decode() for each in said if each.startswith(b"ROOK_RUN=")), "")
    except OSError:
        return ""


def plan(tasks: int) -> str:
    """Chains of tasks; a third of them is reviewed, and half of them is of a kind that is started anew."""
    lines = ["# Goal: files in chains", ""]
    for number in range(1, tasks + 1):
        notes = [f"id: t{number}", f"review: {'yes' if number % 3 == 0 else 'no'}"]
        notes += [f"kind: {'steady' if number % 4 < 2 else 'implementer'}"]
        notes += [f"files: work/{number}.txt"] if number % 5 == 0 else []
        notes += [f"after: t{number - crew_program.CHAINS}"] if number > crew_program.CHAINS else []
        lines.append(f"- [ ] Task {number} ({'; '.join(notes)})")
    return "\n".join(lines) + "\n"


def expected(folder: Path, tasks: int) -> None:
    """The tree that the tasks make, one after another."""
    (folder / "work").mkdir()
    (folder / "chains").mkdir()
    for number in range(1, tasks + 1):
        before = folder / "work" / f"{number - crew_program.CHAINS}.txt"
        data = before.read_bytes() if before.exists() else b""
        (folder / "work" / f"{number}.txt").write_bytes(crew_program.made(number, data))
        chain = folder / "chains" / f"{number % crew_program.CHAINS}.txt"
        chain.write_bytes(crew_program.lines(chain.read_bytes() if chain.exists() else b"", number))


def contents(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.glob("[wc]*/*.txt")}


@contextmanager
def crew_run(tasks: int, program: str = "rookery", **environ: str) -> Generator[CrewRun]:
    """The program and the variables are those of the first daemon; the ones after it are as they are."""
    with site(**SETTINGS) as here, ExitStack() as stack:
        (here.repo / ".rook" / "kinds").mkdir(parents=True)
        (here.repo / ".rook" / "kinds" / "steady.md").write_text(STEADY)
        trust_repository(here.repo, here.house.environ)
        (here.repo / ".git" / "info" / "exclude").write_text(".rook/\n")
        yield CrewRun(here, stack, tasks, program, **environ)
