"""The guard judges a write where its target lies (issue 13, line 9): not where the event says the agent is."""

import os
from pathlib import Path

import pytest

from tests.support.hooking import EDITS, SHELLS, Asker, decision, edit, reason, shell
from tests.support.stores import prepared_home
from tests.unit.gitrepo import git, repository


class Places:
    """Two repositories and a plain folder; in the first one someone holds src/a.py."""

    def __init__(self, above: Path, holding: dict[str, str] | None = None) -> None:
        self.above = above
        self.repo, self.other, self.plain = above / "repo", above / "other", above / "plain"
        for each in (self.repo, self.other):
            repository(each)
            (each / "src").mkdir()
            (each / "src" / "a.py").write_text("a = 1\n")
        self.plain.mkdir()
        self.environ = {"HOME": str(above), "ROOK_HOME": prepared_home(above / "home")}
        self.held = self.repo / "src" / "a.py"
        self.holder = Asker(self.repo, {**self.environ, **(holding or {})})
        self.holder.ok("join", "holder")
        self.holder.ok("--as", "holder", "reserve", "src/a.py", "--reason", "mine")

    def asker(self, folder: Path, **environ: str) -> Asker:
        return Asker(folder, {**self.environ, **environ})

    def asks(self, folder: Path, command: str, who: str = "", **environ: str) -> str:
        return decision(self.asker(folder, **environ).hook(shell("claude", command, str(folder)), who=who))


@pytest.fixture
def at(tmp_path: Path) -> Places:
    return Places(tmp_path)


COMMANDS = [
    "rm {repo}/src/a.py", "cd {repo} && rm src/a.py", "cd {repo}/src; echo x > a.py", "git -C {repo} checkout -- .",
    "rm -rf {repo}", "rm -rf {repo}/src", "rm -rf {above}/repo/", "tee {repo}/src/a.py < /dev/null",
    "rm {above}/*/src/a.py", "rm {above}/re*/src/*.py", "(cd {other}; rm ../repo/src/a.py)",
]  # fmt: skip
FREE = ["rm {repo}/src/b.py", "rm {other}/src/a.py", "cat {repo}/src/a.py", "rm -rf {repo}/docs",
        "rm {above}/ot*/src/a.py", "git -C {other} checkout -- .", "ls {repo} > {plain}/list"]  # fmt: skip


@pytest.mark.parametrize("place", ["/", "other", "plain"])
def test_a_write_in_another_repository_is_judged_there(at: Places, place: str) -> None:
    folder = at.above / place if place != "/" else Path("/")
    for command in COMMANDS:
        said = command.format(**vars(at))
        assert at.asks(folder, said) == "deny", said
    for command in FREE:
        said = command.format(**vars(at))
        assert at.asks(folder, said) == "", said


def test_a_team_chosen_by_hand_hides_nothing(at: Places) -> None:
    """ROOK_TEAM names the team of the caller; what it writes may be held in another."""
    for folder in (Path("/"), at.other, at.plain):
        asker = at.asker(folder, ROOK_TEAM="elsewhere")
        asker.ok("join", "wren", "--takeover")
        assert decision(asker.hook(shell("claude", f"rm {at.held}", str(folder)), who="wren")) == "deny"
        assert decision(asker.hook(edit("claude", str(at.held), str(folder)), who="wren")) == "deny"
        assert decision(asker.hook(shell("claude", f"rm {at.repo}/src/b.py", str(folder)), who="wren")) == ""


def test_a_team_chosen_by_hand_holds_in_the_tree_it_was_taken_in(tmp_path: Path) -> None:
    at = Places(tmp_path, {"ROOK_TEAM": "crew"})
    for folder in (Path("/"), at.other, at.plain, at.above):
        asker = at.asker(folder, ROOK_TEAM="crew")
        asker.ok("join", "wren") if folder == Path("/") else None
        assert decision(asker.hook(shell("claude", f"rm {at.held}", str(folder)), who="wren")) == "deny", folder
        assert at.asks(folder, f"rm {at.held}") == "deny", "and against whoever is in no team by hand"
        mine = decision(asker.hook(shell("claude", f"rm {at.held}", str(folder)), who="holder"))
        assert mine == "", "its holder may, wherever it stands"


@pytest.mark.parametrize("host", EDITS)
def test_an_edit_tool_of_every_program_is_asked_the_same(at: Places, host: str) -> None:
    asker = at.asker(at.other)
    told = asker.hook(edit(host, str(at.held), str(at.other)), host=host)
    assert decision(told) == "deny"
    assert "holder" in reason(told)
    assert decision(asker.hook(edit(host, str(at.repo / "src" / "b.py"), str(at.other)), host=host)) == ""


def test_links_lead_where_they_lead(at: Places) -> None:
    (at.other / "way").symlink_to(at.repo / "src")
    (at.plain / "file").symlink_to(at.held)
    assert at.asks(at.other, "rm way/a.py") == "deny"
    assert at.asks(at.plain, "echo x > file") == "deny"
    assert at.asks(at.other, "rm way/b.py") == ""


def test_a_holder_in_a_plain_folder_is_found_from_anywhere(at: Places) -> None:
    deep = at.plain / "deep" / "er"
    deep.mkdir(parents=True)
    asker = at.asker(at.plain)
    asker.ok("join", "robin")
    asker.ok("--as", "robin", "reserve", "deep/")
    for folder in (Path("/"), at.repo, deep):
        assert at.asks(folder, f"echo > {deep}/x") == "deny", folder
    assert at.asks(at.repo, f"echo > {at.plain}/x") == ""


def test_a_repository_within_another_is_judged_by_both(at: Places) -> None:
    inner = repository(at.repo / "vendor" / "inner")
    at.holder.ok("--as", "holder", "reserve", "vendor/inner/one.c")
    visitor = at.asker(inner)
    visitor.ok("join", "wren")
    visitor.ok("--as", "wren", "reserve", "two.c")
    for path in ("one.c", "two.c"):
        assert at.asks(at.other, f"rm {inner}/{path}") == "deny", path
        assert at.asks(at.repo, f"rm vendor/inner/{path}") == "deny", path
    assert at.asks(inner, "rm one.c") == "deny"
    assert at.asks(at.other, f"rm {inner}/three.c") == ""


def test_worktrees_of_one_repository_stay_one_team_with_several_trees(at: Places) -> None:
    """Held in the main tree: refused there from wherever; in the other tree a warning, as `guard.worktrees` says."""
    tree = at.above / "tree"
    git("worktree", "add", "-q", "-b", "side", str(tree), cwd=at.repo)
    (tree / "src").mkdir()
    asker = at.asker(tree)
    asker.ok("join", "wren")
    assert decision(asker.hook(shell("claude", f"rm {at.held}", str(tree)), who="wren")) == "deny"
    assert decision(asker.hook(shell("claude", "echo > src/a.py", str(tree)), who="wren")) == "warn"
    assert decision(asker.hook(shell("claude", f"rm {at.held}", str(tree)), who="holder")) == "", "it is the holder's"
    assert at.asks(at.other, f"echo > {tree}/src/a.py") in ("", "warn")


def test_a_person_of_that_team_is_not_whoever_comes_from_elsewhere(at: Places) -> None:
    at.holder.ok("--as", "user", "reserve", "src/theirs.py")
    assert at.asks(at.other, f"rm {at.repo}/src/theirs.py") == "deny"


def test_a_strict_team_elsewhere_refuses_a_stranger(at: Places) -> None:
    (at.repo / "rookery.toml").write_text("[guard]\nstrict = true\n")
    assert at.asks(at.other, f"echo > {at.repo}/src/b.py") == "deny"
    assert at.asks(at.other, f"echo > {at.other}/src/b.py") == ""


def test_nothing_held_anywhere_reads_no_command(at: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    from rookery.runtime import shell as reader

    read: list[str] = []
    monkeypatch.setattr(reader, "writes", lambda command, *args, **more: read.append(command) or 1 / 0)
    at.holder.ok("--as", "holder", "release", "src/a.py")
    assert at.asks(at.other, "rm x") == ""
    assert read == []


def test_a_tree_that_can_not_be_asked_hides_no_other(at: Places) -> None:
    (at.other / "rookery.toml").write_text("team = [")
    assert at.asks(at.plain, f"rm {at.other}/x {at.held}") == "deny"
    assert at.asks(at.plain, f"rm {at.other}/x") == "warn"
    assert at.asks(at.plain, f"rm {at.other}/x", ROOK_GUARD_OPAQUE="deny") == "deny"


def test_a_tree_that_is_gone_is_no_error(at: Places) -> None:
    gone = at.above / "gone"
    repository(gone)
    asker = at.asker(gone)
    asker.ok("join", "robin")
    asker.ok("--as", "robin", "reserve", "x.py")
    os.rename(gone, at.above / "moved")
    assert at.asks(at.other, f"mkdir -p {gone} && echo > {gone}/x.py") == "deny"
    assert at.asks(at.other, f"echo > {gone}/y.py") == ""


def test_a_worker_does_not_move_the_branch_that_it_lands_on(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    environ = {"HOME": str(tmp_path), "ROOK_HOME": prepared_home(tmp_path / "home"), "ROOK_TEAM": "crew"}
    worker = Asker(tree, environ | {"ROOK_TREE": str(tree), "ROOK_BRANCH": "main"})
    others = Asker(tree, environ)
    worker.ok("join", "w")
    for host in SHELLS:
        asked = {command: shell(host, command, str(tree)) for command in ("git push . HEAD:main", "git commit -m x")}
        assert decision(worker.hook(asked["git push . HEAD:main"], host=host, who="w")) == "deny", host
        assert decision(worker.hook(asked["git commit -m x"], host=host, who="w")) == "", host
        assert decision(others.hook(asked["git push . HEAD:main"], host=host, who="w")) == "", host
