"""Mail that asked something of an agent which is gone: another live agent of its role is asked instead.

The asker's question goes on as a message of its own in the same thread, because a mailbox is read from a cursor that
only goes forward. Both messages say what happened: the receipt of the first where it went and why, the second in its
first line. The first is dealt with by that, so that nobody works on it twice.
"""

from rookery.core import mail, routing, text
from rookery.core.presence import Liveness
from rookery.store.port import Row

from . import post
from .recipients import Recipients
from .tx import Tx

MOST = 20  # messages of one agent at once


def reroute(tx: Tx, gone: Row, why: str) -> str:
    """What became of its mail, in a sentence; "" if nothing waited for an answer."""
    waiting = tx.all("asking_mail", agent=gone["id"], limit=MOST)
    if not waiting:
        return ""
    if not gone["role"]:
        return f"{len(waiting)} messages wait for its answer, and it has no role in which another could be asked."
    went = [name for message in waiting if (name := _passed_on(tx, gone, message, why))]
    if not went:
        return f"{len(waiting)} messages wait for its answer, and no other {gone['role']} is here."
    return f"{len(went)} messages that asked something of it went to {', '.join(dict.fromkeys(went))}."


def _passed_on(tx: Tx, gone: Row, message: Row, why: str) -> str:
    chosen = _other(tx, gone, message)
    sender = tx.one("agent_by_id", id=message["sender"])
    asker = tx.find_agent(sender["name"]) if sender else None
    if chosen is None or asker is None:
        return ""
    other, reason = chosen
    note = f"(Passed on to you, {reason}: it was for {gone['name']}, and {why}. An answer goes to {asker['name']}.)"
    draft = mail.Draft(
        type=mail.Type(message["type"]), label=message["label"], priority=mail.Priority(message["priority"]),
        subject=message["subject"], body=f"{note}\n\n{message['body']}", payload=message["payload"],
        context=message["context"], attachments=message["attachments"], tags=message["tags"],
        expires_at=message["expires_at"], asks=True,
    )  # fmt: skip
    to = Recipients([other], other["name"], "", {other["name"]: reason})
    sent = post.deliver(tx, asker, draft, to, group=message["grp"], thread=message["thread"], reply_to=message["id"])
    _receipt(tx, gone, message, text.one_line(f"to {other['name']} as {sent['id']}: {why}", 200))
    return other["name"]


def _other(tx: Tx, gone: Row, message: Row) -> tuple[Row, str] | None:
    rows = tx.all("candidates_for_role", role=gone["role"], sender=message["sender"])
    live = [
        routing.Candidate(row["name"], True, row["load"], row["shared"])
        for row in rows
        if row["id"] != gone["id"] and tx.liveness(row) is Liveness.LIVE
    ]
    if not live:
        return None
    name, reason = routing.choose(gone["role"], live, [])
    found = tx.find_agent(name)
    return (found, reason) if found else None


def _receipt(tx: Tx, gone: Row, message: Row, detail: str) -> None:
    tx.run("delivery_complete", agent=gone["id"], message=message["n"], reason=f"passed on {detail}")
    seq = tx.event("mail.rerouted", "system", target=gone["name"], ref=message["id"], preview=detail)
    tx.run(
        "add_receipt", message=message["n"], agent=gone["id"], seq=seq, at=tx.wall, stage="rerouted", channel="",
        detail=detail,
    )  # fmt: skip
    tx.ring(message["sender_name"])
