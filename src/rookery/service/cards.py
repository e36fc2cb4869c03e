"""Messages as results: one shape for every verb and door."""

import json
from typing import Any

from rookery.core import ids, mail, text, times
from rookery.store.port import Row

from .tx import Tx

PREVIEW_CHARS = 4_000
WHOLE = 2_000_000_000

# A step as it is shown, the ledger's time for it, and the receipts of which the first tells it by the wall clock.
_STEPS = (
    ("read_at", "read_at", ("seen", "processing", "acknowledged", "failed")),
    ("completed_at", "done_at", ("acknowledged",)),
    ("answered_at", "answered_at", ("answered",)),
)


def when(message: Row, at: int | None) -> str | None:
    """A ledger time as people read it. Both clocks were noted when the message was made, so the answer never moves."""
    return None if at is None else times.iso(message["at"] + (at - message["created_at"]))


def card(tx: Tx, n: int, delivery: Row | None, *, chars: int = PREVIEW_CHARS) -> dict[str, Any]:
    """A message and, where it lies in a mailbox, how it stands there."""
    row = tx.one("message_card", n=n, chars=chars)
    assert row is not None
    shown: dict[str, Any] = {
        "id": row["id"], "seq": row["seq"], "from": row["sender_name"], "to": row["address"], "type": row["type"],
        "priority": mail.Priority(row["priority"]).name.lower(), "subject": row["subject"], "body": row["body"],
        "thread": row["thread"], "reply_to": row["reply_to"], "asks": bool(row["asks"]), "group": row["grp"] or None,
        "created_at": times.iso(row["at"]), "expires_at": when(row, row["expires_at"]),
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
        **_steps(tx, row, delivery),
    }
    if row["recipients"] > 1:
        standing["copy"] = ids.copy_id(row["id"], delivery["agent"])
    if delivery["first_contact"]:
        standing["first_contact"] = introduction(tx, row["sender_name"])
    return standing


def _steps(tx: Tx, row: Row, delivery: Row) -> dict[str, str | None]:
    """When it was read, completed and answered. Ledger time stands still while the machine sleeps; receipts do not."""
    told = {name: when(row, delivery[column]) for name, column, _ in _STEPS}
    if not any(told.values()):
        return told
    taken = tx.all("receipts_of_delivery", message=row["n"], agent=delivery["agent"])
    for name, _, stages in _STEPS:
        at = next((each["at"] for each in taken if each["stage"] in stages), None)
        if told[name] is not None and at is not None:
            told[name] = times.iso(at)
    return told


def with_perspectives(tx: Tx, shown: dict[str, Any]) -> dict[str, Any]:
    """A message for its reader: with the text of the lenses it asks for."""
    if "lens" not in shown["context"]:
        return shown
    from . import features  # few messages ask for one

    return shown | features.perspectives(tx, shown)


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
