"""Durable sends per second: `agent.send` against bare apsw writing the same rows, by one, four and eight processes.

Each process stays for the whole measurement and holds both sides, each in a database of its own. The sides take turns:
in a round every process of the crowd sends through one side between the same two moments, then through the other.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

from . import scene
from .floor import Floor, differences
from .helper import Helper
from .report import Row, Section, at_least
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, hammer, median

READER = "reader"
# Alone and in a crowd. A bare loop keeps the lock for itself in longer runs, a send gives the others a chance between
# two of its own; the bound holds all the same.
BOUND = at_least(0.5)
SIDES = ("ours", "floor")
LOOKS = 3  # a bound that seems missed is looked at for longer, all rounds counting: noise passes, slowness stays
LEAD_S = 0.02  # between the order and the first call, so that all begin together


class Round(NamedTuple):
    rate: float  # of the whole crowd
    times_ms: list[float]


def measure(place: Scene, sizes: Sizes) -> Section:
    homes = {side: place.home(f"send-{side}") for side in SIDES}
    with ExitStack() as stack:
        for home in homes.values():
            # The reader lives as long as this process: the usual case, and the one in which a send looks at it.
            stack.enter_context(scene.team(home)).join(READER)
        crowd = [stack.enter_context(Helper(work, index, homes)) for index in range(max(sizes.crowds))]
        for helper in crowd:
            helper.hear()
        rows = [row for count in sizes.crowds for row in _crowd(crowd[:count], sizes)]
    if unlike := differences(homes["ours"], homes["floor"]):
        raise AssertionError(f"the floor no longer writes what a send writes: {'; '.join(unlike)}")
    return Section("Durable send, one recipient", "bare apsw", rows)


def _crowd(crowd: Sequence[Helper], sizes: Sizes) -> list[Row]:
    rounds = sizes.alone_rounds if len(crowd) == 1 else sizes.rounds
    turns: dict[str, list[Round]] = {side: [] for side in SIDES}
    for side in SIDES:
        _round(crowd, side, sizes.round_s / 2)  # warm: caches, prepared statements, a first checkpoint
    rows: list[Row] = []
    for look in range(1, LOOKS + 1):
        for _ in range(rounds):
            for side in SIDES:
                turns[side].append(_round(crowd, side, sizes.round_s))
        rows = _rows(len(crowd), turns["ours"], turns["floor"])
        if look > 1:  # told in the table: a bound that needed another look is a thin one
            rows[0] = replace(rows[0], notes=f"Its bound was looked at {look} times, all rounds counting.")
        if all(row.ok is not False for row in rows):
            break
    return rows


def _round(crowd: Sequence[Helper], side: str, seconds: float) -> Round:
    start = time.monotonic() + LEAD_S
    for helper in crowd:
        helper.tell((side, start, start + seconds))
    times = [one for helper in crowd for one in helper.hear()]
    return Round(len(times) / seconds, times)


def _rows(count: int, ours: Sequence[Round], floor: Sequence[Round]) -> list[Row]:
    who = "1 process" if count == 1 else f"{count} processes"

    def row(what: str, number: Callable[[list[float]], float]) -> Row:
        return Row(f"{who}: {what}", number(_all_times(ours)), number(_all_times(floor)), "ms")

    rates = median([turn.rate for turn in ours]), median([turn.rate for turn in floor])
    return [
        Row(f"{who}: sends", rates[0], rates[1], "/s", BOUND),
        row("p99 of a send", lambda times: at_quantile(times, 0.99)),
        row("longest wait", max),
    ]


def _all_times(turns: Sequence[Round]) -> list[float]:
    return [one for turn in turns for one in turn.times_ms]


def work(pipe: Any, index: int, homes: dict[str, str]) -> None:
    """A process of the crowd: sends when told to, until the pipe is closed."""
    name = f"sender-{index}"
    bare = Floor(homes["floor"], name, READER, offset=index)
    with scene.team(homes["ours"]) as team:
        me = team.join(name)
        calls = {"ours": lambda: me.send(READER, scene.SUBJECT, scene.BODY), "floor": bare.send}
        pipe.send("ready")
        try:
            while True:
                side, start, end = pipe.recv()
                pipe.send(hammer(calls[side], start, end))
        except EOFError:
            bare.close()
