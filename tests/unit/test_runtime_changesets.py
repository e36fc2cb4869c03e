"""What a worktree holds of its own, captured from real repositories; and when it may go."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import errors
from rookery.core.ports import ChangeSet
from rookery.runtime import repository
from rookery.runtime.changesets import Worktrees, forget, forget_others, forget_worker, reclaimable, set_free
from tests.unit.gitrepo import git
from tests.unit.gitrepo import repository as new_repository

KEEP = "refs/rookery/crew/w1"


class Place:
    def __init__(self, folder: Path) -> None:
        self.root = new_repository(folder / "repo")
        (self.root / "base.txt").write_text("one\ntwo\n")
        self.commit("base")
        self.base = repository.commit_of(str(self.root))
        self.tree = folder / "tree"
        repository.add_worktree(str(self.root), str(self.tree), self.base)

    def commit(self, message: str, tree: Path | None = None) -> None:
        git("add", "-A", cwd=tree or self.root)
        git("commit", "-qm", message, cwd=tree or self.root)

    def capture(self, limit: int = 1 << 20, author: str = "Ada", message: str = "work") -> ChangeSet:
        return Worktrees().capture(
            str(self.tree), self.base, author, message, root=str(self.root), keep=KEEP, limit=limit
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_is_not_committed_is_committed_as_the_agent(place: Place) -> None:
    (place.tree / "new.txt").write_text("a\nb\n")
    (place.tree / "base.txt").write_text("one\n")
    found = place.capture(message="  $(touch x) `y`\n\nmore")
    assert git("log", "-1", "--format=%an|%ae|%cn|%B", found.head, cwd=place.root) == (
        "Ada|Ada@rookery.invalid|Ada|$(touch x) `y`\n\nmore"
    )
    assert found.files == [
        {"path": "base.txt", "added": 0, "removed": 1, "status": "M"},
        {"path": "new.txt", "added": 2, "removed": 0, "status": "A"},
    ]
    assert (found.base, found.branch, found.paths, found.added, found.removed) == (place.base, "main", 2, 2, 1)
    assert repository.is_clean(str(place.tree))
    assert repository.branch_of(str(place.tree)) == "", "its head stays detached"


def test_hooks_and_signing_of_the_person_decide_nothing(place: Place) -> None:
    hook = place.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    git("config", "commit.gpgSign", "true", cwd=place.root)
    git("config", "user.signingKey", "nobody", cwd=place.root)
    (place.tree / "new.txt").write_text("a\n")
    assert place.capture().paths == 1


def test_nothing_new_is_no_change_and_no_ref(place: Place) -> None:
    found = place.capture()
    assert (found.paths, found.head, found.base) == (0, place.base, place.base)
    assert git("for-each-ref", "refs/rookery", cwd=place.root) == ""


@pytest.mark.slow
def test_the_same_work_captured_again_is_the_same_commit(place: Place) -> None:
    (place.tree / "new.txt").write_text("a\n")
    assert place.capture().head == place.capture().head


def test_renames_binary_files_modes_and_odd_names(place: Place) -> None:
    (place.tree / "base.txt").rename(place.tree / "moved to.txt")
    (place.tree / "pic").write_bytes(bytes(range(256)))
    (place.tree / "tab\there\nnow").write_text("x\n")
    with open(os.fsencode(place.tree) + b"/caf\xe9", "w") as file:
        file.write("x\n")
    found = {each["path"]: each for each in place.capture().files}
    assert found["moved to.txt"] == {
        "path": "moved to.txt", "added": 0, "removed": 0, "status": "R", "from": "base.txt",
    }  # fmt: skip
    assert found["pic"] == {"path": "pic", "added": 0, "removed": 0, "status": "A", "binary": True}
    assert {"tab\there\nnow", "caf\\xe9"} <= set(found)


names = st.text("ab. -\"'\\\n\t\x01ä漢$*?", min_size=1, max_size=20).filter(
    lambda name: name not in (".", "..") and not name.lower().startswith(".git")
)


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(names, st.integers(0, 5), min_size=1, max_size=6))
def test_every_file_is_counted_under_its_own_name(place: Place, files: dict[str, int]) -> None:
    git("checkout", "-q", "--detach", "--force", place.base, cwd=place.tree)
    git("clean", "-ffdxq", cwd=place.tree)
    for name, lines in files.items():
        (place.tree / name).write_text("x\n" * lines)
    files.pop("base.txt", None)
    found = {each["path"]: each["added"] for each in place.capture().files if each["path"] != "base.txt"}
    assert found == files


@pytest.mark.slow
def test_its_patch_can_be_applied_and_a_long_one_is_not_kept(place: Place, tmp_path: Path) -> None:
    (place.tree / "pic").write_bytes(bytes(range(256)) * 40)
    found = place.capture()
    assert found.patch
    (tmp_path / "p").write_bytes(found.patch)
    git("apply", "--index", str(tmp_path / "p"), cwd=place.root)
    assert (place.root / "pic").read_bytes() == bytes(range(256)) * 40
    assert place.capture(limit=100).patch is None


@pytest.mark.slow
def test_conflicts_and_half_a_rebase_are_turned_back(place: Place) -> None:
    (place.root / "base.txt").write_text("ONE\ntwo\n")
    place.commit("theirs")
    (place.tree / "base.txt").write_text("uno\ntwo\n")
    place.commit("mine", place.tree)
    for word in ("merge", "rebase"):
        repository.git(str(place.tree), word, "main", environ=repository.identity("a"))
        with pytest.raises(errors.Refused, match=r"base\.txt"):
            place.capture()
        git(word, "--abort", cwd=place.tree)
    assert place.capture().paths == 1


def test_a_rebase_that_stands_still_is_turned_back(place: Place) -> None:
    (place.tree / "a").write_text("x")
    place.commit("mine", place.tree)
    repository.git(
        str(place.tree),
        "rebase",
        "-i",
        "--force-rebase",
        "HEAD~1",
        environ={"GIT_SEQUENCE_EDITOR": "sed -i 1s/pick/edit/"},
    )
    with pytest.raises(errors.Refused) as caught:
        place.capture()
    assert caught.value.code == "UNFINISHED"


def test_a_worktree_that_is_gone_is_said_so(place: Place) -> None:
    repository.remove_worktree(str(place.root), str(place.tree))
    with pytest.raises(errors.Refused, match="git"):
        place.capture()


# --- when it may go ---------------------------------------------------------------------------------------------------


def why_not(place: Place, captured: str = "") -> str:
    return reclaimable(str(place.tree), str(place.root), "main", captured)


def test_a_clean_tree_at_a_commit_of_the_branch_may_go(place: Place) -> None:
    assert why_not(place) == ""


def test_one_with_something_uncommitted_or_a_commit_of_its_own_may_not(place: Place) -> None:
    (place.tree / "a").write_text("x")
    assert why_not(place) == "there is something that is not committed"
    place.commit("mine", place.tree)
    assert "nowhere else" in why_not(place)


@pytest.mark.slow
def test_one_whose_commit_was_captured_may_and_the_commit_outlives_it(place: Place) -> None:
    (place.tree / "a").write_text("x")
    head = place.capture().head
    assert why_not(place, head) == ""
    repository.remove_worktree(str(place.root), str(place.tree))
    git("reflog", "expire", "--expire=now", "--all", cwd=place.root)
    git("gc", "-q", "--prune=now", cwd=place.root)
    assert git("show", f"{head}:a", cwd=place.root) == "x"


@pytest.mark.slow
def test_control_without_its_ref_the_commit_is_lost_and_the_tree_may_not_go(place: Place) -> None:
    (place.tree / "a").write_text("x")
    head = place.capture().head
    forget(str(place.root), KEEP, head)
    assert "nowhere else" in why_not(place, head)
    repository.remove_worktree(str(place.root), str(place.tree))
    git("reflog", "expire", "--expire=now", "--all", cwd=place.root)
    git("gc", "-q", "--prune=now", cwd=place.root)
    assert not repository.has_commit(str(place.root), head)


def test_a_commit_made_after_the_captured_one_keeps_it(place: Place) -> None:
    (place.tree / "a").write_text("x")
    head = place.capture().head
    (place.tree / "b").write_text("x")
    place.commit("more", place.tree)
    assert "nowhere else" in why_not(place, head)


# --- a worktree that goes ---------------------------------------------------------------------------------------------


def refs(place: Place) -> list[str]:
    return git("for-each-ref", "--format=%(refname)", "refs/rookery", cwd=place.root).splitlines()


def freed(place: Place, *landed: str) -> str:
    return set_free(str(place.tree), KEEP, "Ada", landed)


@pytest.mark.slow
def test_nothing_is_named_of_what_landed_or_is_on_a_branch(place: Place) -> None:
    assert freed(place) == ""
    (place.tree / "new.txt").write_text("x\n")
    head = place.capture().head
    forget_others(str(place.tree), KEEP, [])
    assert refs(place) == []
    assert freed(place, head) == "", "as one commit of another strategy"
    assert refs(place) == []


@pytest.mark.parametrize("committed", [True, False])
def test_what_is_nowhere_else_has_a_name_until_its_worker_is_forgotten(place: Place, committed: bool) -> None:
    (place.tree / "half.txt").write_text("x\n")
    if committed:
        place.commit("half", place.tree)
    assert freed(place) == ""
    assert refs(place) == [f"{KEEP}/left"]
    repository.remove_worktree(str(place.root), str(place.tree))
    assert git("show", f"{KEEP}/left:half.txt", cwd=place.root) == "x"
    forget_worker(str(place.root), KEEP, [])
    assert refs(place) == []


@pytest.mark.slow
def test_a_report_that_a_kill_kept_from_being_made_is_what_is_left(place: Place) -> None:
    (place.tree / "new.txt").write_text("x\n")
    orphan = place.capture().head
    (place.tree / "new.txt").write_text("y\n")
    reported = place.capture().head
    forget_others(str(place.tree), KEEP, [reported])
    assert refs(place) == [f"{KEEP}/{reported}"]
    assert orphan != reported


def test_what_a_killed_git_left_locked_is_no_obstacle_and_an_unfinished_merge_is(place: Place) -> None:
    (place.tree / "base.txt").write_text("mine\n")
    for name in ("index.lock", "HEAD.lock"):
        Path(git("rev-parse", "--path-format=absolute", "--git-path", name, cwd=place.tree)).touch()
    assert freed(place) == ""
    (place.root / "base.txt").write_text("theirs\n")
    place.commit("theirs")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "main", cwd=place.tree)
    assert "Conflicts" in freed(place)


def test_what_another_is_just_making_is_left_alone(place: Place) -> None:
    """As git has it for a moment: its folder is there, and neither its tree nor what would lock it."""
    half = place.root / ".git" / "worktrees" / "half"
    half.mkdir()
    path = str(place.tree.parent / "other")
    repository.add_worktree(str(place.root), path, place.base)
    repository.remove_worktree(str(place.root), path)
    assert half.is_dir()


def test_a_worktree_that_was_removed_by_hand_is_made_anew_and_one_that_is_none_is_no_matter(place: Place) -> None:
    shutil.rmtree(place.tree)
    repository.add_worktree(str(place.root), str(place.tree), place.base)
    assert (place.tree / "base.txt").exists()
    shutil.rmtree(place.tree)
    for _ in range(2):
        repository.remove_worktree(str(place.root), str(place.tree))
    assert git("worktree", "list", cwd=place.root).count("\n") == 0
