"""What the rig promises of every program: it speaks with the scripted model, and its tools do what the script says."""

from pathlib import Path

import pytest

from tests.hosts.model.script import expect, say
from tests.hosts.programs import ALL, Program
from tests.hosts.stage import Stage

pytestmark = [pytest.mark.hosts, pytest.mark.parametrize("program", ALL.values(), ids=ALL)]


def test_the_tools_do_what_the_script_says(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_OF_THE_CALLER", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "HTTP_PROXY"):
        monkeypatch.setenv(name, "canary-9e1f")
    stage = Stage(tmp_path, program)
    nest = stage.project / "nest.txt"
    moves = [
        program.write(nest, "three eggs\n"),
        program.edit(nest, "three eggs", "four eggs"),
        program.bash("cp nest.txt copy.txt && env > env.txt && echo copied with care"),
        expect("copied with care"),
        say("The rooks are in the elm."),
    ]
    run = stage.play(moves, "Where are the rooks?")
    assert run.told("Where are the rooks?")
    assert "The rooks are in the elm." in run.stdout
    assert not run.left_behind
    assert nest.read_text() == "four eggs\n"
    assert (stage.project / "copy.txt").read_text() == "four eggs\n"
    assert len(run.results) == 3
    seen = (stage.project / "env.txt").read_text()
    assert f"HOME={stage.home}\n" in seen
    assert "canary-9e1f" not in seen
