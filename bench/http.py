"""Requests per second over HTTP: the daemon against a bare starlette application that commits the same rows, or runs
the same SELECT. One process asks, over one connection and over eight; the sides take turns, verb by verb.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from . import http_home
from .floor import differences
from .helper import Helper
from .http_load import drive
from .http_sides import VERBS, WRITES, Side, floor, ours
from .report import Row, Section, at_least
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile

TASKS = 100
CONNECTIONS = (1, http_home.AGENTS)
READS = 3  # as many reads as writes in a round, because they take so much less
BOUND = at_least(0.5)
LOOKS = 5  # a bound that seems missed is looked at for longer, all rounds counting
NEWEST = {
    "tasks": "SELECT *, lease_until - renewed_at AS lasts FROM tasks ORDER BY n DESC LIMIT 1",
    "events": "SELECT * FROM events WHERE type LIKE 'task.%' ORDER BY seq DESC LIMIT 1",
    "reservations": "SELECT *, expires_at - created_at AS lasts FROM reservations ORDER BY task DESC LIMIT 1",
    "counters": "SELECT * FROM counters WHERE name = 'task'",
    "teams": "SELECT id, seq FROM teams",
    "counts": "SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM reservations), (SELECT count(*) FROM events)",
}
TIMES = {"at", "created_at", "started", "ended", "lease_until", "renewed_at", "expires_at"}
VOLATILE = {*TIMES, "id", "caller"}  # an id of chance; those of tasks come from their numbers, which are compared
Rates = dict[tuple[int, str], dict[str, list[float]]]


def measure(place: Scene, sizes: Sizes) -> Section:
    with ExitStack() as stack:
        sides = _sides(stack, place)
        load = stack.enter_context(Helper(drive))
        load.hear()
        _check_alike(load, sides)
        rates: Rates = {(count, verb): {} for count in CONNECTIONS for verb in VERBS}
        rows: list[Row] = []
        for look in range(1, LOOKS + 1):
            for _ in range(sizes.http_rounds):
                for count in CONNECTIONS:
                    one_round(load, sides, count, sizes.http_calls, rates)
            rows = _rows(rates, look)
            if all(row.ok is not False for row in rows):
                break
    return Section("HTTP, requests per second", "bare starlette", rows)


def _sides(stack: ExitStack, place: Scene) -> dict[str, Side]:
    sides: dict[str, Side] = {}
    for name, start in (("ours", ours), ("floor", floor)):
        home = place.home(f"http-{name}")
        http_home.load(home, TASKS)
        sides[name] = Side(stack.enter_context(start(place, home)).address, home, TASKS)
    return sides


def one_round(load: Helper, sides: Mapping[str, Side], connections: int, calls: int, rates: Rates) -> None:
    """Each verb by one side, then by the other; who is first changes from round to round."""
    for verb in VERBS:
        count = calls if verb in WRITES else calls * READS
        turns = rates[connections, verb]
        done = len(next(iter(turns.values()), ()))
        for name in list(sides)[:: -1 if done % 2 else 1]:
            answered = sides[name].round(load, verb, connections, count)
            turns.setdefault(name, []).append(count / answered.seconds)
    for side in sides.values():
        side.trim()


def usual(rates: Sequence[float]) -> float:
    """The rate that a quarter of the rounds surpass. A round is short, and whoever else wants the processor takes time
    away from it but never gives any: of that the slower half of the rounds would tell."""
    return at_quantile(rates, 0.75)


def _check_alike(load: Helper, sides: Mapping[str, Side]) -> None:
    """Both sides write the same rows and find the same things; otherwise there is nothing to compare."""
    for verb in VERBS:
        told = {name: side.round(load, verb, 1, http_home.AGENTS).answers[-1][1] for name, side in sides.items()}
        if verb in WRITES and (unlike := differences(sides["ours"].home, sides["floor"].home, NEWEST, VOLATILE)):
            raise AssertionError(f"the floor no longer writes what {verb} writes: {'; '.join(unlike)}")
        found = {name: _found(verb, body) for name, body in told.items()}
        if found["ours"] != found["floor"]:
            raise AssertionError(f"{verb} finds {found['ours']}, the floor {found['floor']}")


def _found(verb: str, body: bytes) -> object:
    told = json.loads(body)
    if verb == "can-write":
        return told["allow"]
    return [event["seq"] for event in told["events"]] if verb == "inbox" else None


def _rows(rates: Rates, look: int) -> list[Row]:
    rows = [
        Row(f"{_who(count)}: {verb}", usual(each["ours"]), usual(each["floor"]), "/s", BOUND)
        for (count, verb), each in rates.items()
    ]
    return noted(rows, look)


def noted(rows: Sequence[Row], look: int) -> list[Row]:
    """Told in the table: a bound that needed another look is a thin one."""
    note = f"Bounds were looked at {look} times, all rounds counting." if look > 1 else ""
    return [replace(row, notes=note) for row in rows]


def _who(count: int) -> str:
    return "1 connection" if count == 1 else f"{count} connections"
