"""H46: a write tool whose path is missing or odd, and a tool that no table knows, do not pass in silence."""

import os
from pathlib import Path
from typing import Any

import pytest

from rookery.core import other_tools
from rookery.core.hooks import Deed
from tests.support.hooking import EDITS, SHELLS, Asker, decision, edit, event, shell
from tests.support.stores import prepared_home

HELD = "src/a.py"


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    """Someone asks where someone else holds src/a.py."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("a = 1\n")
    (tmp_path / "rookery.toml").touch()
    os.symlink("loop2", tmp_path / "loop1")
    os.symlink("loop1", tmp_path / "loop2")
    made = Asker(tmp_path, {"HOME": str(tmp_path), "ROOK_HOME": prepared_home(tmp_path / "home"), "ROOK_TEAM": "crew"})
    for name in ("holder", "asker"):
        made.ok("join", name)
    made.ok("--as", "holder", "reserve", HELD)
    return made


def judged(asker: Asker, given: dict[str, Any], *flags: str, host: str = "claude") -> str:
    return decision(asker.hook(given, *flags, host=host, who="asker"))


ODD: list[Any] = [{}, {"file_path": None}, {"file_path": ""}, {"file_path": 5}, {"file_path": "loop1"}, {"path": None}]
ODD += [{"file_path": " "}, {"file_path": "\n\t"}, {"file_path": "\ud800"}, {"file_path": "a\0b"}]


@pytest.mark.parametrize("put", ODD, ids=str)
def test_h46_a_write_without_a_readable_path_is_answered_by_policy(asker: Asker, put: Any) -> None:
    given = event("claude", "Write", put, str(asker.folder))
    assert judged(asker, given) == "warn"
    assert judged(asker, given, "--closed") == "deny"


UNREADABLE: list[tuple[str, Any]] = [
    ("zap", {"command": 7}), ("zap", {"command": {"run": "rm"}}), ("mcp__sh__run", {"cmd": [["rm", HELD]]}),
    ("Bash", {"command": []}), ("Bash", {"command": [["rm"]]}), ("Bash", {"command": None}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "put"), UNREADABLE, ids=str)
def test_h46_a_command_that_can_not_be_read_is_answered_by_policy(asker: Asker, tool: str, put: Any) -> None:
    given = event("claude", tool, put, str(asker.folder))
    assert judged(asker, given) == "warn"
    assert judged(asker, given, "--closed") == "deny"


@pytest.mark.parametrize("cwd", ["\0", "/tmp\0/x", "\ud800", " "], ids=ascii)
def test_h46_a_folder_that_can_not_be_read_is_answered_by_policy(asker: Asker, cwd: str) -> None:
    given = event("claude", "Bash", {"command": "make"}, str(asker.folder)) | {"cwd": cwd}
    assert judged(asker, given) == "warn"
    assert judged(asker, given, "--closed") == "deny"


@pytest.mark.parametrize("host", [host for host in EDITS if host != "codex"])
def test_a_path_by_url_or_tilde_is_judged_as_it_is_meant(asker: Asker, host: str) -> None:
    here = str(asker.folder)
    for path in (f"file://{here}/{HELD}", f"file:{here}/src/%61.py", f"file://localhost{here}/{HELD}", f"~/{HELD}"):
        assert judged(asker, edit(host, path, here), host=host) == "deny", path
    assert judged(asker, edit(host, f"file://{here}/src/b.py", here), host=host) == ""


@pytest.mark.parametrize("host", EDITS)
def test_a_tool_is_known_in_any_case(asker: Asker, host: str) -> None:
    here = str(asker.folder)
    for given in (edit(host, HELD, here), shell(host, f"rm {HELD}", here)):
        key = next(key for key, value in given.items() if value in (EDITS[host][0], SHELLS[host]))
        for change in (str.upper, str.lower, str.title):
            assert judged(asker, {**given, key: change(given[key])}, host=host) == "deny", change


WRITE: list[tuple[str, dict[str, Any]]] = [
    ("mcp__fs__write_file", {"path": HELD, "content": "x"}), ("mcp__fs__move_file", {"source": HELD, "to": "b"}),
    ("mcp__fs__edit", {"edits": [{"uri": "file://{here}/src/a.py"}]}), ("mcp__sh__execute", {"command": f"rm {HELD}"}),
    ("mcp__sh__run", {"cmd": "rm", "args": [HELD]}), ("mcp__x__do_it", {"thing": f"./{HELD}"}),
    ("mcp__fs__copy", {"source": "b.py", "destination": HELD}), ("str_replace_editor", {"path": HELD, "command": "x"}),
    ("zap", {"command": f"rm {HELD}"}), ("mcp__x__get", {"cmd": ["rm", HELD]}), ("zap", {"command": [f"rm {HELD}"]}),
    ("mcp__x__do", {"commands": ["ls -l", f"rm {HELD}"]}), ("zap", {"command": "do it", "path": HELD}),
    ("mcp__sh__run", {"command": "rm a.py", "cwd": "src"}), ("Bash", {"command": [f"rm {HELD}"]}),
    ("Bash", {"command": ["bash", "-c", f"rm {HELD}"]}), ("Bash", {"command": "rm a.py", "workdir": "src"}),
    ("createTextFile", {"relative_path": HELD}), ("mcp__fs__delete", {"paths": ["b.py", "{here}/src/a.py"]}),
]  # fmt: skip
LOOK: list[tuple[str, dict[str, Any]]] = [
    ("mcp__fs__read_file", {"path": HELD}), ("mcp__fs__list_directory", {"path": "src"}), ("Task", {"prompt": HELD}),
    ("mcp__rookery__reserve", {"paths": [HELD]}), ("TodoWrite", {"todos": [{"content": f"edit {HELD}"}]}),
    ("WebFetch", {"url": f"https://example.org/{HELD}"}), ("mcp__gh__create_issue", {"title": HELD, "body": HELD}),
    ("mcp__ide__getDiagnostics", {"uri": "file://{here}/src/a.py"}), ("mcp__fs__write_file", {"path": "src/b.py"}),
    ("mcp__gh__create_branch", {"repo": "a/b", "branch": HELD}), ("mcp__fs__copy", {"source": HELD, "target": "b"}),
    ("mcp__sh__execute", {"command": f"cat {HELD}"}), ("Read", {"file_path": HELD}), ("BashOutput", {"bash_id": "1"}),
    ("LS", {"path": "src"}), ("LS", {"path": HELD}), ("ls", {"path": HELD}), ("mcp__fs__ls", {"path": HELD}),
    ("SlashCommand", {"command": f"/explain {HELD}"}), ("Skill", {"command": f"review {HELD}"}),
    ("mcp__sh__run", {"command": f"cat {HELD}", "cwd": "src"}),
    ("str_replace_editor", {"path": HELD, "command": "view"}),
    ("zap", {"command": ["cat", HELD]}), ("Bash", {"command": ["cat", HELD]}),
]  # fmt: skip


def placed(value: Any, here: str) -> Any:
    if isinstance(value, str):
        return value.replace("{here}", here)
    if isinstance(value, list):
        return [placed(each, here) for each in value]
    return {key: placed(each, here) for key, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(("tool", "put"), WRITE, ids=[tool for tool, _ in WRITE])
def test_h26_a_tool_of_no_table_that_may_write_a_reserved_file_is_denied(
    asker: Asker, tool: str, put: dict[str, Any]
) -> None:
    here = str(asker.folder)
    assert judged(asker, event("claude", tool, placed(put, here), here)) == "deny"


@pytest.mark.parametrize(("tool", "put"), LOOK, ids=[f"{tool} {number}" for number, (tool, _) in enumerate(LOOK)])
def test_a_tool_that_writes_nothing_reserved_passes(asker: Asker, tool: str, put: dict[str, Any]) -> None:
    here = str(asker.folder)
    for flags in ((), ("--closed",)):
        assert judged(asker, event("claude", tool, placed(put, here), here), *flags) == ""


def test_input_of_any_size_is_looked_at_in_part() -> None:
    deep: dict[str, Any] = {"path": "x/y.py"}
    for _ in range(50):
        deep = {"inner": deep}
    assert other_tools.judge("write", deep).paths == ("x/y.py",)
    many = {"paths": [f"x/{number}.py" for number in range(5_000)]}
    assert len(other_tools.judge("write", many).paths) <= other_tools.LEAVES_LIMIT
    assert other_tools.judge("write", {"path": "x" * 5_000}).deed is Deed.OTHER
