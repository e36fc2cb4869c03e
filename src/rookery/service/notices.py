"""What an agent should know of, read from the log with a cursor: the inbox of the pi-team contract.

It is computed from the log whenever an agent asks. An event says whom it concerned when it happened, so the answer for
a cursor never changes. Only the text of mail is looked up. One number is kept for each agent: the event after which it
is told of all tasks (its first poll, or when the team's definition named it).
"""

import json
from typing import Annotated, Any

from rookery.core import errors, names, times
from rookery.core import feed as words
from rookery.store.port import Row

from .daemon_token import owns_mail
from .tx import Tx
from .verbs import Arg

PAGE = 500
SCAN = 5_000  # how much of the log one call looks at; `nextSince` tells how far it came
MAX_EVENTS = 1_000
CONTENT_BYTES = 1_000_000  # of whole messages in one answer: what would exceed it comes with the next
UNTOLD = ("mail.expired", "swept", "inbox.open")
FOR_ALL = ("task.start", "task.done", "task.failed")  # told to everyone whose inbox is open, the actor too
_read = json.JSONDecoder().raw_decode  # what we wrote ourselves: `loads` looks for what could be around it


def notices(
    tx: Tx,
    *,
    since: Annotated[int, Arg("the cursor: `nextSince` of the answer before")] = 0,
    limit: Annotated[int, Arg("how many at most", flag="-n")] = 100,
) -> dict[str, Any]:
    if since < 0 or not 1 <= limit <= MAX_EVENTS:
        raise errors.BadInput("A cursor is not negative, and a limit is 1 to 1000.", "Start with since=0.")
    me = tx.me()
    mine, sees_mail, opened = _names_of(tx, me), owns_mail(tx), _opened(tx, me)
    position = tx.one("ledger_position") or {"seq": 0, "horizon": 0}
    if since and since < position["horizon"]:
        raise errors.CursorTooOld(
            f"Events up to {position['horizon']} may be gone; your cursor is {since}.",
            "Start over with since=0 for what is left.",
            horizon=position["horizon"],
        )
    found: list[dict[str, Any]] = []
    cursor, looked, page, room = since, 0, limit, CONTENT_BYTES
    while looked < SCAN:
        rows = tx.all("notices_after", agent=me["id"], cursor=cursor, limit=page)
        for row in rows:
            cursor = row["seq"]
            if (told := _notice(mine, opened, row)) is not None and (sees_mail or told["type"] != "message"):
                found.append(told)
                room -= len(told.get("content", ""))
                if len(found) == limit or room <= 0:
                    return _page(found, cursor, position, opened)
        if len(rows) < page:
            break
        looked, page = looked + page, PAGE
    return _page(found, cursor, position, opened)


def _page(found: list[dict[str, Any]], cursor: int, position: Row, opened: int | None) -> dict[str, Any]:
    return {"events": found, "nextSince": cursor, "more": cursor < position["seq"], "opened": opened is not None}


def open_inbox(tx: Tx) -> dict[str, Any]:
    """From now on the caller is told of every task that is claimed, completed or failed, whomever it concerns."""
    me = tx.me()
    opened = _opened(tx, me) is None
    if opened:
        tx.run("open_inbox", agent=me["id"], seq=tx.event("inbox.open", me["name"]))
    return {"opened": opened}


def _opened(tx: Tx, me: Row) -> int | None:
    """The event after which an agent is told of all tasks: its first poll, or its place in the team's definition."""
    row = tx.one("inbox_from", agent=me["id"])
    if row is not None and row["seq"] is not None:
        return row["seq"]
    return 0 if any(names.key(name) == me["key"] for name in tx.settings["agents"]) else None


def _notice(mine: frozenset[str], opened: int | None, row: Row) -> dict[str, Any] | None:
    """The event as this agent is told of it; None if it is not told of it."""
    if row["type"] == "message":
        return _of_message(row) if row["got"] else None
    for_all = row["type"] in FOR_ALL and opened is not None and row["seq"] > opened
    if row["type"] in UNTOLD or (names.key(row["actor"]) in mine and not for_all):
        return None
    told = _shown(row)
    concerned: list[str] = [*row["target"].split(","), *told["payload"].pop("for", [])]
    return told if for_all or any(names.key(name.strip()) in mine for name in concerned) else None


def _names_of(tx: Tx, me: Row) -> frozenset[str]:
    """What was told to a name is told to whoever bore it."""
    return frozenset((me["key"], *(row["key"] for row in tx.all("former_names", agent=me["id"]))))


def _of_message(row: Row) -> dict[str, Any]:
    told = _shown(row)
    thread = row["thread"]
    told["type"] = "thread_message" if thread.startswith("thread-") else "message"
    told["threadId"] = thread
    told["payload"] |= {"messageId": row["ref"], "threadId": thread, "body": row["body"]}
    if row["content"] is not None:
        told["content"] = row["content"]
    return told


def _shown(row: Row) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": f"evt-{row['seq']}", "seq": row["seq"], "type": words.plain(row["type"]),
        "ts": times.iso(row["at"]), "actor": row["actor"], "summary": row["preview"],
        "payload": _read(row["data"])[0],
    }  # fmt: skip
    for prefix, name in (("task-", "taskId"), ("thread-", "threadId")):
        if row["ref"].startswith(prefix):
            told[name] = told["payload"][name] = row["ref"]
    return told
