"""Hazards of workers: how systems that start agents were seen to break, and that this one does not."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.runtime import repository
from rookery.runtime.changesets import Worktrees
from tests.support.reporting import SUMMARY, TEST, Shop
from tests.support.stage import Stage
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


# --- H33: done needs an outcome, a summary, and evidence that resolves ------------------------------------------------


@pytest.fixture
def shop(tmp_path: Path) -> Generator[Shop]:
    stage = Stage(tmp_path / "ledger.db")
    yield Shop(stage, tmp_path)
    stage.close()


GOOD: dict[str, Any] = {"outcome": "completed", "summary": SUMMARY, "tests": [TEST]}
VAGUE = [
    ({}, ["an outcome", "a summary"]),
    ({"outcome": "completed"}, ["a summary"]),
    ({"outcome": "finished", "summary": SUMMARY}, ["an outcome"]),
    ({"summary": SUMMARY, "tests": [TEST]}, ["an outcome"]),
    ({"outcome": "completed", "summary": "done", "tests": [TEST]}, ["a summary that says something"]),
    ({"outcome": "completed", "summary": "fixed it", "tests": [TEST]}, ["a summary that says something"]),
    (
        {
            "outcome": "completed",
            "summary": "All done, everything works as requested now, successfully.",
            "tests": [TEST],
        },
        ["a summary that says something"],
    ),
    ({"outcome": "completed", "summary": "x " * 40, "tests": [TEST]}, ["a summary that says something"]),
    (GOOD | {"tests": ["I ran the tests"]}, ["is no test run"]),
    (GOOD | {"tests": ["pytest: yes"]}, ["is no test run"]),
    (GOOD | {"commits": ["HEAD"]}, ["is no commit id"]),
    (GOOD | {"commits": ["deadbee1"]}, ["deadbee1 is not in the repository"]),
    (GOOD | {"evidence": ["artifact-0009"]}, ["artifact-0009 is not"]),
    (GOOD | {"evidence": ["src/nowhere.py:12"]}, ["there is no file 'src/nowhere.py:12'"]),
    (GOOD | {"evidence": ["../repo/.git/config"]}, ["there is no file"]),
    (GOOD | {"evidence": ["https://ci.example/run/1"]}, ["an address that may change"]),
    (GOOD | {"outcome": "no_evidence"}, ["another outcome"]),
    ({"outcome": "no_evidence", "summary": "Nothing in the log shows what the report describes."}, ["why there is"]),
]


@pytest.mark.parametrize(("args", "lacks"), VAGUE)
def test_h33_a_result_that_says_nothing_is_turned_back_with_what_it_lacks(
    shop: Shop, args: dict[str, Any], lacks: list[str]
) -> None:
    id = shop.worker()
    shop.write(id)
    head = repository.commit_of(str(shop.tree(id)))
    refusal = shop.refused(id, "done", **args)
    assert refusal.code == "NOT_A_RESULT"
    for lack in lacks:
        assert any(lack in each for each in refusal.facts["missing"]), refusal.facts
        assert lack in refusal.message
    assert shop.card(id)["report"] == ""
    assert shop.stage.call("task.show", id="task-0001")["status"] == "in_progress", "it is still its own"
    assert repository.commit_of(str(shop.tree(id))) == head, "and nothing was committed for it"


@pytest.mark.parametrize(
    "more",
    [
        {"tests": [TEST]}, {"evidence": ["header.py:1"], "tests": []}, {"evidence": ["artifact-0001"], "tests": []},
        {"tests": []},  # what it changed is evidence enough
        {"outcome": "findings"}, {"outcome": "proposal"}, {"evidence": [TEST], "tests": []},
    ],
)  # fmt: skip
def test_control_a_result_that_says_something_counts(shop: Shop, more: dict[str, Any]) -> None:
    id = shop.worker()
    shop.write(id)
    shop.call(id, "artifacts.add", name="log", content="3 passed")
    told = shop.call(id, "done", **(GOOD | more))
    assert (told["report"], told["status"], told["change"]) == ("done", "completed", "change-0001")


def test_h33_work_that_changed_nothing_says_why(shop: Shop) -> None:
    id = shop.worker()
    old = repository.commit_of(str(shop.root))
    for more in ({}, {"commits": [old]}, {"unchanged": "no"}):
        refusal = shop.refused(id, "done", **(GOOD | more))
        assert any(each.startswith("a change") for each in refusal.facts["missing"]), "an older commit is no change"
    told = shop.call(id, "done", **GOOD, unchanged="the parser did that already; the new tests show it")
    assert (told["report"], told["change"]) == ("done", None)


def test_h33_who_found_nothing_says_where_it_looked(shop: Shop) -> None:
    id = shop.worker()
    said = "I read both parsers and the log of last week; no header without a colon occurs in any of them."
    assert shop.call(id, "done", outcome="no_evidence", summary=said)["outcome"] == "no_evidence"


def test_h33_in_a_shared_working_copy_what_it_names_is_what_it_changed(shop: Shop) -> None:
    id = shop.worker(tree=False)
    assert "a change" in shop.refused(id, "done", **GOOD).message
    (shop.root / "header.py").write_text("x\n")
    assert shop.call(id, "done", **GOOD, evidence=["header.py"])["report"] == "done"


def test_h33_a_link_out_of_the_tree_is_no_evidence(shop: Shop) -> None:
    id = shop.worker()
    (shop.tree(id) / "passwd").symlink_to("/etc/passwd")
    assert "there is no file 'passwd'" in shop.refused(id, "done", **GOOD, evidence=["passwd"]).message


def test_h33_what_is_no_completed_work_is_kept_and_does_not_land_by_itself(tmp_path: Path) -> None:
    for auto, outcome, lands in ((True, "completed", 1), (True, "proposal", 0), (False, "completed", 0)):
        folder = tmp_path / f"{auto}-{outcome}"
        folder.mkdir()
        stage = Stage(folder / "ledger.db", land__auto=auto)
        other = Shop(stage, folder)
        id = other.worker()
        assert other.done(id, outcome=outcome)["change"] == "change-0001"
        assert len(stage.call("land.list")["landings"]) == lands
        stage.close()
