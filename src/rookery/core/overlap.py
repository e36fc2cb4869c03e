"""The law of overlap: how close two change sets come to each other, by the lines of the commit that both began at.

    contested   the same lines, or nothing unchanged between them: what git calls a conflict
    adjacent    at most three unchanged lines between them, or one moves a folder in which the other puts a file
    same file   both change it, further apart
    none        nothing in common

What can not be told by lines (a binary, a deletion, too much) is contested by whatever else is done there.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from rookery.core.record import NamedTuple

NEAR = 3  # unchanged lines between two places that are still read together
EVERYTHING = ""  # the path of a change set that is too large to be told: it may touch anything


class Grade(IntEnum):
    NONE = 0
    SAME_FILE = 1
    ADJACENT = 2
    CONTESTED = 3

    @property
    def word(self) -> str:
        return WORDS[self]


WORDS = {Grade.NONE: "none", Grade.SAME_FILE: "same file", Grade.ADJACENT: "adjacent", Grade.CONTESTED: "contested"}


class Hunk(NamedTuple):
    """Lines of the base, as `git diff` counts them: from 1, and with a length of 0 those between `start` and the next.
    A length below 0 says something of the whole file or folder instead."""

    start: int
    length: int


OPAQUE = Hunk(-1, -1)  # what was done there can not be told by lines
ENTRY = Hunk(-2, -2)  # of a file: its name or mode changed; of a folder: files were moved out of it
PLACED = Hunk(-3, -3)  # of a folder: a file came to be in it

Touched = Mapping[str, Sequence[Hunk]]  # by path; folders end in /


class Met(NamedTuple):
    """Where two change sets meet."""

    path: str
    grade: Grade
    lines: str = ""  # as people write them, where it can be told by lines


# -- lines -----------------------------------------------------------------------------------------------------------


def _span(hunk: Hunk) -> tuple[int, int]:
    """Between which lines it lies: how many are before it, and how many when it is over."""
    return (hunk.start, hunk.start) if hunk.length == 0 else (hunk.start - 1, hunk.start - 1 + hunk.length)


def _of_span(low: int, high: int) -> Hunk:
    return Hunk(low, 0) if low == high else Hunk(low + 1, high - low)


def _by_lines(some: Sequence[Hunk], others: Sequence[Hunk]) -> tuple[Grade, str]:
    """Both go forward, the one that ends first; what lies far behind the other can meet nothing more."""
    left, right = _spans(some), _spans(others)
    best, where, i, j = Grade.NONE, "", 0, 0
    while i < len(left) and j < len(right) and best is not Grade.CONTESTED:
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        grade = Grade.CONTESTED if low <= high else Grade.ADJACENT if low - high <= NEAR else Grade.SAME_FILE
        if grade > best:
            best, where = grade, _written(min(left[i][0], right[j][0]), max(left[i][1], right[j][1]))
        if left[i][1] <= right[j][1]:
            i += 1
        else:
            j += 1
    return best, where if best >= Grade.ADJACENT else ""


def _spans(hunks: Sequence[Hunk]) -> list[tuple[int, int]]:
    """In order, and apart from each other."""
    apart: list[tuple[int, int]] = []
    for low, high in sorted(_span(each) for each in hunks if each.length >= 0):
        if apart and low <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], high))
        else:
            apart.append((low, high))
    return apart


def _written(low: int, high: int) -> str:
    return f"{low + 1}" if high <= low + 1 else f"{low + 1}-{high}"


# -- files and folders -----------------------------------------------------------------------------------------------


def _meet(path: str, some: Sequence[Hunk], others: Sequence[Hunk]) -> Met:
    if OPAQUE in some or OPAQUE in others:
        return Met(path, Grade.CONTESTED)
    if path.endswith("/"):
        crossed = (ENTRY in some and PLACED in others) or (PLACED in some and ENTRY in others)
        return Met(path, Grade.ADJACENT if crossed else Grade.NONE)
    if ENTRY in some and ENTRY in others:
        return Met(path, Grade.CONTESTED)
    grade, lines = _by_lines(some, others)
    return Met(path, max(grade, Grade.SAME_FILE), lines)


def meetings(some: Touched, others: Touched) -> list[Met]:
    """Every place where two change sets of one base meet, the closest first. The order of the two does not matter."""
    if EVERYTHING in some or EVERYTHING in others:
        shared = sorted({path for path in (*some, *others) if path and not path.endswith("/")})
        return [Met(path, Grade.CONTESTED) for path in shared] or [Met(EVERYTHING, Grade.CONTESTED)]
    small, large = (some, others) if len(some) <= len(others) else (others, some)
    met = (_meet(path, some[path], others[path]) for path in small if path in large)
    return sorted((each for each in met if each.grade), key=lambda each: (-each.grade, each.path))


def grade(met: Iterable[Met]) -> Grade:
    return max((each.grade for each in met), default=Grade.NONE)


# -- another base ----------------------------------------------------------------------------------------------------


class Shift(NamedTuple):
    """What became of a file between two bases: its name there, and which lines stand for which."""

    path: str
    lines: Sequence[tuple[int, int, int, int]] = ()  # start and length here, start and length there
    opaque: bool = False


def shifted(touched: Touched, shifts: Mapping[str, Shift]) -> dict[str, list[Hunk]]:
    """The same change set as lines of another base. Where that differs, all of the difference counts as touched."""
    there: dict[str, list[Hunk]] = {}
    for path, hunks in touched.items():
        shift = shifts.get(path)
        if shift is None:
            there.setdefault(path, []).extend(hunks)
        elif shift.opaque:
            there.setdefault(shift.path, []).append(OPAQUE)
        else:
            there.setdefault(shift.path, []).extend(_moved(each, shift.lines) for each in hunks)
    return there


def _moved(hunk: Hunk, lines: Sequence[tuple[int, int, int, int]]) -> Hunk:
    if hunk.length < 0:
        return hunk
    low, high = _span(hunk)
    before = within = 0
    start, end = low, high
    for here_at, here_long, _, there_long in sorted(lines):
        first, last = _span(Hunk(here_at, here_long))
        grown = there_long - here_long
        if last < low:
            before += grown
        elif first <= high:
            start, end, within = min(start, first), max(end, last), within + grown
    return _of_span(start + before, end + before + within)
