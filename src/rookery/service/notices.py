"""What an agent should know of, read from the log with a cursor: seed 002's inbox.

Nothing is kept for it, so it can not be lost or go stale: it is computed from the log whenever someone asks. An event
says whom it concerned when it happened, so the answer for a cursor never changes. Only the text of mail is looked up.
"""

import json
from typing import Annotated, Any

from rookery.core import errors, names, times
from rookery.core import feed as words
from rookery.store.port import Row

from .tx import Tx
from .verbs import Arg

PAGE = 500
SCAN = 5_000  # how much of the log one call looks at; `nextSince` tells how far it came
MAX_EVENTS = 1_000
UNTOLD = ("mail.expired", "swept")
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
    mine = _names_of(tx, me)
    position = tx.one("ledger_position") or {"seq": 0, "horizon": 0}
    if since and since < position["horizon"]:
        raise errors.CursorTooOld(
            f"Events up to {position['horizon']} may be gone; your cursor is {since}.",
            "Start over with since=0 for what is left.",
            horizon=position["horizon"],
        )
    found: list[dict[str, Any]] = []
    cursor, looked, page = since, 0, limit
    while looked < SCAN:
        rows = tx.all("notices_after", agent=me["id"], cursor=cursor, limit=page)
        for row in rows:
            cursor = row["seq"]
            if (told := _notice(mine, row)) is not None:
                found.append(told)
                if len(found) == limit:
                    return {"events": found, "nextSince": cursor, "more": cursor < position["seq"]}
        if len(rows) < page:
            break
        looked, page = looked + page, PAGE
    return {"events": found, "nextSince": cursor, "more": cursor < position["seq"]}


def _notice(mine: frozenset[str], row: Row) -> dict[str, Any] | None:
    """The event as this agent is told of it; None if it does not concern it."""
    if row["type"] == "message":
        return _of_message(row) if row["got"] else None
    if row["type"] in UNTOLD or names.key(row["actor"]) in mine:
        return None
    told = _shown(row)
    concerned: list[str] = [*row["target"].split(","), *told["payload"].pop("for", [])]
    return told if any(names.key(name.strip()) in mine for name in concerned) else None


def _names_of(tx: Tx, me: Row) -> frozenset[str]:
    """What was told to a name is told to whoever bore it."""
    return frozenset((me["key"], *(row["key"] for row in tx.all("former_names", agent=me["id"]))))


def _of_message(row: Row) -> dict[str, Any]:
    told = _shown(row)
    thread = row["thread"]
    told["type"] = "thread_message" if thread.startswith("thread-") else "message"
    told["threadId"] = thread
    told["payload"] |= {"messageId": row["ref"], "threadId": thread, "body": row["body"]}
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
