"""Typing into the real programs, in their own terminals: only when idle, never into a line that is not empty.

The programs run in tmux inside the jail; the keeper's side is the real one, `keeper.typing` over `runtime.tmux`.
"""

import asyncio
import json
import os
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
from tests.hosts.model.script import say
from tests.hosts.programs import ALL
from tests.hosts.stage import Stage
from tests.hosts.tui import HOLD, IDLE, Tui, settled
from tests.support.panes import until

pytestmark = [pytest.mark.hosts, pytest.mark.tmux]

BOTH = ("claude", "codex")
EVERY = (*BOTH, "gemini", "opencode", "copilot", "pi")
RULES = Rules(cap_s=60.0)
AT_ONCE = RULES._replace(cap_s=4.0)
SEEN = Path(__file__).parent / "screens"


def stage_of(tmp_path: Path, name: str, **how: bool) -> Stage:
    return settled(Stage(tmp_path, ALL[name]), **how)


def typed(tui: Tui, text: str, rules: Rules = RULES, **how: bool) -> Outcome:
    """What becomes of a text that the keeper puts there."""

    async def compose() -> str:
        return text

    return asyncio.run(put(pane_of(tui), compose, patterns_of(tui), rules, SystemPace(), **how))


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
    if record and os.environ.get("ROOK_WRITE_SEEN"):
        write_down(tui, record)
    return look(tui)[1]


def write_down(tui: Tui, name: str) -> None:
    """As tmux captured it, with its attributes: tests/unit/test_screen.py reads it again."""
    program = tui.stage.program.name
    column, row = tui.server.ask("display-message", "-p", "-t", tui.pane, "#{cursor_x} #{cursor_y}").split()
    captured = tui.server.ask("capture-pane", "-p", "-e", "-t", tui.pane).replace(str(tui.stage.project), "/src/nest")
    kept = {"column": int(column), "row": int(row), "captured": captured.split("\n")}
    (SEEN / program).mkdir(parents=True, exist_ok=True)
    (SEEN / program / f"{name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=True) + "\n")


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
        tui.asks("a person asks", lambda: look(tui)[1].state is State.BUSY)
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
