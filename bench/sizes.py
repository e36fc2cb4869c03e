"""How long and how large. Both sizes measure the same things; the full one waits longer and goes further."""

from typing import NamedTuple


class Sizes(NamedTuple):
    name: str
    rounds: int  # A B A B ...: how often each side of a send comes to its turn
    alone_rounds: int  # the same for one process, whose ratio stands nearest to its bound
    round_s: float
    crowds: tuple[int, ...]  # how many processes send at once
    inbox: tuple[int, ...]  # messages stored
    inbox_calls: int
    wakes: int
    listeners: int
    starts: int
    guard: tuple[int, ...]  # reservations
    guard_wild: tuple[int, ...]  # the same, of patterns that begin with a wildcard
    guard_calls: int
    peer_checks: tuple[int, ...]  # messages stored on either side
    peer_round_s: float
    http_rounds: int
    flat_rounds: int
    http_calls: int  # of each verb in a round
    daemon_starts: int
    idle_s: float
    crew_tasks: int
    crew_sleep_s: float
    crew_landed: int
    artifacts: int
    searches: int  # of each kind
    docket_artifacts: int
    docket_calls: int
    joins: int
    at_once: int  # embedded commands started together
    readers_events: int
    readers_calls: int  # of each kind, beside the readers
    crowd_calls: int
    memory_s: float
    memory_sessions: int  # of MCP, opened in that time; every second one is abandoned


CI = Sizes(
    name="ci", rounds=8, alone_rounds=12, round_s=0.4, crowds=(1, 4, 8), inbox=(1_000, 100_000, 1_000_000),
    inbox_calls=150, wakes=150, listeners=200, starts=40, peer_checks=(1_000, 10_000), peer_round_s=0.3,
    guard=(10, 10_000), guard_wild=(10, 1_000), guard_calls=100,
    http_rounds=6, flat_rounds=4, http_calls=100, daemon_starts=4, idle_s=3.0,
    crew_tasks=40, crew_sleep_s=1.0, crew_landed=8,
    artifacts=20_000, searches=40,
    docket_artifacts=100_000, docket_calls=200, joins=1_500, at_once=40,
    readers_events=5_000, readers_calls=100, crowd_calls=100,
    memory_s=20.0, memory_sessions=150,
)  # fmt: skip
FULL = Sizes(
    name="full", rounds=10, alone_rounds=20, round_s=1.0, crowds=(1, 4, 8), inbox=(1_000, 100_000, 1_000_000),
    inbox_calls=1_000, wakes=1_000, listeners=200, starts=40, peer_checks=(1_000, 10_000, 100_000), peer_round_s=1.0,
    guard=(10, 10_000), guard_wild=(10, 1_000), guard_calls=500,
    http_rounds=20, flat_rounds=15, http_calls=400, daemon_starts=15, idle_s=20.0,
    crew_tasks=200, crew_sleep_s=1.0, crew_landed=40,
    artifacts=100_000, searches=200,
    docket_artifacts=100_000, docket_calls=1_000, joins=10_000, at_once=300,
    readers_events=100_000, readers_calls=1_000, crowd_calls=500,
    memory_s=600.0, memory_sessions=600,
)  # fmt: skip
