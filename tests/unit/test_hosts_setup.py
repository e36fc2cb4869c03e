"""What is put into the files of agent programs, and what the programs have to trust."""

import json
import tomllib
from shlex import split
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rookery.core import errors, hooks
from rookery.hosts import known, marked, setup, trust
from rookery.hosts.pieces import Block, Hooks, Server
from rookery.runtime import installed
from tests.support.families import few

TEXTS = {name: installed.packaged("hosts", "plugins", name) for name in setup.TEXTS}
# A full path with everything a shell, JSON, TOML or JavaScript could take for something else.
NASTY = """/opt/it's "a" $HOME `id`; rm -rf \\ #\t/b\nin/rook"""
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


def wanted(rook: str = "rook", *, closed: bool = False) -> setup.Wanted:
    return setup.Wanted(rook, closed, TEXTS)


def written(host: str, want: setup.Wanted) -> dict[str, str]:
    texts: dict[str, str] = {}
    for piece in setup.of_host(host, want):
        texts[piece.path] = piece.put(texts.get(piece.path))
    return texts


def is_waiting(piece: Hooks) -> bool:
    return any("asyncRewake" in entry for entry in piece.entries.values())


def lines(host: str, want: setup.Wanted) -> dict[str, str]:
    """The command line for each event, but for those that wait."""
    found: dict[str, str] = {}
    for piece in setup.of_host(host, want):
        if isinstance(piece, Hooks) and not is_waiting(piece):
            entries = piece.found(piece.put(None))
            found |= {event: entry.get("command") or entry["bash"] for event, entry in entries.items()}
    return found


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "copilot"])
def test_every_event_of_the_program_asks_for_its_moment(host: str) -> None:
    said = lines(host, wanted())
    assert {event: setup.spoken(line, host)[-1] for event, line in said.items()} == {
        event: moment.value for event, moment in known.find(host).events.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("host", few(["claude", "codex", "gemini", "copilot"], "claude", "copilot"))
@given(folder=names)
def test_h15_a_path_reaches_a_shell_as_one_word(host: str, folder: str) -> None:
    for rook in (NASTY, f"/opt/{folder}/rook"):
        for line in lines(host, wanted(rook)).values():
            assert setup.spoken(line, host)[0] == rook
            assert split(line.removeprefix('test -n "$COPILOT_CLI" || '))[:3] == [rook, "hook", host]


@pytest.mark.slow
@given(folder=names)
def test_h15_a_path_is_a_string_in_every_other_file(folder: str) -> None:
    for rook in (NASTY, f"/opt/{folder}/rook"):
        want = wanted(rook)
        assert tomllib.loads(written("codex", want)[".codex/config.toml"])["mcp_servers"]["rook"]["command"] == rook
        assert json.loads(written("pi", want)[".pi/mcp.json"])["mcpServers"]["rook"]["command"] == rook
        for host, path in (("opencode", ".opencode/plugins/rookery.js"), ("pi", ".pi/extensions/rookery.ts")):
            line = next(line for line in written(host, want)[path].split("\n") if line.startswith("const ROOK = "))
            assert json.loads(line.removeprefix("const ROOK = ")) == rook


@pytest.mark.parametrize("host", list(known.TITLES))
def test_closed_is_only_the_question_before_a_tool(host: str) -> None:
    want = wanted(closed=True)
    for event, line in lines(host, want).items():
        assert line.endswith(" --closed") == (known.find(host).events[event] == "before"), line
    if host == "claude":
        said = json.loads(written(host, want)[".claude/settings.json"])["hooks"]
        blocks = [event for event, groups in said.items() if groups[0]["hooks"][0].get("onFailure") == "block"]
        assert blocks == ["PreToolUse"]
    if host in ("opencode", "pi"):
        assert any("const CLOSED = true" in text for text in written(host, want).values())


@pytest.mark.parametrize("host", list(known.TITLES))
@pytest.mark.parametrize("closed", [False, True])
def test_put_in_twice_is_put_in_once(host: str, closed: bool) -> None:
    want = wanted(closed=closed)
    for path, text in written(host, want).items():
        again = text
        for piece in setup.of_host(host, want):
            again = piece.put(again) if piece.path == path else again
        assert again == text


def test_another_path_or_policy_replaces_ours_and_leaves_the_others() -> None:
    mine = {"hooks": {"PreToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "mine"}]}]}}
    text = json.dumps(mine)
    for rook in ("/old/rook", "rook"):
        for piece in setup.of_host("claude", wanted(rook))[:2]:
            text = piece.put(text)
    changed = json.loads(text)
    assert changed["hooks"]["PreToolUse"][0] == mine["hooks"]["PreToolUse"][0]
    twice = {event for event, groups in changed["hooks"].items() if len(groups) == 2}
    assert twice == {"PreToolUse", "SessionStart", "Stop"}, "the user's own, and those that wait"
    assert max(len(groups) for groups in changed["hooks"].values()) == 2
    assert "/old/rook" not in json.dumps(changed)


def test_a_server_of_the_user_s_own_keeps_its_name() -> None:
    mine = json.dumps({"mcpServers": {"rook": {"command": "chess", "args": ["--engine"]}}})
    server = next(piece for piece in setup.of_host("claude", wanted()) if isinstance(piece, Server))
    assert server.put(mine) == mine
    block = next(piece for piece in setup.of_host("codex", wanted()) if isinstance(piece, Block))
    with pytest.raises(errors.BadInput, match="already"):
        block.put('[mcp_servers.rook]\ncommand = "chess"\n')


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', '{"hooks": 3}'])
def test_hooks_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(errors.BadInput, match="something else"):
        setup.of_host("claude", wanted())[0].put(text)


def test_taken_out_it_is_as_it_was() -> None:
    mine = '{\n  "model": "x",\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"command": "mine"}]}\n    ]\n  }\n}\n'
    asking, waiting = setup.of_host("claude", wanted())[:2]
    both = waiting.put(asking.put(mine))
    for first, second in ((asking, waiting), (waiting, asking)):
        left = first.taken_out(both)
        assert left is not None
        assert second.put(left) != left or first.put(left) != left
        assert second.taken_out(left) == mine


def test_what_waits_is_in_the_background_and_longer_than_its_own_time() -> None:
    waiters = setup.of_host("claude", wanted())[1]
    assert isinstance(waiters, Hooks)
    assert set(waiters.entries) == {"SessionStart", "Stop"}
    for entry in waiters.entries.values():
        assert entry["asyncRewake"] is True
        assert setup.spoken(entry["command"], "claude") == ["rook", "hook", "claude", "idle"]
        assert hooks.WAIT_S == entry["timeout"] < (1 << 31) / 1000, "more milliseconds than that are none to Node"


# -- marks and TOML --------------------------------------------------------------------------------------------------

pages = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(lambda text: "rookery:" not in text)


@example("\r", "a")
@given(pages, st.text("ab\n", min_size=1, max_size=20))
def test_a_block_is_put_in_replaced_and_cut(page: str, body: str) -> None:
    once = marked.PAGE.put(page, body, "f")
    assert marked.PAGE.put(once, body, "f") == once
    assert once.startswith(page)
    other = marked.PAGE.put(once, "else", "f")
    assert marked.PAGE.body(other, "f") == "else"
    assert marked.PAGE.cut(once, "f").rstrip("\r\n") == page.rstrip("\r\n")


@pytest.mark.parametrize("text", ["<!-- rookery:begin -->", "<!-- rookery:end --> <!-- rookery:begin -->"])
def test_half_a_block_is_refused(text: str) -> None:
    with pytest.raises(errors.BadInput, match="once each"):
        marked.PAGE.put(text, "x", "f")


@pytest.mark.parametrize(
    "text",
    [
        "", "# mine\n", 'team = "shop"', "[mesh]\n# why\nstuck_s = 5\n", "[mesh] # ours",
        "mesh.stuck_s = 5\n[groups]\na=[]\n",
        "[groups]\na = []\n\n[ mesh ]\nstuck_s = 3\n[agents.x]\nrole='y'\n", "[groups]\r\na = []\r\n",
    ],
)  # fmt: skip
def test_the_switch_is_added_and_the_rest_stays(text: str) -> None:
    added = marked.switch_on(text, "rookery.toml")
    before, after = tomllib.loads(text), tomllib.loads(added)
    assert after.pop("mesh") == before.pop("mesh", {}) | {"auto_join": True}
    assert after == before
    assert set(text.split("\n")) <= set(added.split("\n")) | {text}


@pytest.mark.parametrize("text", ["mesh = { stuck_s = 5 }\n", 'a = """\n[mesh]\n"""\nmesh = { stuck_s = 1 }\n'])
def test_a_table_that_can_not_be_added_to_is_told(text: str) -> None:
    with pytest.raises(errors.BadInput, match="can not be added to"):
        marked.switch_on(text, "rookery.toml")


# -- trust -----------------------------------------------------------------------------------------------------------

FILE = "/src/shop/.codex/hooks.json"


def codex_state(document: dict[str, Any], **change: str) -> dict[str, Any]:
    state = {}
    for event, groups in document["hooks"].items():
        key = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
        digest = trust.codex_digest(event, groups[0], groups[0]["hooks"][0])
        state[f"{FILE}:{key}:0:0"] = {"trusted_hash": digest} | change
    return {"projects": {"/src/shop": {"trust_level": "trusted"}}, "hooks": {"state": state}}


def test_codex_s_digest_is_codex_s() -> None:
    """As `codex app-server` 0.166.0 tells it (hooks/list, currentHash)."""
    before = {"type": "command", "command": "rook hook codex before", "timeout": 10}
    stop = {"type": "command", "command": "rook hook codex stop"}
    assert trust.codex_digest("PreToolUse", {}, before) == (
        "sha256:05d9aa524a3407ca909454748553e85b0e8db71b72d5f18c70724033f9d1fcd0"
    )
    assert trust.codex_digest("Stop", {}, stop) == (
        "sha256:8eeaf11e9c84cc3c04ffcade872214a54ef7031c782eac04bfc4ad38bd5ddc89"
    )


def test_codex_trust() -> None:
    document = json.loads(written("codex", wanted())[".codex/hooks.json"])
    settings = codex_state(document)
    assert trust.codex(settings, FILE, document, ["/src/shop"]).well
    assert "folder" in trust.codex({}, FILE, document, ["/src/shop"]).seen
    assert "folder" in trust.codex(settings, FILE, document, ["/src/other"]).seen
    only_folder = {"projects": settings["projects"]}
    assert "PreToolUse" in trust.codex(only_folder, FILE, document, ["/src/shop"]).seen
    changed = json.loads(json.dumps(document).replace("codex stop", "codex stop --closed"))
    verdict = trust.codex(settings, FILE, changed, ["/src/shop"])
    assert not verdict.well
    assert verdict.seen.endswith(": Stop")
    assert verdict.do
    off = codex_state(document)
    off["hooks"]["state"][f"{FILE}:stop:0:0"]["enabled"] = False
    assert "switched off" in trust.codex(off, FILE, document, ["/src/shop"]).seen


@pytest.mark.parametrize(
    ("rules", "environ", "well"),
    [
        ({}, {}, False),
        ({"/src": "TRUST_FOLDER"}, {}, True),
        ({"/src/shop/sub": "TRUST_PARENT"}, {}, True),
        ({"/src": "TRUST_FOLDER", "/src/shop": "DO_NOT_TRUST"}, {}, False),
        ({"/src/shopping": "TRUST_FOLDER"}, {}, False),
        ({}, {"GEMINI_CLI_TRUST_WORKSPACE": "true"}, True),
        ({"/src": "TRUST_FOLDER"}, {"GEMINI_CLI_TRUST_WORKSPACE": "false"}, False),
    ],
)
def test_gemini_trust(rules: dict[str, str], environ: dict[str, str], well: bool) -> None:
    assert trust.gemini({}, rules, environ, "/src/shop").well is well
    off = {"security": {"folderTrust": {"enabled": False}}}
    assert trust.gemini(off, {}, {}, "/src/shop").well


def test_copilot_pi_and_claude_trust() -> None:
    assert trust.copilot({"trustedFolders": ["/src"]}, "/src/shop").well
    assert not trust.copilot({"trustedFolders": ["/src/shopping", 3]}, "/src/shop").well
    assert trust.pi({"/src": True}, {}, "/src/shop").well
    assert not trust.pi({"/src": True, "/src/shop": False}, {}, "/src/shop").well
    assert not trust.pi({}, {}, "/src/shop").well
    assert trust.pi({}, {"defaultProjectTrust": "always"}, "/src/shop").well
    assert trust.claude([{}, {"model": "x"}]).well
    assert not trust.claude([{}, {"disableAllHooks": True}]).well
