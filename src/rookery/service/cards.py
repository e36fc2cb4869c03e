"""Messages as results: one shape for every verb and door."""

import json
from typing import Any

from rookery.core import mail, text, times
from rookery.store.port import Row

from .tx import Tx

PREVIEW_CHARS = 4_000
WHOLE = 2_000_000_000


def when(tx: Tx, at: int | None) -> str | None:
    """A ledger time as people read it: the wall clock now, less how long ago it was."""
    return None if at is None else times.iso(tx.wall - (tx.now - at))


def card(tx: Tx, n: int, delivery: Row | None, *, chars: int = PREVIEW_CHARS) -> dict[str, Any]:
    """A message and, where it lies in a mailbox, how it stands there."""
    row = tx.one("message_card", n=n, chars=chars)
    assert row is not None
    shown: dict[str, Any] = {
        "id": row["id"], "seq": row["seq"], "from": row["sender_name"], "to": row["address"], "type": row["type"],
        "priority": mail.Priority(row["priority"]).name.lower(), "subject": row["subject"], "body": row["body"],
        "thread": row["thread"], "reply_to": row["reply_to"], "asks": bool(row["asks"]), "group": row["grp"] or None,
        "created_at": times.iso(row["at"]), "expires_at": when(tx, row["expires_at"]),
        "tags": json.loads(row["tags"]), "attachments": json.loads(row["attachments"]),
        "payload": json.loads(row["payload"]), "context": json.loads(row["context"]),
    }  # fmt: skip
    if row["label"]:
        shown["label"] = row["label"]
    if row["body_length"] > len(row["body"]):
        shown["cut"] = row["body_length"]
    if delivery is not None:
        shown |= _standing(tx, row, delivery)
    return shown


def _standing(tx: Tx, row: Row, delivery: Row) -> dict[str, Any]:
    standing: dict[str, Any] = {
        "state": mail.effective(mail.State(delivery["state"]), row["expires_at"], tx.now).value,
        "read_at": when(tx, delivery["read_at"]),
        "completed_at": when(tx, delivery["done_at"]),
        "answered_at": when(tx, delivery["answered_at"]),
    }
    if delivery["first_contact"]:
        standing["first_contact"] = introduction(tx, row["sender_name"])
    return standing


def introduction(tx: Tx, sender: str) -> dict[str, Any]:
    """Who is this? Told once, with the first message two agents ever exchange."""
    agent = tx.find_agent(sender)
    if agent is None or agent["session"] is None:
        return {}
    return {key: agent[key] for key in ("role", "cwd", "branch", "model") if agent[key]}


def brief(tx: Tx, n: int) -> dict[str, Any]:
    """One line of a list."""
    row = tx.one("message_card", n=n, chars=200)
    assert row is not None
    return {
        "id": row["id"], "from": row["sender_name"], "to": row["address"], "type": row["type"],
        "subject": row["subject"], "created_at": times.iso(row["at"]), "preview": text.one_line(row["body"], 80),
    }  # fmt: skip
