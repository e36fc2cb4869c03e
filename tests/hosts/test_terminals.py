"""Typing into the real programs, in their own terminals: only when idle, never into a line that is not empty.

The programs run in tmux inside the jail; the keeper's side is the real one, `keeper.typing` over `runtime.tmux`.
"""

import asyncio
import json
import os
import re
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rookery.core.ports import Screen
from rookery.core.screen import Patterns, Rules, State, View, read
from rookery.hosts import screens
from rookery.keeper.typing import Outcome, put
from rookery.runtime.clock import SystemPace
from rookery.runtime.tmux import Pane
from tests.hosts.model.script import call, say
from tests.hosts.programs import ALL
from tests.hosts.stage import Stage
from tests.hosts.tui import HOLD, IDLE, Tui, settled
from tests.support.families import most
from tests.support.panes import until

pytestmark = [pytest.mark.hosts, pytest.mark.tmux]

BOTH = ("claude", "codex")
EVERY = (*BOTH, "gemini", "opencode", "copilot", "pi")
RULES = Rules(cap_s=60.0)
AT_ONCE = RULES._replace(cap_s=4.0)
SEEN = Path(__file__).parent / "screens"
WRITE = os.environ.get("ROOK_WRITE_SEEN") == "1"  # before a test loses its variables
AT_WORK = {"claude": "$ sleep 20", "codex": "background terminal"}


def stage_of(tmp_path: Path, name: str, **how: bool) -> Stage:
    return settled(Stage(tmp_path, ALL[name]), **how)


def typed(tui: Tui, text: str, rules: Rules = RULES, *, interrupt: bool = False, clear_first: bool = False) -> Outcome:
    """What becomes of a text that the keeper puts there."""

    async def compose() -> str:
        return text

    typing = put(
        pane_of(tui), compose, patterns_of(tui), rules, SystemPace(), interrupt=interrupt, clear_first=clear_first
    )
    return asyncio.run(typing)


def pane_of(tui: Tui) -> Pane:
    return Pane(tui.server.address(tui.pane))


def patterns_of(tui: Tui) -> Patterns:
    found = screens.of(tui.stage.program.name.partition("-")[0])
    assert found
    return found


def look(tui: Tui) -> tuple[Screen, View]:
    screen = asyncio.run(pane_of(tui).look())
    return screen, read(patterns_of(tui), screen)


def becomes(tui: Tui, state: State, record: str = "") -> View:
    """Wait until the screen is read so; what was seen is written down where that is asked for."""
    until(lambda: look(tui)[1].state is state, lambda: f"{state}, but {look(tui)[1]}:\n{tui.screen()}")
    if record and WRITE:
        write_down(tui, record)
    return look(tui)[1]


def write_down(tui: Tui, name: str) -> None:
    """As tmux captured it, with its attributes: tests/unit/test_screen.py reads it again."""
    program = tui.stage.program.name
    column, row = tui.server.ask("display-message", "-p", "-t", tui.pane, "#{cursor_x} #{cursor_y}").split()
    captured = re.sub(r"/tmp/[^\s\x1b]*", "/src/nest", tui.server.ask("capture-pane", "-p", "-e", "-t", tui.pane))
    kept = {"column": int(column), "row": int(row), "captured": captured.split("\n")}
    (SEEN / program).mkdir(parents=True, exist_ok=True)
    (SEEN / program / f"{name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=True) + "\n")


def asks(tui: Tui, text: str) -> None:
    tui.asks(text, lambda: text in look(tui)[1].typed)


@contextmanager
def meanwhile(deed: Callable[[], Outcome]) -> Generator[list[Outcome]]:
    """While the block runs, the keeper tries; its outcome is there after the block."""
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(deed()))
    thread.start()
    try:
        yield outcomes
    finally:
        thread.join()


@pytest.mark.parametrize("name", EVERY)
def test_an_idle_program_is_given_the_text_and_a_busy_one_only_after_its_turn(tmp_path: Path, name: str) -> None:
    moves = [say("the first answer"), HOLD, say("the second answer"), say("the third answer")]
    with Tui(stage_of(tmp_path, name), moves) as tui:
        tui.shows(IDLE[name])
        becomes(tui, State.READY, "idle")
        assert typed(tui, "Mail from wren: the first.") == Outcome(True)
        tui.shows("the first answer")
        assert tui.heard("Mail from wren: the first.") == 1

        becomes(tui, State.READY, "answered")
        asks(tui, "a person asks")
        becomes(tui, State.BUSY, "busy")
        assert typed(tui, "Mail from wren: the second.", AT_ONCE).reason == "busy"
        with meanwhile(lambda: typed(tui, "Mail from wren: the second.")) as outcomes:
            assert "Mail from wren: the second" not in tui.screen()
            tui.release()
        assert outcomes == [Outcome(True)]
        tui.shows("the third answer")
        said = "\n".join(tui.asked[-1].texts)
        assert said.count("Mail from wren: the second.") == 1
        assert said.index("a person asks") < said.index("Mail from wren: the second.")


@pytest.mark.parametrize("name", BOTH)
def test_half_a_line_is_left_untouched_and_the_text_comes_after_it(tmp_path: Path, name: str) -> None:
    with Tui(stage_of(tmp_path, name), [say("the first answer"), say("the second answer")]) as tui:
        tui.shows(IDLE[name])
        tui.types("rm -rf half a li")
        tui.shows("half a li")
        outcome = typed(tui, "Mail from wren.", AT_ONCE)
        assert (outcome.done, outcome.reason) == (False, "user-typing")
        assert look(tui)[1].typed == "rm -rf half a li"
        if WRITE:
            write_down(tui, "typed")

        with meanwhile(lambda: typed(tui, "Mail from wren.")) as outcomes:
            tui.types("ne")
            tui.shows("half a line")
            tui.keys("C-u")
        assert outcomes == [Outcome(True)]
        tui.shows("the first answer")
        assert tui.heard("Mail from wren.") == 1
        assert tui.heard("half a li") == 0


@pytest.mark.parametrize("name", most(EVERY, "opencode", "copilot"))
def test_hostile_text_of_several_lines_arrives_as_one_prompt(tmp_path: Path, name: str) -> None:
    hostile = "First\x1b[201~\rsecond\x03\x04 line\x00\n\n\tthird \x1b]0;title\x07"
    hostile += "\x9b31mline \u202eback\x1b\n/quit\r\nlast."
    meant = "First\nsecond line\n\n\tthird line back\n/quit\nlast."
    long = "\n".join(f"Line {number} of a long letter, with {'many ' * 12}words." for number in range(80))
    with Tui(stage_of(tmp_path, name), [say("the first answer"), say("the second answer")]) as tui:
        tui.shows(IDLE[name])
        assert typed(tui, hostile) == Outcome(True)
        tui.shows("the first answer")
        told = next(text for text in tui.asked[-1].texts if "third line back" in text)
        assert meant.split() == told[told.index("First") :].split()[: len(meant.split())]
        assert typed(tui, long) == Outcome(True)
        tui.shows("the second answer")
        assert tui.asked[-1].turns == 1
        assert tui.heard("Line 0 of") == tui.heard("Line 79 of") == 1


@pytest.mark.parametrize("name", BOTH)
def test_a_question_about_trust_is_reported_and_not_answered(tmp_path: Path, name: str) -> None:
    with Tui(stage_of(tmp_path, name, trusted=False), [say("never")]) as tui:
        becomes(tui, State.BLOCKED, "trust")
        shown = tui.screen()
        assert typed(tui, "Mail from wren.") == Outcome(False, "blocked", "trust")
        assert tui.screen() == shown
        assert tui.asked == []

        agreed = RULES._replace(answer_gates=("trust",))
        assert typed(tui, "Mail from wren.", agreed) == Outcome(True)
        until(lambda: tui.heard("Mail from wren.") == 1, tui.screen)


@pytest.mark.parametrize("name", most([name for name in EVERY if name != "pi"], "opencode"))  # pi asks for no leave
def test_a_question_for_leave_is_reported_and_not_answered(tmp_path: Path, name: str) -> None:
    stage = stage_of(tmp_path, name)
    made = stage.place.home / "made"
    asking = stage.program.bash(f"touch {made}")
    if name == "codex":  # asks for what its sandbox does not let through
        leave = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
        asking = call("exec_command", cmd=f"touch {made}", **leave)
    with Tui(stage, [asking, say("the first answer"), say("the second answer")]) as tui:
        tui.shows(IDLE[name])
        becomes(tui, State.READY)
        asks(tui, "a person asks")
        becomes(tui, State.BLOCKED, "permission")
        assert typed(tui, "Mail from wren.") == Outcome(False, "blocked", "permission")
        assert look(tui)[1].state is State.BLOCKED
        assert "Mail from wren" not in tui.screen()
        assert not made.exists()

        until(lambda: agreed(tui) and made.exists(), tui.screen)
        tui.shows("the first answer")
        assert typed(tui, "Mail from wren.") == Outcome(True)
        tui.shows("the second answer")
        assert tui.heard("Mail from wren.") == 1


def agreed(tui: Tui) -> bool:
    """A person agrees to whatever is asked; some ask twice, about the path and about the command."""
    if look(tui)[1].state is State.BLOCKED:
        tui.keys("Enter")
    return True


@pytest.mark.parametrize("name", BOTH)
def test_a_busy_program_is_interrupted_and_made_to_forget_if_that_is_asked_for(tmp_path: Path, name: str) -> None:
    stage = stage_of(tmp_path, name)
    moves = [say("the first answer"), stage.program.bash("sleep 20"), *[say(f"answer {n}") for n in range(4)]]
    with Tui(stage, moves) as tui:
        tui.shows(IDLE[name])
        assert typed(tui, "Remember the magpie.") == Outcome(True)
        tui.shows("the first answer")
        asks(tui, "a person asks")
        tui.shows(AT_WORK[name])
        becomes(tui, State.BUSY, "tool")
        assert typed(tui, "Mail from wren.", interrupt=True) == Outcome(True)
        until(lambda: tui.heard("Mail from wren."), tui.screen)
        assert tui.heard("magpie") == 1

        becomes(tui, State.READY)
        assert typed(tui, "A new task.", clear_first=True) == Outcome(True)
        until(lambda: tui.heard("A new task."), tui.screen)
        assert tui.heard("magpie") == 0


def test_a_prompt_that_an_interruption_gives_back_is_a_persons_line(tmp_path: Path) -> None:
    """Claude Code, stopped before it answered anything, puts the prompt back where it was typed."""
    with Tui(stage_of(tmp_path, "claude"), [HOLD, say("never said")]) as tui:
        tui.shows(IDLE["claude"])
        asks(tui, "a person asks")
        becomes(tui, State.BUSY)
        outcome = typed(tui, "Mail from wren.", RULES._replace(cap_s=8.0), interrupt=True)
        assert (outcome.done, outcome.reason) == (False, "user-typing")
        assert look(tui)[1].typed == "a person asks"
