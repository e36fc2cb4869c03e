"""What Codex does differently: patches typed in the shell, and turns that do not wait for servers.

Its other way around the edit tool, code that calls the tools, is in `seen/codex-code`: hooks see what the code calls,
not the code.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.hosts.model.script import say
from tests.hosts.programs import ALL
from tests.hosts.programs.codex import Codex, adding
from tests.hosts.programs.port import ANSWERING
from tests.hosts.stage import Stage

SERVER = ANSWERING / "mcp_server.py"
pytestmark = [
    pytest.mark.hosts,
    pytest.mark.parametrize("program", [ALL["codex"], ALL["codex-code"]], ids=["codex", "codex-code"]),
]


def test_a_patch_typed_in_the_shell_is_applied_and_seen_as_a_command(program: Codex, tmp_path: Path) -> None:
    stage = Stage(tmp_path, program)
    program.add_hooks(stage.place)
    patch = adding(Path("nest.txt"), "three eggs\n")
    run = stage.play([program.bash(f"apply_patch <<'EOF'\n{patch}EOF"), say("done")])
    assert (stage.project / "nest.txt").read_text() == "three eggs\n"
    [given] = run.given("before")
    assert given["tool_name"] == "Bash"
    assert "*** Add File: nest.txt" in given["tool_input"]["command"]


def test_a_turn_begins_without_a_server_that_is_not_required(program: Codex, tmp_path: Path) -> None:
    """This one starts only when the script lets it, in the middle of the turn."""
    stage = Stage(tmp_path, program)
    os.mkfifo(stage.project / "go")
    program.add_mcp(stage.place, "rig", ["sh", "-c", f"cat go; exec {sys.executable} {SERVER} {stage.folder}"])
    config = stage.home / ".codex" / "config.toml"
    config.write_text(config.read_text().replace("required = true", "required = false"))
    knock = program.mcp("rig", "knock", {"times": 1})
    run = stage.play([*knock, program.bash("echo now > go"), say("done")])
    assert "knocked" not in run.results[0]
