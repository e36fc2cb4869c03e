"""The docket with two hundred workers and a hundred thousand artifacts: how long a look takes, and what it takes."""

import os
from pathlib import Path

from rookery import app
from rookery.core.caller import Caller
from rookery.runtime import process, repository
from rookery.store.opening import Patience, open_connection, rows

from . import scene
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, median, once_ms

WORKERS, ASKING, CHANGING = 200, 50, 40  # these ask; these have a worktree and report a change set; the rest found out
FILES = 10  # of each change set, all of them the same: every one meets every other
ALLOWED_MS = 50.0
SEARCH = "search"  # has a bound of its own, against the bare index
WAIT_S = 60.0
NAMES = tuple(f"part{n}.py" for n in range(FILES))
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


def measure(place: Scene, sizes: Sizes) -> Section:
    home = place.home("docket")
    house = app.open_house(
        cwd=place.folder, environ={"ROOK_HOME": home, "ROOK_TEAM": scene.TEAM, "ROOK_WORKER_LIMIT": "1000"}
    )
    try:
        _report(house, Path(place.home("docket-repo")))
        _fill(home, sizes.docket_artifacts)
        times = _looks(house, sizes.docket_calls)
    finally:
        house.close()
    size = f"{WORKERS} workers, {sizes.docket_artifacts:,} artifacts"
    return Section(f"The docket: {size}", f"{ALLOWED_MS:g} ms", [*map(_row, times, times.values()), _memory()])


def _row(name: str, times: list[float]) -> Row:
    note, bound = f"median {median(times):.1f} ms", at_most(1.0) if name != SEARCH else None
    return Row(f"{name}, p99", at_quantile(times, 0.99), ALLOWED_MS, "ms", bound, note)


def _memory() -> Row:
    """Of this process, which holds the ledger and has looked at all of that."""
    with open("/proc/self/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    return Row("memory of the process that looked", peak / 1024, None, "MiB")


# -- what there is ---------------------------------------------------------------------------------------------------


def _report(house: app.House, root: Path) -> None:
    """Every worker has reported or asked, by the verbs that do so; change sets are those of real worktrees."""
    mine = process.identify(os.getpid())
    assert mine is not None
    base = _repository(root)
    for number in range(1, WORKERS + 1):
        tree = root.parent / f"docket-w{number}" if ASKING < number <= ASKING + CHANGING else None
        me = _begun(house, number, mine, str(root), str(tree or ""), base)
        if number <= ASKING:
            asked = {"question": "Which of the two?", "options": ["this", "that"], "risk": "medium"}
            house.client.call("ask", asked, me)
            continue
        if tree:
            for name in NAMES:
                (tree / name).write_text(f"first\nline of w{number}\n")
        told = {"outcome": "completed" if tree else "findings", "summary": SUMMARY, "tests": ["pytest -q: 12 passed"]}
        house.client.call("done", told, me)


def _repository(root: Path) -> str:
    root.mkdir()
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@rookery.invalid"]
    for name in NAMES:
        (root / name).write_text("first\nsecond\n")
    for words in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "-m", "Files"]):
        repository.told(str(root), *words)
    return repository.commit_of(str(root))


def _begun(house: app.House, number: int, mine: process.Process, root: str, tree: str, base: str) -> Caller:
    """A worker whose program is this process."""
    asked = {"assignment": f"Piece {number}", "host": "script", "program": ["true"], "root": root}
    id = house.client.call("spawn", asked, house.caller())["id"]
    order = house.client.call("worker.begin", {"id": id, "owner": "bench:1:1"}, house.caller("system"))["worker"]
    if tree:
        repository.add_worktree(root, tree, base)
    begun = {"id": id, "run": order["run"], "pid": mine.pid, "since": mine.started, "tree": tree,
             "base": base if tree else ""}  # fmt: skip
    house.client.call("worker.started", begun, house.caller("system"))
    return house.caller(order["name"], lineage=(tuple(mine),))


def _fill(home: str, count: int) -> None:
    """What happened meanwhile, put there in one statement: so much evidence would take its workers days."""
    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    each_word = " ".join(f"WHEN {n} THEN '{each}'" for n, each in enumerate(WORDS))
    try:
        team, now = rows(connection, "SELECT id, touched_at FROM teams")[0]
        given = {"team": team, "now": now, "count": count, "workers": WORKERS}
        rows(connection, "BEGIN IMMEDIATE")
        rows(connection, _EVIDENCE.format(word=f"CASE i % {len(WORDS)} {each_word} END"), given)
        rows(connection, "COMMIT")
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


# -- looking ---------------------------------------------------------------------------------------------------------


def _looks(house: app.House, calls: int) -> dict[str, list[float]]:
    me = house.caller("user")
    found = house.client.call("docket", {"limit": 100}, me)
    assert found["waiting"] == WORKERS, found["waiting"]
    results = [f"w{number}/1" for number in range(ASKING + 1, ASKING + CHANGING + 1)]
    asked = [f"w{number}/q1" for number in range(1, ASKING + 1)]
    card = house.client.call("card", {"subject": results[-1]}, me)
    assert [part for part in ("change", "conflicts", "evidence") if not card[part]] == []
    assert (card["rank"], card["result"]["corrupt"]) == ("change", False)
    times: dict[str, list[float]] = {"docket": [], "card of a result": [], "card of a question": [], SEARCH: []}
    for n in range(calls):
        for name, verb, args in (
            ("docket", "docket", {}), ("card of a result", "card", {"subject": results[n % len(results)]}),
            ("card of a question", "card", {"subject": asked[n % len(asked)]}),
            (SEARCH, "search", {"query": [WORDS[n % len(WORDS)], str(n % 997)]}),
        ):  # fmt: skip
            times[name].append(once_ms(lambda verb=verb, args=args: house.client.call(verb, args, me)))
    return times
