"""Sending: one transaction however many get it, and an answer that says what is known about each of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from rookery.core import errors, ids, mail, names, presence, text, times
from rookery.core import handoff as handoffs
from rookery.core.delivery import KEEPER
from rookery.store.port import Row

from . import idempotency, raising
from .recipients import Recipients, other_members, resolve
from .tx import REACHED, WORKED, Tx
from .verbs import Arg

KEY_LIMIT = 200
_ROUTES = ("routes",)
PRIORITIES = tuple(p.name.lower() for p in mail.Priority)
TYPES = (*mail.Type, *mail.TX_TYPES)


# -- verbs -------------------------------------------------------------------------------------------------------


def send(
    tx: Tx,
    to: Annotated[list[str], Arg("names, group/name, broadcast:GROUP or any:ROLE", positional=True, metavar="TO")],
    subject: Annotated[str, Arg("one line", flag="-s")],
    body: Annotated[str, Arg("the message; - reads it from standard input", flag="-m")] = "",
    *,
    type: Annotated[str, Arg("what kind of message", flag="-t", choices=TYPES)] = "request",
    priority: Annotated[str, Arg("how soon", flag="-p", choices=PRIORITIES)] = "normal",
    payload: Annotated[dict[str, Any] | None, Arg("structured data", kind="json")] = None,
    context: Annotated[dict[str, Any] | None, Arg("structured context", kind="json")] = None,
    attachments: Annotated[list[str] | None, Arg("a file it speaks of (repeatable)", flag="--attach")] = None,
    tags: Annotated[list[str] | None, Arg("a word to find it by (repeatable)", flag="--tag")] = None,
    expires: Annotated[int | None, Arg("when it is no longer worth reading: 2h or a time", kind="when")] = None,
    asks: Annotated[bool | None, Arg("whether it wants an answer")] = None,
    group: Annotated[str, Arg("the group it belongs to")] = "",
    thread: Annotated[str, Arg("continue this conversation")] = "",
    reply_to: Annotated[str, Arg("the message it answers", hidden=True)] = "",
    key: Annotated[str, Arg("idempotency key: a repeat gets the same answer")] = "",
    id: Annotated[str, Arg("the id to give it", hidden=True)] = "",
    stale: Annotated[bool, Arg("take it although its time is over", hidden=True)] = False,
    lens: Annotated[list[str] | None, Arg("a perspective to take: `rook lenses` (repeatable)")] = None,
    clear_before: Annotated[bool, Arg("its reader starts afresh before it is given this")] = False,
    interrupt: Annotated[bool, Arg("its reader's turn is broken off for it, where the settings allow that")] = False,
    rounds: Annotated[int, Arg("put it before its reader so often, each time the last is completed")] = 0,
    status: Annotated[str, Arg("how the work stands, in the team's own words")] = "",
    spawn: Annotated[
        dict[str, Any] | None, Arg("a worker it asks for: kind or mesh, reason, context, lens", kind="json")
    ] = None,
    entity_refs: Annotated[list[str] | None, Arg("what that refers to (repeatable)", flag="--ref")] = None,
) -> dict[str, Any]:
    sender = tx.me()
    notes: Sequence[str] = ()
    then = None
    if spawn is not None or entity_refs:
        from . import features

        context, then = features.spawning(tx, sender, context, spawn, entity_refs or [], subject)
    if lens or clear_before or interrupt or rounds or status:
        from . import features  # few messages ask for more than to be read

        context, notes = features.asked(tx, context, type, lens or [], clear_before, rounds, status, interrupt)
    # Not `expires`: "in two hours" is another moment each time it is said, and still the same message.
    args = {"to": to, "subject": subject, "body": body, "type": type, "priority": priority, "tags": tags, "asks": asks,
            "attachments": attachments, "group": group, "thread": thread, "reply_to": reply_to,
            "payload": payload, "context": context}  # fmt: skip
    return dispatch(tx, sender, args, key=key, expires=expires, id=id, stale=stale, notes=notes, then=then)


def broadcast(
    tx: Tx,
    subject: Annotated[str, Arg("one line", flag="-s")],
    body: Annotated[str, Arg("the message; - reads it from standard input", flag="-m")] = "",
    *,
    group: Annotated[str, Arg("a group; the whole team when left out", flag="-g")] = "",
    exclude: Annotated[list[str] | None, Arg("leave this agent out (repeatable)")] = None,
    type: Annotated[str, Arg("what kind of message", flag="-t", choices=TYPES)] = "notification",
    priority: Annotated[str, Arg("how soon", flag="-p", choices=PRIORITIES)] = "normal",
    payload: Annotated[dict[str, Any] | None, Arg("structured data", kind="json")] = None,
    context: Annotated[dict[str, Any] | None, Arg("structured context", kind="json")] = None,
    attachments: Annotated[list[str] | None, Arg("a file it speaks of (repeatable)", flag="--attach")] = None,
    tags: Annotated[list[str] | None, Arg("a word to find it by (repeatable)", flag="--tag")] = None,
    expires: Annotated[int | None, Arg("when it is no longer worth reading: 2h or a time", kind="when")] = None,
    thread: Annotated[str, Arg("continue this conversation", hidden=True)] = "",
    reply_to: Annotated[str, Arg("the message it answers", hidden=True)] = "",
    separate: Annotated[bool, Arg("a message of its own for everyone, in one transaction", hidden=True)] = False,
    stale: Annotated[bool, Arg("take it although its time is over", hidden=True)] = False,
) -> dict[str, Any]:
    sender = tx.me()
    named = other_members(tx, sender, group, exclude or [])
    draft = _draft(tx, type, priority, subject, body, payload, context, attachments, tags, expires, None, stale)
    if draft.label == mail.ASK_HUMAN:
        raise errors.BadInput("A question for a human is not for everyone.", "`rook send user -t ask-human -s ...`.")
    if not named:
        if separate:
            return {"messages": []}
        raise errors.Refused(
            f"Nobody else is in {f'group {group}' if group else 'the team'}.",
            "`rook who --all` shows who is.",
            code="NOBODY",
        )
    address = f"broadcast:{group or 'all'}"
    notes = route(tx, sender, draft, Recipients(named, address, group, {}))
    _spend(tx, sender, named)
    told = [([row], row["name"]) for row in named] if separate else [(named, address)]
    root = _thread_root(tx, sender, thread, reply_to)
    sent = [
        deliver(tx, sender, draft, Recipients(rows, to, group, {}), group=group, thread=root, reply_to=reply_to)
        for rows, to in told
    ]
    for each in sent if notes else ():
        each["notes"] = notes
    return {"messages": sent} if separate else sent[0]


def reply(
    tx: Tx,
    id: Annotated[str, Arg("the message to answer", positional=True, metavar="ID")],
    body: Annotated[str, Arg("the answer; - reads it from standard input", flag="-m")],
    *,
    everyone: Annotated[bool, Arg("to everyone in the conversation")] = False,
    payload: Annotated[dict[str, Any] | None, Arg("structured data", kind="json")] = None,
    attachments: Annotated[list[str] | None, Arg("a file it speaks of (repeatable)", flag="--attach")] = None,
    tags: Annotated[list[str] | None, Arg("a word to find it by (repeatable)", flag="--tag")] = None,
    mark_read: Annotated[bool, Arg("mark the original as read", hidden=True)] = True,
) -> dict[str, Any]:
    sender = tx.me()
    original = _conversation(tx, sender, id)
    id = original["id"]
    subject = (
        original["subject"] if original["subject"].lower().startswith("re:") else f"Re: {original['subject']}"[:500]
    )
    draft = _draft(tx, "response", original["priority"], subject, body, payload, None, attachments, tags, None, None)
    recipients = resolve(tx, sender, _answered(tx, sender, original, everyone))
    notes = route(tx, sender, draft, recipients)
    _spend(tx, sender, recipients.rows)
    result = deliver(tx, sender, draft, recipients, group=original["grp"], thread=original["thread"], reply_to=id)
    _note_answer(tx, sender, original, result, mark_read, body)
    if notes:
        result["notes"] = notes
    return result


def handoff(
    tx: Tx,
    to: Annotated[list[str], Arg("who takes over", positional=True, metavar="TO")],
    subject: Annotated[str, Arg("one line", flag="-s")],
    *,
    work_completed: Annotated[str, Arg("what was done", flag="--done")] = "",
    current_state: Annotated[str, Arg("where it stands", flag="--state")] = "",
    next_steps: Annotated[list[str] | None, Arg("what comes next (repeatable)", flag="--next")] = None,
    files_modified: Annotated[list[str] | None, Arg("a file that was changed (repeatable)", flag="--file")] = None,
    files_created: Annotated[list[str] | None, Arg("a file that was added (repeatable)", flag="--new-file")] = None,
    blockers: Annotated[list[str] | None, Arg("what is in the way (repeatable)", flag="--blocker")] = None,
    dependencies: Annotated[list[str] | None, Arg("what it depends on (repeatable)", flag="--depends")] = None,
    related_escalations: Annotated[
        list[str] | None, Arg("an escalation it concerns (repeatable)", flag="--escalation")
    ] = None,
    state_file: Annotated[str, Arg("a file that tells the state")] = "",
    job_id: Annotated[str, Arg("the job it belongs to")] = "",
    notes: Annotated[str, Arg("anything else", flag="-m")] = "",
    template: Annotated[str, Arg("a predefined form: implement, review, bugfix, resume or the team's own")] = "",
    priority: Annotated[str, Arg("how soon", flag="-p", choices=PRIORITIES)] = "normal",
    group: Annotated[str, Arg("the group it belongs to")] = "",
    body: Annotated[str, Arg("the text, when it is written already", hidden=True)] = "",
) -> dict[str, Any]:
    sender = tx.me()
    form = handoffs.chosen(tx.settings["templates"], template)
    context = handoffs.fill({
        "work_completed": work_completed, "current_state": current_state, "next_steps": next_steps, "notes": notes,
        "files_modified": files_modified, "files_created": files_created, "blockers": blockers, "job_id": job_id,
        "dependencies": dependencies, "related_escalations": related_escalations, "state_file": state_file,
    }, form)  # fmt: skip
    for escalation in context["related_escalations"]:
        if not tx.caller.open_addresses and tx.one("escalation", id=escalation) is None:
            raise errors.UnknownName(
                f"No escalation {text.one_line(escalation, 40)}.", "`rook escalate --list` shows them."
            )
    recipients = resolve(tx, sender, to)
    body = body or handoffs.render(sender["name"], [row["name"] for row in recipients.rows], context)
    tags = ["handoff", *(form.tags if form else ())]
    files = [*context["files_modified"], *context["files_created"]]
    draft = _draft(tx, "handoff", priority, subject, body, None, context, files, tags, None, None)
    warned = route(tx, sender, draft, recipients)
    _spend(tx, sender, recipients.rows)
    result = deliver(tx, sender, draft, recipients, group=group or recipients.group)
    if warned:
        result["notes"] = warned
    return result


# -- what they share ---------------------------------------------------------------------------------------------


def dispatch(
    tx: Tx, sender: Row, args: Mapping[str, Any], *, key: str = "", expires: int | None = None, id: str = "",
    stale: bool = False, notes: Sequence[str] = (), spend: Callable[[Tx, Row, Sequence[Row]], None] | None = None,
    then: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Send what `args` say (those of `send`), once under its key. `notes` are for the sender; `then` adds to the answer
    what follows from it, once."""
    if key and (before := idempotency.remembered(tx, sender, key, args)):
        rows = [tx.find_agent(each["name"]) for each in before["recipients"]]
        ways = _ways(tx, rows)
        tx.after.append(lambda heard: _tell_wake(tx, before["recipients"], rows, heard, ways))
        return before
    said = args.get
    draft = _draft(
        tx, args["type"], args["priority"], args["subject"], args["body"], said("payload"), said("context"),
        said("attachments"), said("tags"), expires, said("asks"), stale,
    )  # fmt: skip
    asks_human = draft.label == mail.ASK_HUMAN
    recipients = resolve(tx, sender, with_person(args["to"]) if asks_human else args["to"], starts=True)
    notes = [*notes, *route(tx, sender, draft, recipients)]
    (spend or _spend)(tx, sender, recipients.rows)
    reply_to: str = said("reply_to", "")
    root = _thread_root(tx, sender, said("thread", ""), reply_to)
    result = deliver(
        tx, sender, draft, recipients, group=said("group") or recipients.group, thread=root, reply_to=reply_to, id=id
    )
    if asks_human:
        result["escalation"] = raising.asked(tx, sender, draft, result)
    if notes:
        result["notes"] = notes
    _start(tx, sender, draft, recipients, result)
    if then:
        then(result)
    if key:
        idempotency.remember(tx, sender, key, args, result)
    return result


def _start(tx: Tx, sender: Row, draft: mail.Draft, recipients: Recipients, result: dict[str, Any]) -> None:
    """Workers whose kind says that mail starts them."""
    if tx.flags & WORKED or recipients.started:
        from . import summoning

        summoning.follow(tx, sender, draft, recipients, result)


def with_person(to: Sequence[str]) -> list[str]:
    """Whoever else is asked, a question for a human goes to the person."""
    return [*to, *([] if any(names.key(each) == names.PERSON for each in to) else [names.PERSON])]


def route(tx: Tx, sender: Row, draft: mail.Draft, recipients: Recipients) -> list[str]:
    """What the team's routes say against it, for the sender to know; refused where they are enforced."""
    if not tx.settings.says_any(_ROUTES):
        return []
    from . import features  # few teams have any

    return features.routed(tx, sender, draft, recipients.rows)


def _draft(
    tx: Tx, type: str, priority: str | int, subject: str, body: str, payload: Mapping[str, Any] | None,
    context: Mapping[str, Any] | None, attachments: Sequence[str] | None, tags: Sequence[str] | None,
    expires: int | None, asks: bool | None, stale: bool = False,
) -> mail.Draft:  # fmt: skip
    if expires is not None and expires > times.LAST_MS:
        raise errors.BadInput("The message would expire after the year 9999.", "Leave it out.", code="BAD_TIME")
    until = None if expires is None else tx.now + (expires - tx.wall)
    written = mail.draft(
        type=type, priority=priority, subject=subject, body=body, payload=payload or {}, context=context or {},
        attachments=attachments or [], tags=tags or [], asks=asks, now=tx.now, limit=tx.settings["mail.body_limit"],
        expires_at=None if stale else until,
    )  # fmt: skip
    return written._replace(expires_at=until) if stale else written


def deliver(
    tx: Tx, sender: Row, draft: mail.Draft, recipients: Recipients, *,
    group: str = "", thread: str = "", reply_to: str = "", id: str = "",
) -> dict[str, Any]:  # fmt: skip
    """The message, a delivery for each recipient, and one event; the bell for each of them after commit."""
    group, reply_to = mail.reference(group, "the group"), mail.reference(reply_to, "the message")
    asked = id and ids.check_message_id(id, ids.CHOSEN_ID_LIMIT)
    id, seq, n = _insert(tx, sender, draft, recipients, group, thread, reply_to, asked)
    for row in recipients.rows:
        tx.one(
            "insert_delivery", agent=row["id"], message=n, priority=draft.priority, sender=sender["id"],
            expires_at=draft.expires_at,
        )  # fmt: skip
        tx.ring(row["name"])
    ways = _ways(tx, recipients.rows)
    told = [{"name": row["name"]} for row in recipients.rows]
    for each in told:
        if each["name"] in recipients.reasons:
            each["chosen"] = recipients.reasons[each["name"]]
    result: dict[str, Any] = {"id": id, "seq": seq, "thread": thread or id, "status": "accepted", "recipients": told,
                              "from": sender["name"]}  # fmt: skip
    tx.after.append(lambda heard: _tell_wake(tx, told, recipients.rows, heard, ways))
    return result


def _ways(tx: Tx, rows: Sequence[Row | None]) -> dict[int, list[Row]]:
    """By which ways each can be reached, where anyone can; and then whoever delivers is rung."""
    if not tx.flags & REACHED:
        return {}
    found = {row["id"]: tx.all("ways_to", agent=row["id"]) for row in rows if row is not None}
    if any(found.values()):
        tx.ring(KEEPER)
    return found


def _tell_wake(
    tx: Tx, told: list[dict[str, Any]], rows: Sequence[Row | None], heard: Mapping[str, int],
    ways: Mapping[int, list[Row]],
) -> None:  # fmt: skip
    """After commit: what is known about each recipient. The processes are looked at outside the lock."""
    for each, row in zip(told, rows, strict=True):
        each |= _wake(tx, row, heard, ways.get(row["id"], []) if row else [])


def _wake(tx: Tx, row: Row | None, rung: Mapping[str, int], ways: list[Row]) -> dict[str, str]:
    if row is None:
        return {"state": "queued", "how": "it goes by another name by now"}
    live = tx.liveness(row)
    if ways:
        from . import ways as known  # few teams have ways to their agents

        if told := known.told(tx, ways, live=live is presence.Liveness.LIVE, kept=KEEPER in rung):
            return told
    if rung.get(row["name"]):
        return {"state": "woken", "how": "its waiting process was rung"}
    if row["name"] == names.PERSON:
        return {"state": "queued", "how": "the person sees it in `rook inbox`"}
    if live is presence.Liveness.LIVE:
        return {"state": "live", "how": "no way to wake it: it sees the message when it next looks"}
    if live is None:
        return {"state": "queued", "how": "never joined: it gets the message when it does"}
    return {"state": "queued", "how": f"not here ({live}): it gets the message when it returns"}


def _insert(
    tx: Tx,
    sender: Row,
    draft: mail.Draft,
    recipients: Recipients,
    group: str,
    thread: str,
    reply_to: str,
    asked: str,
) -> tuple[str, int, int]:
    """(id, event number, row). Two ids made in one millisecond may meet; then another is made."""
    seq = tx.next_seq()
    while True:
        id = asked or ids.message_id(tx.now, tx.world.chance.below(1 << ids.CHANCE_BITS))
        made = tx.one(
            "insert_message", id=id, seq=seq, thread=thread or id, reply_to=reply_to or None, sender=sender["id"],
            recipients=len(recipients.rows), grp=group, address=recipients.address, at=tx.wall, **draft._asdict(),
        )  # fmt: skip
        if made is not None:
            break
        if asked:
            raise errors.Refused(f"{asked} is taken.", "Leave the id out.", code="ID_TAKEN")
    facts = log_facts(tx, draft, [row["name"] for row in recipients.rows], thread or id, reply_to, group)
    tx.event("message", sender["name"], seq=seq, target=recipients.address, ref=id, preview=draft.subject, **facts)
    return id, seq, made["n"]


def log_facts(
    tx: Tx, draft: mail.Draft, to: Sequence[str], thread: str, reply_to: str | None, group: str | None
) -> dict[str, Any]:
    """What an inbox is made of, so that the log can rebuild it. What was written stays with the message."""
    expires = None if draft.expires_at is None else times.iso(tx.wall + (draft.expires_at - tx.now))
    facts = {"type": draft.type, "to": list(to), "thread": thread, "priority": draft.priority.name.lower(),
             "reply_to": reply_to, "group": group, "asks": draft.asks, "label": draft.label,
             "expires": expires}  # fmt: skip
    return {name: value for name, value in facts.items() if value not in (None, "", False)}


def _spend(tx: Tx, sender: Row, to: Sequence[Row]) -> None:
    """What the team's budget and the session's allow; the message is counted with the heartbeat, in one statement."""
    if _may_spend(tx, sender, to):
        tx.run("beat_sent", session=sender["session"], count=1)
        tx.keep_held()


def spend_unseen(tx: Tx, sender: Row, to: Sequence[Row]) -> None:
    """The same for words that prove no session: they count, and keep nobody alive."""
    if _may_spend(tx, sender, to):
        tx.run("count_sent", session=sender["session"], count=1)


def _may_spend(tx: Tx, sender: Row, to: Sequence[Row]) -> bool:
    """Whether there is a session to count it for; refused if a limit is reached."""
    if tx.is_limited():
        from . import limits  # most teams limit nothing

        limits.allow_send(tx, sender, to)
    if sender["session"] is None or sender["ended_at"] is not None:
        return False
    refusal = mail.budget_refusal(sender["coordination"], sender["sent"], 1)
    if refusal:
        raise refusal
    return True


def _thread_root(tx: Tx, sender: Row, thread: str, reply_to: str) -> str:
    """The thread that a message continues; "" begins one. The sender must take part in it, because from then on it may
    read all of it. With open addresses a thread may have any name, and a `reply_to` that is not here begins one."""
    reference = thread or reply_to
    if not reference:
        return ""
    row = tx.one("message_by_id", id=mail.reference(reference, "the conversation"))
    if row is None and (part := ids.split_copy(reference)):
        row = tx.one("message_by_id", id=part[0])
    if row is None and not tx.caller.open_addresses:
        if tx.one("discussion", id=reference) is None:
            raise unknown_message(reference)
        return reference
    root = row["thread"] if row else thread
    if root:
        _require_part(tx, sender, root, reference)
    return root


def _conversation(tx: Tx, sender: Row, id: str) -> Row:
    """The message to answer. Whoever takes no part in its thread would answer something it was never told."""
    original = tx.one("message_by_id", id=message_id_of(tx, id))
    if original is None:
        raise unknown_message(id)
    _require_part(tx, sender, original["thread"], id)
    return original


def _require_part(tx: Tx, sender: Row, thread: str, id: str) -> None:
    is_client = tx.caller.open_addresses and tx.tree is None  # of a contract in which anyone answers anything
    if sender["name"] in (names.PERSON, names.SYSTEM) or is_client:
        return
    people = [row["name"] for row in tx.all("thread_people", thread=thread)]
    if people and sender["name"] not in people:
        raise errors.NotYours(f"You take no part in {id}.", f"`rook send {people[0]} -s SUBJECT` begins a new thread.")


def _answered(tx: Tx, sender: Row, original: Row, everyone: bool) -> list[str]:
    if not everyone and original["sender"] == sender["id"]:  # a word more to those who got the first one
        return [row["name"] for row in tx.all("deliveries_of", message=original["n"])]
    if original["sender_name"] == names.SYSTEM and (asker := raising.asker(tx, original)):
        return [asker]
    if not everyone:
        return [original["sender_name"]]
    people = [row["name"] for row in tx.all("thread_people", thread=original["thread"])]
    return [name for name in people if name != sender["name"]] or [original["sender_name"]]


def mark_answered(tx: Tx, sender: Row, original: Row, result: dict[str, Any], mark_read: bool = True) -> None:
    """In the sender's own mailbox the original is read and answered."""

    def note(stage: str, detail: str = "") -> None:
        tx.run(
            "add_receipt", message=original["n"], agent=sender["id"], seq=result["seq"], at=tx.wall, stage=stage,
            channel="", detail=detail,
        )  # fmt: skip

    if mark_read and tx.run("delivery_read", agent=sender["id"], message=original["n"]):
        to, subject = original["sender_name"], original["subject"]
        tx.event("mail.read", sender["name"], target=to, ref=original["id"], preview=subject)
        note("seen")
    if tx.run("delivery_answered", agent=sender["id"], message=original["n"]):
        note("answered", result["id"])


def _note_answer(tx: Tx, sender: Row, original: Row, result: dict[str, Any], mark_read: bool, body: str) -> None:
    mark_answered(tx, sender, original, result, mark_read)
    if question := raising.question(original):
        from . import questions  # few messages carry one

        result["question"] = questions.answered_by_reply(tx, question, sender, body)
        return
    if original["type"] != mail.Type.ESCALATION or original["sender"] == sender["id"]:
        return  # its author's second thought is not an answer
    if original["label"] == mail.ASK_HUMAN and not sender["is_human"]:
        return  # others may say what they think; the question is for a human
    if tx.run("close_escalation", message=original["id"], answer=result["id"]):
        escalation = tx.one("escalation_of", message=original["id"])
        assert escalation is not None
        tx.event("escalation.closed", sender["name"], ref=escalation["id"], preview=original["subject"])
        result["closed"] = escalation["id"]


def message_id_of(tx: Tx, id: str) -> str:
    """The message behind an id: an escalation is read and answered through the message that carries it."""
    if not id.startswith("ESC-"):
        return id
    row = tx.one("escalation", id=id)
    return row["message"] if row else id


def unknown_message(id: str) -> errors.UnknownName:
    return errors.UnknownName(
        f"No message {text.one_line(id, 40)}.", "`rook inbox --all` lists yours.", code="UNKNOWN_MESSAGE"
    )
