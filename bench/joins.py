"""Agents that join one after another: a join costs the same with ten agents and with ten thousand."""

from . import scene
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import median, once_ms

SAMPLE = 200  # joins at either end
FLAT = at_most(3.0)


def measure(place: Scene, sizes: Sizes) -> Section:
    with scene.team(place.home("joins")) as team:
        times = [once_ms(lambda n=n: team.join(f"agent{n}")) for n in range(sizes.joins)]
    row = Row(
        f"{sizes.joins:,} joins: p50 of the last {SAMPLE}", median(times[-SAMPLE:]), median(times[:SAMPLE]), "ms", FLAT
    )
    return Section("Joins", f"the first {SAMPLE}", [row])
