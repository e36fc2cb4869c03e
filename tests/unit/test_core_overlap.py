"""How close two change sets come: by a law that is compared with the plain way of saying the same, and with git."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.core import overlap
from rookery.core.overlap import ENTRY, NEAR, OPAQUE, PLACED, Grade, Hunk, Shift

LINES = st.builds(
    lambda start, length: Hunk(start + (length > 0), length), st.integers(0, 40), st.sampled_from([0, 0, 1, 1, 2, 3, 9])
)
PLACES = st.lists(st.one_of(LINES, st.sampled_from([OPAQUE, ENTRY, PLACED])), min_size=1, max_size=6)
TOUCHED = st.dictionaries(st.sampled_from(["a", "b", "c/", "c/d"]), PLACES, max_size=4)


def gaps(hunk: Hunk) -> tuple[int, int]:
    """The places between lines that it covers, its edges with it."""
    return (hunk.start, hunk.start) if not hunk.length else (hunk.start - 1, hunk.start + hunk.length - 1)


def plainly(some: list[Hunk], others: list[Hunk]) -> Grade:
    """Every pair of places between lines, one by one."""
    best = Grade.SAME_FILE
    for a in some:
        for b in others:
            (a1, a2), (b1, b2) = gaps(a), gaps(b)
            apart = min(abs(x - y) for x in range(a1, a2 + 1) for y in range(b1, b2 + 1))
            best = max(best, Grade.CONTESTED if apart == 0 else Grade.ADJACENT if apart <= NEAR else Grade.SAME_FILE)
    return best


@given(st.lists(LINES, min_size=1, max_size=8), st.lists(LINES, min_size=1, max_size=8))
def test_lines_are_graded_as_every_pair_of_them_would_be(some: list[Hunk], others: list[Hunk]) -> None:
    assert overlap.grade(overlap.meetings({"a": some}, {"a": others})) == plainly(some, others)


@given(TOUCHED, TOUCHED)
def test_which_of_the_two_is_asked_about_does_not_matter(
    some: dict[str, list[Hunk]], others: dict[str, list[Hunk]]
) -> None:
    assert overlap.meetings(some, others) == overlap.meetings(others, some)


@given(TOUCHED, TOUCHED, st.sampled_from(["a", "b", "c/d"]), PLACES)
def test_whoever_touches_more_never_comes_less_close(
    some: dict[str, list[Hunk]], others: dict[str, list[Hunk]], path: str, more: list[Hunk]
) -> None:
    before = overlap.grade(overlap.meetings(some, others))
    wider = some | {path: [*some.get(path, []), *more]}
    assert overlap.grade(overlap.meetings(wider, others)) >= before


def test_what_can_not_be_told_is_contested_and_moving_beside_editing_is_not() -> None:
    def graded(some: list[Hunk], others: list[Hunk], path: str = "a") -> Grade:
        return overlap.grade(overlap.meetings({path: some}, {path: others}))

    edit = Hunk(5, 2)
    assert graded([OPAQUE], [edit]) is Grade.CONTESTED
    assert graded([ENTRY], [ENTRY]) is Grade.CONTESTED
    assert graded([ENTRY], [edit]) is Grade.SAME_FILE
    assert graded([ENTRY], [PLACED], "f/") is Grade.ADJACENT
    assert graded([PLACED], [PLACED], "f/") is Grade.NONE
    assert graded([edit], [Hunk(7, 1)]) is Grade.CONTESTED, "nothing unchanged between them"
    assert graded([edit], [Hunk(10, 1)]) is Grade.ADJACENT
    assert graded([edit], [Hunk(11, 1)]) is Grade.SAME_FILE


def test_one_that_may_touch_anything_contests_everything() -> None:
    met = overlap.meetings({overlap.EVERYTHING: [OPAQUE]}, {"a": [Hunk(1, 1)], "c/": [PLACED]})
    assert [(each.path, each.grade) for each in met] == [("a", Grade.CONTESTED)]
    assert overlap.grade(overlap.meetings({overlap.EVERYTHING: [OPAQUE]}, {})) is Grade.CONTESTED


def test_where_they_meet_is_told_in_lines() -> None:
    (met,) = overlap.meetings({"a": [Hunk(5, 2)]}, {"a": [Hunk(6, 4)]})
    assert met.lines == "5-9"


# --- another base -----------------------------------------------------------------------------------------------------


def test_lines_move_with_what_was_put_before_them() -> None:
    shift = {"a": Shift("b", [(3, 0, 4, 10)])}
    assert overlap.shifted({"a": [Hunk(20, 2), Hunk(1, 1)], "x": [Hunk(1, 1)]}, shift) == {
        "b": [Hunk(30, 2), Hunk(1, 1)], "x": [Hunk(1, 1)],
    }  # fmt: skip


def test_what_meets_the_difference_of_the_bases_takes_all_of_it() -> None:
    assert overlap.shifted({"a": [Hunk(5, 1)]}, {"a": Shift("a", [(4, 3, 4, 8)])}) == {"a": [Hunk(4, 8)]}
    assert overlap.shifted({"a": [Hunk(5, 1)]}, {"a": Shift("a", (), True)}) == {"a": [OPAQUE]}


@given(st.data())
def test_a_line_that_is_in_both_bases_is_found_again(data: st.DataObject) -> None:
    """Two bases are drawn as lists of lines, some of which are in both; a hunk on such a line is on that line there."""
    import difflib

    here = [f"l{n}" for n in range(data.draw(st.integers(1, 20)))]
    there = [line for line in here if data.draw(st.booleans())]
    for _ in range(data.draw(st.integers(0, 4))):
        there.insert(data.draw(st.integers(0, len(there))), f"new{len(there)}")
    shift = [
        (i1 + (i2 > i1), i2 - i1, j1 + (j2 > j1), j2 - j1)
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, here, there, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    at = data.draw(st.integers(1, len(here)))
    ((moved,),) = overlap.shifted({"a": [Hunk(at, 1)]}, {"a": Shift("a", shift)}).values()
    if here[at - 1] in there:
        assert moved.start <= there.index(here[at - 1]) + 1 < moved.start + moved.length
    assert moved.start + moved.length - 1 <= len(there)
