"""The record of an escalation, beside the message that carries it; and whom a message of the system speaks for."""

import json
from collections.abc import Mapping
from typing import Any

from rookery.core import mail, names, times
from rookery.store.port import Row

from .tx import Tx


def asked(tx: Tx, sender: Row, draft: mail.Draft, sent: Mapping[str, Any]) -> str:
    """The record of a question for a human (TX's ask-human) that was sent as a message; the answer closes it."""
    id = new_id(tx)
    open_record(tx, sender, id, draft.subject, mail.ASK_HUMAN, "person", draft, sent["id"], names.PERSON)
    return id


def new_id(tx: Tx) -> str:
    number = tx.one("raise_counter", name="escalation")
    assert number is not None
    return f"ESC-{times.iso(tx.wall)[:10].replace('-', '')}-{number['value']:04d}"


def open_record(
    tx: Tx, sender: Row, id: str, title: str, reason: str, level: str, draft: mail.Draft, message: str, to: str
) -> None:
    tx.run(
        "new_escalation", id=id, title=title, reason=reason, level=level, priority=draft.priority,
        raised_by=sender["id"], at=tx.wall, message=message,
    )  # fmt: skip
    tx.event("escalation.open", sender["name"], target=to, ref=id, preview=title)


def asker(tx: Tx, original: Row) -> str:
    """Whose message or question the system put before someone: that one is answered, and not the system."""
    if id := question(original):
        found = tx.one("question", id=id)
        return found["asker"] or "" if found else ""
    related: Any = json.loads(original["context"]).get("related") or [""]
    asked = tx.one("message_by_id", id=str(related[0]))
    return asked["sender_name"] if asked and asked["sender_name"] != names.SYSTEM else ""


def question(original: Row) -> str:
    """The question of a worker that a message of the system carries."""
    if original["sender_name"] != names.SYSTEM or original["payload"] == "{}":
        return ""
    return str(json.loads(original["payload"]).get("question") or "")
