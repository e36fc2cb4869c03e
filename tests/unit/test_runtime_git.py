"""Branch and top of a repository, read from its files; git itself is the judge."""

from pathlib import Path

import pytest

from rookery.runtime.git import branch, find, toplevel
from tests.unit.gitrepo import git, repository


def test_branch_and_top_from_any_folder_inside(tmp_path: Path) -> None:
    top = repository(tmp_path / "app")
    inside = top / "a" / "b"
    inside.mkdir(parents=True)
    assert branch(str(inside)) == "main"
    assert toplevel(str(inside)) == git("rev-parse", "--show-toplevel", cwd=inside)
    git("switch", "-q", "-c", "feature/x-1", cwd=top)
    assert branch(str(top)) == "feature/x-1"


def test_a_branch_without_a_commit_has_its_name(tmp_path: Path) -> None:
    git("init", "-q", "-b", "trunk", cwd=tmp_path)
    assert branch(str(tmp_path)) == "trunk"


def test_a_detached_head_is_a_short_commit(tmp_path: Path) -> None:
    top = repository(tmp_path / "app")
    git("checkout", "-q", "--detach", cwd=top)
    found = branch(str(top))
    assert found
    assert git("rev-parse", found, cwd=top) == git("rev-parse", "HEAD", cwd=top)
    assert len(found) < 40


def test_a_worktree_has_its_own_branch_and_the_common_folder_of_all(tmp_path: Path) -> None:
    top = repository(tmp_path / "app")
    linked = tmp_path / "linked"
    git("worktree", "add", "-q", "-b", "other", str(linked), cwd=top)
    assert branch(str(linked)) == "other"
    assert toplevel(str(linked)) == str(linked)
    here, there = find(str(top)), find(str(linked))
    assert here
    assert there
    assert here.common == there.common == str(top / ".git")


def test_a_symlinked_folder_is_followed(tmp_path: Path) -> None:
    top = repository(tmp_path / "app")
    (top / "sub").mkdir()
    (tmp_path / "short").symlink_to(top / "sub")
    assert toplevel(str(tmp_path / "short")) == str(top)


def test_outside_a_repository_there_is_nothing(tmp_path: Path) -> None:
    assert branch(str(tmp_path)) is None
    assert toplevel(str(tmp_path)) is None
    assert branch(str(tmp_path / "gone")) is None


@pytest.mark.parametrize("content", ["", "gitdir: nowhere\n", "gitdir: \0\n", "nonsense", "x" * 100_000])
def test_a_git_file_that_leads_nowhere_is_passed_over(tmp_path: Path, content: str) -> None:
    top = repository(tmp_path / "app")
    broken = top / "broken"
    broken.mkdir()
    (broken / ".git").write_text(content)
    assert toplevel(str(broken)) == str(top)


def test_an_empty_git_folder_is_passed_over(tmp_path: Path) -> None:
    top = repository(tmp_path / "app")
    (top / "sub" / ".git").mkdir(parents=True)
    assert toplevel(str(top / "sub")) == str(top)


@pytest.mark.parametrize("head", ["", "ref: refs/heads/.invalid\n", "ref: refs/heads/a\x1b[31m\n", "zz" * 20, "ref: "])
def test_a_head_that_names_no_branch_gives_none(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    assert branch(str(tmp_path)) is None
