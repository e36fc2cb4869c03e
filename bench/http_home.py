"""A home for the daemon to serve: tasks by the thousand, a few of them held, and mail to be told of."""

from rookery.core.caller import Caller
from rookery.store.opening import Patience, open_connection, rows

from . import scene

WAIT_S = 60.0
AGENTS = 8
MAIL = 20  # in each agent's inbox
HELD_MS = 86_400_000  # longer than any run
_NUMBERS = "WITH RECURSIVE s (i) AS (SELECT :first UNION ALL SELECT i + 1 FROM s WHERE i < :last)"
_TASKS = f"""{_NUMBERS} INSERT INTO tasks
  (team, n, id, title, status, priority, created_by, created_at, at, resources)
  SELECT :team, i, printf('task-%04d', i), 'Part ' || i, 'pending', 1, :agent, :now, :now,
         '["src/part-' || i || '/"]' FROM s"""
_EVENTS = f"""{_NUMBERS} INSERT INTO events (team, seq, at, type, actor, ref, preview)
  SELECT :team, :seq + i - :first, :now, 'task.created', 'agent-0', printf('task-%04d', i), 'Part ' || i FROM s"""


def agent(number: int) -> str:
    return f"agent-{number % AGENTS}"


def load(home: str, count: int) -> None:
    """So many tasks: one held by each agent, with its path, and the rest waiting."""
    with scene.team(home) as team:
        for number in range(AGENTS):
            caller = Caller(agent=agent(number), open_addresses=True)
            added = team.client.call("task.add", {"title": "Held", "resources": [f"lib/{number}/"]}, caller)
            team.client.call("task.claim", {"id": added["id"], "ttl_ms": HELD_MS}, caller)
        _add_waiting(home, AGENTS + 1, count)
        writer = Caller(agent="writer", open_addresses=True)
        for number in range(AGENTS):
            for _ in range(MAIL):
                told = {"to": [agent(number)], "subject": scene.SUBJECT, "body": scene.BODY}
                team.client.call("send", told, writer)


def _add_waiting(home: str, first: int, last: int) -> None:
    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    try:
        team, seq, now = rows(connection, "SELECT id, seq, touched_at FROM teams")[0]
        agent = rows(connection, "SELECT min(id) FROM agents")[0][0]
        given = {"team": team, "seq": seq + 1, "now": now, "agent": agent, "first": first, "last": last}
        rows(connection, "BEGIN IMMEDIATE")
        for statement in (_TASKS, _EVENTS, "UPDATE teams SET seq = seq + :last - :first + 1 WHERE id = :team",
                          "UPDATE counters SET value = :last WHERE team = :team AND name = 'task'"):  # fmt: skip
            rows(connection, statement, given)
        rows(connection, "COMMIT")
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def mail_begins(home: str) -> list[int]:
    """The cursor after which each agent's mail comes, agent by agent."""
    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    try:
        first = rows(connection, "SELECT min(seq) FROM events WHERE type = 'message'")[0][0]
    finally:
        connection.close()
    return [first - 1 + number * MAIL for number in range(AGENTS)]


def trim(home: str, count: int) -> None:
    """Back to so many tasks: what a round made and completed goes."""
    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    try:
        rows(connection, "DELETE FROM tasks WHERE n > :count", {"count": count})
    finally:
        connection.close()
