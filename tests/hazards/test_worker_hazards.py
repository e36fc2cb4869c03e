"""Hazards of workers: how systems that start agents were seen to break, and that this one does not."""

from pathlib import Path

from rookery.runtime import repository
from rookery.runtime.changesets import Worktrees
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


def test_h38_a_change_set_is_its_own_workers_though_others_work_and_it_merged_the_branch(tmp_path: Path) -> None:
    assert captured_beside_another(tmp_path, shared=False) == ["ada.txt", "more.txt"]


def test_control_in_a_shared_tree_it_includes_what_others_committed(tmp_path: Path) -> None:
    assert captured_beside_another(tmp_path, shared=True) == ["ada.txt", "bob.txt", "person.txt"]


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
