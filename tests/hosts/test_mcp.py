"""Each program calls a tool of a local MCP server."""

import sys
from pathlib import Path

import pytest

from tests.hosts.model.script import say
from tests.hosts.programs import ALL, Program
from tests.hosts.programs.port import ANSWERING
from tests.hosts.stage import Stage, lines

pytestmark = pytest.mark.hosts


@pytest.mark.parametrize("program", ALL.values(), ids=ALL)
def test_the_tool_of_a_local_server_is_called(program: Program, tmp_path: Path) -> None:
    stage = Stage(tmp_path, program)
    program.add_mcp(stage.place, "rig", [sys.executable, str(ANSWERING / "mcp_server.py"), str(stage.folder)])
    run = stage.play([*program.mcp("rig", "knock", {"times": 3}), say("done")])
    assert "knocked 3 times, a rook answered" in run.results[-1]
    called = [line for line in lines(stage.folder / "mcp.jsonl") if line["method"] == "tools/call"]
    assert [line["params"]["arguments"] for line in called] == [{"times": 3}]
