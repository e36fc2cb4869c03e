"""What a command leaves behind: writes that hide their traces, writes that come later, writes through hard links."""

import os
from pathlib import Path
from typing import Any

import pytest

from rookery.core import file_marks
from rookery.runtime import marks
from tests.support.hooking import Asker, decision, edit, shell
from tests.support.stores import prepared_home


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    """Someone asks where someone else holds src/a.py and lib/."""
    for folder in ("src", "lib", "free"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("a = 1\n")
    (tmp_path / "rookery.toml").touch()
    environ = {"HOME": str(tmp_path), "ROOK_HOME": prepared_home(tmp_path / "home"), "ROOK_TEAM": "crew"}
    made = Asker(tmp_path, environ)
    for name in ("holder", "asker"):
        made.ok("join", name)
    made.ok("--as", "holder", "reserve", "src/a.py", "lib/")
    return made


def moment(asker: Asker, name: str, **more: Any) -> str:
    import json

    given = {"hook_event_name": name, "session_id": "s", "cwd": str(asker.folder), **more}
    reply = asker.rook("--as", "asker", "hook", "claude", stdin=json.dumps(given))
    assert reply.code == 0, reply.err
    return reply.out


OPAQUE = {"tool_name": "Bash", "tool_input": {"command": "make all"}, "tool_use_id": "t-1"}


def rewrite(path: Path, text: str) -> None:
    """As long as it was, and with the times it had."""
    seen = path.stat()
    path.write_text(text)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def test_a_write_of_the_same_size_with_its_time_put_back_is_seen(asker: Asker) -> None:
    assert moment(asker, "PreToolUse", **OPAQUE) == ""
    rewrite(asker.folder / "src" / "a.py", "a = 2\n")
    assert "src/a.py, held by holder" in moment(asker, "PostToolUse", **OPAQUE)


def test_a_file_that_was_only_touched_is_not_spoken_of(asker: Asker) -> None:
    moment(asker, "PreToolUse", **OPAQUE)
    os.utime(asker.folder / "src" / "a.py", ns=(1, 1))
    (asker.folder / "lib" / "a.py").write_text("a = 1\n")
    assert moment(asker, "PostToolUse", **OPAQUE) == ""


@pytest.mark.parametrize("until", ["Stop", "UserPromptSubmit"])
def test_a_write_that_comes_after_the_command_is_seen_when_the_turn_is_over(asker: Asker, until: str) -> None:
    moment(asker, "PreToolUse", **OPAQUE)
    assert moment(asker, "PostToolUse", **OPAQUE) == ""
    if until != "Stop":
        assert moment(asker, "Stop") == ""
    rewrite(asker.folder / "src" / "a.py", "a = 3\n")
    assert "src/a.py" in moment(asker, until), "the agent is told in the same moment"
    assert "changed after asker ran a command" in asker.ok("--as", "holder", "inbox", "--json")
    assert moment(asker, "Stop", stop_hook_active=True) == ""


def test_nothing_is_looked_at_in_a_turn_without_such_a_command(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "marks", lambda *_args: pytest.fail("it looked"))
    moment(asker, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t-1")
    moment(asker, "PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t-1")
    moment(asker, "Stop")
    moment(asker, "UserPromptSubmit", prompt="go on")


# -- marks -------------------------------------------------------------------------------------------------------------


def test_a_large_file_is_told_by_what_no_program_can_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "HASHED_BYTES", 4)
    (tmp_path / "x").write_text("12345")
    before = marks.marks(str(tmp_path), ["x"])["x"]
    rewrite(tmp_path / "x", "54321")
    after = marks.marks(str(tmp_path), ["x"])["x"]
    assert ":" not in before + after, "it was not read"
    assert file_marks.differs(before, after)


def test_only_so_much_is_read_for_one_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "HASHED_BYTES_IN_ALL", 8)
    for name in "abc":
        (tmp_path / name).write_text("12345")
    assert [":" in mark for mark in marks.marks(str(tmp_path), ["**"]).values()] == [True, False, False]


def test_what_is_no_plain_file_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    found = marks.marks(str(tmp_path), ["**"])
    assert found.keys() == {"pipe", "link", "secret"}


def test_h39_the_ledger_is_never_opened_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "rookery.db").write_text("x")
    os.link(tmp_path / "rookery.db", tmp_path / "other")
    found = marks.marks(str(tmp_path), ["**"], (str(tmp_path / "rookery.db"),))
    assert [":" in mark for mark in found.values()] == [False, False]


# -- hard links --------------------------------------------------------------------------------------------------------


@pytest.fixture
def linked(asker: Asker) -> Asker:
    os.link(asker.folder / "src" / "a.py", asker.folder / "free" / "second")
    os.link(asker.folder / "free" / "a.py", asker.folder / "free" / "own")
    return asker


@pytest.mark.parametrize("command", [
    "echo x > free/second", "cd free && echo x >> second", "sed -i s/a/b/ free/s*", "tee free/second < /dev/null",
    "cp src/b.py free/second", "chmod +x free/own && truncate -s 0 {root}/free/second",
])  # fmt: skip
def test_a_second_name_of_a_held_file_is_that_file(linked: Asker, command: str) -> None:
    folder = str(linked.folder)
    asked = shell("claude", command.format(root=folder), folder)
    assert decision(linked.hook(asked, who="asker")) == "deny"
    assert decision(linked.hook(asked, who="holder")) == "", "its holder may"


def test_an_edit_by_a_second_name_is_refused_with_the_first(linked: Asker) -> None:
    told = linked.hook(edit("claude", "free/second", str(linked.folder)), who="asker")
    assert decision(told) == "deny"
    assert "src/a.py is held by holder" in told.out


def test_a_second_name_outside_the_workspace_is_that_file_too(linked: Asker, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside") / "third"
    os.link(linked.folder / "src" / "a.py", outside)
    assert decision(linked.hook(shell("claude", f"echo > {outside}", str(linked.folder)), who="asker")) == "deny"


def test_second_names_of_what_nobody_holds_are_free(linked: Asker) -> None:
    for command in ("echo x > free/own", "sed -i s/a/b/ free/o*", "cat free/second > free/new"):
        assert decision(linked.hook(shell("claude", command, str(linked.folder)), who="asker")) == "", command
