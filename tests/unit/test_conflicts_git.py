"""What is graded beside what git itself says: whatever it calls a conflict was contested, or close to it, before.

Change sets of one base are drawn at random: lines changed, put in and taken out, files added, deleted, renamed, made
binary or executable, folders put where files were. git merges them; the grades know nothing of that.
"""

import shutil
import subprocess
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import overlap
from rookery.core.overlap import Grade, Touched
from rookery.runtime import hunks
from tests.unit.gitrepo import git, repository

Tree = dict[str, tuple[str, bytes]]  # path: mode, content
WORDS = ("x", "y", "{", "}", "")
NEW = ("n.txt", "d/n.txt", "e/b.txt", "e/c.txt", "a.txt/in", "d")


def base_tree(draw: Callable[..., int]) -> Tree:
    def text(name: str, count: int) -> bytes:
        lines = [WORDS[n % 5] if draw(st.integers(0, 3)) == 0 else f"{name} {n}" for n in range(count)]
        return "".join(f"{line}\n" for line in lines).encode()

    return {name: ("644", text(name, draw(st.integers(0, 16)))) for name in ("a.txt", "d/b.txt", "d/c.txt")}


def edited(tree: Tree, draw: Callable[..., int], who: str) -> Tree:
    """A change set: up to three things are done."""
    made = dict(tree)
    for _ in range(draw(st.integers(1, 3))):
        what, path = draw(st.integers(0, 11)), sorted(made)[draw(st.integers(0, len(made) - 1))]
        mode, content = made[path]
        if what <= 6:
            made[path] = (mode, in_lines(content, draw, who))
        elif what == 7:
            put(made, NEW[draw(st.integers(0, len(NEW) - 1))], ("644", f"{who}\nnew\n".encode()))
        elif what == 8 and len(made) > 1:
            del made[path]
        elif what == 9:
            moved = made.pop(path)
            put(made, NEW[draw(st.integers(0, len(NEW) - 1))], moved)
        elif what == 10:
            made[path] = ("755" if mode == "644" else "644", content)
        elif what == 11:
            made[path] = (mode, f"{who}\0".encode())
    return made


def put(tree: Tree, path: str, file: tuple[str, bytes]) -> None:
    """Where a folder of that name is, or a file where the folder should be, they go."""
    for other in [each for each in tree if each.startswith(f"{path}/") or path.startswith(f"{each}/")]:
        del tree[other]
    tree[path] = file


def in_lines(content: bytes, draw: Callable[..., int], who: str) -> bytes:
    lines = content.splitlines(keepends=True)
    at = draw(st.integers(0, len(lines)))
    out = draw(st.integers(0, min(3, len(lines) - at)))
    put_in = [f"{WORDS[n % 5] if draw(st.booleans()) else who}\n".encode() for n in range(draw(st.integers(0, 2)))]
    return b"".join([*lines[:at], *put_in, *lines[at + out :]])


def commits(root: Path, base: Tree, heads: list[Tree]) -> list[str]:
    """Written in one go: each of the heads on the first."""
    out: list[bytes] = []
    for n, tree in enumerate([base, *heads]):
        out.append(f"commit refs/heads/c{n}\nmark :{n + 1}\ncommitter a <a@localhost> {n} +0000\ndata 1\nx\n".encode())
        out.append(b"from :1\n" if n else b"")
        out.append(b"deleteall\n")
        out += [
            f"M 100{mode} inline {path}\ndata {len(data)}\n".encode() + data + b"\n"
            for path, (mode, data) in tree.items()
        ]
    subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=root, input=b"".join(out), check=True)
    return git("rev-parse", *(f"refs/heads/c{n}" for n in range(len(heads) + 1)), cwd=root).split()


def conflicts(root: Path, one: str, other: str) -> bool:
    done = subprocess.run(["git", "merge-tree", "--write-tree", one, other], cwd=root, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 1


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("graded") / "repo")


def touched(root: Path, base: str, head: str) -> Touched:
    return hunks.touched(str(root), base, head)[0]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(st.data())
def test_whatever_git_calls_a_conflict_was_contested_or_adjacent(root: Path, data: st.DataObject) -> None:
    tree = base_tree(data.draw)
    heads = [edited(tree, data.draw, who) for who in ("ada", "bob", "eve")]
    base, *made = commits(root, tree, heads)
    places = [touched(root, base, head) for head in made]
    for one, other in combinations(range(len(made)), 2):
        if conflicts(root, made[one], made[other]):
            grade = overlap.grade(overlap.meetings(places[one], places[other]))
            assert grade >= Grade.ADJACENT, (tree, heads[one], heads[other])


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(st.data())
def test_nor_is_one_missed_when_the_second_begins_at_a_later_base(root: Path, data: st.DataObject) -> None:
    """What git calls a conflict of the two, and not of the one with where the other began."""
    tree = base_tree(data.draw)
    later = edited(tree, data.draw, "main")
    heads = [edited(tree, data.draw, "ada"), later, edited(later, data.draw, "bob")]
    base, old, new_base, flat = commits(root, tree, heads)
    message = ["commit-tree", "-m", "x", "-p", new_base, f"{flat}^{{tree}}"]
    new = git(*message, cwd=root)
    if not conflicts(root, old, new) or conflicts(root, old, new_base):
        return
    mine = touched(root, new_base, new)
    shift = hunks.shifts(str(root), new_base, base, [each for each in mine if not each.endswith("/")])
    assert shift is not None
    grade = overlap.grade(overlap.meetings(overlap.shifted(mine, shift), touched(root, base, old)))
    assert grade >= Grade.ADJACENT, (tree, *heads)


def test_control_a_diff_that_loses_a_place_is_found_out(root: Path) -> None:
    """The comparison can fail: without the line that both change, git's conflict is a surprise."""
    lines = "".join(f"{n}\n" for n in range(20)).encode()
    tree: Tree = {"a": ("644", lines)}
    base, *made = commits(root, tree, [{"a": ("644", lines.replace(b"7\n", word, 1))} for word in (b"x\n", b"y\n")])
    places = [dict(touched(root, base, head)) for head in made]
    assert conflicts(root, *made)
    assert overlap.grade(overlap.meetings(*places)) is Grade.CONTESTED
    places[0]["a"] = [each._replace(start=each.start + 9) for each in places[0]["a"]]
    assert overlap.grade(overlap.meetings(*places)) < Grade.ADJACENT


# --- one by one -------------------------------------------------------------------------------------------------------


def test_names_that_are_odd_are_read_as_they_are(root: Path) -> None:
    odd = 'q"\t\n@@ -1 +1 @@\ndiff --git é'
    (root / odd).write_text("1\n2\n")
    git("add", "-A", cwd=root)
    git("commit", "-qm", "odd", cwd=root)
    base = git("rev-parse", "HEAD", cwd=root)
    (root / odd).write_text("1\n@@ -9 +9 @@\ndiff --git a b\n")
    git("commit", "-qam", "changed", cwd=root)
    assert touched(root, base, "HEAD") == {odd: [overlap.Hunk(2, 1)]}


def test_a_persons_settings_and_attributes_of_diff_hide_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    (root / ".gitattributes").write_text("*.lock merge=binary\n*.gen -diff\n")
    for name in ("a", "b.lock", "c.gen"):
        (root / name).write_text("1\n2\n3\n")
    git("add", "-A", cwd=root)
    git("commit", "-qm", "base", cwd=root)
    base = git("rev-parse", "HEAD", cwd=root)
    for name in ("a", "b.lock", "c.gen"):
        (root / name).write_text("1\n3\n")
    git("commit", "-qam", "work", cwd=root)
    for key, value in (
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "false"),
        ("color.ui", "always"),
    ):
        git("config", key, value, cwd=root)
    assert touched(root, base, "HEAD") == {
        "a": [overlap.Hunk(2, 1)], "b.lock": [overlap.OPAQUE], "c.gen": [overlap.OPAQUE],
    }  # fmt: skip


def test_what_is_too_large_is_said_to_be_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: Tree = {f"f{n}": ("644", b"x\n" * 50) for n in range(4)}
    base, head = commits(root, {"a": ("644", b"")}, [files])
    whole = touched(root, base, head)
    assert overlap.Hunk(0, 0) in whole["f3"]
    assert overlap.OPAQUE not in whole["f3"]
    monkeypatch.setattr(hunks, "PATCH_LIMIT", 400)
    cut = touched(root, base, head)
    assert cut.keys() == whole.keys()
    assert overlap.OPAQUE in cut["f3"]
    assert overlap.OPAQUE not in cut["f0"]
    monkeypatch.setattr(hunks, "FILES", 3)
    assert touched(root, base, head) == {overlap.EVERYTHING: [overlap.OPAQUE]}


def test_another_repository_has_none_of_these_commits(root: Path, tmp_path: Path) -> None:
    assert hunks.shifts(str(root), "HEAD", "f" * 40, ["a"]) is None
    shutil.copytree(root, tmp_path / "copy", symlinks=True)
    assert hunks.shifts(str(tmp_path / "copy"), "HEAD", "HEAD", ["a"]) == {}


def test_an_empty_file_is_not_followed_where_it_goes_because_merges_do_not(root: Path) -> None:
    tree: Tree = {"a": ("644", b""), "b": ("644", b"x\n")}
    base, one, other = commits(root, tree, [{"c": ("644", b""), "b": tree["b"]}, {**tree, "a": ("644", b"text\n")}])
    assert conflicts(root, one, other)
    assert overlap.grade(overlap.meetings(touched(root, base, one), touched(root, base, other))) is Grade.CONTESTED
