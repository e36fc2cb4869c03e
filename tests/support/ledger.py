"""The ledger looked at from outside the house: raw rows, and a checker that finds half transactions and losses.

Only apsw opens the file (H39), and every statement is run to its end (H40).
"""

from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from typing import Any

import apsw

from rookery.store.opening import rows


def look(path: str) -> apsw.Connection:
    """A connection for looking. It may write, because reading after a crash means recovering the WAL first."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(10_000)
    return connection


def ask(path: str, statement: str, **params: Any) -> list[tuple[Any, ...]]:
    with closing(look(path)) as connection:
        return rows(connection, statement, params or None)


@contextmanager
def writing(path: str) -> Generator[apsw.Connection]:
    """Rows put there by hand, whole or not at all."""
    with closing(look(path)) as connection, connection:
        yield connection


@contextmanager
def locked(path: str) -> Generator[None]:
    """Somebody writes for as long as this lasts."""
    with closing(apsw.Connection(path)) as connection:
        connection.set_busy_timeout(60_000)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


def everything(path: str) -> dict[str, list[tuple[Any, ...]]]:
    with closing(look(path)) as connection:
        return everything_in(connection)


def everything_in(connection: apsw.Connection) -> dict[str, list[tuple[Any, ...]]]:
    tables = rows(
        connection,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%!_fts%' ESCAPE '!' ORDER BY name",
    )
    return {name: rows(connection, f'SELECT * FROM "{name}" ORDER BY 1, 2') for (name,) in tables}


ATTEMPT = "authority.refused"  # recorded in a transaction of its own, when whatever was tried is rolled back


def without_attempts(held: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Everything but the records of refused attempts, and what they did to their team's row."""
    kept = [row for row in held["events"] if row[3] != ATTEMPT]
    tried = [row[0] for row in held["events"] if row[3] == ATTEMPT]
    teams = [(id, name, seq - tried.count(id)) for id, name, seq, *_ in held["teams"]]
    return {**held, "events": kept, "teams": [row for row in teams if row[2]]}


def schema(path: str) -> list[tuple[Any, ...]]:
    return ask(path, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")


# What must hold after any crash. Each query gives the rows for which it does not.
WHOLE = {
    "an event number is missing or repeated": """
        SELECT t.name, t.seq, count(e.seq), min(e.seq), max(e.seq) FROM teams t LEFT JOIN events e ON e.team = t.id
        WHERE t.horizon = 0 GROUP BY t.id
        HAVING count(e.seq) <> t.seq OR coalesce(max(e.seq), 0) <> t.seq OR (t.seq > 0 AND min(e.seq) <> 1)""",
    "a message has another number of deliveries than recipients": """
        SELECT m.id, m.recipients, count(d.message) FROM messages m
        LEFT JOIN deliveries d ON d.team = m.team AND d.message = m.n
        GROUP BY m.n HAVING count(d.message) <> m.recipients""",
    "a message has no event of its own": """
        SELECT m.id FROM messages m LEFT JOIN events e ON e.team = m.team AND e.seq = m.seq
        WHERE e.type IS NOT 'message' OR e.ref IS NOT m.id""",
    "an event tells of a message that is not there": """
        SELECT e.seq, e.ref FROM events e WHERE e.type = 'message' AND NOT EXISTS (
          SELECT 1 FROM messages m WHERE m.team = e.team AND m.id = e.ref AND m.seq = e.seq)
        AND NOT EXISTS (SELECT 1 FROM events s WHERE s.team = e.team AND s.type = 'swept')""",
    "a delivery has no message": """
        SELECT d.agent, d.message FROM deliveries d
        WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.team = d.team AND m.n = d.message)""",
    "a delivery belongs to nobody": """
        SELECT d.agent, d.message FROM deliveries d
        WHERE NOT EXISTS (SELECT 1 FROM agents a WHERE a.team = d.team AND a.id = d.agent)""",
    "a message is not in the search index": """
        SELECT m.id FROM messages m WHERE NOT EXISTS (SELECT 1 FROM messages_fts_docsize f WHERE f.id = m.n)""",
    "the search index knows a message that is not there": """
        SELECT f.id FROM messages_fts_docsize f WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.n = f.id)""",
    "a delivery is completed without an event and a receipt": """
        SELECT d.agent, m.id FROM deliveries d JOIN messages m ON m.n = d.message
        WHERE d.state = 'completed' AND NOT (
          EXISTS (SELECT 1 FROM receipts r WHERE r.team = d.team AND r.message = d.message AND r.agent = d.agent
                  AND r.stage IN ('acknowledged', 'rerouted'))
          AND EXISTS (SELECT 1 FROM events e WHERE e.team = d.team AND e.ref = m.id
                      AND e.type IN ('mail.completed', 'mail.rerouted')))""",
    "a receipt tells of a step that was not taken": """
        SELECT r.message, r.agent FROM receipts r WHERE r.stage = 'acknowledged' AND NOT EXISTS (
          SELECT 1 FROM deliveries d WHERE d.team = r.team AND d.message = r.message AND d.agent = r.agent
          AND d.done_at IS NOT NULL)""",
    "a message was sent by nobody": """
        SELECT m.id FROM messages m
        WHERE NOT EXISTS (SELECT 1 FROM agents a WHERE a.team = m.team AND a.id = m.sender)""",
    "a team's total is not the sum of what was reported": """
        SELECT t.name, t.tokens, t.cost FROM teams t LEFT JOIN usage u ON u.team = t.id GROUP BY t.id
        HAVING t.tokens <> coalesce(sum(u.input + u.output), 0) OR t.cost <> coalesce(sum(u.cost), 0)""",
    "an agent's total is not the sum of what it reported": """
        SELECT a.name, a.tokens FROM agents a LEFT JOIN usage u ON u.team = a.team AND u.agent = a.id
        GROUP BY a.team, a.id
        HAVING a.tokens <> coalesce(sum(u.input + u.output), 0) OR a.cost <> coalesce(sum(u.cost), 0)""",
    "a task's total is not the sum of what was reported for it": """
        SELECT k.id, k.tokens FROM tasks k LEFT JOIN usage u ON u.team = k.team AND u.task = k.id
        GROUP BY k.team, k.id
        HAVING k.tokens <> coalesce(sum(u.input + u.output), 0) OR k.cost <> coalesce(sum(u.cost), 0)""",
    "an agent points to a session that is not its own": """
        SELECT a.name FROM agents a WHERE a.session IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM sessions s
          WHERE s.team = a.team AND s.id = a.session AND s.agent = a.id AND s.epoch = a.epoch)""",
}


def faults(path: str, *, sent: Iterable[str] = (), acked: Iterable[str] = ()) -> list[str]:
    """Everything that is wrong: what was acknowledged and is gone, what is there by half. Empty when all is well."""
    with closing(look(path)) as connection:
        return faults_in(connection, sent=sent, acked=acked)


def faults_in(connection: apsw.Connection, *, sent: Iterable[str] = (), acked: Iterable[str] = ()) -> list[str]:
    found: list[str] = []
    rows(connection, "BEGIN")  # one snapshot: others may be writing
    try:
        for problem, query in WHOLE.items():
            found += [f"{problem}: {row}" for row in rows(connection, query)[:5]]
        there = {row[0] for row in rows(connection, "SELECT id FROM messages")}
        completed = "SELECT m.id FROM messages m JOIN deliveries d ON d.message = m.n WHERE d.state = 'completed'"
        done = {row[0] for row in rows(connection, completed)}
        verdict = rows(connection, "PRAGMA quick_check(5)")
    finally:
        rows(connection, "ROLLBACK")
    found += [f"an acknowledged message is lost: {id}" for id in sorted(set(sent) - there)[:5]]
    found += [f"an acknowledged ack is lost: {id}" for id in sorted(set(acked) - done)[:5]]
    if verdict != [("ok",)]:
        found.append(f"the database is damaged: {verdict}")
    return found
