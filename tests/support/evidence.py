"""Evidence and results put straight into a ledger, for tests of what is made of them."""

import json
from typing import Any

import apsw

from tests.support.stage import Stage

LETTERS = {"error": "e", "edit": "f", "command": "c", "test": "t", "response": "r", "prompt": "p"}


def _insert(stage: Stage, table: str, agent: str, **values: Any) -> None:
    connection = apsw.Connection(stage.store.location)
    try:
        connection.set_busy_timeout(5_000)
        ((team, id),) = connection.execute(
            "SELECT a.team, a.id FROM agents a JOIN teams t ON t.id = a.team WHERE t.name = ? AND a.key = ?",
            (stage.team, agent.lower()),
        ).fetchall()
        row = {"team": team, "agent": id, "created_at": 1, "at": stage.clock.wall_ms(), **values}
        places = ", ".join(f":{name}" for name in row)
        connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", row)
    finally:
        connection.close()


def put(
    stage: Stage, kind: str, title: str, *, agent: str = "ada", data: dict[str, Any] | None = None, **more: Any
) -> str:
    """Its id."""
    number = len(stage.rows()["evidence"]) + 1
    id = f"{LETTERS[kind]}{number}"
    said = {"ref": f"test:{id}", **more, "failed": int(more.get("failed", False))}
    _insert(stage, "evidence", agent, id=id, kind=kind, title=title, data=json.dumps(data or {}), **said)
    return id


def result(
    stage: Stage, worker: str, version: int, summary: str, *, agent: str, evidence: list[str] | None = None
) -> str:
    _insert(stage, "deliverables", agent, worker=worker, version=version, outcome="done", summary=summary, digest="x",
            evidence=json.dumps(evidence or []))  # fmt: skip
    return f"{worker}/{version}"
