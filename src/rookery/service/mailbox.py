"""The reader's side: inbox, read, ack, archive, thread, receipts, counts, search, and mail as prompt text."""

from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import digest, errors, mail, names, text, times
from rookery.core import search as searching
from rookery.store.port import Row

from . import cards
from .post import PRIORITIES, message_id_of, unknown_message
from .tx import REACHED, Tx
from .verbs import Arg

OPEN = (mail.State.UNREAD, mail.State.READ, mail.State.PROCESSING, mail.State.FAILED)
STEP_OF = {"completed": "complete", "processing": "process", "failed": "fail"}
MAX_LIMIT = 1_000


def inbox(
    tx: Tx,
    *,
    all: Annotated[bool, Arg("every message, also read, completed and archived ones")] = False,
    open: Annotated[bool, Arg("also what was read but not completed")] = False,
    types: Annotated[list[str] | None, Arg("only this type (repeatable)", flag="--type")] = None,
    priority: Annotated[str, Arg("this priority or higher", flag="-p", choices=PRIORITIES)] = "low",
    tag: Annotated[str, Arg("only with this tag")] = "",
    sender: Annotated[str, Arg("only from this agent", flag="--from")] = "",
    since: Annotated[int | None, Arg("only newer: 2h ago as 2h, or a time", kind="past")] = None,
    after: Annotated[int, Arg("only after this event number")] = 0,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
    whole: Annotated[bool, Arg("bodies in full, however long", hidden=True)] = False,
    page: Annotated[list[int] | None, Arg("`next` of the page before", hidden=True)] = None,
) -> dict[str, Any]:
    me = tx.me()
    count = checked_limit(limit, tx.settings["mail.inbox_limit"])
    filtered = all or open or types or tag or sender or since is not None or after or priority != "low" or page
    rows = (
        _filtered(tx, me, _states(all, open), count + 1, types or [], priority, tag, sender, since or 0, after, page)
        if filtered
        else tx.all("inbox_unread", agent=me["id"], limit=count + 1)
    )
    chars = cards.WHOLE if whole else cards.PREVIEW_CHARS
    shown, more = rows[:count], len(rows) > count
    return {
        "agent": me["name"],
        "messages": [cards.card(tx, row["n"], row, chars=chars) for row in shown],
        "more": more,
        "next": [shown[-1]["priority"], shown[-1]["n"]] if more else None,
    }


def checked_limit(limit: int | None, default: int) -> int:
    count = default if limit is None else limit
    if not 1 <= count <= MAX_LIMIT:
        raise errors.BadInput(f"A limit of {count} is out of range.", f"1 to {MAX_LIMIT}.")
    return count


def _states(all: bool, open: bool) -> Sequence[mail.State]:
    return tuple(mail.State) if all else OPEN if open else (mail.State.UNREAD,)


def _filtered(
    tx: Tx, me: Row, states: Sequence[mail.State], limit: int, types: Sequence[str], priority: str, tag: str,
    sender: str, since: int, after: int, page: Sequence[int] | None,
) -> list[Row]:  # fmt: skip
    wanted = [mail.parse_type(word)[0] for word in types]
    agent = tx.find_agent(names.check_address(sender)) if sender else None
    if sender and agent is None:
        raise tx.unknown(sender)
    page_priority, page_message = _page(page)
    written = mail.as_json(mail.check_tags([tag]), "the tag")[1:-1] if tag else ""  # as it stands in the list of tags
    escaped = written.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    asked = {
        "agent": me["id"], "limit": limit, "types": f",{','.join(wanted)}," if wanted else "", "tag": tag,
        "min_priority": int(mail.parse_priority(priority)), "sender": agent["id"] if agent else 0,
        "tag_like": f"%{escaped}%", "since": since, "after": after, "page_priority": page_priority,
        "page_message": page_message,
        "expired": int(mail.State.EXPIRED in states),
    }  # fmt: skip
    rows = [row for state in states for row in tx.all("inbox_filtered", state=state, **asked)]
    return sorted(rows, key=lambda row: (-row["priority"], row["n"]))[:limit]


def _page(page: Sequence[int] | None) -> tuple[int, int]:
    """The place after which a page begins: a priority and a row."""
    if page is None:
        return max(mail.Priority) + 1, 0
    if len(page) != 2 or not 0 <= page[0] < 1 << 31 or not 0 <= page[1] < 1 << 62:
        raise errors.BadInput("That is no page of an inbox.", "Give `next` of the page before, unchanged.")
    return page[0], page[1]


def read(
    tx: Tx,
    id: Annotated[str, Arg("the message", positional=True, metavar="ID")],
    *,
    peek: Annotated[bool, Arg("show it without marking it read")] = False,
) -> dict[str, Any]:
    me = tx.me()
    message, delivery = _mine(tx, me, id)
    if delivery is not None and not peek and tx.run("delivery_read", agent=me["id"], message=message["n"]):
        record(tx, me, message, "read", "seen")
        delivery = tx.one("delivery", agent=me["id"], message=message["n"])
    tx.beat()
    return cards.with_perspectives(tx, cards.card(tx, message["n"], delivery, chars=cards.WHOLE))


def _mine(tx: Tx, me: Row, id: str) -> tuple[Row, Row | None]:
    """A message I may see: in my mailbox, sent by me, or anything if I am the person."""
    message = tx.one("message_by_id", id=message_id_of(tx, id))
    if message is None:
        raise unknown_message(id)
    delivery = tx.one("delivery", agent=me["id"], message=message["n"])
    if delivery is None and message["sender"] != me["id"] and me["name"] != names.PERSON:
        raise errors.NotYours(f"{message['id']} is not in {me['name']}'s mailbox.", "`rook inbox --all` lists yours.")
    return message, delivery


def ack(
    tx: Tx,
    ids: Annotated[list[str], Arg("the messages", positional=True, metavar="ID")],
    *,
    state: Annotated[str, Arg("how it stands", choices=tuple(STEP_OF))] = "completed",
    reason: Annotated[str, Arg("why it failed, or what came of it", flag="-m")] = "",
) -> dict[str, Any]:
    if state not in STEP_OF:
        raise errors.BadInput(f"No state {text.one_line(state, 40)!r}.", f"One of: {', '.join(STEP_OF)}.")
    done = [step(tx, id, STEP_OF[state], text.check_text(reason, "the reason")[:500]) for id in ids]
    tx.beat()
    return {"messages": done}


def archive(
    tx: Tx,
    ids: Annotated[list[str] | None, Arg("the messages", positional=True, metavar="ID")] = None,
    *,
    completed: Annotated[bool, Arg("everything that is completed")] = False,
) -> dict[str, Any]:
    if not ids and not completed:
        raise errors.BadInput("Nothing to archive.", "Give message ids, or --completed.")
    done = [step(tx, id, "archive") for id in ids or []]
    if completed:
        me = tx.me()
        for row in tx.all("completed_deliveries", agent=me["id"], limit=MAX_LIMIT):
            message = tx.one("message_card", n=row["n"], chars=0)
            assert message is not None
            done.append(step(tx, message["id"], "archive"))
    tx.beat()
    return {"messages": done}


# What an event and a receipt call each step.
_EVENT = {"read": "mail.read", "process": "mail.processing", "complete": "mail.completed", "fail": "mail.failed",
          "archive": "mail.archived", "hand": "mail.handed", "see": "mail.seen"}  # fmt: skip
_STAGE = {"process": "processing", "complete": "acknowledged", "fail": "failed", "archive": "archived"}


def step(tx: Tx, id: str, name: str, reason: str = "") -> dict[str, Any]:
    """One step of a delivery's life: the statement carries the fence; core names the refusal."""
    me = tx.me()
    message, delivery = _mine(tx, me, id)
    if delivery is None:
        raise errors.NotYours(f"{id} is not in {me['name']}'s mailbox.", "Only its recipients can do that.")
    changed = tx.run(f"delivery_{name}", agent=me["id"], message=message["n"], reason=reason)
    if changed:
        record(tx, me, message, name, _STAGE[name], reason)
        state = mail.STEPS[name][1]
    else:
        state = mail.transition(mail.State(delivery["state"]), name, expires_at=delivery["expires_at"], now=tx.now)
    done = {"id": id, "state": state.value, "changed": bool(changed)}
    if changed and name == "complete" and '"rounds"' in message["context"]:
        from . import rounds  # few messages come more than once

        done |= rounds.next_round(tx, me, message)
    return done


def record(tx: Tx, me: Row, message: Row, name: str, stage: str, detail: str = "", *, channel: str = "") -> None:
    """What happened to a delivery, in the log and on its receipt; the sender is rung."""
    seq = tx.event(
        _EVENT[name], me["name"], target=message["sender_name"], ref=message["id"], preview=message["subject"]
    )
    tx.run(
        "add_receipt", message=message["n"], agent=me["id"], seq=seq, at=tx.wall, stage=stage, channel=channel,
        detail=detail,
    )  # fmt: skip
    if tx.flags & REACHED and name != "see":  # whoever deals with a dead letter has it
        tx.run("settle_dead", agent=me["id"], message=message["n"], state="reached")
    tx.ring(message["sender_name"])


def thread(
    tx: Tx,
    id: Annotated[str, Arg("a message or a thread", positional=True, metavar="ID")],
    *,
    limit: Annotated[int | None, Arg("the newest so many", flag="-n")] = None,
) -> dict[str, Any]:
    message = tx.one("message_by_id", id=id)
    root = message["thread"] if message else id
    rows = tx.all("thread_messages", thread=root, limit=checked_limit(limit, 100))
    if not rows:
        raise unknown_message(id)
    me = tx.me()
    people = [row["name"] for row in tx.all("thread_people", thread=root)]
    if me["name"] != names.PERSON and me["name"] not in people:
        raise errors.NotYours(f"You take no part in {id}.", f"It is between {', '.join(people[:5])}.")
    shown = [cards.card(tx, row["n"], tx.one("delivery", agent=me["id"], message=row["n"])) for row in reversed(rows)]
    return {"thread": root, "participants": people, "messages": shown}


def receipts(tx: Tx, id: Annotated[str, Arg("the message", positional=True, metavar="ID")]) -> dict[str, Any]:
    me = tx.me()
    message, _ = _mine(tx, me, id)
    history: dict[int, list[dict[str, Any]]] = {}
    for row in tx.all("receipts_of", message=message["n"]):
        told = {"stage": row["stage"], "at": times.iso(row["at"]), "channel": row["channel"], "detail": row["detail"]}
        history.setdefault(row["agent"], []).append({key: value for key, value in told.items() if value})
    accepted = {"stage": "accepted", "at": times.iso(message["at"])}
    recipients = [
        {
            "name": row["name"],
            "state": mail.effective(mail.State(row["state"]), row["expires_at"], tx.now).value,
            "reason": row["reason"],
            "receipts": [accepted, *history.get(row["agent"], [])],
        }
        for row in tx.all("deliveries_of", message=message["n"])
    ]
    return {
        "id": message["id"],
        "from": message["sender_name"],
        "subject": message["subject"],
        "recipients": recipients,
    }


def pending(tx: Tx) -> dict[str, Any]:
    counts = counts_of(tx, tx.me())
    return {"agent": tx.me()["name"], **counts}


def counts_of(tx: Tx, agent: Row) -> dict[str, int]:
    waiting = {row["priority"]: row["waiting"] for row in tx.all("pending_counts", agent=agent["id"])}
    counts = {p.name.lower(): waiting.get(p, 0) for p in reversed(mail.Priority)}
    return counts | {"total": sum(counts.values())}


def context(tx: Tx) -> dict[str, Any]:
    me = tx.me()
    full = tx.settings["mail.context_full"]
    least = mail.parse_priority(tx.settings["mail.context_priority"])
    rows = tx.all("inbox_unread", agent=me["id"], limit=max(1, full))
    shown: list[dict[str, Any]] = []
    for row in rows:
        message = cards.with_perspectives(tx, cards.card(tx, row["n"], row))
        shown.append(message | {"priority": int(mail.parse_priority(message["priority"]))})
    counts = counts_of(tx, me)
    limits = digest.DigestLimits(full, tx.settings["mail.context_characters"], int(least))
    return {"agent": me["name"], "text": digest.render(me["name"], shown, counts["total"], counts, limits), **counts}


def found_in_mail(tx: Tx, terms: list[searching.Term], everyone: bool, limit: int) -> list[dict[str, Any]]:
    """Messages by their words: the caller's own, and all of them for the user, who may `read` each of them too."""
    me = tx.me()
    is_user = me["name"] == names.PERSON
    if everyone and not is_user:
        raise errors.NotYours("Only the user may search everyone's mail.", "Leave out --everyone to search yours.")
    scope = 0 if is_user else me["id"] or -1  # whoever has no name has no mail
    rows = tx.all("search_messages", match=tx.match(terms), agent=scope, limit=limit)
    hits: list[dict[str, Any]] = []
    for row in rows:
        message = cards.card(tx, row["n"], tx.one("delivery", agent=me["id"], message=row["n"]), chars=100_000)
        hits.append(message | {"snippet": searching.snippet(message.pop("body"), terms), "rank": round(row["rank"], 4)})
    return hits
