"""What a hook can do in each program. The rig's own hook (answering/) asks what Rookery's will ask."""

from pathlib import Path

import pytest

from tests.hosts.model.script import say
from tests.hosts.programs import ALL, Program
from tests.hosts.stage import Stage

pytestmark = [pytest.mark.hosts, pytest.mark.parametrize("program", ALL.values(), ids=ALL)]

REASON = "Held by wren, who mends it until noon: ask wren."


def hooked(tmp_path: Path, program: Program) -> Stage:
    stage = Stage(tmp_path, program)
    program.add_hooks(stage.place)
    return stage


def test_what_is_denied_does_not_happen_and_the_model_is_told_why(program: Program, tmp_path: Path) -> None:
    """Edits and commands alike, and the same hook lets the others through."""
    stage = hooked(tmp_path, program)
    stage.rules(deny=("held.txt", REASON))
    held, free = stage.project / "held.txt", stage.project / "free.txt"
    held.write_text("as it was\n")
    moves = [
        program.edit(held, "as it was", "spoilt"),
        program.write(free, "mine\n"),
        program.bash("echo spoilt > held.txt"),
        program.bash("echo mine > other.txt"),
    ]
    run = stage.play([*moves, say("done")])
    assert held.read_text() == "as it was\n"
    assert free.read_text() == (stage.project / "other.txt").read_text() == "mine\n"
    assert [REASON in result for result in run.results] == [True, False, True, False]


def test_what_hooks_add_reaches_the_model_where_it_belongs(program: Program, tmp_path: Path) -> None:
    """A greeting before its first word, mail after a tool call in the same turn, and an end that is held once."""
    greeting, mail, hold = "You are rook-3 of the north tower.", "Mail from wren: the roof leaks.", "Not yet: mend it."
    stage = hooked(tmp_path, program)
    stage.rules(greeting=greeting, context=mail, hold=hold)
    run = stage.play(
        [program.bash("echo one"), say("I am done."), program.bash("echo two > deed.txt"), say("Now I am.")]
    )
    assert [greeting in said for said in run.heard] == [True, True, True, True]
    assert [mail in said for said in run.heard] == [False, True, True, True]
    assert [hold in said for said in run.heard] == [False, False, True, True]
    assert (stage.project / "deed.txt").read_text() == "two\n"
    assert len(run.given("stop")) == 2
