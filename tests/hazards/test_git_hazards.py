"""H47: whatever a repository or a tree is set up to run, git runs none of it when Rookery runs git."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rookery.core import errors
from rookery.keeper.crews import _refreshed
from rookery.runtime import changesets, gitpolicy, merging, repository, witness
from rookery.runtime.changesets import Worktrees
from tests.support.families import few
from tests.support.hostile import LINES, TRAPS, Trap, Yard
from tests.unit.gitrepo import git

STRATEGIES = ("merge", "squash", "rebase")
# Those that no command of ours falls into even without the policy: it gives options that keep them away.
KEPT_AWAY = {"external diff", "diff driver", "textconv", "pager and editor", "hooks in settings"}
MISSING = "1" * 40


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    gitpolicy._known.clear()
    made = Yard(tmp_path)
    git("branch", "other", made.first, cwd=made.root)
    return made


def everything(yard: Yard) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each thing that a daemon does with git, in an order that works."""
    root, tree, own = str(yard.root), str(yard.tree), str(yard.folder / "landing")
    heads: list[str] = []

    def work() -> None:
        (yard.tree / "a.txt").write_text("".join(["the beginning\n", *LINES[1:]]))
        (yard.tree / "new.txt").write_text("new\n")

    def capture() -> None:
        changed = Worktrees().capture(tree, yard.first, "ada", "done", root=root, keep="refs/rook/ada", limit=100_000)
        heads.append(changed.head)

    def join(strategy: str) -> None:
        done = merging.join(root, own, repository.commit_of(root), merging.Work(heads[0], "ada", "land"), strategy)
        heads.append(done.result or heads[0])

    def move() -> None:
        tip = repository.commit_of(root)
        joined = merging.join(root, own, tip, merging.Work(heads[0], "ada", "land"), "merge")
        merging.move(root, "main", tip, joined.result)
        merging.revert(root, own, joined.result, tip, joined.result, "back")
        merging.parent_of(root, joined.result)

    yield "worktree", lambda: repository.add_worktree(root, tree, yard.first)
    yield "work", work
    yield "clean?", lambda: (repository.is_clean(tree), repository.is_clean(root), repository.held_back(tree))
    yield "capture", capture
    yield "touched", lambda: Worktrees().touched(tree, yard.first, heads[0])
    yield "shifts", lambda: Worktrees().shifts(tree, yard.first, yard.second, ["a.txt"])
    yield "witness", lambda: witness.unknown_commits(root, ["HEAD", MISSING])
    yield "missing", lambda: repository.has_commit(root, MISSING)
    yield "reclaimable", lambda: Worktrees().reclaimable(tree, root, "main", heads[0])
    for strategy in STRATEGIES:
        yield strategy, lambda strategy=strategy: join(strategy)
    yield "checkout", lambda: merging.checkout(root, own, yard.first)
    yield "move", move
    yield "lobby", lambda: repository.add_worktree(root, str(yard.folder / "lobby"), yard.second)
    yield "refresh", lambda: _refreshed(root, str(yard.folder / "lobby"), yard.first)
    yield "work again", work
    yield "set free", lambda: changesets.set_free(tree, "refs/rook/ada", "ada", [])
    yield "forget", lambda: changesets.forget_worker(root, "refs/rook/ada", [])
    yield "remove", lambda: repository.remove_worktree(repository.common_folder(tree), tree)


def run_all(yard: Yard) -> dict[str, str]:
    """What was refused, if anything was: a trap may make a thing impossible, and never makes it run anything."""
    refused: dict[str, str] = {}
    for name, deed in everything(yard):
        try:
            deed()
        except errors.RookError as error:
            refused[name] = error.message
        except (IndexError, OSError):
            refused[name] = "what it needs was refused"
    return refused


def plant(yard: Yard, trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    trap.plant(yard)
    yard.mark.unlink(missing_ok=True)
    for name, value in trap.environ(yard).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("name", few(TRAPS, "hooks", "clean", "merge driver", "submodule", "environment"))
def test_h47_nothing_of_a_hostile_repository_runs(yard: Yard, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(yard, TRAPS[name], monkeypatch)
    refused = run_all(yard)
    assert not yard.is_marked, yard.mark.read_text()
    assert not refused.keys() - {"missing"}, "and the work goes on"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, trap in TRAPS.items() if trap.spring])
def test_the_trap_is_one(yard: Yard, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a plain git falls into it."""
    trap = TRAPS[name]
    plant(yard, trap, monkeypatch)
    if trap.spring == ("add", "--all"):
        (yard.root / "a.txt").write_text("changed\n")
    if name == "merge driver":
        git("checkout", "-q", "other", cwd=yard.root)
        (yard.root / "a.txt").write_text("".join(["the beginning\n", *LINES[1:]]))
        git("commit", "-q", "-a", "-m", "beside", cwd=yard.root)
        git("checkout", "-q", "main", cwd=yard.root)
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    environ = {name: value for name, value in os.environ.items() if name != "GIT_DIR"} | who
    subprocess.run(["git", *trap.spring], cwd=yard.root, capture_output=True, env=environ, stdin=subprocess.DEVNULL)
    assert yard.is_marked


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TRAPS.keys() - KEPT_AWAY - {"environment"}))
def test_without_the_policy_our_commands_fall_into_it(yard: Yard, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the same commands, with git as it comes."""
    monkeypatch.setattr(gitpolicy, "ALWAYS", {})
    monkeypatch.setattr(gitpolicy, "RUNS", {})
    monkeypatch.setattr(gitpolicy, "SURROUNDINGS", {"LC_ALL": "C.UTF-8"})
    monkeypatch.setattr(repository, "_submodules", lambda _tree: [])
    plant(yard, TRAPS[name], monkeypatch)
    if name == "submodule":
        repository.git(str(yard.root), "status", "--porcelain")
    run_all(yard)
    assert yard.is_marked


# -- what the user has set up for themselves ---------------------------------------------------------------------------


def test_a_filter_of_the_users_own_settings_runs(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Git LFS has it, for which the repository names the filter and the user's settings the program."""
    home = Path(os.environ["HOME"])
    (home / ".gitconfig").write_text('[filter "trap"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n')
    yard.config("filter.trap.clean", str(yard.program))
    repository.add_worktree(str(yard.root), str(yard.tree), yard.first)
    (yard.tree / "new.txt").write_text("small\n")
    head = Worktrees().capture(str(yard.tree), yard.first, "ada", "done").head
    assert git("cat-file", "blob", f"{head}:new.txt", cwd=yard.tree) == "SMALL"
    assert not yard.is_marked


def test_settings_are_asked_for_again_when_they_change(yard: Yard) -> None:
    root = str(yard.root)
    assert repository.is_clean(root)
    yard.config("filter.trap.clean", str(yard.program))
    (yard.root / "a.txt").write_text("changed\n")
    assert not repository.is_clean(root)
    assert not yard.is_marked


def test_what_is_not_committed_in_a_submodule_is_seen(yard: Yard) -> None:
    TRAPS["submodule"].plant(yard)
    assert not repository.is_clean(str(yard.root))
    (yard.root / "inner" / "x").write_text("x\n")
    yard.mark.unlink(missing_ok=True)
    assert repository.is_clean(str(yard.root))
    assert not yard.is_marked


def test_entries_of_the_repository_are_replaced_by_the_users_or_by_nothing() -> None:
    entries = [
        gitpolicy.Entry("global", "credential.helper", "store"),
        gitpolicy.Entry("global", "core.sshcommand", "ssh -i key"),
        gitpolicy.Entry("local", "credential.helper", "!evil"),
        gitpolicy.Entry("local", "core.sshcommand", "evil"),
        gitpolicy.Entry("worktree", "lfs.customtransfer.x.path", "evil"),
        gitpolicy.Entry("local", "user.name", "Ada"),
        gitpolicy.Entry("global", "filter.lfs.process", "git-lfs filter-process"),
    ]
    assert gitpolicy.overrides(entries) == [
        ("credential.helper", ""), ("credential.helper", "store"), ("core.sshcommand", "ssh -i key"),
        ("lfs.customtransfer.x.path", ""),
    ]  # fmt: skip


def test_a_git_that_would_not_heed_the_policy_is_not_run(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 2.31 git took no settings from its environment: here, one that drops them."""
    bin = yard.folder / "bin"
    bin.mkdir()
    (bin / "git").write_text(f'#!/bin/sh\nunset GIT_CONFIG_COUNT\nexec {shutil.which("git")} "$@"\n')
    (bin / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(errors.Refused) as refused:
        repository.is_clean(str(yard.root))
    assert refused.value.code == "OLD_GIT"


# -- names that would be options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["--output=mark", "--upload-pack=./trap.sh", "-f", "--exec=./trap.sh", "--all", "-"])
def test_h47_no_name_is_taken_for_an_option(yard: Yard, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that gives git a name, with one that looks like an option: refused, or found nowhere."""
    root, tree, good = str(yard.root), str(yard.tree), yard.second
    monkeypatch.chdir(yard.folder)
    repository.add_worktree(root, tree, good)
    before = git("for-each-ref", cwd=yard.root), git("status", "--porcelain", cwd=yard.root)
    refusing = (
        lambda: repository.add_worktree(root, str(yard.folder / "x"), name), lambda: repository.commit_of(root, name),
        lambda: merging.checkout(root, str(yard.folder / "own"), name), lambda: merging.look(root, name, ""),
        lambda: merging.revert(root, str(yard.folder / "own"), good, name, name, "m"),
        lambda: merging.parent_of(root, name), lambda: _refreshed(root, tree, name),
        lambda: Worktrees().touched(tree, name, good), lambda: Worktrees().touched(tree, good, name),
    )  # fmt: skip
    for each in refusing:
        with pytest.raises(errors.RookError):
            each()
    assert not repository.has_commit(root, name)
    assert not repository.contains(root, name, good)
    assert not repository.tip_of(root, name)
    assert Worktrees().shifts(tree, good, name, ["a.txt"]) is None
    assert Worktrees().unknown_commits(root, [name]) == [name]
    assert merging.join(root, tree, good, merging.Work(name, "ada", "m"), "merge").conflict
    changesets.forget(root, "refs/rook/x", name)
    assert (git("for-each-ref", cwd=yard.root), git("status", "--porcelain", cwd=yard.root)) == before
    assert not yard.is_marked
    assert not (yard.folder / "x").exists()


def test_h47_a_commit_is_what_its_id_says(yard: Yard) -> None:
    """`git replace` and grafts are shared by all worktrees: a worker could swap what lands for what was shown."""
    root, own = str(yard.root), str(yard.folder / "landing")
    repository.add_worktree(root, str(yard.tree), yard.first)
    (yard.tree / "good.txt").write_text("good\n")
    changed = Worktrees().capture(
        str(yard.tree), yard.first, "ada", "done", root=root, keep="refs/rook/ada", limit=100_000
    )
    (yard.tree / "evil.txt").write_text("evil\n")
    git("add", "--all", cwd=yard.tree)
    git("commit", "-q", "-m", "evil", cwd=yard.tree)
    evil = git("rev-parse", "HEAD", cwd=yard.tree).strip()
    git("replace", "-f", changed.head, evil, cwd=yard.root)
    git("replace", "-f", git("--no-replace-objects", "rev-parse", f"{changed.head}^{{tree}}", cwd=yard.root).strip(),
        git("rev-parse", f"{evil}^{{tree}}", cwd=yard.root).strip(), cwd=yard.root)  # fmt: skip
    tip = repository.commit_of(root)
    joined = merging.join(root, own, tip, merging.Work(changed.head, "ada", "land"), "merge")
    landed = git("--no-replace-objects", "ls-tree", "-r", "--name-only", joined.result, cwd=yard.root).split()
    assert "good.txt" in landed
    assert "evil.txt" not in landed
