"""Where a path leads: the quick way finds what the thorough one finds."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import errors
from rookery.runtime.trees import Tree

NAMES = ("src", "a.py", "out", "back", "loop", "far", "", ".", "..", "new", "/", "café", "src/a.py")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("trees")
    root = base / "root"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.py").write_text("")
    (base / "elsewhere").mkdir()
    (root / "out").symlink_to(base / "elsewhere")
    (root / "far").symlink_to("/")
    (root / "src" / "back").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (base / "by-link").symlink_to(root)
    return base / "by-link"


def thoroughly(root: Path, path: str) -> str | None:
    base, real = os.path.realpath(root), os.path.realpath(os.path.join(os.path.realpath(root), path))
    return os.path.relpath(real, base) if real.startswith(base + os.sep) else None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
def test_the_quick_way_and_the_thorough_one_agree(root: Path, names: list[str]):
    path = "/".join(names)
    assert Tree(str(root)).inside(path) == thoroughly(root, path)


def test_what_leaves_the_root_is_outside(root: Path):
    tree = Tree(str(root))
    assert tree.inside("src/a.py") == "src/a.py"
    assert tree.inside("src/back/src/new.py") == "src/new.py"
    assert [tree.inside(path) for path in ("out/x", "far/etc/passwd", "..", "../root-2/x", ".", "/etc")] == [None] * 6


def test_a_path_with_a_nul_is_refused(root: Path):
    for path in ("src/\0", "\0/src", "out/\0"):
        with pytest.raises(errors.BadInput, match="NUL"):
            Tree(str(root)).inside(path)
