"""Codex has two ways around the name of its edit tool, and hooks see through both."""

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


def test_the_call_that_carries_code_is_itself_no_event(program: Codex, tmp_path: Path) -> None:
    """In code mode the model calls `exec` with JavaScript; only what that calls in turn is shown to hooks."""
    stage = Stage(tmp_path, program)
    program.add_hooks(stage.place)
    run = stage.play([program.write(stage.project / "nest.txt", "three eggs\n"), say("done")])
    assert [given["tool_name"] for given in run.given("before")] == ["apply_patch"]
