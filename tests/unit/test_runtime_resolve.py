"""Paths in their one spelling (H24): whatever way a file is written, it gets one name, and nothing leads outside."""

import os
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.core.errors import BadInput
from rookery.runtime import resolve
from tests.support.spellings import LEAVING, NFC, NFD, SPELLINGS, make_tree


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_tree(tmp_path)


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_every_spelling_of_a_file_is_one(workspace: Path, spelled: str) -> None:
    path = spelled.format(root=workspace)
    assert resolve.logical(path, str(workspace), str(workspace)) == "src/io/x.py"


@pytest.mark.parametrize("where", ["src", "src/io", "io", "src/up"])
def test_a_path_begins_where_the_caller_stands(workspace: Path, where: str) -> None:
    cwd = workspace / where
    real = os.path.relpath(os.path.realpath(cwd), workspace)
    expected = os.path.normpath(os.path.join(real, "y.py"))
    assert resolve.logical("y.py", str(cwd), str(workspace)) == expected


def test_a_workspace_that_is_reached_by_a_symlink(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to("project")
    alias = tmp_path / "alias"
    assert resolve.logical("src/io/x.py", str(alias), str(workspace)) == "src/io/x.py"
    assert resolve.logical(f"{workspace}/src/io/x.py", str(alias), str(alias)) == "src/io/x.py"


@pytest.mark.parametrize("spelled", LEAVING)
def test_nothing_leads_outside(workspace: Path, spelled: str) -> None:
    for ask in (resolve.logical, resolve.pattern):
        with pytest.raises(BadInput) as caught:
            ask(spelled.format(root=workspace), str(workspace), str(workspace))
        assert caught.value.code == resolve.OUTSIDE
        assert caught.value.hint


@pytest.mark.parametrize("path", ["a\0b", "", "  "])
def test_what_is_no_path(workspace: Path, path: str) -> None:
    with pytest.raises(BadInput) as caught:
        resolve.logical(path, str(workspace), str(workspace))
    assert caught.value.code == "BAD_PATH"


def test_what_does_not_exist_yet_has_its_name_already(workspace: Path) -> None:
    here = str(workspace)
    assert resolve.logical("src/new/deep/y.py", here, here) == "src/new/deep/y.py"
    assert resolve.logical("io/new.py", here, here) == "src/io/new.py"
    assert resolve.logical("dangling", here, here) == "src/later.py"
    assert resolve.logical(".", here, here) == resolve.logical("src/..", here, here) == "."
    assert resolve.logical("loop/x", here, here) == "loop/x"
    assert resolve.logical("x" * 5000, here, here) == "x" * 5000


def test_accents_however_they_are_typed(workspace: Path) -> None:
    here = str(workspace)
    assert NFC != NFD
    assert resolve.logical(NFC, here, here) == resolve.logical(NFD, here, here) == NFC
    (workspace / NFD).write_text("as some disks keep it")
    assert resolve.logical(NFD, here, here) == NFC
    assert resolve.pattern(f"*/{NFD}", here, here) == f"*/{NFC}"


def test_case_is_folded_where_the_disk_ignores_it(workspace: Path) -> None:
    """Such a disk is not here: what it would answer is said by the test. Control: without it, case matters."""
    here = str(workspace)
    spelled = ("src/io/New.py", "src/io/NEW.PY", "SRC/IO/new.py")
    assert {resolve.logical(path, here, here, fold=True) for path in spelled} == {"src/io/new.py"}
    assert {resolve.pattern(f"{path}/*.PY", here, here, fold=True) for path in spelled} == {"src/io/new.py/*.py"}
    assert len({resolve.logical(path, here, here, fold=False) for path in spelled}) == 3


def test_the_disk_is_asked_whether_it_ignores_case(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a disk that answers to any case, and one that does not."""
    true_lstat = os.lstat
    names = {name.casefold(): name for name in os.listdir(workspace)}

    def folding(path: str) -> os.stat_result:
        folder, name = os.path.split(path)
        return true_lstat(os.path.join(folder, names.get(name.casefold(), name)))

    assert not resolve.ignores_case(str(workspace))
    with monkeypatch.context() as patched:
        patched.setattr(os, "lstat", folding)
        assert resolve.ignores_case(str(workspace))
    assert not resolve.ignores_case(str(workspace / "nowhere"))
    empty = workspace / "Empty"
    empty.mkdir()
    assert not resolve.ignores_case(str(empty))


# --- patterns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "cwd", "resolved"),
    [
        ("src/io/", "", "src/io/"),
        ("io/", "", "src/io/"),
        ("./src//io", "", "src/io"),
        (".", "", "."),
        ("./", "", "."),
        (".", "src", "src"),
        ("**", "", "**"),
        ("*.py", "src/io", "src/io/*.py"),
        ("*.py", "io", "src/io/*.py"),
        ("io/**/x.py", "", "src/io/**/x.py"),
        ("../io/?.py", "src", "src/io/?.py"),
        ("{root}/io/*/", "", "src/io/*/"),
        ("src/*/../x", "", "src/*/../x"),  # what follows a wildcard is for the parser to refuse
        ("", "src", ""),  # so is nothing at all
    ],
)
def test_patterns(workspace: Path, written: str, cwd: str, resolved: str) -> None:
    assert resolve.pattern(written.format(root=workspace), str(workspace / cwd), str(workspace)) == resolved


@pytest.mark.parametrize("written", ["/*", "/**/x.py", "../*", "out/*.py", "{root}/../*"])
def test_patterns_do_not_lead_outside_either(workspace: Path, written: str) -> None:
    with pytest.raises(BadInput) as caught:
        resolve.pattern(written.format(root=workspace), str(workspace), str(workspace))
    assert caught.value.code == resolve.OUTSIDE


# --- the kernel has the last word -------------------------------------------------------------------------------------

PARTS = st.lists(st.sampled_from(["src", "io", "up", "..", ".", "", "out", "project", "outside", "x.py"]), max_size=8)


def lexical(path: str, cwd: str, workspace: str) -> str:
    """The mistake: `..` taken off the text, before the symlink in front of it was followed."""
    real = os.path.realpath(os.path.normpath(os.path.join(cwd, path)))
    if os.path.commonpath([real, workspace]) != workspace:
        raise BadInput("outside", code=resolve.OUTSIDE)
    return os.path.relpath(real, workspace)


def disagrees(ask: Callable[[str, str, str], str], project: Path, parts: Sequence[str]) -> bool:
    """Does a path resolve to another file than the one the kernel opens?"""
    path = "/".join(parts) or "."
    full = os.path.join(str(project), path)
    if not os.path.exists(full):
        return False
    try:
        found = ask(path, str(project), str(project))
    except BadInput as error:
        real = os.path.realpath(full)
        return error.code != resolve.OUTSIDE or real == str(project) or real.startswith(f"{project}/")
    return not (project / found).exists() or not os.path.samefile(project / found, full)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tree(tmp_path_factory.mktemp("ground").resolve())


@given(parts=PARTS)
def test_the_kernel_opens_the_same_file(ground: Path, parts: list[str]) -> None:
    assert not disagrees(resolve.logical, ground, parts)


def test_control_resolving_by_the_text_alone_is_caught(ground: Path) -> None:
    assert disagrees(lexical, ground, ["io", "..", "up", "src"])


@given(parts=st.lists(st.text(min_size=1, max_size=5).filter(lambda s: s not in (".", "..")), min_size=1, max_size=5))
def test_resolving_again_changes_nothing(ground: Path, parts: list[str]) -> None:
    path = "/".join(parts)
    try:
        once = resolve.logical(path, str(ground), str(ground))
    except BadInput:
        return
    assert unicodedata.is_normalized("NFC", once)
    assert resolve.logical(once, str(ground), str(ground)) == once


NAMES = ("src", "a.py", "out", "back", "loop", "far", "", ".", "..", "new", "/", "caf\u00e9", "src/a.py")


@pytest.fixture(scope="module")
def tangled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("tangled")
    root = base / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("")
    (base / "elsewhere").mkdir()
    (root / "out").symlink_to(base / "elsewhere")
    (root / "far").symlink_to("/")
    (root / "src" / "back").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (base / "by-link").symlink_to(root)
    return base / "by-link"


@settings(deadline=None)
@given(names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
def test_the_quick_way_and_the_thorough_one_agree(tangled: Path, names: list[str]) -> None:
    """From the top of the workspace plain names are not followed one by one; spelled otherwise, they are."""

    def found(cwd: str) -> str:
        try:
            return resolve.logical("/".join(names), cwd, str(tangled))
        except BadInput as error:
            return error.code

    assert found(str(tangled)) == found(f"{tangled}/.")
