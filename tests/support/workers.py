"""Workers as rows, written past the verbs: for tests that are about what a row means and not about how it came."""

import json
from contextlib import closing
from typing import Any

import apsw

from rookery.app import OUR_KINDS
from rookery.core import kinds
from rookery.service.tx import WORKED


def built_in(name: str, **changed: Any) -> kinds.Kind:
    with open(f"{OUR_KINDS}/{name}.md", encoding="utf-8") as file:
        return kinds.parse(file.read(), file.name, name)._replace(**changed)


def write(path: str, agent: str, kind: kinds.Kind, *, team: str = "crew", **more: Any) -> str:
    """A worker that this agent is from now on; its id."""
    with closing(apsw.Connection(path)) as db:
        db.set_busy_timeout(10_000)
        ((number, found),) = db.execute(
            "SELECT teams.id, agents.id FROM teams JOIN agents ON agents.team = teams.id "
            "WHERE teams.name = ? AND agents.key = ?",
            (team, agent.casefold()),
        )
        n = len(list(db.execute("SELECT 1 FROM workers WHERE team = ?", (number,)))) + 1
        row = {
            "team": number, "n": n, "id": f"w{n}", "agent": found, "kind": kind.name, "host": "script",
            "profile": json.dumps(kinds.as_data(kind)), "backend": "headless", "machine": "m", "root": "/",
            "asked_by": found, "state": "running", "created_at": 0, "at": 0, **more,
        }  # fmt: skip
        columns = ", ".join(row)
        db.execute(f"INSERT INTO workers ({columns}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
        db.execute("UPDATE teams SET flags = flags | ? WHERE id = ?", (WORKED, number))
    return row["id"]


def change(path: str, id: str, **values: Any) -> None:
    with closing(apsw.Connection(path)) as db:
        db.set_busy_timeout(10_000)
        given = ", ".join(f"{name} = ?" for name in values)
        db.execute(f"UPDATE workers SET {given} WHERE id = ?", (*values.values(), id))
