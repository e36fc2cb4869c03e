"""Text that a process pasted and did not live to submit: in a real pane, found by the next one."""

from collections.abc import Generator
from pathlib import Path

import pytest

from rookery.core.ports import Spot
from rookery.core.screen import is_left
from rookery.hosts.screens import CLAUDE, CODEX
from rookery.keeper.typing import Outcome
from rookery.runtime.tmux import Pane
from tests.support.mimicked import PATIENT, Mimicked
from tests.support.panes import Server, server

TEXT = "Mail from wren.\nTwo lines of it."


class Dies(Pane):
    """The process ends between the paste and Enter."""

    async def press(self, key: str, at: Spot | None = None) -> bool:
        raise KeyboardInterrupt


@pytest.fixture
def tmux() -> Generator[Server]:
    with server() as started:
        yield started


@pytest.fixture
def mimic(tmux: Server, tmp_path: Path) -> Generator[Mimicked]:
    """With our text in its line, and nobody left who would submit it."""
    started = Mimicked(tmux, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        started.put(TEXT, PATIENT, pane=Dies(started.address))
    assert started.submitted == []
    assert "Mail from wren." in started.screen
    yield started
    started.close()


@pytest.mark.tmux
@pytest.mark.slow
def test_the_next_one_submits_it_and_nothing_is_pasted_again(mimic: Mimicked):
    assert mimic.put(TEXT, PATIENT) == Outcome(True)
    assert mimic.submitted == [TEXT]


@pytest.mark.tmux
@pytest.mark.slow
def test_with_more_to_say_by_now_it_goes_first_and_is_not_taken_for_the_new_text(mimic: Mimicked):
    told = mimic.put(f"{TEXT}\nAnd a third.", PATIENT)
    assert (told.done, told.reason) == (False, "busy")
    assert mimic.put(f"{TEXT}\nAnd a third.", PATIENT) == Outcome(True)
    assert mimic.submitted == [TEXT, f"{TEXT}\nAnd a third."]


@pytest.mark.tmux
@pytest.mark.slow
def test_what_a_person_has_changed_is_theirs(mimic: Mimicked):
    """Control: the same, but for two letters."""
    mimic.types("no")
    assert mimic.put(TEXT).reason == "user-typing"
    assert mimic.submitted == []


@pytest.mark.tmux
@pytest.mark.slow
def test_what_was_submitted_is_forgotten(mimic: Mimicked):
    mimic.put(TEXT, PATIENT)
    mimic.types("Mail from wren.")  # a person writes the same
    assert mimic.put("Mail from wren.").reason == "user-typing"
    assert mimic.submitted == [TEXT]


@pytest.mark.parametrize(
    ("typed", "ours"),
    [("[Pasted text #1 +1 lines]", True), ("[Pasted text #3 +7 lines]", False), ("[Pasted text #1]", False),
     ("[Pasted text #1 +1 lines] [Pasted text #2 +1 lines]", False), (TEXT, True), ("Mail from wren.", False)],
)  # fmt: skip
def test_a_folded_text_is_ours_if_its_size_agrees(typed: str, ours: bool):
    assert is_left(CLAUDE, typed, TEXT) is ours


def test_codex_folds_by_characters():
    assert is_left(CODEX, f"[Pasted Content {len(TEXT)} chars]", TEXT)
    assert not is_left(CODEX, f"[Pasted Content {len(TEXT) + 1} chars]", TEXT)
