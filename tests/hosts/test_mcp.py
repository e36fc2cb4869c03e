"""Each program calls a tool of a local MCP server."""

import json
import sys
from pathlib import Path

import pytest

from tests.hosts.model.script import say
from tests.hosts.programs import ALL, Program
from tests.hosts.programs.port import ANSWERING
from tests.hosts.stage import Stage, lines

pytestmark = pytest.mark.hosts
KEEP_TO_THEMSELVES = ("codex",)  # their environment: a server gets a few variables, and those its entry names
SPEAKING = {name: program for name, program in ALL.items() if program.speaks_mcp}


@pytest.mark.parametrize("program", SPEAKING.values(), ids=SPEAKING)
def test_the_tool_of_a_local_server_is_called(program: Program, tmp_path: Path) -> None:
    stage = Stage(tmp_path, program)
    program.add_hooks(stage.place)
    program.add_mcp(stage.place, "rig", [sys.executable, str(ANSWERING / "mcp_server.py"), str(stage.folder)])
    stage.rules(context="Mail from wren: somebody knocks.")
    run = stage.play([*program.mcp("rig", "knock", {"times": 3}), say("done")], environ={"ROOK_HOME": "/nest"})
    assert "knocked 3 times, a rook answered" in run.results[-1]
    assert run.told("Mail from wren: somebody knocks.")  # hooks see the tools of servers as they see the others
    called = [line for line in lines(stage.folder / "mcp.jsonl") if line["method"] == "tools/call"]
    assert [line["params"]["arguments"] for line in called] == [{"times": 3}]
    environ = json.loads((stage.folder / "mcp-environ.json").read_text())
    assert environ["HOME"] == str(stage.home)
    assert environ.get("ROOK_HOME") == (None if program.executable in KEEP_TO_THEMSELVES else "/nest")


def test_pi_has_no_word_for_it(tmp_path: Path) -> None:
    """When this fails, a newer pi speaks MCP: give `programs/pi.py` its `add_mcp` and `mcp`."""
    stage = Stage(tmp_path, ALL["pi"])
    said = stage.start(["pi", "--help"])
    assert said.code == 0
    assert "extension" in said.stdout.lower()
    assert "mcp" not in said.stdout.lower()
