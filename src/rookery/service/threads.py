"""Discussions: a title, who takes part, the tasks they are about. What is said in them is mail like any other."""

from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import errors, mail, names, text, times
from rookery.core import search as searching
from rookery.store.port import Row

from . import cards, held, idempotency, limits, post
from .mailbox import MAX_LIMIT, checked_limit
from .recipients import Recipients
from .tx import Tx
from .verbs import Arg

Id = Annotated[str, Arg("the discussion", positional=True, metavar="ID")]
Key = Annotated[str, Arg("idempotency key: a repeat gets the same answer")]


def new(
    tx: Tx,
    title: Annotated[str, Arg("what it is about, in one line", positional=True)],
    *,
    participants: Annotated[list[str] | None, Arg("who takes part (repeatable)", flag="--with")] = None,
    tasks: Annotated[list[str] | None, Arg("a task it is about (repeatable)", flag="--task")] = None,
    body: Annotated[str, Arg("the first message", flag="-m")] = "",
    key: Key = "",
) -> dict[str, Any]:
    me = tx.me()
    asked = {"verb": "thread.new", "title": title, "participants": participants, "tasks": tasks, "body": body}
    if key and (before := idempotency.remembered(tx, me, key, asked)):
        return before
    number = tx.one("raise_counter", name="thread")
    assert number is not None
    id = f"thread-{number['value']:04d}"
    tx.run("new_thread", n=number["value"], id=id, title=_title(title), created_by=me["id"], at=tx.wall)
    invited = [tx.agent(name) for name in participants or []]
    if invited and tx.is_limited():
        limits.allow_send(tx, me, invited)
    _join(tx, id, [*invited, me])
    for task in tasks or []:
        _link(tx, id, task)
    members = [row["name"] for row in tx.all("thread_members", thread=id)]
    tx.event("thread.new", me["name"], target=", ".join(members), ref=id, preview=title)
    for name in members:
        tx.ring(name)
    made = _card(tx, id)
    if body:
        made["message"] = _say(tx, id, body, None)
    tx.beat()
    if key:
        idempotency.remember(tx, me, key, asked, made)
    return made


def say(
    tx: Tx,
    id: Id,
    body: Annotated[str, Arg("what you say", flag="-m")],
    *,
    to: Annotated[list[str] | None, Arg("only to these; they take part from now on (repeatable)")] = None,
    key: Key = "",
) -> dict[str, Any]:
    me = tx.me()
    asked = {"verb": "thread.post", "id": id, "body": body, "to": to}
    if key and (before := idempotency.remembered(tx, me, key, asked)):
        return before
    said = _say(tx, id, body, to)
    tx.beat()
    if key:
        idempotency.remember(tx, me, key, asked, said)
    return said


def tail(
    tx: Tx, id: Id, *, limit: Annotated[int | None, Arg("the newest so many", flag="-n")] = None
) -> dict[str, Any]:
    card = _card(tx, id)
    rows = tx.all("thread_messages", thread=id, limit=checked_limit(limit, 100))
    return card | {"messages": [_message(tx, row["n"]) for row in reversed(rows)]}


def listed(
    tx: Tx,
    *,
    task: Annotated[str, Arg("only about this task")] = "",
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    rows = tx.all("discussions", task=task, limit=checked_limit(limit, 100))
    return {"threads": [_card(tx, row["id"]) for row in rows]}


def about(
    tx: Tx,
    *,
    query: Annotated[str, Arg("part of a title, a task's id, a participant's name, or words that were said")] = "",
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    """Discussions by what they are about, oldest first; an empty query finds all."""
    part, most = text.check_text(query, "the query").strip().lower(), checked_limit(limit, MAX_LIMIT)
    found = [row["id"] for row in tx.all("threads_about", part=part, limit=most)]
    if any(c.isalnum() for c in part):
        match = tx.match(searching.parse(part))
        said = tx.all("search_threads", match=match, limit=most)
        found += [_message(tx, row["n"])["threadId"] for row in said]
    return {"query": query, "threads": [_card(tx, id) for id in list(dict.fromkeys(found))[:most]]}


def search(
    tx: Tx,
    query: Annotated[list[str], Arg('words, "a phrase" or a prefix*', positional=True, metavar="QUERY")],
    *,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    terms = searching.parse(" ".join(query))
    rows = tx.all("search_threads", match=tx.match(terms), limit=checked_limit(limit, 20))
    found = [_message(tx, row["n"]) for row in rows]
    return {
        "query": " ".join(query),
        "messages": [each | {"snippet": searching.snippet(each["body"], terms)} for each in found],
        "threads": [_card(tx, id) for id in dict.fromkeys(each["threadId"] for each in found)],
    }


def link(tx: Tx, id: Id, task: Annotated[str, Arg("the task it is about", positional=True)]) -> dict[str, Any]:
    _find(tx, id)
    if _link(tx, id, task):
        tx.event("thread.link", tx.me()["name"], target=task, ref=id)
    tx.beat()
    return _card(tx, id)


# -- what they share ---------------------------------------------------------------------------------------------


def _title(title: str) -> str:
    folded = " ".join(text.check_text(title, "the title").split())
    if not 1 <= len(folded) <= 300:
        raise errors.BadInput("A discussion's title has 1 to 300 characters.", "Say the rest in its first message.")
    return folded


def _find(tx: Tx, id: str) -> Row:
    row = tx.one("discussion", id=id)
    if row is None:
        raise errors.UnknownName(
            f"No discussion {text.one_line(id, 40)}.", "`rook search` finds what was said.", code="UNKNOWN_THREAD"
        )
    return row


def _join(tx: Tx, id: str, agents: Sequence[Row]) -> None:
    """They take part from now on. The system speaks and takes no part: nothing can be said to it."""
    for agent in agents:
        if agent["name"] != names.SYSTEM:
            tx.run("add_thread_member", thread=id, agent=agent["id"])


def _link(tx: Tx, id: str, task: str) -> int:
    held.find(tx, task)
    tx.run("touch_thread", thread=id, at=tx.wall, task=task)
    return tx.run("link_thread", thread=id, task=task)


def _say(tx: Tx, id: str, body: str, to: Sequence[str] | None) -> dict[str, Any]:
    thread, me = _find(tx, id), tx.me()
    if not body.strip():
        raise errors.BadInput("Nothing was said.", "Give the message a body.")
    written = mail.draft(
        type="notification", priority="normal",
        subject=thread["title"], body=body, payload={}, context={}, attachments=[], tags=[], expires_at=None,
        asks=False, now=tx.now, limit=tx.settings["mail.body_limit"],
    )  # fmt: skip
    named = [tx.agent(names.check_address(name)) for name in dict.fromkeys(to or [])]
    _join(tx, id, [me, *named])
    rows = named or [tx.agent(row["name"]) for row in tx.all("thread_members", thread=id) if row["id"] != me["id"]]
    if rows and tx.is_limited():
        limits.allow_send(tx, me, rows)
    heard = Recipients(rows, ", ".join(row["name"] for row in rows) or id, "", {})
    sent = post.deliver(tx, me, written, heard, thread=id)
    tx.run("touch_thread", thread=id, at=tx.wall, task=None)
    return {
        "schemaVersion": "1.0.0", "id": sent["id"], "threadId": id, "from": me["name"],
        "to": [row["name"] for row in rows], "body": body,
        "ts": times.iso(tx.wall), "seq": sent["seq"],
    }  # fmt: skip


def _message(tx: Tx, n: int) -> dict[str, Any]:
    row = tx.one("message_card", n=n, chars=cards.WHOLE)
    assert row is not None
    return {
        "schemaVersion": "1.0.0", "id": row["id"], "threadId": row["thread"], "from": row["sender_name"],
        "to": [each["name"] for each in tx.all("recipient_names", message=n)], "body": row["body"],
        "ts": times.iso(row["at"]), "seq": row["seq"],
    }  # fmt: skip


def _card(tx: Tx, id: str) -> dict[str, Any]:
    row = _find(tx, id)
    return {
        "schemaVersion": "1.0.0", "id": id, "threadId": id, "title": row["title"], "createdBy": row["creator_name"],
        "createdAt": times.iso(row["at"]), "updatedAt": times.iso(row["updated"]), "taskId": row["task"],
        "participants": [each["name"] for each in tx.all("thread_members", thread=id)],
        "tasks": [each["task"] for each in tx.all("thread_tasks", thread=id)],
    }  # fmt: skip
