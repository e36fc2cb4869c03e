"""Where the boxes of a dependency graph go: columns from left to right, every task right of all it depends on.

The steps are those of Sugiyama: leave out arrows that follow from others, give each task a column, let long arrows pass
through places of their own in the columns between (so that none runs across a box), order each column so that few
arrows cross, and align. Long arrows from one task, or to one task, share their way. Same input, same picture.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil, sqrt

from rookery.core import graph
from rookery.core.record import NamedTuple

Edge = tuple[str, str]  # (what must be done first, what waits for it)

# More places than this and ordering them takes longer than anyone wants to wait; then arrows go straight.
_PLACES_LIMIT = 8_000
_SWEEPS = 12
_SLACK = 1.1  # of the longest column, for arrows to be straight


class Sizes(NamedTuple):
    box: float
    gap: float
    lane: float  # the height of a place that an arrow passes through


class Place(NamedTuple):
    column: int
    middle: float
    task: str | None  # None where an arrow passes


class Layout(NamedTuple):
    places: list[Place]
    segments: dict[tuple[int, int], list[Edge]]  # two places, and the arrows that go from one to the other
    columns: int
    height: float


def layered(deps: graph.Deps, keep: Iterable[Edge], sizes: Sizes) -> Layout:
    """`keep` are arrows that are drawn even if they follow from others."""
    columns = _columns(deps)
    work = _Work(deps, columns)
    # Short ones first: if there is not room for all, it is the longest that go straight.
    for edge in sorted(_essential(deps, set(keep)), key=lambda edge: columns[edge[1]] - columns[edge[0]]):
        work.route(edge)
    rows = work.rows()
    work.untangle(rows)
    middles = _Heights(work, rows, sizes).all()
    places = [Place(work.column[i], middles[i], work.task[i]) for i in range(len(middles))]
    bottom = max((place.middle for place in places), default=0.0) + sizes.box / 2
    return Layout(places, work.segments, len(rows), bottom)


def _essential(deps: graph.Deps, keep: set[Edge]) -> list[Edge]:
    """The arrows that do not follow from others. One bit for each task: a set would not fit for thousands."""
    reach: dict[str, int] = {}
    edges: list[Edge] = []
    for number, task in enumerate(graph.order(deps)):
        needs = [dep for dep in dict.fromkeys(deps[task]) if dep in deps]
        beyond = 0
        for dep in needs:
            beyond |= reach[dep] ^ _own_bit(reach[dep])
        edges += [(dep, task) for dep in needs if not beyond & _own_bit(reach[dep]) or (dep, task) in keep]
        reach[task] = 1 << number
        for dep in needs:
            reach[task] |= reach[dep]
    return edges


def _own_bit(reach: int) -> int:
    """A task comes after all it reaches, so that its own bit is the highest."""
    return 1 << (reach.bit_length() - 1)


def _columns(deps: graph.Deps) -> dict[str, int]:
    """As far left as possible, but no column much longer than the picture is wide; what much waits for goes first."""
    room = max(8, ceil(sqrt(1.6 * len(deps))))
    level = graph.levels(deps)
    rank = graph.ranks(deps, lambda _: 1)
    filled: dict[int, int] = {}
    result: dict[str, int] = {}
    for task in sorted(deps, key=lambda name: (level[name], -rank[name])):
        column = max((result[dep] + 1 for dep in deps[task] if dep in deps), default=0)
        while filled.get(column, 0) >= room:
            column += 1
        filled[column] = filled.get(column, 0) + 1
        result[task] = column
    return result


class _Work:
    """Places are numbers: first the tasks, as they are listed, then those that arrows pass through."""

    def __init__(self, deps: graph.Deps, columns: Mapping[str, int]) -> None:
        self.task: list[str | None] = list(deps)
        self.column = [columns[task] for task in deps]
        self.number = {task: i for i, task in enumerate(deps)}
        self.passing: dict[tuple[bool, str, int], int] = {}
        self.load: dict[int, int] = {}  # how many arrows use a place
        self.segments: dict[tuple[int, int], list[Edge]] = {}
        self.into = {task: len(set(needs)) for task, needs in deps.items()}
        self.out = {task: len(after) for task, after in graph.dependents(deps).items()}

    def route(self, edge: Edge) -> None:
        first, last = self.number[edge[0]], self.number[edge[1]]
        way = [first]
        between = range(self.column[first] + 1, self.column[last])
        if len(self.task) + len(between) <= _PLACES_LIMIT:
            way += [self._lane(edge, column) for column in between]
        way.append(last)
        for segment in pairwise(way):
            self.segments.setdefault(segment, []).append(edge)
        for place in way:
            self.load[place] = self.load.get(place, 0) + 1

    def _lane(self, edge: Edge, column: int) -> int:
        """Arrows share their way where they have most in common: their beginning or their end."""
        at_end = self.into[edge[1]] > self.out[edge[0]]
        found = self.passing.setdefault((at_end, edge[at_end], column), len(self.task))
        if found == len(self.task):
            self.task.append(None)
            self.column.append(column)
        return found

    def rows(self) -> list[list[int]]:
        """The places of each column, top to bottom: at first as listed."""
        rows: list[list[int]] = [[] for _ in range(max(self.column, default=-1) + 1)]
        for place, column in enumerate(self.column):
            rows[column].append(place)
        return rows

    def neighbours(self) -> tuple[list[list[int]], list[list[int]]]:
        before: list[list[int]] = [[] for _ in self.task]
        after: list[list[int]] = [[] for _ in self.task]
        for first, last in self.segments:
            after[first].append(last)
            before[last].append(first)
        return before, after

    def untangle(self, rows: list[list[int]]) -> None:
        """Each place goes where its neighbours are on average, to and fro; the order that crosses least stays."""
        before, after = self.neighbours()
        best, fewest = [list(row) for row in rows], self._crossings(rows, after)
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            rightwards = sweep % 2 == 0
            near = before if rightwards else after
            at = {place: i / max(len(row), 1) for row in rows for i, place in enumerate(row)}
            for row in rows if rightwards else reversed(rows):
                wanted = {place: _mean([at[other] for other in near[place]], at[place]) for place in row}
                row.sort(key=wanted.__getitem__)
                at.update((place, i / len(row)) for i, place in enumerate(row))
            crossings = self._crossings(rows, after)
            if crossings < fewest:
                best, fewest = [list(row) for row in rows], crossings
        rows[:] = best

    def _crossings(self, rows: list[list[int]], after: list[list[int]]) -> int:
        """Pairs of segments between two columns that change sides, counted by inserting ends in order."""
        from bisect import bisect_right, insort

        at = {place: i for row in rows for i, place in enumerate(row)}
        total = 0
        for row in rows:
            ends: list[int] = []
            for place in row:
                here = sorted(at[other] for other in after[place])
                total += sum(len(ends) - bisect_right(ends, end) for end in here)
                for end in here:
                    insort(ends, end)
        return total


class _Heights:
    """Near the neighbours, in order, not too close, and all within hardly more than the longest column takes."""

    def __init__(self, work: _Work, rows: list[list[int]], sizes: Sizes) -> None:
        self.work = work
        self.rows = rows
        self.sizes = sizes
        self.offsets = [self._stacked(row) for row in rows]
        self.room = _SLACK * max((offsets[-1] for offsets in self.offsets), default=0.0)
        self.middles = [0.0] * len(work.task)

    def all(self) -> list[float]:
        """The middle of every place, from the top of the picture."""
        before, after = self.work.neighbours()
        both = [[*left, *right] for left, right in zip(before, after, strict=True)]
        for column in range(len(self.rows)):
            self._settle(column, [0.0] * len(self.rows[column]))
        for sweep in range(_SWEEPS):
            rightwards = sweep % 2 == 0
            near = both if sweep >= _SWEEPS - 2 else before if rightwards else after
            for column in range(len(self.rows))[:: 1 if rightwards else -1]:
                self._settle(column, [self._wish(near[place], place) for place in self.rows[column]])
        top = min((middle - self._half(place) for place, middle in enumerate(self.middles)), default=0.0)
        return [middle - top for middle in self.middles]

    def _wish(self, near: Sequence[int], place: int) -> float:
        return _mean([self.middles[other] for other in near], self.middles[place])

    def _half(self, place: int) -> float:
        return (self.sizes.lane if self.work.task[place] is None else self.sizes.box) / 2

    def _stacked(self, row: Sequence[int]) -> list[float]:
        """Where the middles of a column are, from that of the first, if it is packed."""
        task, gap = self.work.task, self.sizes.gap
        offsets = [0.0]
        for upper, lower in pairwise(row):
            between = gap * 0.75 if None in (task[upper], task[lower]) else gap
            offsets.append(offsets[-1] + self._half(upper) + between + self._half(lower))
        return offsets

    def _settle(self, column: int, wishes: Sequence[float]) -> None:
        """The heights nearest to the wishes that keep order and distance: places that push become one block.

        A lane weighs as much as what passes through it, so that long arrows run straight rather than boxes. The bounds
        keep a column from pushing the next one a little further each time, right across the page.
        """
        row, offsets = self.rows[column], self.offsets[column]
        blocks: list[tuple[float, int, int]] = []  # mean wish of its members less their offsets; weight; how many
        for place, wish, offset in zip(row, wishes, offsets, strict=True):
            mean, weight, count = wish - offset, self._weight(place), 1
            while blocks and blocks[-1][0] > mean:
                other, more, members = blocks.pop()
                mean = (mean * weight + other * more) / (weight + more)
                weight, count = weight + more, count + members
            blocks.append((mean, weight, count))
        starts = [mean for mean, _, count in blocks for _ in range(count)]
        highest, lowest = -self.room / 2, self.room / 2 - offsets[-1]
        for place, start, offset in zip(row, starts, offsets, strict=True):
            self.middles[place] = min(max(start, highest), lowest) + offset

    def _weight(self, place: int) -> int:
        return 1 + 2 * self.work.load[place] if self.work.task[place] is None else 1


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
