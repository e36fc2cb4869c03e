"""The record of an escalation, beside the message that carries it."""

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
