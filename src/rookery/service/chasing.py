"""Mail that asked and got no answer goes up: to whoever leads, then to the person. Each message once a step."""

from functools import partial
from typing import Any

from rookery.core import errors, mail, names, text, times
from rookery.store.port import Row

from . import cards, escalation
from .tx import Tx

LOOK, GLANCE = 2_000, 200  # events at once, when something is done and when it is only asked
LATE_MS = 86_400_000  # what should have been noticed this long ago is left alone: nobody is served by a flood
CURSOR = "chased"
SHOWN = 1_000  # characters of what was asked


def put_above(tx: Tx, reader: Row, message: Row, why: str, what: str = "No answer") -> str:
    """Raise it with whoever stands above its reader; the escalation's id, or "" where nobody does."""
    above = above_of(tx, reader)
    if above is None or above["id"] == message["sender"]:
        return ""  # whoever asked leads already, and was told
    title = f"{what}: {text.one_line(message['subject'], 200)}"
    said, more = text.cut(cards.card(tx, message["n"], None)["body"], SHOWN)
    quoted = f"\n\n{text.fence(said)}{' ...' if more else ''}" if said else ""
    body = f"{why} It asked for an answer.{quoted}\n\nA reply to this goes to {message['sender_name']}."
    level = "person" if above["name"] == names.PERSON else "leader"
    sender = tx.find_agent(names.SYSTEM) or tx.make_agent(names.SYSTEM)
    try:
        raised = tx.attempt(
            partial(
                escalation.put, tx, sender, title, body, reason="unanswered", level=level, priority="high", to=[above],
                related=[message["id"]],
            )
        )  # fmt: skip
    except errors.RookError:
        return ""  # its own message is too long or its title empty: the log has told of it
    return raised["escalation"]


def above_of(tx: Tx, reader: Row) -> Row | None:
    """Whoever leads, or the person; None for the person, who has nobody above."""
    if reader["name"] == names.PERSON:
        return None
    leader = tx.leader()
    if leader and names.key(leader) != names.key(reader["name"]):
        return tx.find_agent(leader) or tx.make_agent(leader)
    return tx.find_agent(names.PERSON) or tx.make_agent(names.PERSON)


def is_due(tx: Tx) -> bool:
    """Where nothing asked, the cursor moves only now and then: a look is cheaper than a write."""
    if not tx.settings["mail.answer_s"]:
        return False
    rows, _ = _ripe(tx, GLANCE)
    return len(rows) == GLANCE or any(row["id"] and row["asks"] for row in rows)


def chase(tx: Tx) -> dict[str, Any]:
    """Look at the mail whose time to be answered is over, in order, each once."""
    raised: list[str] = []
    rows, upto = _ripe(tx, LOOK)
    for row in rows:
        if row["id"] and row["asks"] and tx.now - row["created_at"] <= tx.settings.ms("mail.answer_s") + LATE_MS:
            raised += _chased(tx, row)
    if upto:
        tx.run("set_counter", name=CURSOR, value=upto)
    return {"escalated": [id for id in raised if id]}


def _ripe(tx: Tx, limit: int) -> tuple[list[Row], int]:
    """Events up to the first message that may still be answered in time, and the number of the last of them."""
    kept = tx.one("counter", name=CURSOR)
    before = tx.now - tx.settings.ms("mail.answer_s")
    found: list[Row] = []
    for row in tx.all("messages_told", after=kept["value"] if kept else 0, limit=limit):
        if row["id"] and row["created_at"] > before:
            break
        found.append(row)
    return found, found[-1]["seq"] if found else 0


def _chased(tx: Tx, row: Row) -> list[str]:
    waited = times.ago(tx.now - row["created_at"])
    raised: list[str] = []
    for reader in tx.all("open_deliveries", message=row["n"]):
        if reader["name"] in (names.PERSON, names.SYSTEM) or tx.one("is_dead", agent=reader["agent"], message=row["n"]):
            continue
        kind = "escalation" if row["type"] == mail.Type.ESCALATION else "message"
        why = f"{row['id']}, a {kind} of {row['sender_name']} to {reader['name']}, has waited {waited} for an answer."
        raised.append(put_above(tx, reader, row, why))
    return raised
