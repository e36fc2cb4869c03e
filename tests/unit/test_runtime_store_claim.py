"""Which store may move the branches of a repository."""

import subprocess
from pathlib import Path

import pytest

from rookery.core import errors
from rookery.runtime import store_claim


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    return tmp_path / "repo"


def store(tmp_path: Path, name: str) -> str:
    (tmp_path / name).touch()
    return str(tmp_path / name)


def test_the_first_store_keeps_the_repository(tmp_path: Path, repo: Path) -> None:
    users, agents = store(tmp_path, "users"), store(tmp_path, "agents")
    assert store_claim.take(str(repo), users) == users
    assert store_claim.take(str(repo), agents) == users
    store_claim.require(str(repo), users)
    with pytest.raises(errors.Refused) as caught:
        store_claim.require(str(repo), agents)
    assert caught.value.code == "OTHER_STORE"


def test_worktrees_share_the_claim(tmp_path: Path, repo: Path) -> None:
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(["git", "-C", str(repo), *commit], check=True)
    subprocess.run(["git", "-C", str(repo), "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    users = store(tmp_path, "users")
    store_claim.take(str(repo), users)
    assert store_claim.take(str(tmp_path / "tree"), store(tmp_path, "agents")) == users


def test_a_store_that_is_gone_has_no_claim(tmp_path: Path, repo: Path) -> None:
    users, next_one = store(tmp_path, "users"), store(tmp_path, "next")
    store_claim.take(str(repo), users)
    Path(users).unlink()
    store_claim.require(str(repo), next_one)
    assert store_claim.take(str(repo), store(tmp_path, "users")) == next_one


def test_what_is_no_path_of_a_store_is_no_claim(tmp_path: Path, repo: Path) -> None:
    for text in (b"", b"\xff\xfe\n", b"\n" * 20_000, b"/dev/null\n"):
        (repo / ".git" / store_claim.FILE).write_bytes(text)
        store_claim.require(str(repo), store(tmp_path, "users"))


def test_a_folder_without_git_is_everybodys(tmp_path: Path) -> None:
    for name in ("one", "two"):
        store_claim.require(str(tmp_path), store(tmp_path, name))


def test_a_store_on_a_server_keeps_its_claim(tmp_path: Path, repo: Path) -> None:
    store_claim.require(str(repo), "postgresql://db/fleet")
    with pytest.raises(errors.Refused):
        store_claim.require(str(repo), store(tmp_path, "agents"))
