"""May this path be written, with ten reservations and with ten thousand: the same. Leading wildcards are told apart."""

import rookery
from rookery.store.opening import Patience, open_connection, rows

from . import scene
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, median, once_ms

WAIT_S = 60.0
FLAT = at_most(2.0)
LITERAL, WILD = "distinct folders", "leading wildcards"
PATTERNS = {
    LITERAL: ("printf('src/part-%05d/', i)", "printf('src/part-%05d', i)"),
    WILD: ("printf('**/name-%05d.py', i)", "''"),
}
_INSERT = """WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < :count)
  INSERT INTO reservations
    (team, id, request, pattern, root, agent, session, created_at, at, expires_at, ttl_ms, renewed_at)
  SELECT :team, printf('res-%07d.0', i), printf('res-%07d', i), {pattern}, {root}, :agent, :session, :now, :now,
         :now + 86400000, 86400000, :now FROM s"""
ASKED = {"free": "docs/part-00005/name-99999.py", "held": "src/part-00005/name-00005.py"}


def measure(place: Scene, sizes: Sizes) -> Section:
    counts = {LITERAL: sizes.guard, WILD: sizes.guard_wild}
    homes = {(kind, n): place.home(f"guard-{n}-{len(kind)}") for kind in PATTERNS for n in counts[kind]}
    for (kind, count), home in homes.items():
        load(home, kind, count)
    teams = {key: scene.team(home) for key, home in homes.items()}
    times: dict[tuple[str, int, str], list[float]] = {(*key, what): [] for key in homes for what in ASKED}
    try:
        agents = {key: team.agent("asker") for key, team in teams.items()}
        for kind in PATTERNS:  # one after the other: what the slow ones leave in the caches would slow the quick ones
            for _ in range(sizes.guard_calls):
                for (of, count), agent in agents.items():
                    if of == kind:
                        _ask(agent, times, (kind, count))
        _check({key: agent.call("can-write", paths=[ASKED["held"]])["allow"] for key, agent in agents.items()})
    finally:
        for team in teams.values():
            team.close()
    return Section("May a path be written", f"with {min(sizes.guard):,}", _rows(times, counts))


def _ask(agent: rookery.Agent, times: dict[tuple[str, int, str], list[float]], key: tuple[str, int]) -> None:
    for what, path in ASKED.items():
        times[*key, what].append(once_ms(lambda path=path: agent.call("can-write", paths=[path])))


def load(home: str, kind: str, count: int) -> None:
    """A home with that many reservations of one agent, which lives: it is this process."""
    with scene.team(home) as team:
        team.join("asker")
        session = team.join("holder").joined["session"]
    pattern, root = PATTERNS[kind]
    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    try:
        (agent,) = rows(connection, "SELECT id FROM agents WHERE name = 'holder'")[0]
        team_id, now = rows(connection, "SELECT id, touched_at FROM teams")[0]
        given = {"count": count, "team": team_id, "agent": agent, "session": session, "now": now}
        rows(connection, _INSERT.format(pattern=pattern, root=root), given)
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def _check(allowed: dict[tuple[str, int], bool]) -> None:
    """A guard that lets everything pass would be quick."""
    passed = [key for key, allow in allowed.items() if allow]
    if passed:
        raise AssertionError(f"a held path was free: {passed}")


def _rows(times: dict[tuple[str, int, str], list[float]], counts: dict[str, tuple[int, ...]]) -> list[Row]:
    found: list[Row] = []
    for kind in PATTERNS:
        few, many = min(counts[kind]), max(counts[kind])
        bound = FLAT if kind == LITERAL else None
        for what in ASKED:
            ours, floor = times[kind, many, what], times[kind, few, what]
            found.append(Row(f"{many:,} {kind}, {what}: p50", median(ours), median(floor), "ms", bound))
        worst = [at_quantile(times[kind, count, "held"], 0.99) for count in (many, few)]
        found.append(Row(f"{many:,} {kind}, held: p99", worst[0], worst[1], "ms"))
    return found
