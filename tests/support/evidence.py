"""Evidence and results in a ledger, for tests of what is made of them."""

import json
from typing import Any

import apsw

from tests.support.stage import Stage


def put(stage: Stage, kind: str, title: str, *, agent: str = "ada", **more: Any) -> str:
    """Its id."""
    number = stage.seq()
    found = {"kind": kind, "ref": f"test:{number}", "title": title}
    found |= {name: more.pop(name) for name in ("ref", "body", "data", "failed") if name in more}
    (id,) = stage.call("evidence.take", found=[found], agent=agent, **more)["taken"]
    return id


def result(
    stage: Stage, worker: str, version: int, summary: str, *, agent: str, evidence: list[str] | None = None
) -> str:
    """A version of what a worker reports; its name."""
    connection = apsw.Connection(stage.store.location)
    try:
        connection.set_busy_timeout(5_000)
        connection.execute(
            "INSERT INTO deliverables (team, worker, version, agent, outcome, summary, evidence, digest, created_at, "
            "at) SELECT a.team, ?, ?, a.id, 'done', ?, ?, 'x', 1, ? FROM agents a JOIN teams t ON t.id = a.team "
            "WHERE t.name = ? AND a.key = ?",
            (worker, version, summary, json.dumps(evidence or []), stage.clock.wall_ms(), stage.team, agent.lower()),
        )
    finally:
        connection.close()
    return f"{worker}/{version}"
