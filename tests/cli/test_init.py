"""`rook init` in real folders: what is written, what stays, what is refused, and that all of it can be taken back."""

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import errors
from rookery.front.cli.call import Call, Reply
from rookery.front.cli.router import run
from rookery.hosts import known
from rookery.runtime import files
from tests.support.trusting import trust_repository

BIN = Path(sys.executable).parent
FILES = {
    ".claude/settings.json", ".mcp.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json",
    ".opencode/plugins/rookery.js", "opencode.json", ".github/hooks/rookery.json", ".pi/extensions/rookery.ts",
    ".pi/mcp.json", ".claude/skills/rookery/SKILL.md", ".agents/skills/rookery/SKILL.md", "rookery.toml", "AGENTS.md",
}  # fmt: skip


class Person:
    """At a terminal of plain values, in a folder of their own."""

    def __init__(self, base: Path) -> None:
        self.root = base / "shop"
        self.root.mkdir(parents=True)
        self.home = base / "person"
        self.home.mkdir()
        self.environ = {
            "HOME": str(self.home), "ROOK_HOME": str(base / "rooks"), "ROOK_TEAM": "crew",
            "PATH": f"{BIN}:/usr/bin:/bin",
        }  # fmt: skip
        self.shown: list[str] = []
        self.cwd = self.root
        self.stdin = ""

    def __call__(self, *argv: str, types: str | None = None, terminal: bool = False) -> Reply:
        ask: Callable[[str], str] | None = (
            None if types is None else lambda question: self.shown.append(question) or types
        )
        return run(Call(
            list(argv), str(self.cwd), self.environ, lambda: self.stdin, self.shown.append, 100, terminal, ask=ask,
        ))  # fmt: skip

    def ok(self, *argv: str) -> str:
        reply = self(*argv)
        assert reply.code == 0, reply.err
        return reply.out

    def tree(self) -> dict[str, tuple[bytes, int]]:
        found = (path for path in self.root.rglob("*") if path.is_file() and ".git/" not in str(path))
        return {str(path.relative_to(self.root)): (path.read_bytes(), path.stat().st_mode) for path in found}

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def said(self, name: str) -> Any:
        return json.loads((self.root / name).read_text())


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_all_of_it_is_written_and_taken_back(person: Person) -> None:
    person.ok("init", "--host", "all", "--yes")
    assert person.tree().keys() == FILES
    assert {stat.S_IMODE(mode) for _, mode in person.tree().values()} == {0o644}
    out = person.ok("init", "--undo", "--yes")
    assert out.count("removed") == len(FILES)
    assert list(person.root.iterdir()) == []


def test_a_second_time_changes_nothing(person: Person) -> None:
    person.ok("init", "--host", "all", "--yes")
    before = person.tree()
    assert "Nothing to do" in person.ok("init", "--host", "all", "--yes")
    assert person.tree() == before
    person.ok("init", "--undo", "--yes")
    assert person("init", "--undo", "--yes").code == 1
    assert "no record" in person("init", "--undo", "--yes").err


def test_a_team_that_was_renamed_since_is_no_obstacle(person: Person) -> None:
    person.ok("init", "--host", "claude", "--yes")
    person.environ["ROOK_TEAM"] = "other"
    person.ok("init", "--undo", "--yes")
    assert person.tree() == {}


def test_more_programs_later_and_back_to_the_very_beginning(person: Person) -> None:
    person.write(".mcp.json", '{"mcpServers":{"mine":{"command":"x"}}}')
    before = person.tree()
    person.ok("init", "--host", "claude", "--yes")
    person.ok("init", "--host", "gemini", "--host", "pi", "--closed", "--yes")
    person.ok("init", "--host", "claude", "--closed", "--yes")
    assert "--closed" in (person.root / ".claude/settings.json").read_text()
    person.ok("init", "--undo", "--yes")
    assert person.tree() == before


def test_the_programs_that_are_found(person: Person, tmp_path: Path) -> None:
    reply = person("init", "--yes")
    assert reply.code == 1
    assert "--host" in reply.err
    (person.root / ".gemini").mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "codex").write_text("#!/bin/sh\n")
    (programs / "codex").chmod(0o755)
    (programs / "claude").write_text("not to be run\n")
    person.environ["PATH"] += f":{programs}"
    person.ok("init", "--yes")
    assert {"claude", "codex", "gemini"} & {name.strip(".").partition("/")[0] for name in person.tree()} == {
        "codex", "gemini",
    }  # fmt: skip


def test_what_is_the_user_s_stays_and_runs_too(person: Person) -> None:
    mine = {
        "permissions": {"allow": ["Bash"]},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]},
    }
    person.write(".claude/settings.json", json.dumps(mine, indent="\t"))
    person.ok("init", "--host", "claude", "--yes")
    said = person.said(".claude/settings.json")
    assert said["permissions"] == mine["permissions"]
    assert said["hooks"]["Stop"][0] == mine["hooks"]["Stop"][0]
    assert len(said["hooks"]["Stop"]) == 3, "one that asks, and one that waits"
    assert '\n\t"permissions"' in (person.root / ".claude/settings.json").read_text()


def test_auto_join_is_the_user_s_to_say(person: Person) -> None:
    person.write("rookery.toml", "# ours\n[mesh]\nauto_join = false\n")
    assert "that stays" in person.ok("init", "--host", "claude", "--yes")
    assert "auto_join = false" in (person.root / "rookery.toml").read_text()


def test_auto_join_that_the_user_refused_for_all_is_not_written(person: Person) -> None:
    settings = person.home / ".config" / "rookery" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("mesh.auto_join = false\n")
    person.ok("init", "--host", "claude", "--yes")
    assert "rookery.toml" not in person.tree()


def test_settings_of_a_folder_above_are_not_shadowed(person: Person) -> None:
    (person.root.parent / "rookery.toml").write_text('team = "fleet"\n')
    out = person.ok("init", "--host", "claude", "--yes")
    assert "rookery.toml" not in person.tree()
    assert str(person.root.parent / "rookery.toml") in out


# -- asking ----------------------------------------------------------------------------------------------------------


def test_it_shows_and_asks_and_takes_no_for_an_answer(person: Person) -> None:
    for word in ("n\n", "\n", "", "maybe\n"):
        reply = person("init", "--host", "claude", types=word, terminal=True)
        assert (reply.code, reply.out) == (0, "Nothing was written.\n")
    assert person.tree() == {}
    assert "\x1b[32m+" in "".join(person.shown)
    assert person("init", "--host", "claude", types="y\n").code == 0
    assert ".mcp.json" in person.tree()


def test_with_nobody_to_ask_it_wants_to_be_told(person: Person) -> None:
    reply = person("init", "--host", "claude")
    assert reply.code == 2
    assert "--yes" in reply.err
    assert person.tree() == {}


def test_a_dry_run_leaves_no_trace(person: Person, tmp_path: Path) -> None:
    out = person.ok("init", "--host", "all", "--dry-run")
    assert out.count("+++ ") == len(FILES)
    assert "\x1b" not in out
    assert person.tree() == {}
    assert not (tmp_path / "rooks").exists()


def test_for_programs(person: Person) -> None:
    told = json.loads(person.ok("init", "--host", "claude", "--yes", "--json"))
    assert told["done"] is True
    assert {change["change"] for change in told["changes"]} == {"new"}
    assert {change["path"] for change in told["changes"]} <= FILES


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["--host", "cluade"], "claude"), (["--host", ""], "One of"), (["--hosts", "x"], "--help"),
        (["--host"], "argument"), (["--undo", "--host", "claude"], "--undo"), (["claude"], "--help"),
        (["--undo", "--closed", "--git-hook"], "--git-hook"),
    ],
)  # fmt: skip
def test_wrong_commands(person: Person, argv: list[str], word: str) -> None:
    reply = person("init", *argv, "--yes")
    assert reply.code == 2
    assert word in reply.err
    assert person.tree() == {}


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        (".claude/settings.json", '{"hooks": ', "JSON"), (".claude/settings.json", "// c\n{}", "comment"),
        (".claude/settings.json", '{"hooks": {"Stop": "mine"}}', "hooks.Stop"), (".mcp.json", "[]", "object"),
        (".mcp.json", b"\xff\xfe{}", "UTF-8"), (".codex/config.toml", "a = ", "TOML"),
        ("rookery.toml", "x = [", "TOML"),
        ("rookery.toml", "mesh = {}", "auto_join"), ("AGENTS.md", "<!-- rookery:begin -->", "once each"),
        (".codex/config.toml", "[mcp_servers.rook]\ncommand='x'", "already"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_stops_all_of_it(person: Person, name: str, text: str | bytes, word: str) -> None:
    person.write(name, text)
    before = person.tree()
    reply = person("init", "--host", "all", "--yes")
    assert reply.code == 2
    assert word in reply.err
    assert name in reply.err
    assert person.tree() == before


def test_symlinks_are_not_followed(person: Person, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (person.root / ".claude").symlink_to(tmp_path / "elsewhere")
    assert "symlink" in person("init", "--host", "all", "--yes").err
    (person.root / ".claude").unlink()
    (person.root / "AGENTS.md").symlink_to(tmp_path / "agents.md")
    assert "symlink" in person("init", "--host", "all", "--yes").err
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert person.tree() == {}


@pytest.mark.parametrize("name", [".mcp.json", "AGENTS.md"])
def test_what_is_read_only_is_left_alone(person: Person, name: str) -> None:
    person.write(name, "{}" if name.endswith("json") else "mine\n").chmod(0o444)
    before = person.tree()
    assert "may not be written" in person("init", "--host", "all", "--yes").err
    assert person.tree() == before


def test_a_folder_where_a_file_belongs(person: Person) -> None:
    (person.root / ".mcp.json").mkdir()
    assert "not a file" in person("init", "--host", "claude", "--yes").err
    person.write(".codex", "a file")
    assert "not a folder" in person("init", "--host", "codex", "--yes").err


def test_a_disk_that_fails_half_way_leaves_what_was_there(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.write(".claude/settings.json", "{}").chmod(0o600)
    before = person.tree()
    write, count = files.write_atomic, [0]

    def failing(path: str, data: bytes, mode: int = 0o600) -> None:
        count[0] += 1
        if count[0] == 9:
            raise files.refusal(path, OSError(28, "No space left on device"))
        write(path, data, mode)

    monkeypatch.setattr(files, "write_atomic", failing)
    reply = person("init", "--host", "all", "--yes")
    assert reply.code == 3
    assert count[0] > 9, "what was written is written back"
    assert person.tree() == before
    assert [path.name for path in person.root.iterdir()] == [".claude"]
    assert person("init", "--undo", "--yes").code == 1, "and no record of it is left"


# -- taking back -------------------------------------------------------------------------------------------------------


def test_what_was_changed_since_loses_only_our_part(person: Person) -> None:
    person.write(".claude/settings.json", '{\n  "model": "x"\n}\n')
    person.ok("init", "--host", "all", "--yes")
    settings = person.root / ".claude/settings.json"
    settings.write_text(settings.read_text().replace('"x"', '"y"'))
    person.write("AGENTS.md", "# mine\n" + (person.root / "AGENTS.md").read_text())
    person.write("rookery.toml", 'leader = "wren"\n' + (person.root / "rookery.toml").read_text())
    plugin = person.root / ".pi/extensions/rookery.ts"
    plugin.write_text(plugin.read_text() + "// mine\n")
    (person.root / ".mcp.json").unlink()
    out = person.ok("init", "--undo", "--yes")
    assert person.said(".claude/settings.json") == {"model": "y", "hooks": {}}
    assert (person.root / "AGENTS.md").read_text() == "# mine\n"
    assert "auto_join" not in (person.root / "rookery.toml").read_text()
    assert plugin.exists()
    assert ".pi/extensions/rookery.ts was changed since: take" in out
    assert ".mcp.json" not in person.tree()


def test_edits_between_two_inits_are_not_lost_by_the_undo(person: Person) -> None:
    person.ok("init", "--host", "claude", "--yes")
    settings = person.root / ".claude/settings.json"
    said = json.loads(settings.read_text()) | {"model": "mine"}
    settings.write_text(json.dumps(said, indent=2))
    person.ok("init", "--host", "claude", "--closed", "--yes")
    person.ok("init", "--undo", "--yes")
    assert person.said(".claude/settings.json") == {"model": "mine", "hooks": {}} or person.said(
        ".claude/settings.json"
    ) == {"hooks": {}, "model": "mine"}


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
plain = st.none() | st.booleans() | numbers | st.text(max_size=6)
names = st.text(max_size=5).filter(lambda name: name not in ("hooks", "mcpServers"))
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
tables = st.dictionaries(names, plain, max_size=2)
groups = st.lists(st.fixed_dictionaries({"hooks": st.lists(tables, max_size=2)}), max_size=2)
hooks = st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "BeforeTool", "mine"]), groups, max_size=3)
servers = st.dictionaries(names, tables, max_size=2)
documents = st.builds(
    lambda said, ours: said | {key: value for key, value in ours.items() if value is not None},
    st.dictionaries(names, values, max_size=3),
    st.fixed_dictionaries(
        {"hooks": st.none() | hooks, "mcpServers": st.none() | st.dictionaries(names, tables, max_size=2)}
    ),
)
STYLES: list[dict[str, Any]] = [{"indent": 2}, {"indent": "\t"}, {}, {"separators": (",", ":")}]
styles = st.sampled_from(STYLES)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    text = json.dumps(draw(documents), **draw(styles)) + draw(st.sampled_from(["", "\n", "\n\n"]))
    return (text.replace("\n", "\r\n") if draw(st.booleans()) else text).encode()


pages = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(str.encode)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(claude=texts(), gemini=texts(), mcp=texts(), agents=pages, mode=st.sampled_from([0o600, 0o644, 0o755]))
def test_whatever_was_there_comes_back(
    tmp_path_factory: pytest.TempPathFactory, claude: bytes, gemini: bytes, mcp: bytes, agents: bytes, mode: int
) -> None:
    person = Person(tmp_path_factory.mktemp("any"))
    for name, data in {
        ".claude/settings.json": claude,
        ".gemini/settings.json": gemini,
        ".mcp.json": mcp,
        "AGENTS.md": agents,
    }.items():
        person.write(name, data).chmod(mode)
    before = person.tree()
    person.ok("init", "--host", "all", "--yes")
    during = person.tree()
    assert during.keys() >= FILES
    for name, (data, _) in before.items():
        if name.endswith(".json"):
            theirs, ours = json.loads(data), json.loads(during[name][0])
            assert {key: value for key, value in ours.items() if key not in ("hooks", "mcpServers")} == {
                key: value for key, value in theirs.items() if key not in ("hooks", "mcpServers")
            }
            for event, groups in theirs.get("hooks", {}).items():
                assert ours["hooks"][event][: len(groups)] == groups
    assert "Nothing to do" in person.ok("init", "--host", "all", "--yes")
    person.ok("init", "--undo", "--yes")
    assert person.tree() == before


# -- how rook is called, and the doctor ------------------------------------------------------------------------------


def test_without_rook_on_the_path_its_full_path_is_written(person: Person) -> None:
    person.environ["PATH"] = "/usr/bin:/bin"
    out = person.ok("init", "--host", "claude", "--yes")
    assert "not on your PATH" in out
    assert person.said(".mcp.json")["mcpServers"]["rook"]["command"] == str(BIN / "rook")
    person.environ["PATH"] = f"{BIN}:/usr/bin:/bin"
    person.ok("init", "--host", "claude", "--yes")
    assert person.said(".mcp.json")["mcpServers"]["rook"]["command"] == "rook"


def test_another_rook_on_the_path_is_not_ours(person: Person, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rook").write_text("#!/bin/sh\necho chess\n")
    (tmp_path / "bin" / "rook").chmod(0o755)
    person.environ["PATH"] = f"{tmp_path / 'bin'}:{BIN}"
    person.ok("init", "--host", "claude", "--yes")
    assert person.said(".mcp.json")["mcpServers"]["rook"]["command"] == str(BIN / "rook")


def checks(person: Person) -> dict[str, dict[str, Any]]:
    return {check["check"]: check for check in json.loads(person("doctor", "--json").out)["checks"]}


def test_the_doctor_says_nothing_of_programs_that_are_not_set_up(person: Person) -> None:
    assert not any(name.partition(" ")[0] in known.TITLES for name in checks(person))


@pytest.mark.slow
def test_the_doctor_asks_every_hook_and_believes_only_the_answer(person: Person, tmp_path: Path) -> None:
    person.ok("init", "--host", "all", "--yes")
    found = checks(person)
    for host in known.TITLES:
        assert found[f"{host} files"]["ok"], found[f"{host} files"]
        assert found[f"{host} hook"]["ok"], found[f"{host} hook"]
        assert "not once" in found[f"{host} heard"]["seen"]
    chess = tmp_path / "chess" / "rook"
    chess.parent.mkdir()
    chess.write_text("#!/bin/sh\necho '{}'\n")
    chess.chmod(0o755)
    settings = person.root / ".gemini/settings.json"
    settings.write_text(settings.read_text().replace("rook hook", f"{chess} hook"))
    found = checks(person)
    assert not found["gemini hook"]["ok"]
    assert not found["gemini files"]["ok"]
    assert "rook init" in found["gemini files"]["do"]
    settings.write_text(settings.read_text().replace(str(chess), "/nowhere/rook"))
    assert "can not be run" in checks(person)["gemini hook"]["seen"]
    person.write(".pi/extensions/rookery.ts", "// mine\n")
    assert not checks(person)["pi files"]["ok"]


@pytest.mark.slow
def test_the_doctor_sees_that_a_program_does_not_trust(person: Person, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in known.TITLES:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    person.ok("init", "--host", "all", "--closed", "--yes")
    assert "not on your PATH" in checks(person)["codex trust"]["seen"]
    person.environ["PATH"] += f":{programs}"
    found = checks(person)
    assert found["claude trust"]["ok"]
    assert found["claude files"]["ok"], "closed is a choice, not a fault"
    assert found["pi files"]["ok"]
    for host in ("codex", "gemini", "copilot", "pi"):
        assert not found[f"{host} trust"]["ok"]
        assert host in found[f"{host} trust"]["do"]
    root = os.path.realpath(person.root)
    for name, said in {
        ".copilot/config.json": {"trustedFolders": [root]},
        ".gemini/trustedFolders.json": {root: "TRUST_FOLDER"},
        ".pi/agent/trust.json": {root: True},
    }.items():
        path = person.home / name
        path.parent.mkdir(parents=True)
        path.write_text("// written by a program\n" + json.dumps(said))
    found = checks(person)
    assert all(found[f"{host} trust"]["ok"] for host in ("gemini", "copilot", "pi"))


@pytest.mark.slow
def test_the_doctor_knows_when_a_hook_was_heard(person: Person) -> None:
    person.ok("init", "--host", "claude", "--yes")
    person.environ["ROOK_AGENT"] = "wren"
    person.stdin = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(person.root)})
    assert "Rookery: you are" in person.ok("hook", "claude")
    assert "ago" in checks(person)["claude heard"]["seen"]


# -- a program of one's own ----------------------------------------------------------------------------------------


def test_a_program_of_one_s_own_asks(person: Person) -> None:
    page = (Path(__file__).parents[2] / "docs" / "hosts-your-own.md").read_text()
    example = page.partition("```toml\n")[2].partition("```")[0]
    person.write("rookery.toml", "mesh.auto_join = true\n")
    person.environ["ROOK_AGENT"] = "wren"
    event = {"type": "session.open", "sess": "s-1", "where": {"dir": str(person.root)}}
    person.stdin = json.dumps(event)
    reply = person("hook", "magpie")
    assert ".rook/hosts" in reply.err
    path = person.write(".rook/hosts/magpie.toml", example)
    assert "rook trust" in person("hook", "magpie").err, "a repository's own program is not believed"
    trust_repository(person.root, person.environ)
    assert json.loads(person.ok("hook", "magpie"))["note"].startswith("Rookery: you are")
    mine = person.home / ".config" / "rookery" / "hosts" / "magpie.toml"
    mine.parent.mkdir(parents=True)
    path.rename(mine)
    assert json.loads(person.ok("hook", "magpie"))["event"] == "session.open"
    mine.write_text(example.replace("[fields]", "[feilds]"))
    reply = person("hook", "magpie")
    assert reply.code == 0, "to an agent program 2 is a no"
    assert "fields" in reply.err
    assert person("hook", "magpie", "--closed").code == 2


@pytest.mark.parametrize("name", ["../magpie", "a/b", "..", "a\nb", "magpie\0"])
def test_h15_a_name_is_no_path(person: Person, name: str) -> None:
    person.write("magpie.toml", "")
    person.stdin = "{}"
    reply = person("hook", name)
    assert "No agent program" in reply.err


def test_inside_the_daemon_it_says_where_it_can_run(person: Person) -> None:
    def emit(_text: str) -> None:
        raise errors.BadInput("This command runs in a process of its own.", "Run `rook`.", code="RUNS_ALONE")

    reply = run(Call(["init", "--host", "all", "--yes"], str(person.root), person.environ, lambda: "", emit))
    assert reply.code == 1
    assert "rook down" in reply.err
    assert person.tree() == {}
