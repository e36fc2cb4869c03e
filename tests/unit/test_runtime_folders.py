"""Groups kept as folders of Markdown files."""

from pathlib import Path

import pytest

from rookery.core.errors import BadInput
from rookery.runtime.folders import group_members

PATTERNS = ["swarms/{group}/agents"]


def make(base: Path, *names: str) -> None:
    base.mkdir(parents=True, exist_ok=True)
    for name in names:
        (base / name).write_text("")


def test_members_are_the_stems_of_markdown_files(tmp_path: Path) -> None:
    folder = tmp_path / "swarms/dev/agents"
    make(folder, "b.md", "a.md", "_template.md", "notes.txt", "bad name.md", ".md", ".hidden.md", "ü.md")
    (folder / "folder.md").mkdir()
    (folder / "dangling.md").symlink_to("nowhere")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "linked.md").symlink_to("a.md")
    assert group_members(str(tmp_path), str(tmp_path), PATTERNS, "dev") == ["a", "b", "linked"]


def test_root_folder_and_all_patterns_are_joined_once(tmp_path: Path) -> None:
    make(tmp_path / "swarms/dev/agents", "a.md", "b.md")
    make(tmp_path / "sub/swarms/dev/agents", "b.md", "c.md")
    make(tmp_path / "teams/dev", "d.md")
    patterns = [*PATTERNS, "teams/{group}"]
    assert group_members(str(tmp_path), str(tmp_path / "sub"), patterns, "dev") == ["a", "b", "c", "d"]


def test_no_folder_no_members(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert group_members(str(tmp_path), str(tmp_path), [*PATTERNS, "file", "a\0b"], "dev") == []


@pytest.mark.parametrize("group", ["..", ".", "", "a/b", "../x", "a\0", "/etc", "x" * 51])
def test_a_group_cannot_leave_its_place(tmp_path: Path, group: str) -> None:
    with pytest.raises(BadInput):
        group_members(str(tmp_path), str(tmp_path), PATTERNS, group)


def test_a_pattern_reaches_no_attributes(tmp_path: Path) -> None:
    make(tmp_path / "{group.__class__}", "a.md")
    assert group_members(str(tmp_path), str(tmp_path), ["{group.__class__}"], "dev") == ["a"]
