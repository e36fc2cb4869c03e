"""Mail out of and into the ledger: what the file trees of other systems are made from and read into.

There every delivery is a message of its own. Where several agents got one message, each copy therefore goes by an id
that is made from the message's and its recipient (`core.ids.copy_id`), the same in every export.
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from rookery.core import errors, ids, mail, names, text, times
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from . import cards, post
from .tx import Tx
from .verbs import Arg, fits

PAGE = 200  # whole bodies, so that a page of the longest ones stays within the read limit
PROBLEMS_TOLD = 10
NO_SUBJECT = "(no subject)"

# A delivery as `import_mail` takes it; times are milliseconds of the wall clock.
Letter = TypedDict("Letter", {
    "id": str, "from": str, "to": str, "type": str, "priority": int, "subject": str, "body": str, "state": str,
    "payload": dict[str, Any], "context": dict[str, Any], "attachments": list[str], "tags": list[str],
    "thread": str | None, "reply_to": str | None, "group": str | None,
    "at": int, "expires_at": int | None, "read_at": int | None, "completed_at": int | None,
})  # fmt: skip
_MOMENTS = ("at", "expires_at", "read_at", "completed_at")
# The mailbox document has no word for an expired message: its time says so.
STATES = tuple(state for state in mail.State if state is not mail.State.EXPIRED)


class Problem(NamedTuple):
    where: str
    what: str


# -- out ---------------------------------------------------------------------------------------------------------


def export_mail(
    tx: Tx,
    *,
    after: Annotated[list[int] | None, Arg("the cursor of the last page")] = None,
    id: Annotated[str, Arg("only this delivery, by the id it goes by outside")] = "",
    thread: Annotated[str, Arg("only this conversation")] = "",
) -> dict[str, Any]:
    if id:
        found = _delivery(tx, id)
        return {"letters": [_letter(tx, found)] if found else [], "after": None}
    place, agent = _cursor(after)
    query, more, key = ("thread_deliveries", {"thread": thread}, "seq") if thread else ("all_deliveries", {}, "message")
    rows = tx.all(query, after_message=place, after_agent=agent, limit=PAGE, **more)
    letters = [_letter(tx, row) for row in rows]
    return {"letters": letters, "after": [rows[-1][key], rows[-1]["agent"]] if len(rows) == PAGE else None}


def letters(
    tx: Tx,
    *,
    after: Annotated[list[int] | None, Arg("the cursor of the last page")] = None,
    id: Annotated[str, Arg("only this delivery, by the id it goes by outside")] = "",
    thread: Annotated[str, Arg("only this conversation")] = "",
) -> dict[str, Any]:
    """Like an export, of what the caller sent or received."""
    if not (id or thread):
        raise errors.BadInput("Which letters?", "Give a message or a conversation; `inbox` lists what waits.")
    me = tx.me()
    page = export_mail(tx, after=after, id=id, thread=thread)
    mine = [each for each in page["letters"] if me["name"] and me["name"] in (each["recipient"], each["from"])]
    return {"letters": mine, "after": page["after"]}


def _cursor(after: Sequence[int] | None) -> tuple[int, int]:
    if after is None:
        return 0, 0
    if len(after) != 2 or not all(0 <= each < 1 << 62 for each in after):
        raise errors.BadInput("That is no page of an export.", "Give `after` of the page before, unchanged.")
    return after[0], after[1]


def _letter(tx: Tx, row: Row) -> dict[str, Any]:
    return cards.card(tx, row["message"], row, chars=cards.WHOLE) | {"recipient": row["recipient"]}


def _delivery(tx: Tx, id: str) -> Row | None:
    """The delivery that goes by this id outside."""
    whole = tx.one("one_delivery", id=id, agent=0)
    part = ids.split_copy(id)
    if whole is not None or part is None:
        return whole
    return tx.one("one_delivery", id=part[0], agent=part[1])


# -- in ----------------------------------------------------------------------------------------------------------


def import_mail(
    tx: Tx,
    letters: Annotated[list[dict[str, Any]], Arg("deliveries with sender, recipient and state")],
    *,
    sources: Annotated[list[str] | None, Arg("where each was found, to tell in a refusal")] = None,
) -> dict[str, Any]:
    """All of them or none. An id that is here already is passed over, so an import can be repeated."""
    taken = skipped = 0
    # Oldest first, so that the order of the ledger is the order in which they were written.
    for letter, draft in sorted(_checked(tx, letters, sources or []), key=lambda each: each[0]["at"]):
        if tx.one("message_exists", id=letter["id"]) is not None or _delivery(tx, letter["id"]) is not None:
            skipped += 1
            continue
        _restore(tx, letter, draft)
        taken += 1
    if taken:
        tx.event("imported", tx.me()["name"], preview=f"{taken} messages", count=taken)
    return {"imported": taken, "skipped": skipped}


def _checked(tx: Tx, letters: Sequence[Any], sources: Sequence[str]) -> list[tuple[Letter, mail.Draft]]:
    """Everything that is wrong is told at once, before anything is written."""
    good: list[tuple[Letter, mail.Draft]] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for number, letter in enumerate(letters):
        where = sources[number] if number < len(sources) else f"letter {number + 1}"
        try:
            draft = _check(tx, letter)
            if letter["id"] in seen:
                raise errors.BadInput(f"{letter['id']} is also in {seen[letter['id']]}.")
        except errors.BadInput as error:
            problems.append(Problem(where, error.message))
            continue
        seen[letter["id"]] = where
        good.append((letter, draft))
    if problems:
        raise unreadable(problems, len(letters))
    return good


def unreadable(problems: Sequence[Problem], total: int) -> errors.BadInput:
    """One refusal for everything that was found wrong."""
    told = [f"{text.one_line(where, 200)}: {text.one_line(what, 200)}" for where, what in problems[:PROBLEMS_TOLD]]
    rest = f" And {len(problems) - len(told)} more." if len(problems) > len(told) else ""
    return errors.BadInput(
        f"{len(problems)} of {total} messages can not be imported. {' '.join(told)}{rest}",
        "Nothing was imported. Correct them or move them away, then import again.",
        code="BAD_LETTER",
        problems=told,
    )


def _check(tx: Tx, letter: Any) -> mail.Draft:
    for name, kind in Letter.__annotations__.items():
        if name not in letter or not fits(letter[name], kind):
            raise errors.BadInput(f"{name} is missing or of the wrong type.")
    ids.check_message_id(letter["id"])
    names.check_address(letter["from"])
    names.check_address(letter["to"])
    for name in ("thread", "reply_to", "group"):
        mail.reference(letter[name] or "", name)
    for name in _MOMENTS:
        if letter[name] is not None and not 0 <= letter[name] <= times.LAST_MS:
            raise errors.BadInput(f"{name} lies before 1970 or after 9999.", code="BAD_TIME")
    if letter["state"] not in STATES:
        raise errors.BadInput(f"No status {text.quoted(letter['state'], 40)}.")
    return mail.draft(
        type=letter["type"], priority=letter["priority"], subject=letter["subject"].strip() or NO_SUBJECT,
        body=letter["body"], payload=letter["payload"], context=letter["context"], attachments=letter["attachments"],
        tags=letter["tags"], expires_at=None, asks=None, now=tx.now, limit=tx.settings["mail.body_limit"],
    )._replace(expires_at=_ledger(tx, letter["expires_at"]))  # fmt: skip


def _restore(tx: Tx, letter: Letter, draft: mail.Draft) -> None:
    sender, recipient = _address(tx, letter["from"]), _address(tx, letter["to"])
    id, state = letter["id"], letter["state"]
    facts = post.log_facts(tx, draft, [recipient["name"]], letter["thread"] or id, letter["reply_to"], letter["group"])
    past = {name: times.iso_or_none(letter[name]) for name in ("at", "read_at", "completed_at")}
    seq = tx.event(
        "message", sender["name"], target=recipient["name"], ref=id, preview=draft.subject, **facts,
        imported={"state": state, **past},
    )  # fmt: skip
    made = tx.one(
        "restore_message", id=id, seq=seq, thread=letter["thread"] or id, reply_to=letter["reply_to"],
        sender=sender["id"], grp=letter["group"] or "", address=recipient["name"], at=letter["at"],
        created_at=_ledger(tx, letter["at"]), **draft._asdict(),
    )  # fmt: skip
    assert made is not None
    tx.run(
        "restore_delivery", agent=recipient["id"], message=made["n"], state=state, priority=draft.priority,
        sender=sender["id"], expires_at=draft.expires_at, read_at=_ledger(tx, letter["read_at"]),
        done_at=_ledger(tx, letter["completed_at"]), archived_at=tx.now if state == mail.State.ARCHIVED else None,
    )  # fmt: skip
    for stage, at in (("seen", letter["read_at"]), ("acknowledged", letter["completed_at"])):
        if at is not None:
            tx.run(
                "add_receipt", message=made["n"], agent=recipient["id"], seq=seq, at=at, stage=stage,
                channel="import", detail="",
            )  # fmt: skip
    tx.ring(recipient["name"])


def _ledger(tx: Tx, wall: int | None) -> int | None:
    return None if wall is None else tx.now + (wall - tx.wall)


def _address(tx: Tx, name: str) -> Row:
    return tx.find_agent(name) or tx.make_agent(name)
