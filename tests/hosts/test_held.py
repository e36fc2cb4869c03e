"""The real programs in held terminals: their screens are read as in tmux, and mail is typed as there."""

import asyncio
from pathlib import Path

import pytest

from rookery.core.screen import Rules, State, View, read
from rookery.hosts import screens
from rookery.keeper.typing import Outcome, put
from rookery.runtime.clock import SystemPace
from rookery.runtime.ptys import Held
from tests.hosts.model.script import say
from tests.hosts.programs import ALL
from tests.hosts.stage import Stage
from tests.hosts.tui import HOLD, IDLE, HeldTui, settled
from tests.support.families import most
from tests.support.panes import until

SCREENS = ("claude", "codex", "gemini", "opencode", "copilot", "pi")
pytestmark = pytest.mark.hosts

RULES = Rules(cap_s=60.0)
AT_ONCE = RULES._replace(cap_s=4.0)


def typed(tui: HeldTui, text: str, rules: Rules = RULES) -> Outcome:
    async def compose() -> str:
        return text

    patterns = screens.of(tui.stage.program.name)
    assert patterns
    return asyncio.run(put(Held(tui.held.address(tui.pane)), compose, patterns, rules, SystemPace()))


def view(tui: HeldTui) -> View:
    patterns = screens.of(tui.stage.program.name)
    assert patterns
    return read(patterns, asyncio.run(Held(tui.held.address(tui.pane)).look()))


def becomes(tui: HeldTui, state: State) -> None:
    until(lambda: view(tui).state is state, lambda: f"{state}, but {view(tui)}:\n{tui.screen()}")


@pytest.mark.parametrize("name", most(SCREENS, "gemini", "opencode", "copilot", "pi"))
def test_an_idle_program_is_given_the_text_and_a_busy_one_only_after_its_turn(tmp_path: Path, name: str) -> None:
    moves = [say("the first answer"), HOLD, say("the second answer"), say("the third answer")]
    with HeldTui(settled(Stage(tmp_path, ALL[name])), moves) as tui:
        tui.shows(IDLE[name])
        becomes(tui, State.READY)
        assert typed(tui, "Mail from wren: the first.") == Outcome(True)
        tui.shows("the first answer")
        assert tui.heard("Mail from wren: the first.") == 1

        becomes(tui, State.READY)
        tui.asks("a person asks", lambda: "a person asks" in view(tui).typed)
        becomes(tui, State.BUSY)
        assert typed(tui, "Mail from wren: the second.", AT_ONCE).reason == "busy"
        assert "Mail from wren: the second" not in tui.screen()
        tui.release()
        assert typed(tui, "Mail from wren: the second.") == Outcome(True)
        tui.shows("the third answer")
        assert "\n".join(tui.asked[-1].texts).count("Mail from wren: the second.") == 1


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_half_a_line_is_left_untouched(tmp_path: Path, name: str) -> None:
    with HeldTui(settled(Stage(tmp_path, ALL[name])), [say("the first answer")]) as tui:
        tui.shows(IDLE[name])
        tui.types("rm -rf half a line")
        tui.shows("half a line")
        outcome = typed(tui, "Mail from wren.", AT_ONCE)
        assert (outcome.done, outcome.reason) == (False, "user-typing")
        assert view(tui).typed == "rm -rf half a line"
        tui.keys("C-u")
        assert typed(tui, "Mail from wren.\nIn two lines.") == Outcome(True)
        tui.shows("the first answer")
        assert tui.heard("In two lines.") == 1
        assert tui.heard("half a line") == 0
