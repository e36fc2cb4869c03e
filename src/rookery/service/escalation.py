"""Escalations (seed 004, 5.1): a problem put before the leader or the person, closed by their answer."""

from typing import Annotated, Any

from rookery.core import errors, mail, names, text, times
from rookery.core.presence import Liveness
from rookery.store.port import Row

from . import post, raising
from .recipients import Recipients
from .tx import Tx
from .verbs import Arg

LEVELS = ("leader", "person")


def escalate(
    tx: Tx,
    title: Annotated[str, Arg("one line: what is wrong", positional=True)],
    body: Annotated[str, Arg("what was tried, what is needed; - reads standard input", flag="-m")] = "",
    *,
    reason: Annotated[str, Arg("why it can not be settled here", flag="-r")] = "blocked",
    level: Annotated[str, Arg("who must answer", choices=LEVELS)] = "leader",
    priority: Annotated[str, Arg("how soon", flag="-p", choices=post.PRIORITIES)] = "high",
    related: Annotated[list[str] | None, Arg("a message or task it concerns (repeatable)")] = None,
) -> dict[str, Any]:
    if level not in LEVELS:
        raise errors.BadInput(f"No level {text.one_line(level, 40)!r}.", "leader or person.")
    if not title.strip():
        raise errors.BadInput("An escalation needs a title.", "One line that says what is wrong.")
    sender = tx.me()
    leader = tx.leader()
    if level == "leader" and (not leader or names.key(leader) == sender["key"]):
        level = "person"  # nobody stands between
    to = _recipients(tx, level, leader)
    sent = put(tx, sender, title, body, reason=reason, level=level, priority=priority, to=to, related=related or [])
    tx.beat()
    return sent


def put(
    tx: Tx, sender: Row, title: str, body: str, *,
    reason: str, level: str, priority: str, to: list[Row], related: list[str],
) -> dict[str, Any]:  # fmt: skip
    """The record and the message that carries it."""
    id = raising.new_id(tx)
    title = mail.one_subject(title)
    reason = text.check_text(reason, "the reason")[:200]
    draft = mail.draft(
        type=mail.Type.ESCALATION, priority=priority, subject=f"Escalation: {title}"[:500], body=body or title,
        payload={"escalation_id": id, "reason": reason, "level": level}, context={"related": related},
        attachments=[], tags=["escalation"], expires_at=None, asks=True, now=tx.now,
        limit=tx.settings["mail.body_limit"],
    )  # fmt: skip
    named = ", ".join(row["name"] for row in to)
    sent = post.deliver(tx, sender, draft, Recipients(to, named, "", {}))
    raising.open_record(tx, sender, id, title, reason, level, draft, sent["id"], named)
    sent.update(escalation=id, level=level, to=named)
    return sent


def _recipients(tx: Tx, level: str, leader: str) -> list[Row]:
    """The leader; and the person, where there is no leader or nobody sits in its chair just now."""
    person = tx.find_agent(names.PERSON) or tx.make_agent(names.PERSON)
    if level == "person":
        return [person]
    chief = tx.find_agent(leader) or tx.make_agent(leader)
    return [chief] if tx.liveness(chief) is Liveness.LIVE else [chief, person]


def listed(
    tx: Tx,
    *,
    state: Annotated[str, Arg("open or closed", choices=("", "open", "closed"))] = "",
    limit: Annotated[int, Arg("how many at most", flag="-n")] = 50,
) -> dict[str, Any]:
    rows = tx.all("escalations", state=state, limit=limit)
    return {
        "escalations": [
            {
                "id": row["id"], "title": row["title"], "reason": row["reason"], "level": row["level"],
                "priority": mail.Priority(row["priority"]).name.lower(), "by": row["raised_by_name"],
                "state": row["state"], "message": row["message"], "answer": row["answer"], "at": times.iso(row["at"]),
            }
            for row in rows
        ]
    }  # fmt: skip
