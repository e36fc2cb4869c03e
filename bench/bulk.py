"""Many messages at once: one transaction of four statements with the real schema, its triggers and its indexes."""

from rookery.store.opening import Patience, open_connection, rows

from . import scene

WAIT_S = 60.0
READERS = 7  # prime to the steps of the priorities, so that every reader has mail of every priority
_NUMBERS = "WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < :count)"
_PRIORITY = "2 + (i % 50 = 0) + (i % 500 = 0)"
_ID = "printf('MSG-%012d', i)"
_STATEMENTS = (
    f"""{_NUMBERS} INSERT INTO messages
      (team, id, seq, thread, sender, recipients, type, priority, asks, address, created_at, at, subject, body)
      SELECT :team, {_ID}, :seq + i, {_ID}, :sender, 1, 'request', {_PRIORITY}, 1, 'reader-' || (i % {READERS}),
             :now, :now, 'Step ' || i || ' of the parser', 'Please look at it when you have time.' FROM s""",
    f"""{_NUMBERS} INSERT INTO deliveries (team, agent, message, state, priority, sender)
      SELECT :team, :reader + i % {READERS}, i, 'unread', {_PRIORITY}, :sender FROM s""",
    f"""{_NUMBERS} INSERT INTO events (team, seq, at, type, actor, target, ref)
      SELECT :team, :seq + i, :now, 'message', 'sender', 'reader-' || (i % {READERS}), {_ID} FROM s""",
    "UPDATE teams SET seq = seq + :count WHERE id = :team",
)


def reader(number: int = 0) -> str:
    return f"reader-{number}"


def load(home: str, count: int) -> None:
    """A home with that many unread messages, spread over the mailboxes of READERS agents."""
    with scene.team(home) as team:
        for name in ("sender", *map(reader, range(READERS))):
            team.join(name)
    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    try:
        ids = dict(rows(connection, "SELECT name, id FROM agents"))
        team_id, seq, now = rows(connection, "SELECT id, seq, touched_at FROM teams")[0]
        given = {"count": count, "team": team_id, "seq": seq, "now": now, "sender": ids["sender"],
                 "reader": ids[reader(0)]}  # fmt: skip
        rows(connection, "BEGIN IMMEDIATE")
        for statement in _STATEMENTS:
            rows(connection, statement, given)
        rows(connection, "COMMIT")
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
