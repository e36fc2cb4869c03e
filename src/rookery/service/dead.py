"""Dead letters: mail that nobody is woken for any more. It lies in its mailbox as before; its sender is told, and who
stands above its reader, if it asked for an answer."""

from typing import Annotated, Any

from rookery.core import delivery, errors, names, text, times
from rookery.store.port import Row

from . import held, post
from .tx import REACHED, Tx
from .verbs import Arg

MOST = 200  # in one transaction
SHOWN = 50


def bury_worn_out(tx: Tx, row: Row, handed_to: int, reason: str, law: delivery.Limits) -> list[str]:
    """What was tried too often, or has waited too long for a moment that does not come."""
    anew = tx.one("fresh_since", agent=row["id"])
    since = max(row["joined_at"] or 0, anew["at"] + 1 if anew and anew["at"] else 0)
    found = (
        tx.one("worn_out", agent=row["id"], after=handed_to, since=since, others=law.tries - 1),
        tx.one("long_tried", agent=row["id"], after=handed_to, since=since, before=tx.now - law.patience_ms),
    )
    upto = max((each["upto_n"] for each in found if each), default=0)
    if not upto:
        return []
    rows = tx.all("pending_upto", agent=row["id"], after=handed_to, upto=upto, limit=MOST)
    for message in rows:
        _bury(tx, row, message, reason, since)
    return [message["id"] for message in rows]


def _bury(tx: Tx, row: Row, message: Row, reason: str, since: int) -> None:
    before = tx.one("is_dead", agent=row["id"], message=message["n"])  # told above when it died the first time
    counted = tx.one("count_attempts", agent=row["id"], message=message["n"], since=since)
    tries = counted["times"] if counted else 0
    tx.run("bury", agent=row["id"], message=message["n"], reason=reason, attempts=tries, at=tx.wall)
    seq = tx.event("mail.dead", names.SYSTEM, target=row["name"], ref=message["id"], preview=message["subject"],
                   reason=reason, attempts=tries)  # fmt: skip
    told = f"{reason}, tried {tries} times"
    tx.run(
        "add_receipt", message=message["n"], agent=row["id"], seq=seq, at=tx.wall, stage="dead", channel="", detail=told
    )
    why = f"{message['id']} ({text.one_line(message['subject'], 80)}) did not reach {row['name']}: {told}."
    held.tell(
        tx, [message["sender_name"]], f"Not delivered: {message['subject']}",
        f"{why}\n\nIt waits in {row['name']}'s mailbox. `rook dead show {message['id']}` tells what was tried, "
        f"`rook dead resend {message['id']}` tries again.", tags=("delivery",),
    )  # fmt: skip
    if message["asks"] and not before:
        from . import chasing

        chasing.put_above(tx, row, message, why, "Not delivered")


# -- verbs -----------------------------------------------------------------------------------------------------------


def listed(
    tx: Tx,
    *,
    everything: Annotated[bool, Arg("also what was resent, dropped or came through", flag="--all")] = False,
    limit: Annotated[int, Arg("how many at most", flag="-n")] = SHOWN,
) -> dict[str, Any]:
    rows = tx.all("all_dead_letters" if everything else "dead_letters", limit=max(1, min(limit, 1000)))
    return {"letters": [_card(row) for row in rows]}


def show(tx: Tx, id: Annotated[str, Arg("the message", positional=True, metavar="ID")]) -> dict[str, Any]:
    rows = _letters(tx, id, "")
    return {
        "id": rows[0]["id"], "subject": rows[0]["subject"], "from": rows[0]["sender"],
        "letters": [_card(row) | {"tried": _tried(tx, row)} for row in rows],
    }  # fmt: skip


def _tried(tx: Tx, row: Row) -> list[dict[str, Any]]:
    found = tx.all("attempts_on", agent=row["agent"], message=row["message"], limit=1000)
    return [
        {"at": times.iso(each["at"]), "channel": each["channel"], "reason": each["reason"], "detail": each["detail"]}
        for each in found
    ]


def resend(
    tx: Tx,
    id: Annotated[str, Arg("the message", positional=True, metavar="ID")],
    *,
    to: Annotated[str, Arg("only for this recipient")] = "",
) -> dict[str, Any]:
    """Tried again from the start, for whoever it did not reach."""
    rows = [row for row in _letters(tx, id, to) if _settled(tx, row, "resent")]
    for row in rows:
        tx.run("endpoint_again", agent=row["agent"])
        tx.ring(row["recipient"])
    tx.raise_flags(REACHED)
    _tell(tx, rows, id, "mail.resent")
    return {"id": id, "resent": [row["recipient"] for row in rows]}


def drop(
    tx: Tx,
    id: Annotated[str, Arg("the message", positional=True, metavar="ID")],
    *,
    to: Annotated[str, Arg("only for this recipient")] = "",
) -> dict[str, Any]:
    """Nobody is told of it any more. It stays in its mailbox, unread."""
    rows = [row for row in _letters(tx, id, to) if _settled(tx, row, "dropped")]
    _tell(tx, rows, id, "mail.dropped")
    return {"id": id, "dropped": [row["recipient"] for row in rows]}


def _letters(tx: Tx, id: str, to: str) -> list[Row]:
    agent = tx.agent(to)["id"] if to else 0
    rows = tx.all("dead_letter", id=post.message_id_of(tx, id), agent=agent)
    if not rows:
        raise errors.UnknownName(
            f"{text.one_line(id, 40)} is no dead letter.", "`rook dead` lists them.", code="UNKNOWN_LETTER"
        )
    return rows


def _settled(tx: Tx, row: Row, state: str) -> bool:
    return bool(tx.run("settle_dead", agent=row["agent"], message=row["message"], state=state))


def _tell(tx: Tx, rows: list[Row], id: str, event: str) -> None:
    if not rows:
        raise errors.Refused(
            f"{text.one_line(id, 40)} is dealt with already.", "`rook dead --all` tells how.", code="NOT_DEAD"
        )
    me = tx.me()
    for row in rows:
        tx.event(event, me["name"], target=row["recipient"], ref=row["id"], preview=row["subject"])
    tx.ring(delivery.KEEPER)


def _card(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"], "to": row["recipient"], "from": row["sender"], "subject": row["subject"],
        "state": row["state"], "reason": row["reason"], "attempts": row["attempts"], "at": times.iso(row["at"]),
    }  # fmt: skip
