"""Typing into a terminal: never into a line that holds text, never into a busy program, whatever happens and when."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.screen import Gate, Rules
from rookery.keeper.typing import ENTERS, Outcome
from tests.support.fake_terminal import CLAUDE, FakeTerminal, put

TEXT = "Mail from wren: hold the harbour."
DONE = Outcome(True)
RULES = Rules()


def typed(
    terminal: FakeTerminal,
    text: str = TEXT,
    rules: Rules = RULES,
    phase: Callable[[], Awaitable[str]] | None = None,
    compose: Callable[[], Awaitable[str]] | None = None,
    **how: bool,
) -> Outcome:
    async def give() -> str:
        return text

    outcome = asyncio.run(put(terminal, compose or give, CLAUDE, rules, terminal, phase=phase, **how))
    assert terminal.locked_by in ("", "other"), "the lock is given back"
    return outcome


def test_an_idle_program_is_given_the_text_after_the_wait() -> None:
    terminal = FakeTerminal()
    assert typed(terminal) == DONE
    assert terminal.submitted == [f"us: {TEXT}"]
    assert 2.0 <= terminal.now() < 4.0


def test_a_busy_program_is_given_it_after_its_turn() -> None:
    terminal = FakeTerminal([(0, "busy"), (30, "idle")])
    assert typed(terminal) == DONE
    assert 32.0 <= terminal.now() < 34.0


def test_one_that_stays_busy_is_given_up_after_the_cap() -> None:
    terminal = FakeTerminal([(0, "busy")])
    assert typed(terminal).reason == "busy"
    assert 60 <= terminal.now() < 61
    assert terminal.submitted == []
    assert 60 / 0.25 < terminal.looks < 60 / 0.2 + 2, "looked at five times a second"


def test_half_a_line_waits_for_its_person() -> None:
    terminal = FakeTerminal([(0.5, "type:rm -rf ha"), (20, "type:lf"), (21, "enter")])
    assert typed(terminal) == DONE
    assert terminal.submitted == ["a person: rm -rf half", f"us: {TEXT}"]
    assert terminal.now() >= 24.0, "three seconds after the line was empty"


def test_a_line_that_stays_half_typed_is_left_as_it_is() -> None:
    terminal = FakeTerminal([(0.5, "type:rm -rf ha")])
    assert typed(terminal).reason == "user-typing"
    assert (terminal.line, terminal.submitted) == ("rm -rf ha", [])


def test_a_dialog_is_reported_at_once() -> None:
    terminal = FakeTerminal([(0, "dialog")])
    assert typed(terminal) == Outcome(False, "blocked", "permission")
    assert terminal.now() < 4.0
    assert terminal.answered == []


def test_a_dialog_is_agreed_to_only_if_that_is_set_and_once() -> None:
    known = CLAUDE._replace(gates={"permission": Gate("Do you want to proceed", ("1", "enter"))})
    terminal = FakeTerminal([(0, "dialog")])

    async def give() -> str:
        return TEXT

    for gates, keys in (((), []), (("permission",), ["1", "enter"])):
        rules = Rules(answer_gates=gates)
        outcome = asyncio.run(put(terminal, give, known, rules, terminal))
        assert outcome == Outcome(False, "blocked", "permission")  # this one stays, whatever is pressed
        assert terminal.answered == keys


def test_a_terminal_that_is_gone() -> None:
    assert typed(FakeTerminal([(0, "die")])) == Outcome(False, "session-not-found")
    assert typed(FakeTerminal([(0, "die"), (0, "other")])) == Outcome(False, "session-not-found")


@pytest.mark.parametrize("at", [2.2, 2.3, 2.4, 2.5, 2.6])
def test_one_that_dies_on_the_way_is_never_done(at: float) -> None:
    terminal = FakeTerminal([(at, "die")])
    outcome = typed(terminal)
    assert outcome.done == (terminal.now() < at)
    assert outcome.done or outcome.reason in ("session-not-found", "injection-failed")


def test_the_last_screen_of_a_program_that_ended_is_no_proof() -> None:
    """Its line, which nobody is in any more, still shows the text."""
    terminal = FakeTerminal([(8, "die")], leaves=True)
    assert typed(terminal).reason == "session-not-found"
    assert terminal.submitted == []


def test_while_another_injector_types_there_it_is_busy() -> None:
    terminal = FakeTerminal([(0, "other")])
    assert typed(terminal) == Outcome(False, "busy", "another process types there")
    terminal = FakeTerminal([(0, "other"), (10, "free")])
    assert typed(terminal) == DONE


def test_the_text_is_asked_for_last_and_once() -> None:
    terminal = FakeTerminal([(0, "busy"), (30, "idle")])
    asked: list[float] = []

    async def compose() -> str:
        asked.append(terminal.now())
        return TEXT

    assert typed(terminal, compose=compose) == DONE
    assert len(asked) == 1
    assert asked[0] >= 32.0


def test_nothing_is_typed_if_nothing_waits_any_more() -> None:
    terminal = FakeTerminal()
    assert typed(terminal, "") == Outcome(False, nothing=True)
    assert typed(terminal, "\x1b[31m\r\n") == Outcome(False, nothing=True)
    assert terminal.submitted == []


def test_what_hooks_say_comes_before_the_screen() -> None:
    async def busy() -> str:
        return "busy"

    terminal = FakeTerminal()
    assert typed(terminal, rules=Rules(doubt_s=100), phase=busy).reason == "busy"
    assert typed(FakeTerminal(), phase=busy) == DONE, "a turn that was interrupted has no hook that says so"

    async def idle() -> str:
        return "idle"

    assert typed(FakeTerminal([(0, "busy")]), phase=idle).reason == "busy"


def test_enter_is_pressed_again_where_it_was_taken_for_a_part_of_the_paste() -> None:
    terminal = FakeTerminal(slow=ENTERS - 1)
    assert typed(terminal) == DONE
    assert terminal.submitted == [f"us: {TEXT}"]


def test_a_program_that_takes_no_enter_fails_and_is_not_told_done() -> None:
    terminal = FakeTerminal(deaf=True)
    assert typed(terminal).reason == "injection-failed"
    assert terminal.line == TEXT


def test_an_interruption_is_made_once_and_only_when_asked_for() -> None:
    terminal = FakeTerminal([(0, "busy")])
    assert typed(terminal, interrupt=True) == DONE
    assert terminal.interrupted == 1
    idle = FakeTerminal()
    assert typed(idle, interrupt=True) == DONE
    assert idle.interrupted == 0


def test_the_program_forgets_first_if_asked() -> None:
    terminal = FakeTerminal()
    assert typed(terminal, clear_first=True) == DONE
    assert terminal.submitted == ["us: /clear", f"us: {TEXT}"]


def test_a_program_that_can_not_forget_is_not_given_a_text_that_wants_it_to() -> None:
    async def give() -> str:
        return TEXT

    terminal = FakeTerminal()
    never = CLAUDE._replace(name="magpie", clear="")
    outcome = asyncio.run(put(terminal, give, never, RULES, terminal, clear_first=True))
    assert outcome == Outcome(False, "injection-failed", "no command is known that makes magpie forget")
    assert terminal.submitted == []


def test_hostile_text_is_plain_before_it_is_pasted() -> None:
    terminal = FakeTerminal()
    assert typed(terminal, "one\x1b[201~\rtwo\x00\x03\n") == DONE
    assert terminal.submitted == ["us: one\ntwo"]


HAPPENINGS = st.lists(
    st.tuples(
        st.floats(0, 70),
        st.one_of(
            st.sampled_from(["busy", "idle", "idle", "dialog", "enter", "clear", "clear", "die", "other", "free"]),
            st.text("ab ", min_size=1, max_size=3).map("type:{}".format),
        ),
    ),
    max_size=25,
)


@pytest.mark.slow
@given(HAPPENINGS, st.booleans(), st.integers(0, 4))
def test_whatever_happens_nothing_is_pasted_where_it_must_not_be(
    events: list[tuple[float, str]], clear_first: bool, slow: int
) -> None:
    terminal = FakeTerminal(events, slow=slow)
    outcome = typed(terminal, clear_first=clear_first)
    assert terminal.unsafe == []
    ours = [said for said in terminal.submitted if said.startswith("us: ")]
    assert set(ours) <= {f"us: {TEXT}", "us: /clear"}, "never together with what a person typed"
    assert ours.count(f"us: {TEXT}") <= 1
    assert not terminal.answered
    if outcome.done:
        given = [said for said in terminal.submitted if TEXT in said]
        assert given or terminal.erased, "what was done has happened"


def test_known_weakness_a_text_that_a_person_deletes_while_the_program_begins_to_work_is_taken_for_submitted() -> None:
    terminal = FakeTerminal([(3.0, "busy"), (3.0, "clear")], slow=1)
    assert typed(terminal) == DONE
    assert (terminal.submitted, terminal.erased) == ([], True)


def test_a_line_to_which_a_person_added_while_the_program_begins_to_work_was_not_submitted() -> None:
    terminal = FakeTerminal([(3.0, "busy"), (3.0, "type:a")], slow=1)
    assert typed(terminal).reason == "user-typing"
    assert (terminal.submitted, terminal.line) == ([], f"{TEXT}a")


def test_a_letter_that_a_person_typed_is_theirs_though_our_text_has_it_too() -> None:
    """They submitted our text, whose first Enter had not been taken, and went on typing."""
    terminal = FakeTerminal([(3.0, "enter"), (3.0, "type:a")], slow=1)
    assert typed(terminal) == DONE
    assert (terminal.submitted, terminal.line) == ([f"a person: {TEXT}"], "a")


@pytest.mark.slow
def test_control_the_last_moment_matters() -> None:
    """Somewhere between two looks there is a moment at which only the terminal itself can tell."""

    def harmed(careless: bool) -> bool:
        for milliseconds in range(2_000, 2_600, 5):
            terminal = FakeTerminal([(milliseconds / 1000, "type:rm")])
            if careless:
                terminal._is_at = lambda at: True
            typed(terminal, rules=Rules(cap_s=3.0))
            if terminal.unsafe:
                return True
        return False

    assert harmed(careless=True)
    assert not harmed(careless=False)
