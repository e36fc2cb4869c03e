"""Hazards of workers: how systems that start agents were seen to break, and that this one does not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rookery.app import open_house
from rookery.front.cli.call import Call, Reply
from rookery.front.cli.router import run
from rookery.runtime import repository
from rookery.runtime.changesets import Worktrees
from tests.support import fastdoor, workers
from tests.support.stores import prepared_home
from tests.unit.gitrepo import git
from tests.unit.gitrepo import repository as new_repository

# --- H38: a worker's change set is its own ----------------------------------------------------------------------------


def captured_beside_another(tmp_path: Path, shared: bool) -> list[str]:
    """The files of ada's change set, while bob works on the same repository and ada takes in the branch."""
    root = new_repository(tmp_path / "repo")
    base = repository.commit_of(str(root))
    ada, bob = (root, root) if shared else (tmp_path / "ada", tmp_path / "bob")
    for tree in {ada, bob} - {root}:
        repository.add_worktree(str(root), str(tree), base)
    (bob / "bob.txt").write_text("by bob\n")
    git("add", "-A", cwd=bob)
    git("commit", "-qm", "by bob", cwd=bob)
    (root / "person.txt").write_text("by a person\n")
    git("add", "person.txt", cwd=root)
    git("commit", "-qm", "by a person", cwd=root)
    (ada / "ada.txt").write_text("by ada\n")
    git("add", "-A", cwd=ada)
    git("commit", "-qm", "by ada", cwd=ada)
    if not shared:
        git("merge", "-q", "--no-edit", "main", cwd=ada)
        (ada / "more.txt").write_text("by ada\n")
    branch = "" if not shared else "no-such-branch"
    found = Worktrees().capture(str(ada), base, "ada", "done", root=str(root), branch=branch)
    return sorted(each["path"] for each in found.files)


@pytest.mark.slow
def test_h38_a_change_set_is_its_own_workers_though_others_work_and_it_merged_the_branch(tmp_path: Path) -> None:
    assert captured_beside_another(tmp_path, shared=False) == ["ada.txt", "more.txt"]


def test_control_in_a_shared_tree_it_includes_what_others_committed(tmp_path: Path) -> None:
    assert captured_beside_another(tmp_path, shared=True) == ["ada.txt", "bob.txt", "person.txt"]


@pytest.mark.slow
def test_h38_a_second_attempt_that_goes_on_from_the_first_has_both_and_nothing_else(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "repo")
    first, second = tmp_path / "first", tmp_path / "second"
    base = repository.commit_of(str(root))
    repository.add_worktree(str(root), str(first), base)
    (first / "one.txt").write_text("x\n")
    head = Worktrees().capture(str(first), base, "ada", "first", root=str(root)).head
    (root / "other.txt").write_text("x\n")
    git("add", "-A", cwd=root)
    git("commit", "-qm", "another one landed", cwd=root)
    repository.add_worktree(str(root), str(second), head)
    (second / "two.txt").write_text("x\n")
    found = Worktrees().capture(str(second), head, "ada", "second", root=str(root))
    assert sorted(each["path"] for each in found.files) == ["one.txt", "two.txt"]


# --- H34: read-only and the plan gate are enforced --------------------------------------------------------------------

EDITS: list[tuple[str, dict[str, str]]] = [
    ("Write", {"file_path": "src/new.py", "content": "x"}),
    ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}),
    ("Bash", {"command": "echo x > src/a.py"}),
    ("Bash", {"command": "sed -i s/a/b/ src/a.py"}),
    ("Bash", {"command": "git commit -am 'mine now'"}),
    ("Bash", {"command": "git checkout main -- src"}),
    ("Bash", {"command": "pytest -q"}),  # whatever it may write, it does not tell
    ("Bash", {"command": 'python -c \'open("src/a.py", "w")\''}),
]
LOOKS = [
    ("Read", {"file_path": "src/a.py"}), ("Grep", {"pattern": "x"}),
    *(("Bash", {"command": command}) for command in (
        "git diff HEAD", "rg -n main src | head -20", "cat src/a.py", "git log -S main --oneline; git status",
        "rook done --outcome findings --summary 'a > b'", "rook ask --plan 'first the parser'",
    )),
]  # fmt: skip


class Shop:
    """A repository in which an agent, perhaps a worker, asks through its program's hook."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repo"
        (self.root / "src").mkdir(parents=True)
        (self.root / "src" / "a.py").write_text("a = 1\n")
        (self.root / "rookery.toml").touch()
        self.home = prepared_home(folder / "h")
        self.environ = {"HOME": str(folder), "ROOK_HOME": self.home, "ROOK_TEAM": "crew", "ROOK_AGENT": "ada",
                        "PATH": os.environ["PATH"]}  # fmt: skip
        self.store = f"{self.home}/rookery.db"

    def rook(self, *argv: str, stdin: str = "") -> Reply:
        """In this process: the same code, and many times as quick."""
        return fastdoor.whole(Call(list(argv), str(self.root), self.environ, lambda: stdin, print, peer=0))

    def real(self, *argv: str, stdin: str = "") -> Reply:
        done = subprocess.run(
            [sys.executable, "-m", "rookery", *argv], cwd=self.root, env=self.environ, input=stdin, text=True,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        return Reply(done.stdout, done.stderr, done.returncode)

    def verb(self, verb: str, **args: Any) -> Any:
        """As the person."""
        house = open_house(cwd=str(self.root), environ=self.environ)
        try:
            return house.client.call(verb, args, house.caller("user"))
        finally:
            house.close()

    def becomes(self, kind: str) -> str:
        """The agent of these tests is a worker of that kind from now on; its id."""
        return self.verb("spawn", assignment="Look into it", kind=kind, name="ada")["id"]

    def is_over(self, id: str) -> None:
        assert self.verb("stop", id=id)["state"] == "ended"

    def denial(self, tool: str, put: dict[str, str], *, real: bool = False) -> str:
        """Why the tool may not run; nothing if it may."""
        event = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": put, "cwd": str(self.root)}
        reply = (self.real if real else self.rook)("hook", "claude", stdin=json.dumps(event))
        assert reply.code == 0, reply.err
        answer = json.loads(reply.out)["hookSpecificOutput"] if reply.out else {}
        return answer.get("permissionDecisionReason", "") if answer.get("permissionDecision") == "deny" else ""

    def denied(self, tools: list[tuple[str, dict[str, str]]]) -> list[bool]:
        return [bool(self.denial(tool, put)) for tool, put in tools]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scout", "reviewer", "planner"])
def test_h34_a_kind_that_only_reads_can_not_write(shop: Shop, kind: str) -> None:
    shop.becomes(kind)
    for tool, put in EDITS:
        why = shop.denial(tool, put)
        assert f"of the kind {kind} only reads" in why, put
        assert "rook ask" in why, "and what to do instead"
    assert shop.denied(LOOKS) == [False] * len(LOOKS)


def test_h34_control_a_kind_that_writes_can(shop: Shop) -> None:
    shop.becomes("implementer")
    assert shop.denied(EDITS) == [False] * len(EDITS)
    assert shop.rook("can-commit", stdin="src/a.py\0").code == 0
    assert shop.rook("join", "eve").code == 0
    shop.environ["ROOK_AGENT"] = "eve"
    assert shop.denied(EDITS) == [False] * len(EDITS), "no worker, in a team that has some"
    assert shop.rook("reserve", "src/a.py").code == 0


@pytest.mark.slow
def test_h34_asked_of_the_program_itself(shop: Shop) -> None:
    """Real processes, as an agent program starts them: a reader is refused, the same edit of a writer goes through."""
    id = shop.becomes("scout")
    tool, put = EDITS[0]
    command, said = EDITS[6]
    assert "only reads" in shop.denial(tool, put, real=True)
    assert "only reads" in shop.denial(command, said, real=True)
    shop.is_over(id)
    assert shop.denial(tool, put, real=True) == ""
    assert shop.denial(command, said, real=True) == ""


@pytest.mark.slow
def test_h34_a_plan_gate_opens_when_the_plan_is_agreed_to(shop: Shop) -> None:
    shop.verb("kind.add", written="---\nname: careful\nplan_gate: true\n---\nPlan first.\n")
    id = shop.becomes("careful")
    for tool, put in EDITS:
        assert "rook ask --plan" in shop.denial(tool, put), put
    assert shop.denied(LOOKS) == [False] * len(LOOKS)
    assert "rook ask --plan" in shop.rook("can-commit", stdin="src/a.py\0").err
    workers.change(shop.store, id, plan_ok=1)
    assert shop.denied(EDITS) == [False] * len(EDITS)
    assert shop.rook("can-commit", stdin="src/a.py\0").code == 0


@pytest.mark.parametrize("rule", ["check", "allow", "ask", "deny"])
def test_h34_whatever_the_team_says_of_commands_that_do_not_tell(shop: Shop, rule: str) -> None:
    shop.environ["ROOK_GUARD_OPAQUE"] = rule
    shop.becomes("scout")
    assert "only reads" in shop.denial("Bash", {"command": "make"})
    assert shop.denial("Bash", {"command": "git log"}) == ""


def test_h34_nothing_is_reserved_committed_or_written_elsewhere(shop: Shop, tmp_path: Path) -> None:
    id = shop.becomes("scout")
    refused = shop.rook("reserve", "src/")
    assert refused.code == 1
    assert "only reads" in refused.err
    assert "only reads" in shop.denial("Write", {"file_path": str(tmp_path / "elsewhere.txt"), "content": "x"})
    committed = shop.rook("can-commit", stdin="src/a.py\0")
    assert committed.code == 1
    assert "only reads" in committed.err
    assert shop.rook("can-write", "src/a.py").code == 1
    shop.is_over(id)
    assert shop.rook("can-commit", stdin="src/a.py\0").code == 0


def test_h34_what_binds_a_worker_is_its_kind_as_it_was(shop: Shop) -> None:
    """A file that changes afterwards, by the worker's own hand perhaps, loosens nothing."""
    shop.becomes("scout")
    folder = shop.root / ".rook" / "kinds"
    folder.mkdir(parents=True)
    (folder / "scout.md").write_text("---\nname: scout\nread_only: false\n---\n")
    assert "only reads" in shop.denial(*EDITS[0])


def test_h34_through_the_daemon_too(shop: Shop) -> None:
    shop.becomes("scout")
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make"},
             "cwd": str(shop.root)}  # fmt: skip
    with fastdoor.hosted(shop.environ, shop.root, lambda call: run(call._replace(peer=0))):
        reply = fastdoor.ask(shop.environ, shop.root, "hook", "claude", stdin=lambda: json.dumps(event).encode())
    assert reply is not None
    assert "only reads" in reply.out
