"""The same requests with a hundred tasks stored and with a hundred thousand: flat."""

from contextlib import ExitStack

from . import http_home
from .helper import Helper
from .http import LOOKS, Rates, noted, one_round, usual
from .http_load import drive
from .http_sides import VERBS, Side, ours
from .report import Row, Section, at_least
from .scene import Scene
from .sizes import Sizes

FEW, MANY = 100, 100_000
FLAT = at_least(0.5)


def measure(place: Scene, sizes: Sizes) -> Section:
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        for count in (FEW, MANY):
            home = place.home(f"flat-{count}")
            http_home.load(home, count)
            sides[f"{count}"] = Side(stack.enter_context(ours(place, home)).address, home, count)
        load = stack.enter_context(Helper(drive))
        load.hear()
        rates: Rates = {(1, verb): {} for verb in VERBS}
        rows: list[Row] = []
        for look in range(1, LOOKS + 1):
            for _ in range(sizes.flat_rounds):
                one_round(load, sides, 1, sizes.http_calls, rates)
            rows = noted([_row(verb, each) for (_, verb), each in rates.items()], look)
            if all(row.ok is not False for row in rows):
                break
    return Section(f"HTTP with {MANY:,} tasks stored", f"{FEW} tasks", rows)


def _row(verb: str, rates: dict[str, list[float]]) -> Row:
    return Row(f"1 connection: {verb}", usual(rates[f"{MANY}"]), usual(rates[f"{FEW}"]), "/s", FLAT)
