"""Kinds of workers, as commands."""

import pytest

from tests.cli.conftest import Terminal

OWN = "---\nname: auditor\ndescription: reads \x1b[2Jit twice\nread_only: true\n---\nLook for what could be misused.\n"


@pytest.mark.slow
def test_kinds_are_listed_and_shown(rook: Terminal) -> None:
    shown = rook.ok("kinds")
    for words in ("scout", "only reads", "implementer", "writes", "built in", "rook kinds show NAME"):
        assert words in shown, words
    one = rook.ok("kinds", "show", "scout")
    assert "what its workers are told" in one
    assert "End with a report, always." in one
    refused = rook("kinds", "show", "scoot")
    assert (refused.code, "Did you mean scout?" in refused.err) == (1, True)


def test_the_repositorys_own(rook: Terminal) -> None:
    folder = rook.folder / ".rook" / "kinds"
    folder.mkdir(parents=True)
    (folder / "auditor.md").write_text(OWN.replace("\x1b[2J", ""))
    (folder / "broken.md").write_text("---\nname: broken\nreadonly: true\n---\n")
    shown = rook.ok("kinds")
    assert "reads it twice" in shown
    assert "repository" in shown
    assert "unusable" in shown
    assert "line 3: there is no key 'readonly'" in " ".join(shown.split())
    assert "scout" in shown
    assert "Look for what could be misused." in rook.ok("kinds", "show", "auditor")


def test_one_is_registered_and_taken_back(rook: Terminal) -> None:
    (rook.folder / "auditor.md").write_text(OWN.replace("\x1b[2J", ""))
    assert rook("--as", "architect", "kinds", "add", "auditor.md").code == 1, "only the person and the leader"
    assert "auditor is registered by user" in rook.ok("kinds", "add", "auditor.md")
    assert rook.json("kinds", "show", "auditor")["layer"] == "registered"
    rook.stdin = OWN.replace("\x1b[2J", "").replace("auditor", "scout").replace("read_only: true", "read_only: false")
    assert "no longer has read_only" in rook.ok("kinds", "add", "-")
    assert "holds again" in " ".join(rook.ok("kinds", "drop", "scout").split()), "wherever the line is broken"
    assert "no longer registered" in rook.ok("kinds", "drop", "auditor")
    assert rook("kinds", "drop", "auditor").code == 1


def test_bad_files_are_told_of(rook: Terminal) -> None:
    (rook.folder / "bad.md").write_text(OWN)
    refused = rook("kinds", "add", "bad.md")
    assert (refused.code, "line 3" in refused.err) == (2, True)
    (rook.folder / "bad.md").write_bytes(b"---\nname: \xff\n---\n")
    assert "not UTF-8" in rook("kinds", "add", "bad.md").err
    assert rook("kinds", "add", "nothing.md").code == 2
