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


def test_a_denied_edit_does_not_happen_and_the_model_is_told_why(program: Program, tmp_path: Path) -> None:
    stage = hooked(tmp_path, program)
    stage.rules(deny=("held.txt", REASON))
    held, free = stage.project / "held.txt", stage.project / "free.txt"
    held.write_text("as it was\n")
    run = stage.play([program.edit(held, "as it was", "spoilt"), program.write(free, "mine\n"), say("done")])
    assert held.read_text() == "as it was\n"
    assert free.read_text() == "mine\n"  # the same hook lets the other one through
    assert REASON in run.results[0]
    assert REASON not in run.results[1]


def test_a_denied_command_does_not_run(program: Program, tmp_path: Path) -> None:
    stage = hooked(tmp_path, program)
    stage.rules(deny=("held.txt", REASON))
    run = stage.play([program.bash("echo spoilt > held.txt"), program.bash("echo mine > free.txt"), say("done")])
    assert not (stage.project / "held.txt").exists()
    assert (stage.project / "free.txt").read_text() == "mine\n"
    assert REASON in run.results[0]


def test_context_after_a_tool_call_reaches_the_model_in_the_same_turn(program: Program, tmp_path: Path) -> None:
    stage = hooked(tmp_path, program)
    stage.rules(context="Mail from wren: the roof leaks.")
    run = stage.play([program.bash("echo one"), say("done")])
    assert not any("the roof leaks" in said for said in run.asked[0].texts)
    assert run.told("Mail from wren: the roof leaks.")


def test_a_greeting_reaches_the_model_before_its_first_word(program: Program, tmp_path: Path) -> None:
    stage = hooked(tmp_path, program)
    stage.rules(greeting="You are rook-3 of the north tower.")
    run = stage.play([say("hello")])
    assert run.told("You are rook-3 of the north tower.")


def test_a_held_stop_keeps_the_agent_going_once(program: Program, tmp_path: Path) -> None:
    stage = hooked(tmp_path, program)
    stage.rules(hold="Not yet: read the mail from wren.")
    run = stage.play([say("I am done."), program.bash("echo read > mail.txt"), say("Now I am.")])
    assert (stage.project / "mail.txt").read_text() == "read\n"
    assert run.told("Not yet: read the mail from wren.")
    assert len(run.given("stop")) == 2
