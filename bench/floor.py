"""The floor of a send: the rows that `agent.send` writes, with the same durability, written by apsw and nothing else.

The statements are the store's own, the connection comes from the store's factory (same schema, same pragmas, same busy
handler). What the floor leaves out is what a send does besides writing: who calls, who is meant, the law, the bell.
`differences` compares what both wrote, so that the floor cannot fall behind when a send learns to write more.
"""

import os
import time
from collections.abc import Mapping, Set
from typing import Any

from rookery.store import queries
from rookery.store.opening import Patience, open_connection, rows

from . import scene

WAIT_S = 60.0
# Processes number their events apart, so that none has to read the counter: beyond the joins, each its own residue.
SEQ_START, SEQ_STEP = 1024, 64


class Floor:
    """One bare sender, on a database in which sender and reader have joined."""

    def __init__(self, home: str, sender: str, reader: str, offset: int = 0) -> None:
        with scene.team(home) as team:
            session = team.join(sender).joined["session"]
        self._patience = Patience()
        self.connection = open_connection(scene.database(home), self._patience, WAIT_S)
        sql = queries.load("sqlite")
        self._message, self._event = sql["insert_message"], sql["append_event"]
        self._delivery, self._beat, self._team = sql["insert_delivery"], sql["beat_sent"], sql["store_save_team"]
        ids = dict(rows(self.connection, "SELECT name, id FROM agents"))
        team_id = rows(self.connection, "SELECT id FROM teams")[0][0]
        self._seq = SEQ_START + offset
        self._of_team = {"team": team_id}
        self._of_message = {
            "team": team_id, "reply_to": None, "sender": ids[sender], "recipients": 1, "type": "request", "label": "",
            "priority": 2, "asks": 1, "grp": "", "address": reader, "expires_at": None, "subject": scene.SUBJECT,
            "tags": "[]", "attachments": "[]", "payload": "{}", "context": "{}", "body": scene.BODY,
        }  # fmt: skip
        self._of_event = {"team": team_id, "type": "message", "actor": sender, "target": reader,
                          "preview": scene.SUBJECT,
                          "caller": f'{{"session":"{session}","pid":{os.getpid()}}}'}  # fmt: skip
        self._data = f'{{"type":"request","to":["{reader}"],"thread":"%s","priority":"normal","asks":true}}'
        self._of_delivery = {"team": team_id, "agent": ids[reader], "priority": 2, "sender": ids[sender],
                             "expires_at": None}  # fmt: skip
        self._of_beat = {"team": team_id, "session": session, "count": 1}

    def send(self) -> None:
        self._seq += SEQ_STEP
        seq, now, id = self._seq, time.time_ns() // 1_000_000, f"MSG-{self._seq:012d}"
        self._patience.write_until = time.monotonic() + WAIT_S
        execute: Any = self.connection.execute
        execute("BEGIN IMMEDIATE").fetchall()
        message = {**self._of_message, "id": id, "thread": id, "seq": seq, "now": now, "at": now}
        n = execute(self._message, message).fetchall()[0][0]
        execute(self._event, {**self._of_event, "seq": seq, "at": now, "ref": id, "data": self._data % id}).fetchall()
        execute(self._delivery, {**self._of_delivery, "message": n}).fetchall()
        execute(self._beat, {**self._of_beat, "now": now}).fetchall()
        execute(self._team, {**self._of_team, "seq": seq, "now": now}).fetchall()
        execute("COMMIT").fetchall()

    def close(self) -> None:
        self.connection.close()


# What differs from one message to the next, whoever writes it.
_VOLATILE = {
    "n",
    "id",
    "seq",
    "thread",
    "created_at",
    "at",
    "ref",
    "message",
    "sender",
    "actor",
    "caller",
    "first_contact",
}
_NEWEST = {
    "messages": "SELECT * FROM messages ORDER BY n DESC LIMIT 1",
    "events": "SELECT * FROM events WHERE type = 'message' ORDER BY seq DESC LIMIT 1",
    "deliveries": "SELECT * FROM deliveries ORDER BY message DESC LIMIT 1",
}


def differences(
    ours: str, floor: str, newest: Mapping[str, str] = _NEWEST, volatile: Set[str] = _VOLATILE
) -> list[str]:
    """What one side wrote and the other did not: tables filled on one side only, columns of the newest rows."""
    one, other = _looked_at(ours, newest, volatile), _looked_at(floor, newest, volatile)
    return sorted(f"{key}: {one.get(key)!r} against {other.get(key)!r}"
                  for key in one.keys() | other.keys() if one.get(key) != other.get(key))  # fmt: skip


def _looked_at(home: str, newest: Mapping[str, str], volatile: Set[str]) -> dict[str, Any]:
    connection = open_connection(scene.database(home), Patience(), WAIT_S)
    execute: Any = connection.execute
    try:
        tables = [name for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
        seen: dict[str, Any] = {
            f"{table} has rows": bool(execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()) for table in tables
        }
        for table, query in newest.items():
            cursor = execute(query)
            names = [column[0] for column in cursor.get_description()]
            row = dict(zip(names, cursor.fetchall()[0], strict=True))
            if table == "events":  # a thread is its first message's id
                row["data"] = row["data"].replace(row["ref"], "ID")
            seen |= {f"{table}.{name}": value for name, value in row.items() if name not in volatile}
        return seen
    finally:
        connection.close()
