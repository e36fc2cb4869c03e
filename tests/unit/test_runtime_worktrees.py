"""Worktrees of one repository, made and taken away by several at once, and after someone was killed over one."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rookery.runtime import repository
from tests.unit.gitrepo import git
from tests.unit.gitrepo import repository as new_repository

AT_ONCE = 12
ROUNDS = 3


@pytest.mark.slow
def test_many_are_made_at_once_in_one_repository(tmp_path: Path) -> None:
    """As workers are: all of one name, each forgetting what was at its path before. A prune beside an add would take
    the entry away that the add has just made."""
    root = new_repository(tmp_path / "repo")
    tip = repository.commit_of(str(root))

    def make(number: int) -> str:
        path = tmp_path / f"w{number}" / "workspace"
        repository.remove_worktree(str(root), str(path))
        repository.add_worktree(str(root), str(path), tip)
        return repository.commit_of(str(path))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for wave in range(ROUNDS):
            numbers = range(wave * AT_ONCE, (wave + 1) * AT_ONCE)
            assert list(pool.map(make, numbers)) == [tip] * AT_ONCE
    assert git("worktree", "list", cwd=root).count("workspace") == AT_ONCE * ROUNDS


def test_one_that_was_lost_or_half_made_is_made_again(tmp_path: Path) -> None:
    root, path = new_repository(tmp_path / "repo"), tmp_path / "w1" / "workspace"
    tip = repository.commit_of(str(root))
    repository.add_worktree(str(root), str(path), tip)
    shutil.rmtree(path)  # by hand
    repository.add_worktree(str(root), str(path), tip)
    (root / ".git" / "worktrees" / "workspace" / "locked").write_text("initializing")  # as git leaves it when killed
    shutil.rmtree(path)
    repository.add_worktree(str(root), str(path), tip)
    assert repository.commit_of(str(path)) == tip
    repository.remove_worktree(str(root), str(path))
    repository.remove_worktree(str(root), str(path))  # gone is gone
    assert "workspace" not in git("worktree", "list", cwd=root)
