"""A patch that Codex types in the shell goes around its edit tool, and hooks see it as a command.

Its other way around, code that calls the tools, is in `seen/codex-code`: hooks see what the code calls, not the code.
"""

from pathlib import Path

import pytest

from tests.hosts.model.script import say
from tests.hosts.programs import ALL
from tests.hosts.programs.codex import Codex, adding
from tests.hosts.stage import Stage

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
