"""A program that does not trust a folder passes over its hooks. All but Gemini do so in silence, with tools at work.

`rook doctor` has to look for exactly this.
"""

from pathlib import Path

import pytest

from tests.hosts.model.script import say
from tests.hosts.programs import ALL
from tests.hosts.stage import Run, Stage

pytestmark = pytest.mark.hosts


def untrusting(tmp_path: Path, name: str, argument: str = "", variable: str = "", settings: str = "") -> Run:
    """The program as the other tests run it, less one thing."""
    program = ALL[name]
    stage = Stage(tmp_path, program)
    program.add_hooks(stage.place)
    command, environ = program.command("Do it."), program.environment()
    if argument:
        command.remove(argument)
    if variable:
        del environ[variable]
    if settings:
        (stage.home / settings).unlink()
    return stage.start(command, [program.bash("echo done > deed.txt"), say("done")], environ)


@pytest.mark.parametrize(
    ("name", "trust"),
    [
        ("codex", {"argument": "--dangerously-bypass-hook-trust"}),
        ("copilot", {"settings": ".copilot/config.json"}),
        ("pi", {"argument": "--approve"}),
    ],
)
def test_hooks_are_passed_over_in_silence(name: str, trust: dict[str, str], tmp_path: Path) -> None:
    run = untrusting(tmp_path, name, **trust)
    assert run.complaint() == ""
    assert (tmp_path / "project" / "deed.txt").exists()
    assert run.hooks == []
    assert "hook" not in (run.stdout + run.stderr).replace(str(tmp_path), "").lower()


def test_gemini_does_not_start(tmp_path: Path) -> None:
    run = untrusting(tmp_path, "gemini", variable="GEMINI_CLI_TRUST_WORKSPACE")
    assert run.code
    assert "not running in a trusted directory" in run.stderr
    assert run.requests == []
