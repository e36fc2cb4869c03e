"""Workers, as rows and worktrees: what a supervisor would have made, without one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rookery.app import House
from rookery.core.landing import keep_under
from rookery.runtime import repository
from rookery.service import changes
from rookery.service.tx import Tx
from tests.support import ledger
from tests.support.fakes import HOST
from tests.support.stage import Stage
from tests.unit.gitrepo import git


def insert(path: str, table: str, **values: Any) -> None:
    with ledger.writing(path) as connection:
        names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
        ledger.rows(connection, f"INSERT INTO {table} ({names}) VALUES ({marks})", values)


class RealHouse:
    """A real house, as far as a worker needs a stage."""

    def __init__(self, house: House) -> None:
        self.world = house
        self.store = house.store
        self.team = house.team
        self.caller = house.caller

    def call(self, verb: str, agent: str | None = None, **args: Any) -> Any:
        return self.world.client.call(verb, args, self.world.caller(agent))

    def join(self, name: str) -> Any:
        return self.call("join", name=name)


class Worker:
    """An agent with a worktree of its own, begun at the tip of the branch that is checked out in the root."""

    def __init__(self, stage: Stage | RealHouse, root: Path, name: str, *, crew: str = "", machine: str = HOST) -> None:
        self.world = stage.world if isinstance(stage, RealHouse) else stage
        self.stage = stage
        self.root = root
        self.name = name
        stage.join(name)
        path = stage.store.location
        ((self.agent, team),) = ledger.ask(path, "SELECT id, team FROM agents WHERE name = :name", name=name)
        count = ledger.ask(path, "SELECT count(*) FROM workers")[0][0] + 1
        self.id = f"w{count}"
        self.base = repository.commit_of(str(root))
        self.tree = root.parent / f"tree-{self.id}"
        repository.add_worktree(str(root), str(self.tree), self.base)
        insert(
            path, "workers", team=team, n=count, id=self.id, agent=self.agent, kind="implementer",
            host="script", backend="headless", machine=machine, root=str(root), tree=str(self.tree), base=self.base,
            asked_by=self.agent, crew=crew, state="running", created_at=0, at=0,
        )  # fmt: skip

    def write(self, **files: str | None) -> None:
        """`a__txt="x"` writes a.txt; None removes."""
        for name, text in files.items():
            path = self.tree / name.replace("__", ".")
            path.unlink() if text is None else path.write_text(text)

    def report(self, task: str = "", epoch: int = 0, message: str = "work") -> str:
        """What `done` does first: the change set captured, and recorded."""
        row: dict[str, Any] = {
            "id": self.id, "tree": str(self.tree), "base": self.base, "root": str(self.root), "name": self.name,
            "agent": self.agent, "run": "",
        }  # fmt: skip
        found = changes.captured(self.world, row, message, ask=self._ask)
        caller = self.stage.caller(self.name)
        return self.stage.store.write(
            self.stage.team, lambda db: changes.record(Tx(db, caller, self.world), row, found, task, epoch)
        )

    def _ask(self, verb: str, args: Mapping[str, Any]) -> Any:
        return self.stage.call(verb, self.name, **args)

    def done(self, task: str, **files: str | None) -> str:
        """Claims a task, does it, reports it done; the change set."""
        lease = self.stage.call("task.claim", self.name, id=task)["lease"]
        self.write(**files)
        change = self.report(task, lease["epoch"], f"{task} done")
        self.stage.call("task.done", self.name, id=task, summary="done")
        return change

    @property
    def keep(self) -> str:
        return keep_under(self.stage.team, self.id)


def landings(stage: Stage | RealHouse) -> dict[str, str]:
    """The state of the newest of each change."""
    return {each["change"]: each["state"] for each in reversed(stage.call("land.list", limit=1000)["landings"])}


def history(root: Path, branch: str = "main") -> list[str]:
    return git("log", "--format=%s", branch, cwd=root).splitlines()
