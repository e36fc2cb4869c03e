"""Reading a screen: the real programs' own, as they were seen; and what follows from several looks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.ports import Screen
from rookery.core.screen import (
    Patterns,
    Rules,
    State,
    Watch,
    is_ours,
    read,
    rules,
    ruling,
    seen,
    traces,
)
from rookery.hosts import screens
from rookery.settings import SETTINGS
from tests.support.seen_screens import NAMES, screen

MEANT = {
    "idle": (State.READY, "", True),
    "answered": (State.READY, "", True),
    "busy": (State.BUSY, "", True),
    "tool": (State.BUSY, "", True),
    "typed": (State.READY, "", False),
    "trust": (State.BLOCKED, "trust", False),
    "permission": (State.BLOCKED, "permission", False),
}
INPUTS = [name for name in NAMES if MEANT[name.partition("/")[2]][0] in (State.READY, State.BUSY)]
TYPED = st.text(st.characters(categories=["L", "N", "P", "S"], max_codepoint=0x24F), min_size=1, max_size=60)


def patterns(name: str) -> Patterns:
    return screens.KNOWN[name.partition("/")[0]]


def test_every_program_with_patterns_was_looked_at() -> None:
    assert {name.partition("/")[0] for name in NAMES} == set(screens.KNOWN) - {"shell"}


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_of_a_real_program_is_read_as_it_was_meant(name: str) -> None:
    state, gate, empty = MEANT[name.partition("/")[2]]
    view = read(patterns(name), screen(name))
    assert (view.state, view.gate) == (state, gate)
    if state is not State.BLOCKED:
        assert (view.prompt, view.empty, bool(view.typed)) == (True, empty, not empty)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(("/busy", "/tool"))])
def test_control_without_its_markers_a_busy_program_looks_ready(name: str) -> None:
    view = read(patterns(name)._replace(busy=()), screen(name))
    assert (view.state, view.empty) == (State.READY, True)


@pytest.mark.parametrize("name", [name for name in NAMES if MEANT[name.partition("/")[2]][0] is State.BLOCKED])
def test_a_dialog_that_is_not_known_by_name_is_a_dialog_all_the_same(name: str) -> None:
    view = read(patterns(name)._replace(gates={}), screen(name))
    assert (view.state, view.gate) == (State.BLOCKED, "dialog")


@given(st.sampled_from(INPUTS), TYPED)
def test_whatever_is_typed_the_line_is_not_empty(name: str, text: str) -> None:
    view = read(patterns(name), typed_into(screen(name), text))
    assert not view.empty


def typed_into(before: Screen, text: str) -> Screen:
    """As a terminal shows it: the text where the cursor was, the cursor behind it."""

    def put(line: str) -> str:
        return line[: before.column].ljust(before.column) + text

    lines, firm = list(before.lines), list(before.firm)
    lines[before.row], firm[before.row] = put(lines[before.row]), put(firm[before.row])
    return before._replace(lines=tuple(lines), firm=tuple(firm), column=before.column + len(text))


@pytest.mark.parametrize("name", INPUTS)
def test_a_busy_marker_means_busy_wherever_it_stands(name: str) -> None:
    """The marker of the same program, put into any blank row of another of its screens."""
    known, before = patterns(name), screen(name)
    working = screen(f"{name.partition('/')[0]}/busy")
    marker = next(line for line in working.lines if read(known, Screen((line,), (line,))).state is State.BUSY)
    for row in (row for row, line in enumerate(before.lines) if not line.strip()):
        lines = (*before.lines[:row], marker, *before.lines[row + 1 :])
        assert read(known, before._replace(lines=lines, firm=lines)).state is State.BUSY


@given(st.lists(st.text(max_size=60), max_size=30), st.integers(0, 80), st.integers(0, 40))
def test_no_screen_at_all_breaks_the_reading(lines: list[str], column: int, row: int) -> None:
    whole = tuple(line.replace("\n", " ") for line in lines)
    for known in screens.KNOWN.values():
        view = read(known, Screen(whole, whole, column, row))
        assert view.prompt or not view.empty


def test_a_shell_at_its_prompt_is_ready_and_at_work_it_is_not() -> None:
    lines = ("you@nest:~$ make", "all of it", "you@nest:~$", "")
    assert read(screens.SHELL, Screen(lines, lines, 12, 2)).empty
    assert not read(screens.SHELL, Screen(lines, lines, 0, 1)).empty
    half = (*lines[:2], "you@nest:~$ rm -rf ha", "")
    assert read(screens.SHELL, Screen(half, half, 21, 2)).typed == "rm -rf ha"


# -- several looks ---------------------------------------------------------------------------------------------------

RULES = Rules()
IDLE, BUSY, DIALOG = screen("claude/idle"), screen("claude/busy"), screen("claude/permission")


def after(*looks: tuple[float, Screen], told: str = "") -> tuple[str, str, bool]:
    watch: Watch | None = None
    for at, there in looks:
        watch = seen(watch, screens.CLAUDE, there, at)
    assert watch
    return tuple(ruling(watch, told, RULES, looks[-1][0]))  # pyright: ignore[reportReturnType]


def test_ready_counts_once_it_has_stayed_so() -> None:
    assert after((0, IDLE))[0] == "busy"
    assert after((0, IDLE), (1.9, IDLE))[0] == "busy"
    assert after((0, IDLE), (2.0, IDLE))[0] == ""


def test_a_change_of_the_screen_begins_the_wait_anew() -> None:
    moved = IDLE._replace(lines=(*IDLE.lines[:8], "more output", *IDLE.lines[9:]))
    assert after((0, IDLE), (1.9, moved), (2.1, moved))[0] == "busy"
    assert after((0, IDLE), (1.9, moved), (3.9, moved))[0] == ""


def test_busy_in_between_begins_the_wait_anew() -> None:
    assert after((0, IDLE), (1.5, BUSY), (2.1, IDLE))[0] == "busy"
    assert after((0, BUSY), (100, BUSY))[0] == "busy"


def test_someone_who_types_is_let_be_for_a_while_after_the_line_is_empty_again() -> None:
    half = typed_into(IDLE, "half")
    assert after((0, half))[0] == "user-typing"
    assert after((0, half), (1000, half))[0] == "user-typing"
    assert after((0, half), (1, IDLE), (3.5, IDLE))[0] == "user-typing"
    assert after((0, half), (1, IDLE), (4.0, IDLE))[0] == ""


def test_a_cursor_that_moves_is_someone_who_types() -> None:
    moved = IDLE._replace(column=IDLE.column + 3)
    assert after((0, IDLE), (1, moved), (2, IDLE), (4.5, IDLE))[0] == "user-typing"
    assert after((0, IDLE), (1, moved), (2, IDLE), (5, IDLE))[0] == ""


def test_who_reads_back_is_a_person() -> None:
    reading = IDLE._replace(read_back=True)
    assert after((0, reading), (10, reading))[0] == "user-typing"


def test_a_dialog_is_settled_once_it_has_stayed() -> None:
    assert after((0, DIALOG)) == ("blocked", "permission", False)
    blinked = DIALOG._replace(lines=("blink", *DIALOG.lines[1:]))
    assert after((0, DIALOG), (1, blinked), (2, DIALOG)) == ("blocked", "permission", True)


def test_what_hooks_say_comes_before_the_screen_unless_the_screen_insists() -> None:
    assert after((0, IDLE), (9.9, IDLE), told="busy")[0] == "busy"
    assert after((0, IDLE), (10, IDLE), told="busy")[0] == ""
    assert after((0, IDLE), (9.9, IDLE), told="blocked")[0] == "blocked"
    assert after((0, BUSY), (100, BUSY), told="idle")[0] == "busy"


def test_a_terminal_that_another_program_has_is_not_typed_into() -> None:
    taken = IDLE._replace(elsewhere="another program has the terminal")
    assert after((0, taken), (2, taken)) == ("blocked", "another program has the terminal", True)


def test_the_rules_come_from_the_settings() -> None:
    assert rules({setting.name: setting.default for setting in SETTINGS}) == Rules()


# -- what became of a text -------------------------------------------------------------------------------------------


def test_a_line_is_ours_if_it_holds_our_text_or_a_part_and_nothing_else() -> None:
    known, text = screens.CLAUDE, "First line.\n\n  Second line, which is long."
    assert is_ours(known, "First line.\n\nSecond line, which\nis long.", text)
    assert is_ours(known, "which is long.", text)
    assert is_ours(known, "[Pasted text #2 +40 lines]", text)
    assert not is_ours(known, "", text)
    assert not is_ours(known, "oh First line.\n\nSecond line, which is long.", text)
    assert not is_ours(known, "[Pasted text #2 +40 lines] and more", text)


def test_traces_are_counted_outside_of_the_line() -> None:
    before = typed_into(IDLE, "Mail from wren")
    assert traces(screens.CLAUDE, before, "Mail from wren", "Mail from wren") == 0
    there = IDLE._replace(lines=(*IDLE.lines[:8], "❯ Mail from", "  wren", *IDLE.lines[10:]))
    assert traces(screens.CLAUDE, there, "Mail from wren", "Mail from wren") == 1
