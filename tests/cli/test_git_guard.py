"""The guard of commits, with real git and the real command: what another agent holds is not committed by accident."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.gitrepo import git as plain_git

pytestmark = pytest.mark.slow
BIN = Path(sys.executable).parent


class Repository:
    def __init__(self, base: Path) -> None:
        self.top = base / "shop"
        self.top.mkdir()
        self.environ = {
            "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(base / "person"), "ROOK_HOME": str(base / "rooks"),
            "ROOK_TEAM": "crew", "ROOK_AGENT": "user",
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@localhost", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@localhost",
        }  # fmt: skip
        (base / "person").mkdir()
        plain_git("init", "-q", "-b", "main", cwd=self.top)
        self.hook = self.top / ".git" / "hooks" / "pre-commit"

    def run(self, *words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=cwd or self.top, env=self.environ | more, capture_output=True, text=True, errors="replace"
        )

    def ok(self, *words: str, cwd: Path | None = None, **more: str) -> str:
        done = self.run(*words, cwd=cwd, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def file(self, name: str, text: str = "x\n") -> None:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.ok("git", "add", "--", name)

    def commit(self, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.run("git", "commit", "-q", "-m", "x", cwd=None, **variables)


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def install(shop: Repository) -> None:
    shop.ok("rook", "init", "--host", "claude", "--git-hook", "--yes")


@pytest.fixture
def guarded(shop: Repository) -> Repository:
    """wren holds src/ and one file with a name that a shell would trip over."""
    install(shop)
    held = ["src/", 'it\'s "odd" $HOME `id`?name.txt']
    shop.ok("rook", "join", "wren", ROOK_AGENT="")
    flags = [word for path in held for word in ("--file", path)]
    shop.ok("rook", "--as", "wren", "task", "add", "Parse", *flags)
    shop.ok("rook", "--as", "wren", "task", "claim", "task-0001")
    return shop


def test_what_another_agent_holds_is_not_committed(guarded: Repository) -> None:
    guarded.file("free.txt")
    assert guarded.commit().returncode == 0
    guarded.file("src/parser.py")
    done = guarded.commit()
    assert done.returncode == 1
    assert "src/parser.py" in done.stderr
    assert "held by wren" in done.stderr
    assert "rook send wren" in done.stderr
    assert "git restore --staged" in done.stderr
    assert guarded.commit(ROOK_AGENT="wren").returncode == 0, "who holds it may"


def test_deletions_and_both_names_of_a_rename(guarded: Repository) -> None:
    guarded.file("src/a.py", "one\ntwo\nthree\n")
    guarded.file("free.py", "1\n2\n3\n4\n")
    assert guarded.commit(ROOK_AGENT="wren").returncode == 0
    guarded.ok("git", "mv", "src/a.py", "mine.py")
    assert "src/a.py" in guarded.commit().stderr
    guarded.ok("git", "reset", "-q", "--hard")
    guarded.ok("git", "mv", "free.py", "src/free.py")
    assert "src/free.py" in guarded.commit().stderr
    guarded.ok("git", "reset", "-q", "--hard")
    guarded.ok("git", "rm", "-q", "src/a.py")
    assert "src/a.py" in guarded.commit().stderr
    guarded.ok("git", "reset", "-q", "--hard")
    guarded.file("other.py")
    assert guarded.commit().returncode == 0


def test_the_index_of_a_partial_commit_counts(guarded: Repository) -> None:
    guarded.file("src/a.py")
    guarded.file("free.py")
    assert guarded.run("git", "commit", "-q", "-m", "x", "--", "free.py").returncode == 0
    assert guarded.run("git", "commit", "-q", "-m", "x", "--", "src/a.py").returncode == 1


def test_h15_names_are_not_words_for_a_shell(guarded: Repository) -> None:
    guarded.file('it\'s "odd" $HOME `id`\nname.txt')
    done = guarded.commit()
    assert done.returncode == 1
    assert "\nname.txt" not in done.stderr
    guarded.ok("git", "reset", "-q")
    guarded.file('it\'s "free" $(touch pwned)\n.txt')
    assert guarded.commit().returncode == 0
    assert not (guarded.top / "pwned").exists()


def test_a_name_that_is_no_utf8(guarded: Repository) -> None:
    path = os.fsencode(guarded.top / "src") + b"/\xff.py"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"x")
    guarded.ok("git", "add", "-A")
    assert guarded.commit().returncode == 1


def test_from_a_folder_below_and_from_another_worktree(guarded: Repository, tmp_path: Path) -> None:
    guarded.file("docs/a.md")
    assert guarded.commit().returncode == 0
    guarded.file("src/a.py")
    assert guarded.run("git", "commit", "-qm", "x", cwd=guarded.top / "docs").returncode == 1
    guarded.ok("git", "reset", "-q")
    tree = tmp_path / "tree"
    guarded.ok("git", "worktree", "add", "-q", str(tree))
    (tree / "src").mkdir()
    (tree / "src" / "b.py").write_text("x\n")
    guarded.ok("git", "add", "src/b.py", cwd=tree)
    refused = guarded.run("git", "commit", "-qm", "x", cwd=tree, ROOK_GUARD_WORKTREES="enforce")
    assert "src/b.py" in refused.stderr
    assert refused.returncode == 1
    warned = guarded.run("git", "commit", "-qm", "x", cwd=tree)
    assert "in another working tree" in warned.stderr
    assert warned.returncode == 0, "what is apart is merged later"


def test_a_store_that_can_not_be_reached_stops_no_commit(guarded: Repository, tmp_path: Path) -> None:
    guarded.file("src/a.py")
    (tmp_path / "a file").write_text("")
    done = guarded.commit(ROOK_HOME=str(tmp_path / "a file"))
    assert done.returncode == 0
    assert "not checked" in done.stderr


def test_without_rook_commits_go_on_and_say_so(guarded: Repository) -> None:
    guarded.file("src/a.py")
    done = guarded.commit(PATH="/usr/bin:/bin")
    assert done.returncode == 0
    assert "not found" in done.stderr


def test_a_person_may_know_better(guarded: Repository) -> None:
    guarded.file("src/a.py")
    assert guarded.run("git", "commit", "-q", "--no-verify", "-m", "x").returncode == 0


# -- installing ------------------------------------------------------------------------------------------------------


def test_the_hook_that_was_there_is_asked_first_and_comes_back(shop: Repository) -> None:
    mine = '#!/bin/sh\necho "mine: $0 $#" >> log\ntest ! -e stop\n'
    shop.hook.parent.mkdir(exist_ok=True)
    shop.hook.write_text(mine)
    shop.hook.chmod(0o750)
    install(shop)
    assert "rook" in shop.hook.read_text()
    shop.file("a.txt")
    assert shop.commit().returncode == 0
    assert (shop.top / "log").read_text().startswith("mine: ")
    (shop.top / "stop").touch()
    shop.file("b.txt")
    assert shop.commit().returncode == 1, "its no is a no"
    assert "Nothing to do" in shop.ok("rook", "init", "--host", "claude", "--git-hook", "--yes")
    shop.ok("rook", "init", "--undo", "--yes")
    assert shop.hook.read_text() == mine
    assert stat.S_IMODE(shop.hook.stat().st_mode) == 0o750
    assert sorted(path.name for path in shop.hook.parent.glob("pre-commit*") if "sample" not in path.name) == [
        "pre-commit"
    ]


def test_a_hook_that_could_not_run_does_not_run_now(shop: Repository) -> None:
    shop.hook.parent.mkdir(exist_ok=True)
    shop.hook.write_text("#!/bin/sh\nexit 1\n")
    shop.hook.chmod(0o644)
    install(shop)
    shop.file("a.txt")
    assert shop.commit().returncode == 0


def test_hooks_in_a_folder_of_the_repository(shop: Repository) -> None:
    shop.ok("git", "config", "core.hooksPath", ".husky")
    install(shop)
    assert os.access(shop.top / ".husky" / "pre-commit", os.X_OK)
    assert not shop.hook.exists()
    shop.ok("rook", "init", "--undo", "--yes")
    assert not (shop.top / ".husky").exists()


def test_hooks_that_other_repositories_share_are_left_alone(shop: Repository, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shop.ok("git", "config", "core.hooksPath", str(shared))
    done = shop.run("rook", "init", "--host", "claude", "--git-hook", "--yes")
    assert done.returncode == 1
    assert "rook can-commit" in done.stderr
    assert list(shared.iterdir()) == []
    assert not (shop.top / ".mcp.json").exists(), "all or nothing"


def test_a_worktree_installs_for_all(shop: Repository, tmp_path: Path) -> None:
    shop.file("a.txt")
    shop.ok("git", "commit", "-qm", "x")
    tree = tmp_path / "tree"
    shop.ok("git", "worktree", "add", "-q", str(tree))
    shop.ok("rook", "init", "--host", "claude", "--git-hook", "--yes", cwd=tree)
    assert shop.hook.exists()
    assert (tree / ".mcp.json").exists()
    assert not (shop.top / ".mcp.json").exists()


def test_outside_a_repository_there_is_nothing_to_guard(shop: Repository, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    done = shop.run("rook", "init", "--host", "claude", "--git-hook", "--yes", cwd=folder)
    assert done.returncode == 1
    assert "no git repository" in done.stderr


def test_a_symlinked_hook_is_refused(shop: Repository, tmp_path: Path) -> None:
    shop.hook.parent.mkdir(exist_ok=True)
    (tmp_path / "script").write_text("#!/bin/sh\n")
    shop.hook.symlink_to(tmp_path / "script")
    done = shop.run("rook", "init", "--host", "claude", "--git-hook", "--yes")
    assert done.returncode == 2
    assert "symlink" in done.stderr


def test_h15_a_path_of_rook_that_a_shell_would_trip_over(shop: Repository, tmp_path: Path) -> None:
    """The hook calls rook by a path with everything in it; a script stands there that says how it was called."""
    odd = tmp_path / "it's $HOME `id`\n"
    odd.mkdir()
    (odd / "rook").write_text(f'#!/bin/sh\ncat > /dev/null\necho "$@" > {tmp_path}/called\n')
    (odd / "rook").chmod(0o755)
    install(shop)
    from shlex import quote

    shop.hook.write_text(shop.hook.read_text().replace("rook=rook\n", f"rook={quote(str(odd / 'rook'))}\n"))
    shop.file("a.txt")
    assert shop.commit().returncode == 0
    assert (tmp_path / "called").read_text() == "can-commit\n"


def test_for_programs(guarded: Repository) -> None:
    done = subprocess.run(
        ["rook", "can-commit", "--json"], input="src/a.py\0free\0", cwd=guarded.top, env=guarded.environ, text=True,
        capture_output=True,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert (done.returncode, told["allow"], [each["path"] for each in told["paths"]]) == (1, False, ["src/a.py"])
