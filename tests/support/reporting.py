"""Workers that can report: rows as spawn and a supervisor would make them, in a real repository."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rookery.core.caller import Caller
from rookery.runtime import repository
from rookery.service import workers
from tests.support.stage import Stage
from tests.unit.gitrepo import git
from tests.unit.gitrepo import repository as new_repository

OWNER = "here:1:t1"
SUMMARY = "The header parser now rejects lines without a colon, and the three tests that cover it pass."
TEST = "pytest -q tests/test_header.py: 3 passed"


class Shop:
    """A team beside a repository, in which workers are spawned and run."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.root = new_repository(folder / "repo")
        self.base = repository.commit_of(str(self.root))
        self.processes: dict[str, tuple[int, str]] = {}
        self.runs: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def tree(self, id: str) -> Path:
        return self.root.parent / f"tree-{id}"

    def spawn(self, assignment: str = "Parse the header", as_: str | Caller | None = None, **more: Any) -> str:
        """Asked for; its id. Crew and role are given as a crew gives them: no caller may say them."""
        caller = as_ if isinstance(as_, Caller) else self.stage.caller(as_, tree=str(self.root))
        inner = {name: more.pop(name) for name in ("crew", "role") if name in more}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(workers, "make", partial(workers.make, **inner))
            made = self.stage.call("spawn", caller, assignment=assignment, **more)
        self.names[made["id"]] = made["name"]
        return made["id"]

    def begin(self, id: str) -> str:
        run = self.stage.call("worker.begin", "system", id=id, owner=OWNER)["worker"]["run"]
        self.runs[id] = run
        return run

    def start(self, id: str, *, tree: bool = True) -> str:
        """It runs, in a worktree of its own or in the root; its agent's name."""
        run, process = self.begin(id), self.stage.process()
        where = self.tree(id)
        if tree:
            repository.add_worktree(str(self.root), str(where), self.base)
        self.stage.call(
            "worker.started", "system", id=id, run=run, pid=process[0], since=process[1],
            tree=str(where) if tree else "", base=self.base if tree else "",
        )  # fmt: skip
        self.processes[id] = process
        return self.names[id]

    def worker(self, assignment: str = "Parse the header", *, tree: bool = True, **more: Any) -> str:
        id = self.spawn(assignment, **more)
        self.start(id, tree=tree)
        return id

    def caller(self, id: str) -> Caller:
        """From beneath its process."""
        return self.stage.caller(self.names[id], lineage=(self.processes[id],), tree=str(self.root))

    def call(self, worker: str, verb: str, /, **args: Any) -> Any:
        return self.stage.call(verb, self.caller(worker), **args)

    def refused(self, worker: str, verb: str, /, **args: Any) -> Any:
        return self.stage.refused(verb, self.caller(worker), **args)

    def write(self, id: str, name: str = "header.py", text: str = "def parse(): ...\n") -> None:
        path = self.tree(id) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, id: str, name: str = "header.py") -> str:
        self.write(id, name)
        git("add", "-A", cwd=self.tree(id))
        git("commit", "-qm", f"add {name}", cwd=self.tree(id))
        return repository.commit_of(str(self.tree(id)))

    def done(self, id: str, **more: Any) -> Any:
        """A result as it should be."""
        if self.tree(id).exists() and not (self.tree(id) / "header.py").exists():
            self.write(id)
        return self.call(id, "done", **{"outcome": "completed", "summary": SUMMARY, "tests": [TEST], **more})

    def over(self, id: str, reason: str = "ended") -> Any:
        return self.stage.call("worker.ended", "system", id=id, run=self.runs[id], reason=reason)

    def card(self, id: str) -> dict[str, Any]:
        return self.stage.call("worker.show", id=id)
