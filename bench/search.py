"""Search, lists and one look, with many artifacts stored; against the bare full-text index of the same file."""

import itertools

import apsw

from rookery.store.opening import Patience, open_connection, rows

from . import scene
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, median, once_ms

WAIT_S = 60.0
KINDS = ("command", "error", "edit", "code", "prompt", "response", "test")
LETTERS = "cefbprt"
WORKERS = 200
TERMS = ("rare{}", "module{}", "everywhere")  # in one of a thousand, in one of a hundred, in all of them
_FILL = """WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < :count)
  INSERT INTO evidence (team, id, ref, kind, worker, agent, title, body, bytes, failed, created_at, at)
  SELECT :team, substr(:letters, 1 + i % 7, 1) || i, 'bench:' || i, json_extract(:kinds, '$[' || (i % 7) || ']'),
    'w' || (i % :workers), :agent, 'pytest -q tests of module' || (i % 100) || ' everywhere',
    'the parser of rare' || (i % 1000) || ' says that the header has no colon in line ' || i || ', and so on' ||
    ' and the next one is in another file of the same folder, where nobody looked for it', 200, i % 7 = 1, :now, :now
  FROM s"""
# What no search by rank can do without: the newest matches, each with its rank.
_FLOOR = """SELECT rowid, bm25(evidence_fts, 0.0, 4.0, 1.0) FROM evidence_fts WHERE evidence_fts MATCH :match
  ORDER BY rowid DESC LIMIT 2000"""
BOUND, LOOK = at_most(10.0), at_most(10.0)


def measure(place: Scene, sizes: Sizes) -> Section:
    home = place.home("search")
    load(home, sizes.artifacts)
    bare = open_connection(scene.database(home), Patience(), WAIT_S)
    before = resident_mib()
    with scene.team(home) as team:
        agent = team.agent("ada")
        ours: dict[str, list[float]] = {}
        floor: dict[str, list[float]] = {}
        for n, term in itertools.product(range(sizes.searches), TERMS):
            word = term.format(n % 100)
            match = f"scope : t{rows(bare, 'SELECT id FROM teams')[0][0]} AND {word}"
            floor.setdefault(term, []).append(once_ms(lambda match=match: rows(bare, _FLOOR, {"match": match})))
            ours.setdefault(term, []).append(once_ms(lambda word=word: agent.call("search", query=[word])))
        listed = [once_ms(lambda n=n: agent.call("artifacts", worker="", limit=20)) for n in range(sizes.searches)]
        shown = [once_ms(lambda n=n: agent.call("show", ref=f"bench:{n + 1}")) for n in range(sizes.searches)]
    after = resident_mib()
    bare.close()
    least = median(floor[TERMS[0]])
    return Section(
        f"Search in {sizes.artifacts:,} artifacts",
        "bare index",
        [*_rows(ours, floor), Row("the newest 20, p99", at_quantile(listed, 0.99), least, "ms", LOOK),
         Row("one of them, p99", at_quantile(shown, 0.99), least, "ms", LOOK),
         Row("memory of the process, against before", after, before, "MiB", at_most(2.0))],
    )  # fmt: skip


def _rows(ours: dict[str, list[float]], floor: dict[str, list[float]]) -> list[Row]:
    said = dict(zip(TERMS, ("1 of 1,000", "1 of 100", "all of them"), strict=True))
    p50 = [Row(f"a word in {said[term]}: p50", median(ours[term]), median(floor[term]), "ms") for term in TERMS]
    p99 = [at_quantile(ours[term], 0.99) for term in TERMS]
    bounded = [
        Row(f"a word in {said[term]}: p99", took, at_quantile(floor[term], 0.99), "ms", BOUND)
        for term, took in zip(TERMS, p99, strict=True)
    ]
    return [*p50, *bounded]


def load(home: str, count: int) -> None:
    import json

    with scene.team(home) as team:
        team.join("ada")
    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    try:
        team_id, now = rows(connection, "SELECT id, touched_at FROM teams")[0]
        agent = rows(connection, "SELECT id FROM agents WHERE name = 'ada'")[0][0]
        rows(connection, "BEGIN IMMEDIATE")
        rows(connection, _FILL, {"count": count, "team": team_id, "now": now, "agent": agent, "letters": LETTERS,
                                 "kinds": json.dumps(KINDS), "workers": WORKERS})  # fmt: skip
        rows(connection, "COMMIT")
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    except apsw.Error:
        connection.close()
        raise
    connection.close()


def resident_mib() -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
