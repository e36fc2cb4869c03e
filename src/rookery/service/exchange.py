"""Mail out of and into the ledger: what the file trees of other systems are made from and read into."""

from typing import Annotated, Any

from rookery.core import mail, names
from rookery.store.port import Row

from . import cards
from .tx import Tx
from .verbs import Arg

PAGE = 500


def export_mail(
    tx: Tx,
    *,
    after: Annotated[list[int] | None, Arg("the cursor of the last page")] = None,
) -> dict[str, Any]:
    message, agent = after or [0, 0]
    rows = tx.all("all_deliveries", after_message=message, after_agent=agent, limit=PAGE)
    letters: list[dict[str, Any]] = []
    for row in rows:
        delivery = tx.one("delivery", agent=row["agent"], message=row["n"])
        letters.append(cards.card(tx, row["n"], delivery, chars=cards.WHOLE) | {"recipient": row["recipient"]})
    return {"letters": letters, "after": [rows[-1]["n"], rows[-1]["agent"]] if len(rows) == PAGE else None}


def import_mail(
    tx: Tx,
    letters: Annotated[list[dict[str, Any]], Arg("messages with sender, recipient and state")],
) -> dict[str, Any]:
    """All of them or none. An id that is here already is passed over, so an import can be repeated."""
    taken = skipped = 0
    for letter in letters:
        if tx.one("message_exists", id=letter["id"]) is not None:
            skipped += 1
            continue
        _restore(tx, letter)
        taken += 1
    if taken:
        tx.event("imported", tx.me()["name"], preview=f"{taken} messages", count=taken)
    return {"imported": taken, "skipped": skipped}


def _restore(tx: Tx, letter: dict[str, Any]) -> None:
    sender = _address(tx, letter["from"])
    recipient = _address(tx, letter["to"])
    state = mail.State(letter["state"])
    expires_at = None if letter["expires_at"] is None else tx.now + (letter["expires_at"] - tx.wall)
    draft = mail.draft(
        type=letter["type"], priority=letter["priority"], subject=letter["subject"] or "(no subject)",
        body=letter["body"],
        payload=letter["payload"], context=letter["context"], attachments=letter["attachments"], tags=letter["tags"],
        expires_at=None, asks=None, now=tx.now, limit=tx.settings["mail.body_limit"],
    )._replace(expires_at=expires_at)  # fmt: skip
    thread = letter["thread"] or letter["id"]
    seq = tx.event(
        "message", sender["name"], target=recipient["name"], ref=letter["id"], preview=draft.subject, imported=True
    )
    made = tx.one(
        "insert_message", id=letter["id"], seq=seq, thread=thread, reply_to=letter["reply_to"], sender=sender["id"],
        recipients=1, grp=letter["group"] or "", address=recipient["name"], at=letter["at"], **draft._asdict(),
    )  # fmt: skip
    assert made is not None
    tx.run(
        "restore_delivery", agent=recipient["id"], message=made["n"], state=state, priority=draft.priority,
        sender=sender["id"], expires_at=expires_at, read_at=_ledger(tx, letter["read_at"]),
        done_at=_ledger(tx, letter["completed_at"]), archived_at=tx.now if state is mail.State.ARCHIVED else None,
    )  # fmt: skip
    tx.ring(recipient["name"])


def _ledger(tx: Tx, wall: int | None) -> int | None:
    return None if wall is None else tx.now + (wall - tx.wall)


def _address(tx: Tx, name: str) -> Row:
    checked = names.check_address(name)
    return tx.find_agent(checked) or tx.make_agent(checked)
