"""The law of findings: what is the matter with a session, when that is news, and what follows from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import vitals
from rookery.core.presence import Liveness
from rookery.core.vitals import Action, Facts, Finding, Limits, Measure, Terminal

LAW = Limits(stuck_ms=900, stalled_ms=1800, blocked_ms=60, stopped_ms=60)
NOW = 1_000_000
LIVE = Facts(Liveness.LIVE, NOW, cpu=0)

facts = st.builds(
    Facts,
    liveness=st.sampled_from(Liveness),
    moved_at=st.integers(NOW - 4_000, NOW),
    terminal=st.sampled_from(Terminal),
    phase=st.sampled_from(["", "busy", "idle", "blocked"]),
    has_task=st.booleans(),
    owes_answer=st.booleans(),
    cpu=st.none() | st.integers(0, 400),
)


def quiet(ms: int, **more: object) -> Facts:
    return LIVE._replace(moved_at=NOW - ms, **more)


CASES = [
    (Facts(Liveness.DEAD, NOW), Finding.DIED),
    (Facts(Liveness.STOPPED, NOW - 61), Finding.STOPPED),
    (Facts(Liveness.STOPPED, NOW - 60), Finding.WELL),
    (LIVE._replace(terminal="gone"), Finding.TERMINAL_GONE),
    (quiet(61, phase="blocked"), Finding.BLOCKED),
    (quiet(60, phase="blocked"), Finding.WELL),
    (quiet(901, has_task=True), Finding.STUCK),
    (quiet(900, has_task=True), Finding.WELL),
    (quiet(901), Finding.WELL),
    (quiet(1801, has_task=True), Finding.STALLED),
    (quiet(1801, owes_answer=True), Finding.STALLED),
    (quiet(1801, has_task=True, phase="idle"), Finding.STALLED),
    (quiet(1801, has_task=True, phase="busy"), Finding.STUCK),
    (quiet(1801, owes_answer=True, phase="busy"), Finding.WELL),
    (quiet(1801, has_task=True, cpu=25), Finding.WELL),
    (quiet(1801, has_task=True, cpu=24), Finding.STALLED),
    (quiet(1801, has_task=True, cpu=None), Finding.WELL),
    (quiet(9_999), Finding.WELL),
]


@pytest.mark.parametrize(("given_facts", "found"), CASES)
def test_what_is_found(given_facts: Facts, found: Finding) -> None:
    assert vitals.finding(given_facts, NOW, LAW) is found


@given(facts)
def test_only_a_process_that_can_be_looked_at_is_spoken_of(each: Facts) -> None:
    found = vitals.finding(each, NOW, LAW)
    assert (found is Finding.DIED) == (each.liveness is Liveness.DEAD)
    if each.liveness in (Liveness.LAPSED, Liveness.ENDED):
        assert found is Finding.WELL, "silence elsewhere is no finding"


@given(facts, st.integers(1, 5_000))
def test_silence_makes_nothing_better(each: Facts, later: int) -> None:
    """Whatever is found stays found, or worsens, while nothing moves and no work is done."""
    order = [Finding.WELL, Finding.STUCK, Finding.STALLED]
    first, then = (vitals.finding(each, NOW + ms, LAW) for ms in (0, later))
    if first in order and then in order:
        assert order.index(then) >= order.index(first)
    else:
        assert first in (then, Finding.WELL)


@given(facts)
def test_a_session_at_work_is_left_alone(each: Facts) -> None:
    if vitals.finding(each, NOW, LAW) in vitals.QUIET:
        assert vitals.finding(each._replace(cpu=100), NOW, LAW) is Finding.WELL


# --- told once --------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from(Finding), st.booleans()), max_size=40))
def test_each_finding_is_told_once_until_the_session_moves(looks: list[tuple[Finding, bool]]) -> None:
    told, moved_then, moved_at, since = "", 0, 1, []
    for found, moved in looks:
        moved_at += moved
        if vitals.is_news(found, told, moved_at=moved_at, moved_then=moved_then):
            assert found != told or moved_at > moved_then, "told twice of the same silence"
            told, moved_then = found, moved_at
            since.append(found)
        else:
            assert found == told, "a change that nobody was told of"
    assert "" not in since[:1], "that all is well from the start is no news"


@pytest.mark.parametrize("found", sorted(vitals.LASTING))
def test_what_lasts_is_no_news_although_the_session_goes_on(found: Finding) -> None:
    assert not vitals.is_news(found, found, moved_at=9, moved_then=1)
    assert vitals.is_news(Finding.STUCK, Finding.STUCK, moved_at=9, moved_then=1), "another silence"


# --- what follows -----------------------------------------------------------------------------------------------------


@given(st.sampled_from(vitals.ACTIONS), st.sampled_from(vitals.FOUND))
def test_nobody_is_acted_upon_unless_it_was_asked_for(policy: Action, found: Finding) -> None:
    act = vitals.action(policy, found)
    assert act in (policy, Action.NOTIFY)
    if act is Action.NUDGE:
        assert found in vitals.QUIET, "whoever is dead, stopped or before a dialog does not hear"
    if act is Action.REROUTE:
        assert found is Finding.DIED
    assert (act is Action.NONE) == (policy is Action.NONE)


# --- measures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "worth"),
    [
        (Measure(), Measure(), False),
        (Measure(), Measure(None, 5), True),
        (Measure(None, 5), Measure(0, 5), True),
        (Measure(10, 5), Measure(None, 5), False),
        (Measure(10, 5), Measure(14, 5), False),
        (Measure(10, 5), Measure(15, 5), True),
        (Measure(200, 5), Measure(240, 5), False),
        (Measure(200, 5), Measure(250, 5), True),
        (Measure(0, 100_000), Measure(0, 116_383), False),
        (Measure(0, 100_000), Measure(0, 116_384), True),
        (Measure(0, 1_000_000), Measure(0, 1_100_000), False),
    ],
)
def test_small_changes_are_not_worth_a_write(before: Measure, after: Measure, worth: bool) -> None:
    assert vitals.is_noticeable(before, after) is worth
