"""Only what was shown lands: records that a worker's own process falsified, by real git and by the verb."""

import hashlib
import shutil
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery.core import shown
from rookery.runtime import gitpolicy
from rookery.service import changes
from tests.keeper.test_lander import Yard
from tests.support.crew_rows import Worker, landings
from tests.unit.gitrepo import git

Lie = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def yard(tmp_path: Path) -> Generator[Yard]:
    made = Yard(tmp_path)
    yield made
    made.close()


def commit(worker: Worker, **files: str) -> str:
    """`src___a__py` is src/a.py."""
    for name, content in files.items():
        folder, _, rest = name.rpartition("___")
        place = worker.tree / folder / rest.replace("__", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    git("add", "-A", cwd=worker.tree)
    git("commit", "-qm", "work", cwd=worker.tree)
    return git("rev-parse", "HEAD", cwd=worker.tree)


def task(yard: Yard) -> str:
    return yard.stage.call("task.add", title="Notes")["id"]


def recorded(yard: Yard, change: str) -> list[str]:
    return [each["path"] for each in yard.stage.call("changes.show", id=change)["files"]]


def refused(yard: Yard, change: str) -> None:
    """It did not land, its task is open again, and the user was told once."""
    before = yard.tip()
    yard.settle()
    assert (landings(yard.stage)[change], yard.tip()) == ("failed", before)
    events = [each for each in yard.stage.call("events", limit=1000)["events"] if each["type"] == "land.failed"]
    assert [each["data"]["code"] for each in events] == [shown.CODE]
    assert yard.stage.call("task.show", id="task-0001")["status"] == "pending"
    mail = [each for each in yard.stage.call("inbox", limit=100)["messages"] if shown.CODE in each["subject"]]
    assert len(mail) == 1


# --- what the author's repository says -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_fake_repository_that_moves_the_base_lands_nothing(yard: Yard, tmp_path: Path) -> None:
    worker, id = yard.worker("ada"), task(yard)
    evil = commit(worker, src___a__py="evil = 1\n")
    head = commit(worker, docs___a__md="harmless\n")
    pointer, fake = worker.tree / ".git", tmp_path / "fake"
    real = pointer.read_text()
    shutil.copytree(yard.root / ".git" / "refs", fake / "refs")
    (fake / "objects" / "info").mkdir(parents=True)
    (fake / "objects" / "info" / "alternates").write_text(f"{yard.root}/.git/objects\n")
    (fake / "HEAD").write_text(f"{head}\n")
    (fake / "refs" / "heads" / "main").write_text(f"{evil}\n")
    pointer.write_text(f"gitdir: {fake}\n")
    git("reset", "-q", cwd=worker.tree)
    change = worker.done(id)
    pointer.write_text(real)
    assert recorded(yard, change) == ["docs/a.md"]
    refused(yard, change)


def forge_graph(root: Path, head: str, tree: str) -> Path:
    """The commit-graph says that the head has another tree."""
    place = root / ".git" / "objects" / "info" / "commit-graph"
    real = git("rev-parse", f"{head}^{{tree}}", cwd=root)
    data = place.read_bytes()[:-20].replace(bytes.fromhex(real), bytes.fromhex(tree))
    place.chmod(0o600)
    place.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())
    return place


def with_forged_graph(yard: Yard) -> str:
    worker, id = yard.worker("ada"), task(yard)
    commit(worker, notes___b__md="harmless\n")
    small = git("rev-parse", "HEAD^{tree}", cwd=worker.tree)
    head = commit(worker, src___a__py="evil = 1\n")
    git("update-ref", "refs/heads/mine", head, cwd=worker.tree)
    git("commit-graph", "write", "--reachable", cwd=yard.root)
    graph = forge_graph(yard.root, head, small)
    git("read-tree", small, cwd=worker.tree)
    (worker.tree / "src" / "a.py").unlink()
    change = worker.done(id)
    graph.unlink()
    return change


@pytest.mark.slow
def test_a_forged_commit_graph_is_not_read(yard: Yard) -> None:
    before, change = yard.tip(), with_forged_graph(yard)
    yard.settle()
    assert landings(yard.stage)[change] == "landed"
    assert git("diff", "--name-only", before, "main", cwd=yard.root).split() == recorded(yard, change)


@pytest.mark.slow
def test_what_was_recorded_by_a_forged_commit_graph_does_not_land(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as worker_process:
        worker_process.delitem(gitpolicy.ALWAYS, "core.commitGraph")
        change = with_forged_graph(yard)
    assert recorded(yard, change) == ["notes/b.md"]
    refused(yard, change)


@contextmanager
def swapped_blob(root: Path, id: str, content: bytes) -> Generator[None]:
    place = root / ".git" / "objects" / id[:2] / id[2:]
    real = place.read_bytes()
    place.chmod(0o600)
    place.write_bytes(zlib.compress(b"blob %d\0%s" % (len(content), content)))
    try:
        yield
    finally:
        place.write_bytes(real)


@pytest.mark.slow
@pytest.mark.parametrize("restored", ["after the report", "after the landing"])
def test_a_swapped_blob_does_not_land(yard: Yard, restored: str) -> None:
    worker, id = yard.worker("ada"), task(yard)
    commit(worker, a__py="import os; os.abort()\n")
    blob = git("rev-parse", "HEAD:a.py", cwd=worker.tree)
    with swapped_blob(yard.root, blob, b"# a comment\n"):
        change = worker.done(id)
        if restored == "after the landing":
            refused(yard, change)
    patch = yard.stage.call("changes.show", id=change)["patch"]
    assert "+# a comment" in yard.stage.call("artifacts.show", id=patch)["content"], "the attack works"
    if restored == "after the report":
        refused(yard, change)


@pytest.mark.slow
def test_a_blob_of_the_branch_that_was_swapped_is_not_merged_with(yard: Yard) -> None:
    body = "".join(f"line {n}\n" for n in range(20))
    (yard.root / "base.txt").write_text(body)
    git("commit", "-qam", "longer", cwd=yard.root)
    worker, id = yard.worker("ada"), task(yard)
    (yard.root / "base.txt").write_text(body.replace("line 19", "LINE 19"))
    git("commit", "-qam", "theirs", cwd=yard.root)
    change = worker.done(id, base__txt=body.replace("line 0\n", "LINE 0\n"))
    evil = body.replace("line 9", "evil").replace("line 19", "LINE 19").encode()
    with swapped_blob(yard.root, git("rev-parse", "main:base.txt", cwd=yard.root), evil):
        refused(yard, change)


@pytest.mark.slow
def test_commits_that_come_to_more_when_they_are_replayed_do_not_land(tmp_path: Path) -> None:
    yard = Yard(tmp_path, land__strategy="rebase")
    worker, id = yard.worker("ada"), task(yard)
    commit(worker, docs___a__md="harmless\n")
    kept = git("rev-parse", "HEAD^{tree}", cwd=worker.tree)
    side = git("commit-tree", "-p", worker.base, "-m", "one", f"{worker.base}^{{tree}}", cwd=worker.tree)
    evil = commit(worker, src___a__py="evil = 1\n")
    head = git("commit-tree", "-p", evil, "-p", side, "-m", "join", kept, cwd=worker.tree)
    git("reset", "-q", "--hard", head, cwd=worker.tree)
    change = worker.done(id)
    assert recorded(yard, change) == ["docs/a.md"]
    yard.settle()
    assert landings(yard.stage)[change] == "failed"
    yard.close()


# --- what the author records ------------------------------------------------------------------------------------------


def one_file(**more: Any) -> Lie:
    return lambda found: {"files": [{**found["files"][0], **more}]}


LIES: Mapping[str, Lie] = {
    "another path": one_file(path="src/a.py"),
    "fewer lines": lambda found: one_file(added=1)(found) | {"added": 1},
    "fewer lines in total": lambda found: {"added": 1},
    "another status": one_file(status="D"),
    "a rename": one_file(**{"from": "src/a.py"}),
    "one file more": lambda found: {"files": [*found["files"], {**found["files"][0], "path": "b"}], "paths": 2,
                                    "added": 2 * found["added"]},
    "files that are not listed": lambda found: {"files": [], "paths": 1},
    "no such base": lambda found: {"base": "1" * 40},
    "a branch as its base": lambda found: {"base": "main"},
    "no file": lambda found: {"files": [{**found["files"][0], "added": "2"}]},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_a_change_set_that_was_recorded_falsely_does_not_land(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    real = changes.captured

    def lying(*words: Any, **more: Any) -> dict[str, Any]:
        found = real(*words, **more)
        return {**found, "kept": None, **LIES[lie](found)}

    monkeypatch.setattr(changes, "captured", lying)
    change = yard.worker("ada").done(task(yard), README="one\ntwo\n")
    refused(yard, change)


@pytest.mark.slow
def test_an_older_base_that_hides_what_is_taken_back_does_not_land(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    old = yard.tip()
    (yard.root / "base.txt").write_text("one\ntwo\nthree\ncheck\n")
    git("commit", "-qam", "a check", cwd=yard.root)
    worker, id = yard.worker("ada"), task(yard)
    monkeypatch.setattr("rookery.runtime.changesets._parted", lambda *_: old)
    change = worker.done(id, base__txt="one\ntwo\nthree\n", notes="x\n")
    assert recorded(yard, change) == ["notes"]
    refused(yard, change)


@pytest.mark.slow
def test_in_a_batch_only_what_is_false_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yard = Yard(tmp_path, land__batch=3)
    first = yard.change("ada", a__txt="a\n")
    with monkeypatch.context() as worker_process:
        real = changes.captured
        worker_process.setattr(changes, "captured", lambda *a, **m: {**(f := real(*a, **m)), **one_file(path="x")(f)})
        false = yard.change("bob", b__txt="b\n")
    last = yard.change("cid", c__txt="c\n")
    yard.settle()
    assert landings(yard.stage) == {first: "landed", false: "failed", last: "landed"}
    yard.close()


# --- what is honest lands ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_work_of_every_sort_is_found_to_be_what_was_shown(yard: Yard) -> None:
    (yard.root / "gone.txt").write_text("gone\n")
    (yard.root / "other.txt").write_text("other\n")
    (yard.root / "crlf.txt").write_bytes(b"a \r\nb\r\n")
    (yard.root / "long.txt").write_text("".join(f"line {n}\n" for n in range(50)))
    git("add", "-A", cwd=yard.root)
    git("commit", "-qm", "more", cwd=yard.root)
    for name, value in {"diff.noprefix": "true", "diff.context": "0", "diff.algorithm": "patience"}.items():
        git("config", name, value, cwd=yard.root)
    git("config", "apply.whitespace", "fix", cwd=yard.root)
    worker, id = yard.worker("ada"), task(yard)
    (worker.tree / "gone.txt").unlink()
    (worker.tree / "crlf.txt").write_bytes(b"a \r\nB\t \r\n")
    (worker.tree / "long.txt").rename(worker.tree / "moved to.txt")
    (worker.tree / "base.txt").chmod(0o755)
    (worker.tree / "no newline").write_text("x")
    (worker.tree / "tab\there").write_text("x\n")
    (worker.tree / "picture").write_bytes(bytes(range(256)) * 20)
    (worker.tree / "late zero").write_bytes(b"x\n" * 5000 + b"\0\n")
    (worker.tree / "latin").write_bytes(b"caf\xe9\n")
    (worker.tree / "link").symlink_to("base.txt")
    (worker.tree / "other.txt").unlink()
    (worker.tree / "other.txt").symlink_to("base.txt")
    (worker.tree / "windows.txt").write_bytes(b"a\r\nb\r\n")
    git("update-index", "--add", "--cacheinfo", f"160000,{worker.base},module", cwd=worker.tree)
    git("commit", "-qm", "a submodule", cwd=worker.tree)
    (worker.tree / "module").mkdir()
    (worker.tree / ".gitattributes").write_text("*.lock -diff\n*.py diff=python\nwindows.txt eol=crlf\n")
    (worker.tree / "a.lock").write_text("a\nb\n")
    change = worker.done(id)
    yard.settle()
    assert landings(yard.stage)[change] == "landed"
    assert "picture" in git("ls-tree", "--name-only", "main", cwd=yard.root)


@pytest.mark.slow
def test_two_reports_of_one_worker_land_though_the_first_moved_the_branch(yard: Yard) -> None:
    worker = yard.worker("ada")
    tasks = [yard.stage.call("task.add", title=f"Part {n}")["id"] for n in range(2)]
    first = worker.done(tasks[0], a__txt="a\n")
    second = worker.done(tasks[1], b__txt="b\n")
    assert recorded(yard, second) == ["a.txt", "b.txt"]
    yard.settle()
    assert landings(yard.stage) == {first: "landed", second: "landed"}
