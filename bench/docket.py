"""The docket with two hundred workers and a hundred thousand artifacts: how long a look takes, and what it takes."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from rookery import app
from rookery.runtime import process
from rookery.store.opening import Patience, open_connection, rows

from . import scene
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, median, once_ms

WORKERS, ASKING = 200, 50
FILES, MEETS = 20, 3
ALLOWED_MS = 50.0
WAIT_S = 60.0
WORDS = ("parser", "header", "tokens", "retry", "socket", "ledger", "cursor", "budget", "schema", "timeout")
SUMMARY = "Rewrote the reader of headers so that it names the line of every error, and ran its tests again."

# One row of what happened for each number, spread over the workers and the kinds; what failed is rare.
_EVIDENCE = """WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < :count)
  INSERT INTO evidence (team, id, ref, kind, worker, agent, task, run, title, body, bytes, failed, created_at, at)
  SELECT :team, 'c' || i, 'bench:' || i, CASE i % 4 WHEN 0 THEN 'edit' WHEN 1 THEN 'response' ELSE 'command' END,
         w.id, w.agent, w.task, w.run, 'step ' || i || ' of ' || {word},
         'It looked at ' || {word} || ' and then at part ' || (i % 997) || '. ' || hex(i * 7919), 60,
         i % 50 = 0, :now, :now
  FROM s JOIN workers w ON w.team = :team AND w.n = 1 + i % :workers"""
_CHANGE = """INSERT INTO changes
    (team, n, id, worker, task, base, head, branch, files, paths, added, removed, graded,
     created_at, at)
  SELECT team, n, printf('change-%04d', n), id, task, printf('%040x', 1), printf('%040x', n + 1000), 'main', :files,
         :paths, 400, 100, 1, :now, :now FROM workers WHERE team = :team AND n > :asking"""
_BOUND = """UPDATE deliverables SET change = printf('change-%04d', CAST(substr(worker, 2) AS INTEGER)),
    head = printf('%040x', CAST(substr(worker, 2) AS INTEGER) + 1000) WHERE team = :team"""
_MEETS = """WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < :meets)
  INSERT INTO overlaps (team, change, other, grade, paths, at)
  SELECT :team, c.id, d.id, 1 + s.i % 3, '[{"path": "src/part-01.py", "grade": "contested", "lines": "3"}]', :now
  FROM changes c JOIN s JOIN changes d ON d.team = c.team AND d.n = c.n - s.i WHERE c.team = :team"""


def measure(place: Scene, sizes: Sizes) -> Section:
    home = place.home("docket")
    house = app.open_house(
        cwd=place.folder, environ={"ROOK_HOME": home, "ROOK_TEAM": scene.TEAM, "ROOK_WORKER_LIMIT": "1000"}
    )
    try:
        _report(house, place.folder)
        _fill(home, sizes.docket_artifacts)
        times = _looks(house, sizes.docket_calls)
    finally:
        house.close()
    size = f"{WORKERS} workers, {sizes.docket_artifacts:,} artifacts"
    return Section(f"The docket: {size}", f"{ALLOWED_MS:g} ms", [*map(_row, times, times.values()), _memory()])


def _row(name: str, times: list[float]) -> Row:
    note = f"median {median(times):.1f} ms"
    return Row(f"{name}, p99", at_quantile(times, 0.99), ALLOWED_MS, "ms", at_most(1.0), note)


def _memory() -> Row:
    """Of this process, which holds the ledger and has looked at all of that."""
    with open("/proc/self/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    return Row("memory of the process that looked", peak / 1024, None, "MiB")


# -- what there is ---------------------------------------------------------------------------------------------------


def _report(house: app.House, root: str) -> None:
    """Every worker has reported or asked, by the verbs that do so."""
    mine = process.identify(os.getpid())
    assert mine is not None
    call: Callable[..., Any] = house.client.call
    for number in range(1, WORKERS + 1):
        asked = {
            "assignment": f"Piece {number}",
            "host": "script",
            "program": ["true"],
            "no_worktree": True,
            "root": root,
        }
        id = call("spawn", asked, house.caller())["id"]
        order = call("worker.begin", {"id": id, "owner": "bench:1:1"}, house.caller("system"))["worker"]
        begun = {"id": id, "run": order["run"], "pid": mine.pid, "since": mine.started}
        call("worker.started", begun, house.caller("system"))
        me = house.caller(order["name"], lineage=(tuple(mine),))
        if number <= ASKING:
            options = {"question": "Which of the two?", "options": ["this", "that"], "risk": "medium"}
            call("ask", options, me)
        else:
            call("done", {"outcome": "findings", "summary": SUMMARY, "tests": ["pytest -q: 12 passed"]}, me)


def _fill(home: str, count: int) -> None:
    import json

    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    files = [{"path": f"src/part-{n:02d}.py", "status": "M", "added": 20, "removed": 5} for n in range(FILES)]
    each_word = " ".join(f"WHEN {n} THEN '{each}'" for n, each in enumerate(WORDS))
    word = f"CASE i % {len(WORDS)} {each_word} END"
    try:
        team, now = rows(connection, "SELECT id, touched_at FROM teams")[0]
        given: Mapping[str, Any] = {
            "team": team, "now": now, "count": count, "workers": WORKERS, "asking": ASKING, "paths": FILES,
            "files": json.dumps(files), "meets": MEETS,
        }  # fmt: skip
        rows(connection, "BEGIN IMMEDIATE")
        for statement in (_EVIDENCE.format(word=word), _CHANGE, _BOUND, _MEETS):
            rows(connection, statement, given)
        rows(connection, "COMMIT")
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


# -- looking ---------------------------------------------------------------------------------------------------------


def _looks(house: app.House, calls: int) -> dict[str, list[float]]:
    me = house.caller("user")
    found = house.client.call("docket", {"limit": 100}, me)
    assert found["waiting"] == WORKERS, found["waiting"]
    results = [f"w{number}/1" for number in range(ASKING + 1, WORKERS + 1)]
    asked = [f"w{number}/q1" for number in range(1, ASKING + 1)]
    card = house.client.call("card", {"subject": results[-1]}, me)
    assert [part for part in ("change", "conflicts", "evidence") if not card[part]] == []
    times: dict[str, list[float]] = {"docket": [], "card of a result": [], "card of a question": [], "search": []}
    for n in range(calls):
        for name, verb, args in (
            ("docket", "docket", {}), ("card of a result", "card", {"subject": results[n % len(results)]}),
            ("card of a question", "card", {"subject": asked[n % len(asked)]}),
            ("search", "search", {"query": [WORDS[n % len(WORDS)], str(n % 997)]}),
        ):  # fmt: skip
            times[name].append(once_ms(lambda verb=verb, args=args: house.client.call(verb, args, me)))
    return times
