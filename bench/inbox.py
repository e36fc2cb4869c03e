"""The twenty most urgent messages of one mailbox, with a thousand and with a million messages stored: flat."""

from . import bulk, scene
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, median, once_ms

TOP = 20
FLAT = at_most(3.0)


def measure(place: Scene, sizes: Sizes) -> Section:
    homes = {count: place.home(f"inbox-{count}") for count in sizes.inbox}
    for count, home in homes.items():
        bulk.load(home, count)
    teams = {count: scene.team(home) for count, home in homes.items()}
    try:
        agents = {count: team.agent(bulk.reader()) for count, team in teams.items()}
        times: dict[int, list[float]] = {count: [] for count in agents}
        for _ in range(sizes.inbox_calls):
            for count, agent in agents.items():
                times[count].append(once_ms(lambda agent=agent: agent.call("inbox", limit=TOP)))
    finally:
        for team in teams.values():
            team.close()
    return Section(f"Inbox, the top {TOP} of an agent's mail", f"at {sizes.inbox[0]:,}", _rows(times))


def _rows(times: dict[int, list[float]]) -> list[Row]:
    smallest, largest = times[min(times)], max(times)
    rows = [
        Row(f"{count:,} messages: p50", median(taken), median(smallest), "ms", FLAT if count == largest else None)
        for count, taken in times.items()
    ]
    p99 = at_quantile(times[largest], 0.99), at_quantile(smallest, 0.99)
    return [*rows, Row(f"{largest:,} messages: p99", p99[0], p99[1], "ms")]
