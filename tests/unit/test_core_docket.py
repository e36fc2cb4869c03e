"""The law of the docket: subjects, what may be decided, what a typed line means, rules."""

import string
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rookery.core import docket, errors
from rookery.core.docket import About, Action, Check, Matter, Needs, Rank, Risk, Seen, Size

NUMBERS = st.integers(1, 10**9 - 1)
WORKERS = st.builds("w{}".format, NUMBERS)
MATTERS = st.sampled_from(list(Matter))
PASSED, FAILED, STALE = Check("pytest -q", True), Check("pytest -q", False), Check("pytest -q", True, stale=True)


# --- subjects ---------------------------------------------------------------------------------------------------------


@given(WORKERS, NUMBERS)
def test_a_subject_is_read_as_it_is_written(worker: str, number: int) -> None:
    for written, about in (
        (docket.question_of(worker, number), About.QUESTION), (docket.run_of(worker, number), About.RUN),
        (docket.result_of(worker, number), About.RESULT),
    ):  # fmt: skip
        found = docket.subject(written)
        assert (found.about, found.worker, found.number, found.text) == (about, worker, number, written)
        assert found.is_exact
    assert not docket.subject(worker).is_exact


@given(st.text(max_size=30))
def test_any_text_is_a_subject_or_a_refusal_that_can_be_shown(written: str) -> None:
    try:
        found = docket.subject(written)
    except errors.UnknownName as error:
        refusal = error
    else:
        assert found.text == written.strip()
        assert not found.number or found.text.endswith(str(found.number)), "one spelling for each"
        return
    assert str(refusal).isprintable()


@pytest.mark.parametrize(
    "written", ["", " ", "/", "w3/", "/2", "w3/q", "w3/q0", "w3/01", "w3/-1", "w3/2/3", "w3/\u0663", "a\x1bb"]
)
def test_what_names_nothing_is_refused(written: str) -> None:
    with pytest.raises(errors.UnknownName):
        docket.subject(written)


# --- what may be decided ----------------------------------------------------------------------------------------------


@given(MATTERS, st.booleans())
def test_what_can_be_decided_is_told_with_what_it_needs(about: Matter, lives: bool) -> None:
    can = docket.allowed(about, lives=lives)
    assert can
    assert len(set(can)) == len(can)
    assert all(each in docket.TERMS for each in can)
    first = [docket.TERMS[each].destructive for each in can]
    assert first == sorted(first), "what throws work away stands last"
    if not lives:
        assert not {Action.STEER, Action.CHAT, Action.STOP} & set(can)


@given(MATTERS, st.sampled_from(list(Action)), st.text(max_size=5), st.none() | st.integers(1, 9))
def test_a_decision_that_lacks_something_is_refused_before_anything_is_done(
    about: Matter, action: Action, said: str, option: int | None
) -> None:
    can = docket.allowed(about)
    terms = docket.TERMS[action]
    lacks = action not in can or (option is not None and terms.needs is not Needs.ANSWER)
    lacks = lacks or (terms.needs is Needs.WORDS and not said.strip())
    try:
        docket.check(action, about, can, said, option)
    except errors.RookError:
        assert lacks
    else:
        assert not lacks


# --- what is typed ----------------------------------------------------------------------------------------------------


@given(MATTERS, st.text(string.digits + " ", min_size=1, max_size=4), st.integers(0, 9))
def test_digits_never_trigger_a_destructive_action(about: Matter, line: str, options: int) -> None:
    assume(line.strip())
    meant = docket.typed(line, docket.allowed(about), options)
    assert meant.action in (None, Action.ANSWER), "a digit is an option or nothing"
    if meant.action is not None:
        assert about is Matter.QUESTION
        assert meant.option is not None
        assert 1 <= meant.option <= options


@given(MATTERS, st.text(max_size=12), st.integers(0, 9))
def test_nothing_is_thrown_away_unless_it_is_written_out(about: Matter, line: str, options: int) -> None:
    meant = docket.typed(line, docket.allowed(about), options)
    if meant.action is not None and docket.TERMS[meant.action].destructive:
        assert line.strip().lower().split(" ")[0] == meant.action


def test_a_word_or_its_beginning_is_an_action() -> None:
    can = docket.allowed(Matter.CHANGE)
    assert docket.typed("p", can, 0).action is Action.PROMOTE
    assert docket.typed("Promote  good work ", can, 0) == (Action.PROMOTE, "good work", None)
    assert docket.typed("re", can, 0).action is Action.REVISE, "reject is never meant by a part of it"
    assert docket.typed("reject no", can, 0) == (Action.REJECT, "no", None)
    assert docket.typed("d", can, 0).action is Action.DISMISS
    assert docket.typed("disc", can, 0).action is None
    assert docket.typed("launch", can, 0).action is None
    assert docket.typed("2", docket.allowed(Matter.QUESTION), 3) == (Action.ANSWER, "", 2)
    assert docket.typed("4", docket.allowed(Matter.QUESTION), 3).action is None


# --- results and rules ------------------------------------------------------------------------------------------------

SMALL = Seen("implementer", "claude", "completed", ("docs/a.md",), True, 1, 10, (PASSED,), Risk.LOW, True)
RULE: dict[str, Any] = {
    "kinds": ["implementer"], "hosts": [], "paths": ["docs/**"], "files": 5, "lines": 100, "checks": "green",
    "risk": "low",
}  # fmt: skip
UNFIT = {
    "another kind": {"kind": "debugger"},
    "a path outside": {"paths": ("docs/a.md", "src/a.py")},
    "more paths than are known": {"every_path": False},
    "no path": {"paths": ()},
    "too many files": {"files": 6},
    "too many lines": {"lines": 101},
    "lines that are not known": {"binary": 1},
    "no check": {"checks": ()},
    "a red check": {"checks": (PASSED, FAILED)},
    "a check before the last edit": {"checks": (STALE,)},
    "more risk": {"risk": Risk.MEDIUM},
    "not completed": {"outcome": "proposal"},
}


def test_a_rule_decides_what_matches_it() -> None:
    docket.check_rule(RULE)
    assert docket.fits(RULE, SMALL)


@pytest.mark.parametrize("why", UNFIT)
def test_a_rule_leaves_to_a_person_what_does_not(why: str) -> None:
    assert not docket.fits(RULE, SMALL._replace(**UNFIT[why]))


@pytest.mark.parametrize("limit", ["files", "lines"])
def test_a_rule_with_a_limit_leaves_to_a_person_what_has_no_known_size(limit: str) -> None:
    unlimited = {**RULE, "paths": [], "files": None, "lines": None}
    for unknown in (SMALL._replace(binary=1), SMALL._replace(every_path=False)):
        assert docket.fits(unlimited, unknown)
        assert not docket.fits({**unlimited, limit: 1000}, unknown)


def test_a_rule_that_would_decide_about_everything_is_refused() -> None:
    for bad in (
        {"checks": "any", "risk": "high"},
        {"kinds": ["a"], "risk": "huge"},
        {"paths": ["/etc"], "risk": "low"},
    ):
        with pytest.raises(errors.BadInput):
            docket.check_rule(bad)


@given(st.lists(st.sampled_from([PASSED, FAILED, STALE]), max_size=4), st.integers(0, 50), st.integers(0, 2000))
def test_risk_is_low_only_for_what_is_small_and_seen_to_pass(checks: list[Check], files: int, lines: int) -> None:
    size = Size(files, lines)
    risk = docket.risk_of(size, checks, 0, "completed")
    assert docket.risk_of(size, checks, 1, "completed") is Risk.HIGH, "contested lines always are"
    assert docket.risk_of(size._replace(steers=True), checks, 0, "completed") is Risk.HIGH
    assert docket.risk_of(size._replace(deleted=1), checks, 0, "completed") >= Risk.MEDIUM or not files
    assert docket.risk_of(size._replace(binary=1), checks, 0, "completed") >= Risk.MEDIUM or not files
    assert docket.risk_of(size._replace(files=files + 1), checks, 0, "completed") >= risk or not files
    if files and risk is Risk.LOW:
        assert docket.are_green(checks)
    if FAILED in checks:
        assert risk is Risk.HIGH


def test_what_comes_first_is_first() -> None:
    assert sorted(Rank) == [Rank.NEEDS_INPUT, Rank.FAILED, Rank.ERROR, Rank.CHANGE, Rank.FILE, Rank.READY]


@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yml", ".claude/settings.json", "docs/AGENTS.md", "rookery.toml"]
)
def test_what_programs_are_told_by_wants_a_look(path: str) -> None:
    assert docket.steers(path)
    assert not docket.steers(f"src/{path.rpartition('/')[2]}x")
